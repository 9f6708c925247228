"""A boosted mean m; the scale is the boosted 85 % quantile of |residual| given x and m(x)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.methods import Array, Fitted, Learner, Method
from experiments.methods._boosting import boosted, cross_fitted
from experiments.methods._scores import rescaled


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
    """Residuals are cross-fitted."""
    mean, inputs, residual = cross_fitted(X, y, seed, learner)
    size = boosted(seed, 0.85).fit(inputs, np.abs(residual))
    least = 1e-6 * y.std()

    def predict(X: Array) -> tuple[Array, Array]:
        m = mean.predict(X)
        return m, np.maximum(size.predict(np.column_stack([X, m])), least)

    return rescaled(predict, X_cal, y_cal, levels)


METHOD = Method(__name__, "boosted scale of the residual", fit)
