"""How much rows count for trees: where outputs are noisy, a row says little of the mean."""

from __future__ import annotations

import numpy as np

from sosbands.learning.fit_parameters import FitParameters
from sosbands.types import Array, Folds

# Extra trees of √|error| guess how noisy rows are. Scores at .5, .8, .9 and .95 around "auto",
# relative to rows that all count alike: .995, .993, .992, .990 on 800 training rows of bike_uci,
# .998, .996, .992, .992 of california (seeds 0-3), .997, .996, .993, .993 and .998, .999, 1.000,
# .996 on 2000 rows (seeds 0-2), .998, .997, .990, .989 on airfoil and .994, .999, 1.002, 1.005 on
# concrete (seeds 0-9, standard errors up to .006 and .012). Even noise changes nothing. Weights
# that also counted when the regressors were averaged were .4 % worse.
_TREES = {"n_estimators": 40, "min_samples_leaf": 10}
# No row is taken for less noisy than this share of the median.
_LEAST_SIZE = 0.2
# Digits of the weights, so that rounding elsewhere does not decide between splits of trees.
_GRID_BITS = 10


def noise_weights(seen: Array, errors: Array, folds: Folds, told: FitParameters) -> FitParameters:
    """Weights in inverse proportion to how far off predictions are in a row's surroundings.

    A regressor that counts all rows alike follows the noise of those where outputs vary most, at
    the cost of those where they hardly do. The size of a row's error is guessed without its fold,
    so that no row is made light of for its own output.

    Parameters
    ----------
    seen : array of shape (n, d)
        What trees see of the rows, predictions among it.
    errors : array of shape (n,)
        Outputs minus predictions by models that did not see the row.
    folds : sequence of (train, test)
    told : FitParameters
        Weights that rows have already.
    """
    from sklearn.ensemble import ExtraTreesRegressor

    roots, sizes = np.sqrt(np.abs(errors)), np.full(len(errors), np.nan)
    model = ExtraTreesRegressor(random_state=0, **_TREES)
    for train, test in folds:
        sizes[test] = told.fit(model, seen, roots, train).predict(seen[test]) ** 2
    typical = float(np.nanmedian(sizes))
    if typical == 0:  # the predictions are exact for most rows
        return told
    # A row that no fold holds out counts as a typical one.
    shares = np.nan_to_num(sizes / typical, nan=1.0)
    grid = 2.0**_GRID_BITS
    weights = np.round(grid / np.clip(shares, _LEAST_SIZE, grid)) / grid
    return FitParameters.of_weights(weights if told.weights is None else weights * told.weights)
