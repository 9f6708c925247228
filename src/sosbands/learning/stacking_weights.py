"""How much each of several regressors counts in the average that predicts best."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky
from scipy.optimize import nnls

from sosbands.types import Array

# Errors beyond three times the usual one of the best regressor count by their size, not by their
# square: on the development sets 1, 3 and squares gave the same scores within .5 %.
_LARGE_ERROR = 3.0
# Regressors that predict the same share their weight: what they differ by must be more than this.
_SAME = 1e-10
_ITERATIONS, _STILL = 500, 1e-12


def stacking_weights(P: Array, y: Array, counts: Array | None = None) -> Array:
    """Weights w ≥ 0 with sum one and the least Σᵢ √(rᵢ² + δ²), r = Pw − y.

    The loss is that of squares for errors below δ and that of absolute values beyond. As Σw = 1,
    r = (P − y1ᵀ)w, and each step is a least-squares problem in k numbers: without its constraint on
    the sum it is solved by non-negative least squares, up to a factor.

    Parameters
    ----------
    P : array of shape (n, k)
        Predictions of k regressors.
    y : array of shape (n,)
    counts : array of shape (n,), optional
        How much each row counts.
    """
    counts = np.ones(len(y)) if counts is None else counts
    kept = counts > 0
    errors, counts = (P - y[:, None])[kept], counts[kept]
    # A median that is the same whether a row counts twice or is there twice.
    sizes = np.abs(errors)
    usual = np.quantile(sizes, 0.5, axis=0, weights=counts, method="inverted_cdf").min()
    size = float(sizes.max()) or 1.0
    delta = max(_LARGE_ERROR * usual / size, _SAME)
    errors, k = errors / size, P.shape[1]
    w: Array = np.full(k, 1 / k)
    for _ in range(_ITERATIONS):
        slopes = counts / np.sqrt((errors @ w) ** 2 + delta**2)
        G = errors.T @ (errors * slopes[:, None])
        G /= np.trace(G) or 1.0
        root = cholesky(G + _SAME * np.eye(k))
        new, _ = nnls(np.vstack([root, np.ones(k)]), np.append(np.zeros(k), 1.0))
        new /= new.sum()
        moved, w = np.abs(new - w).max(), new
        if moved < _STILL:
            break
    return w
