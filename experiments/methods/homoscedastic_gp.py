"""A Gaussian process with constant noise; the scale is its predictive deviation, noise included."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from experiments.methods import Array, Fitted, Method
from experiments.methods._scores import rescaled

LIKELIHOOD_ROWS, ROWS = 500, 2000
# Beyond, all inputs share the lengthscale of their spread: minutes of likelihood otherwise.
MOST_LENGTHSCALES = 20


def fit(
    X: Array, y: Array, X_cal: Array, y_cal: Array, *, levels: Sequence[float], seed: int
) -> Fitted:
    """Of many rows, `LIKELIHOOD_ROWS` random ones choose the kernel and `ROWS` the mean."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    if len(y) > LIKELIHOOD_ROWS:
        order = np.random.default_rng(seed).permutation(len(y))[:ROWS]
        X, y = X[order], y[order]
    spread = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
    if len(spread) <= MOST_LENGTHSCALES:
        unit, signal = 1.0, RBF(spread, [(l / 100, l * 100) for l in spread])
    else:
        size = np.sqrt(len(spread))
        unit, signal = spread, RBF(size, (size / 100, size * 100))
    X = X / unit
    process = GaussianProcessRegressor(
        ConstantKernel() * signal + WhiteKernel(),
        normalize_y=True,
        n_restarts_optimizer=2,
        random_state=seed,
    )
    with warnings.catch_warnings(action="ignore"):  # parameters at their bounds
        process.fit(X[:LIKELIHOOD_ROWS], y[:LIKELIHOOD_ROWS])
    if len(y) > LIKELIHOOD_ROWS:
        process.set_params(kernel=process.kernel_, optimizer=None).fit(X, y)
    return rescaled(lambda X: process.predict(X / unit, return_std=True), X_cal, y_cal, levels)


METHOD = Method(__name__, f"homoscedastic GP (≤ {ROWS} rows)", fit)
