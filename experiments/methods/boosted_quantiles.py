"""A boosted mean m, and the boosted tail quantiles of the residual given x and m(x)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.methods import Array, Fitted, Learner, Method
from experiments.methods._boosting import boosted, cross_fitted, tails
from experiments.methods._scores import additive


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
    """Residuals are cross-fitted; each level has its own two models."""
    mean, inputs, residual = cross_fitted(X, y, seed, learner)
    pairs = [[boosted(seed, q).fit(inputs, residual) for q in tails(p)] for p in levels]

    def predict(X: Array) -> tuple[Array, Array]:
        m = mean.predict(X)
        seen = np.column_stack([X, m])
        low, high = (
            np.column_stack([m + models[side].predict(seen) for models in pairs]) for side in (0, 1)
        )
        return low, high

    return additive(predict, X_cal, y_cal, levels)


METHOD = Method(__name__, "boosted quantiles of the residual", fit)
