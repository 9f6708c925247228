"""MAPIE's split conformal prediction: a band of constant width around the boosted mean."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.methods import Array, Fitted, Learner, Method
from experiments.methods._boosting import boosted


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
    """One object serves all levels."""
    from mapie.regression import SplitConformalRegressor

    mean = learner(seed).fit(X, y)
    peer = SplitConformalRegressor(mean, confidence_level=list(levels), prefit=True)
    peer.conformalize(X_cal, y_cal)
    return Fitted(lambda X: peer.predict_interval(X)[1], mean.predict)


METHOD = Method(__name__, "plain split (MAPIE)", fit)
