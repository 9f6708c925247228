"""Mondrian regression of crepes: a band of constant width for each category of the boosted mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.methods import Array, Fitted, Learner, Method
from experiments.methods._boosting import boosted

# Calibration rows for each category: fewer make the quantiles of the tails noise.
ROWS, MOST = 50, 10


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
    """Categories are cut at the quantiles of the predictions of the training rows."""
    from crepes import ConformalRegressor
    from crepes.extras import MondrianCategorizer

    mean = learner(seed).fit(X, y)
    count = max(1, min(MOST, len(y_cal) // ROWS))
    categories = MondrianCategorizer().fit(X, f=mean.predict, no_bins=count)
    residual = y_cal - mean.predict(X_cal)
    peer = ConformalRegressor().fit(residual, bins=categories.apply(X_cal))

    def intervals(X: Array) -> Array:
        m, bins = mean.predict(X), categories.apply(X)
        return np.stack([peer.predict_int(m, bins=bins, confidence=p) for p in levels], axis=2)

    return Fitted(intervals, mean.predict)


METHOD = Method(__name__, "Mondrian, by prediction (crepes)", fit)
