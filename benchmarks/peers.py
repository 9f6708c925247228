"""Other ways to prediction intervals, each calibrated on rows that its models have not seen.

All are called as ``method(X_train, y_train, X_cal, y_cal, X_test, level=0.9, seed=0)`` and give
intervals of shape (n_test, 2). Their scores are rescaled, |y − m(x)| / s(x), or additive,
max(l(x) − y, y − u(x)); the ⌈level (m + 1)⌉-th smallest of m scores calibrates the band. Where its
bounds cross, a band covers nothing and is written as one point.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold

Array: TypeAlias = npt.NDArray[np.float64]
Predict: TypeAlias = Callable[[Array], tuple[Array, Array]]
Model: TypeAlias = HistGradientBoostingRegressor
Learn: TypeAlias = Callable[[Array, Array, float, int], Any]
Band: TypeAlias = Callable[[Any, Array, Array, Array, float], Array]
Method: TypeAlias = Callable[..., Array]


def rescaled(predict: Predict, X_cal: Array, y_cal: Array, X_test: Array, level: float) -> Array:
    """m(x) ± q s(x), q from the scores |y − m(x)| / s(x); `predict` gives m and s."""
    m, s = predict(X_cal)
    q = calibrated(np.abs(y_cal - m) / s, level)
    m, s = predict(X_test)
    return intervals(m - q * s, m + q * s)


def additive(predict: Predict, X_cal: Array, y_cal: Array, X_test: Array, level: float) -> Array:
    """[l(x) − q, u(x) + q], q from the scores max(l(x) − y, y − u(x)); `predict` gives l and u."""
    low, high = predict(X_cal)
    q = calibrated(np.maximum(low - y_cal, y_cal - high), level)
    low, high = predict(X_test)
    return intervals(low - q, high + q)


def by_mapie(models: list[Model], X_cal: Array, y_cal: Array, X_test: Array, level: float) -> Array:
    """`additive` as MAPIE has it, from models of the two quantiles and of the median."""
    from mapie.regression import ConformalizedQuantileRegressor

    logging.basicConfig()  # or MAPIE sets it up to print when quantiles cross
    peer = ConformalizedQuantileRegressor(models, confidence_level=level, prefit=True)
    bounds = peer.conformalize(X_cal, y_cal).predict_interval(X_test, symmetric_correction=True)[1]
    return intervals(bounds[:, 0, 0], bounds[:, 1, 0])


def calibrated(scores: Array, level: float) -> float:
    """The ⌈level (m + 1)⌉-th smallest of m scores; infinite if they are too few."""
    rank = int(np.ceil(level * (len(scores) + 1) - 1e-9))  # rounding must not raise the rank
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else np.inf


def intervals(lower: Array, upper: Array) -> Array:
    """Both bounds side by side, shape (n, 2); bounds that cross meet halfway."""
    shift = np.maximum(lower - upper, 0) / 2
    return np.column_stack([lower - shift, np.maximum(upper + shift, lower - shift)])


def scored(band: Band) -> Callable[[Learn], Method]:
    """Calibrate what a function learns from the training rows."""

    def decorate(learn: Learn) -> Method:
        @wraps(learn)
        def method(
            X_train: Array,
            y_train: Array,
            X_cal: Array,
            y_cal: Array,
            X_test: Array,
            *,
            level: float,
            seed: int,
        ) -> Array:
            return band(learn(X_train, y_train, level, seed), X_cal, y_cal, X_test, level)

        del method.__wrapped__  # its arguments are not those of the method
        method.learn = learn  # what `fit` is elsewhere
        return method

    return decorate


@scored(additive)
def quantile_forest_cqr(X: Array, y: Array, level: float, seed: int) -> Predict:
    """Conformalized quantile regression on a quantile forest: 300 trees, leaves of ≥ 10 rows."""
    from quantile_forest import RandomForestQuantileRegressor

    forest = RandomForestQuantileRegressor(300, min_samples_leaf=10, random_state=seed).fit(X, y)
    return lambda X: tuple(forest.predict(X, quantiles=list(tails(level))).T)


@scored(rescaled)
def homoscedastic_gp(X: Array, y: Array, level: float, seed: int) -> Predict:
    """A Gaussian process with constant noise; s is its predictive deviation, noise included."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    spread = X.std(axis=0)
    signal = ConstantKernel() * RBF(spread, [(l / 100, l * 100) for l in spread])
    process = GaussianProcessRegressor(
        signal + WhiteKernel(), normalize_y=True, n_restarts_optimizer=2, random_state=seed
    )
    with warnings.catch_warnings(action="ignore"):  # parameters at their bounds
        process.fit(X, y)
    return lambda X: process.predict(X, return_std=True)


