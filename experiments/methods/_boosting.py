"""Boosted trees as they come with scikit-learn: the model that most methods share."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold

from experiments.methods import Array

Model = HistGradientBoostingRegressor


def boosted(seed: int, quantile: float | None = None) -> Model:
    """Histogram boosting: of the mean, or of a quantile."""
    loss = "squared_error" if quantile is None else "quantile"
    return HistGradientBoostingRegressor(loss=loss, quantile=quantile, random_state=seed)


def tails(level: float) -> tuple[float, float]:
    """The levels of the two quantiles around a central interval."""
    return (1 - level) / 2, (1 + level) / 2


def cross_fitted(X: Array, y: Array, seed: int, model: Any = None) -> tuple[Any, Array, Array]:
    """A boosted mean of all rows; (x, prediction) and residual by models without the row's fold.

    Or another `model` instead.
    """
    model = boosted(seed) if model is None else model
    prediction = np.empty(len(y))
    for train, rest in KFold(5, shuffle=True, random_state=seed).split(X):
        prediction[rest] = clone(model).fit(X[train], y[train]).predict(X[rest])
    return clone(model).fit(X, y), np.column_stack([X, prediction]), y - prediction
