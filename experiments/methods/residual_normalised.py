"""MAPIE's residual-normalised score around the boosted mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.compose import TransformedTargetRegressor

from experiments.methods import Array, Fitted, Learner, Method
from experiments.methods._boosting import boosted, cross_fitted


def fit(
    X: Array,
    y: Array,
    X_cal: Array,
    y_cal: Array,
    *,
    levels: Sequence[float],
    seed: int,
    learner: Learner = boosted,
) -> Fitted:
    """The log of the cross-fitted |residual| is boosted on the training rows.

    Left to itself, MAPIE would take a quarter of the calibration rows for it.
    """
    from mapie.conformity_scores import ResidualNormalisedScore
    from mapie.regression import SplitConformalRegressor

    mean, _, residual = cross_fitted(X, y, seed, learner)
    size = TransformedTargetRegressor(
        boosted(seed), func=np.log, inverse_func=np.exp, check_inverse=False
    ).fit(X, np.maximum(np.abs(residual), 1e-6 * y.std()))
    peer = SplitConformalRegressor(
        mean,
        confidence_level=list(levels),
        conformity_score=ResidualNormalisedScore(size, prefit=True, random_state=seed),
        prefit=True,
    )
    peer.conformalize(X_cal, y_cal)
    return Fitted(lambda X: peer.predict_interval(X)[1], mean.predict, size.predict)


METHOD = Method(__name__, "residual-normalised (MAPIE)", fit)