@scored(rescaled)
def heteroscedastic_gp(X: Array, y: Array, level: float, seed: int) -> Predict:
    """A Gaussian process with another one for its log-noise (hetGP); s as in `homoscedastic_gp`.

    As its authors advise, inputs are scaled to the unit cube and y is standardised. Where constant
    noise is likelier, hetGP returns that model. Nothing is random.
    """
    from hetgpy import hetGP

    low, span, centre, spread = X.min(axis=0), np.ptp(X, axis=0), y.mean(), y.std()
    process = hetGP()
    with warnings.catch_warnings(action="ignore"):
        process.mle(
            (X - low) / span,
            (y - centre) / spread,
            settings={"factr": 1e9, "ignore_MLE_divide_invalid": True, "trace": -1},  # no prints
        )

    def predict(X: Array) -> tuple[Array, Array]:
        with warnings.catch_warnings(action="ignore"):  # variances that round to less than zero
            found = process.predict((X - low) / span)
        return centre + spread * found["mean"], spread * np.sqrt(found["sd2"] + found["nugs"])

    return predict


@scored(by_mapie)
def boosted_cqr(X: Array, y: Array, level: float, seed: int) -> list[Model]:
    """MAPIE's conformalized quantile regression on boosted quantiles."""
    return [boosted(seed, q).fit(X, y) for q in (*tails(level), 0.5)]


@scored(rescaled)
def boosted_split(X: Array, y: Array, level: float, seed: int) -> Predict:
    """A boosted mean and a band of constant width."""
    mean = boosted(seed).fit(X, y)
    return lambda X: (mean.predict(X), np.ones(len(X)))


@scored(rescaled)
def boosted_scale(X: Array, y: Array, level: float, seed: int) -> Predict:
    """A boosted mean m; s is the boosted 85 % quantile of |residual| given x and m(x)."""
    mean, inputs, residual = cross_fitted(X, y, seed)
    scale = boosted(seed, 0.85).fit(inputs, np.abs(residual))

    def predict(X: Array) -> tuple[Array, Array]:
        m = mean.predict(X)
        return m, np.maximum(scale.predict(np.column_stack([X, m])), 1e-6 * y.std())

    return predict


@scored(additive)
def boosted_quantiles(X: Array, y: Array, level: float, seed: int) -> Predict:
    """A boosted mean m, and the boosted tail quantiles of the residual given x and m(x)."""
    mean, inputs, residual = cross_fitted(X, y, seed)
    lower, upper = (boosted(seed, q).fit(inputs, residual) for q in tails(level))

    def predict(X: Array) -> tuple[Array, Array]:
        m = mean.predict(X)
        seen = np.column_stack([X, m])
        return m + lower.predict(seen), m + upper.predict(seen)

    return predict


def tails(level: float) -> tuple[float, float]:
    """The levels of the two quantiles around a central interval."""
    return (1 - level) / 2, (1 + level) / 2


def boosted(seed: int, quantile: float | None = None) -> Model:
    """Histogram boosting as it comes with scikit-learn: of the mean, or of a quantile."""
    loss = "squared_error" if quantile is None else "quantile"
    return HistGradientBoostingRegressor(loss=loss, quantile=quantile, random_state=seed)


def cross_fitted(X: Array, y: Array, seed: int) -> tuple[Model, Array, Array]:
    """A boosted mean of all rows; (x, prediction) and residual by models without the row's fold."""
    prediction = np.empty(len(y))
    for train, rest in KFold(5, shuffle=True, random_state=seed).split(X):
        prediction[rest] = boosted(seed).fit(X[train], y[train]).predict(X[rest])
    return boosted(seed).fit(X, y), np.column_stack([X, prediction]), y - prediction
