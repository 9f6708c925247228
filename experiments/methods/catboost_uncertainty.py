"""CatBoost with a mean and a variance (`RMSEWithUncertainty`): its deviation is the scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.methods import Array, Fitted, Method
from experiments.methods._scores import normal


def fit(
    X: Array, y: Array, X_cal: Array, y_cal: Array, *, levels: Sequence[float], seed: int
) -> Fitted:
    """Its defaults; the quantiles are those of a normal law."""
    from catboost import CatBoostRegressor

    trees = CatBoostRegressor(
        loss_function="RMSEWithUncertainty",
        random_seed=seed,
        thread_count=1,
        verbose=0,
        allow_writing_files=False,
    ).fit(X, y)
    least = 1e-6 * y.std()

    def predict(X: Array) -> tuple[Array, Array]:
        m, variance = trees.predict(X).T
        return m, np.maximum(np.sqrt(variance), least)

    return normal(predict, X_cal, y_cal, levels)


METHOD = Method(__name__, "CatBoost, mean and variance", fit)
