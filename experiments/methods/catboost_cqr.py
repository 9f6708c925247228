"""Conformalized quantile regression on CatBoost's multi-quantile loss, defaults otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from experiments.methods import QUANTILES, Array, Fitted, Method
from experiments.methods._boosting import tails
from experiments.methods._scores import additive


def fit(
    X: Array, y: Array, X_cal: Array, y_cal: Array, *, levels: Sequence[float], seed: int
) -> Fitted:
    """One model for all quantiles, those of a distribution among them: they help each other.

    On four development sets that was better than a model of the tails alone, or one for each level.
    """
    from catboost import CatBoostRegressor

    learned = sorted({round(q, 6) for p in levels for q in tails(p)} | set(QUANTILES))
    trees = CatBoostRegressor(
        loss_function="MultiQuantile:alpha=" + ",".join(f"{q:g}" for q in learned),
        random_seed=seed,
        thread_count=1,
        verbose=0,
        allow_writing_files=False,
    ).fit(X, y)

    def at(X: Array, wanted: Sequence[float]) -> Array:
        """Sorted, for they may cross."""
        return np.sort(trees.predict(X), axis=1)[:, np.searchsorted(learned, np.round(wanted, 6))]

    def predict(X: Array) -> tuple[Array, Array]:
        low, high = np.transpose([tails(p) for p in levels])
        return at(X, low), at(X, high)

    calibrated = additive(predict, X_cal, y_cal, levels)
    return replace(calibrated, quantiles=lambda X: at(X, QUANTILES))


METHOD = Method(__name__, "CQR, CatBoost multi-quantile", fit)
