"""NGBoost: a normal law boosted by natural gradients; its deviation is the scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.methods import Array, Fitted, Method
from experiments.methods._scores import normal


def fit(
    X: Array, y: Array, X_cal: Array, y_cal: Array, *, levels: Sequence[float], seed: int
) -> Fitted:
    """Its defaults."""
    from ngboost import NGBRegressor

    law = NGBRegressor(verbose=False, random_state=seed).fit(X, y)
    least = 1e-6 * y.std()

    def predict(X: Array) -> tuple[Array, Array]:
        found = law.pred_dist(X).params
        return found["loc"], np.maximum(found["scale"], least)

    return normal(predict, X_cal, y_cal, levels)


METHOD = Method(__name__, "NGBoost", fit)
