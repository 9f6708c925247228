"""Conformalized quantile regression on a quantile forest: 300 trees, leaves of ≥ 10 rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from experiments.methods import QUANTILES, Array, Fitted, Method
from experiments.methods._boosting import tails
from experiments.methods._scores import additive


def fit(
    X: Array, y: Array, X_cal: Array, y_cal: Array, *, levels: Sequence[float], seed: int
) -> Fitted:
    """One forest gives the quantiles of all levels."""
    from quantile_forest import RandomForestQuantileRegressor

    forest = RandomForestQuantileRegressor(300, min_samples_leaf=10, random_state=seed).fit(X, y)
    wanted = [*(tails(p)[0] for p in levels), *(tails(p)[1] for p in levels)]

    def predict(X: Array) -> tuple[Array, Array]:
        found = forest.predict(X, quantiles=wanted)
        return found[:, : len(levels)], found[:, len(levels) :]

    calibrated = additive(predict, X_cal, y_cal, levels)
    return replace(calibrated, quantiles=lambda X: forest.predict(X, quantiles=list(QUANTILES)))


METHOD = Method(__name__, "CQR, quantile forest", fit)
