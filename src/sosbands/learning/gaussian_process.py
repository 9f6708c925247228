"""The preliminary Gaussian process of algorithm 1, step 1: θᵐ, a nugget, and s = ‖m‖².

The model is y ~ N(0, σ²(K_θ + η diag v)), with v the shape of the noise (ones, if all rows are
equally noisy). θ and η maximise the evidence, with σ² = yᵀ(K_θ + η diag v)⁻¹y / n put in. A few
hundred rows find them, with dense matrices; more rows correct them, through landmarks if the rows
are many. The mean then uses the features of all rows: O(n p²) time for p features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_solve, cholesky, lapack

from sosbands.core.features import FeatureRows, Features, factorize, landmark_features
from sosbands.core.kernels import Gaussian, Kernel, Smooth
from sosbands.core.threads import one_blas_thread
from sosbands.learning.likelihood_search import LikelihoodSearch, plain
from sosbands.types import Array

Seed: TypeAlias = int | np.random.Generator | None

# With more rows than these, features may leave out this fraction of the noise: 7000 rows of
# california and of case 2, where errors changed by .01 %.
_EXACT_ROWS, _UNEXPLAINED = 2000, 1e-3
# No row is taken to be less noisy than this fraction of the average.
_LEAST_NOISE = 1e-6
# The final fit takes about 5 n p² operations; by default n p² is at most this.
_WORK = 1e10
# Landmarks of the final fit are sought among this many rows: verifying all takes several passes.
_PIVOT_ROWS = 100_000
_BLOCK_ENTRIES = 1 << 20
# Inputs whose squares can be summed, and outputs that can be squared.
_LARGEST_INPUT, _LARGEST_OUTPUT = 1e140, 1e153
_GAUSSIAN = Gaussian()


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """A Gaussian process given its training rows.

    Attributes
    ----------
    kernel : Kernel
        k_θ, of variance one.
    nugget, variance : float
        η, the variance of the noise divided by that of the process, and σ², that of the process.
    evidence : float
        Log marginal likelihood of the rows on which θ and η were selected last; a lower bound of it
        if landmarks stand for them. Infinite if y is zero.
    features, weights : Features, array of shape (r,)
        φ and z with m(x) = ⟨z, φ(x)⟩.
    leave_one_out : array of shape (n,)
        mᵢ(xᵢ), with mᵢ the mean given all rows but i.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.learning.gaussian_process import fit_gaussian_process
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> process = fit_gaussian_process(X, np.sin(6 * X[:, 0]), random_state=0)
    >>> process.leave_one_out.shape, process.nugget < 0.1
    ((30,), True)
    """

    kernel: Kernel
    nugget: float
    variance: float
    evidence: float
    features: Features
    weights: Array
    leave_one_out: Array

    @property
    def squared_norm(self) -> float:
        """‖m‖² = ‖z‖², the paper's s."""
        return float(self.weights @ self.weights)

    def mean(self, X: ArrayLike) -> Array:
        """m(x) for every row, in blocks."""
        return self.features.expansion(self.weights).sums(np.asarray(X, dtype=np.float64))


def fit_gaussian_process(
    X: ArrayLike,
    y: ArrayLike,
    *,
    lengthscale: float | Sequence[float] | None = None,
    isotropic: bool = False,
    family: Smooth = _GAUSSIAN,
    noise_shape: ArrayLike | None = None,
    n_starts: int = 3,
    spread: float | None = None,
    search_rows: int | None = None,
    max_rank: int | None = None,
    feature_tol: float = 1e-8,
    random_state: Seed = None,
) -> GaussianProcess:
    """Select θ, η and σ² by maximum likelihood, then condition on all rows.

    Parameters
    ----------
    X, y : array-like of shapes (n, d) and (n,), of which y is centred
    lengthscale : float or sequence of float, optional
        θ, if it is known. Then only η and σ² are estimated.
    isotropic : bool
        One θ for all inputs, rather than one for each.
    family : Gaussian or Matern
        The kernel, whose lengthscale does not count.
    noise_shape : array-like of shape (n,), optional
        v > 0, proportional to the variance of the noise in every row; divided by its mean.
    n_starts, search_rows : int
        Starts of the search for one common θ, and the most rows that a search looks at.
    spread : float, optional
        How much inputs are thought to differ: the standard deviation a priori of log θ around √d.
    max_rank : int, optional
        Upper bound on the number of features p. By default such that n p² ≤ 10¹⁰.
    feature_tol : float
        Largest error of k(xᵢ, xᵢ) that features may leave; from 2000 rows on a thousandth of η.
    random_state : int, numpy.random.Generator or None
        Chooses the rows of the search if there are more than 150.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.learning.gaussian_process import fit_gaussian_process
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> process = fit_gaussian_process(X, np.sin(6 * X[:, 0]), lengthscale=0.3)
    >>> process.kernel.lengthscale
    0.3
    """
    X, y, v = _checked(X, y, noise_shape)
    rng = np.random.default_rng(random_state)
    unit, known = _unit(X, lengthscale, isotropic), lengthscale is not None
    search = _search(X, y, v, unit, known=known, spread=spread, family=family)
    with one_blas_thread():
        parameters, evidence, used = search.run(n_starts, rng, search_rows)
    kernel, nugget = search.kernel(parameters), float(np.exp(parameters[-1]))
    tol = feature_tol if len(X) <= _EXACT_ROWS else max(feature_tol, _UNEXPLAINED * nugget)
    made, scale = _features(kernel, X, max_rank, tol, rng), _size(y)
    weights, left_out, variance = _condition(made.rows, search.y, v, nugget)
    variance, evidence = variance * scale**2, evidence - used * float(np.log(scale))
    rest = made.features, weights * scale, left_out * scale
    return GaussianProcess(kernel, nugget, variance, evidence, *rest)


def likely_lengthscales(
    X: Array, y: Array, *, noise_shape: Array | None, spread: float, random_state: Seed
) -> Array:
    """θ of every input by maximum likelihood, from one start, for those who need no mean."""
    X, y, v = _checked(X, y, noise_shape)
    unit = _unit(X, None, isotropic=False)
    search = _search(X, y, v, unit, known=False, spread=spread)
    with one_blas_thread():
        parameters, _, _ = search.run(1, np.random.default_rng(random_state), None)
    return np.asarray(search.kernel(parameters).lengthscale)


def _search(
    X: Array,
    y: Array,
    v: Array,
    unit: Array,
    *,
    known: bool,
    spread: float | None,
    family: Smooth = _GAUSSIAN,
) -> LikelihoodSearch:
    Z = (X - X.mean(axis=0)) / unit
    return LikelihoodSearch(Z, y / _size(y), v, unit, known, spread, family)


def _size(y: Array) -> float:
    """The largest |y|: in its units no output is too small or too large."""
    return float(np.abs(y).max()) or 1.0


def _features(
    kernel: Kernel, X: Array, max_rank: int | None, tol: float, rng: np.random.Generator
) -> FeatureRows:
    """Features of all rows, by landmarks among a sample of them if there are very many."""
    cap = max(100, int(np.sqrt(_WORK / len(X)))) if max_rank is None else max_rank
    if len(X) <= _PIVOT_ROWS:
        return factorize(kernel, X, tol=tol, max_rank=cap)
    pool = X[rng.choice(len(X), _PIVOT_ROWS, replace=False)]
    found = factorize(kernel, pool, tol=tol, max_rank=cap)
    return landmark_features(kernel, X, found.features.landmarks, tol=tol)


def _condition(rows: Array, y: Array, v: Array, nugget: float) -> tuple[Array, Array, float]:
    """z = (ΦᵀV⁻¹Φ + ηI)⁻¹ΦᵀV⁻¹y, the leave-one-out means, and σ².

    A row's weight hᵢ in its own mean gives the mean without it: yᵢ − (yᵢ − m(xᵢ))/(1 − hᵢ).
    """
    n, p = rows.shape
    step = max(1, _BLOCK_ENTRIES // p)
    blocks = [slice(start, start + step) for start in range(0, n, step)]
    A, b = nugget * np.eye(p), np.zeros(p)
    for block in blocks:
        scaled = rows[block] / np.sqrt(v[block, None])
        A += scaled.T @ scaled
        b += scaled.T @ (y[block] / np.sqrt(v[block]))
    L = cholesky(A.T, lower=True, overwrite_a=True, check_finite=False)
    z = cho_solve((L, True), b, check_finite=False)
    own = np.empty(n)
    for block in blocks:
        image = lapack.dtrtrs(L, rows[block].T, lower=1)[0]
        own[block] = np.einsum("ij,ij->j", image, image) / v[block]
    residual = y - rows @ z
    variance = (np.sum(residual**2 / v) + nugget * (z @ z)) / (nugget * n)
    return z, y - residual / np.maximum(1 - own, np.finfo(float).eps), float(variance)


def _unit(X: Array, lengthscale: float | Sequence[float] | None, isotropic: bool) -> Array:
    """The lengthscale, if it is known; else the standard deviation of every column, or their rms.

    One where X is constant.
    """
    if lengthscale is not None:
        unit = np.asarray(lengthscale, dtype=np.float64)
        Gaussian(plain(unit)).check_inputs(X)
        return unit
    variance = np.var(X - X.min(axis=0), axis=0)  # exactly zero for a constant column
    spread = np.sqrt(variance.mean() if isotropic else variance)
    return np.asarray(np.where(spread > 0, spread, 1.0))


def _checked(
    X: ArrayLike, y: ArrayLike, noise_shape: ArrayLike | None
) -> tuple[Array, Array, Array]:
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    v = np.ones(y.shape) if noise_shape is None else np.asarray(noise_shape, dtype=np.float64)
    if X.ndim != 2 or 0 in X.shape or y.shape != (len(X),) or v.shape != y.shape:
        raise ValueError(
            f"X, y and noise_shape must have shapes (n, d), (n,) and (n,), got {X.shape}, "
            f"{y.shape} and {v.shape}: give one row, one value and one variance per observation"
        )
    if not (np.all(np.isfinite(X)) and np.all(np.isfinite(y))):
        raise ValueError("X and y must be finite, got NaN or infinity: remove those rows")
    for name, values, largest in (("X", X, _LARGEST_INPUT), ("y", y, _LARGEST_OUTPUT)):
        if (size := np.abs(values).max()) > largest:
            raise ValueError(f"{name} is of size {size:.0e}: rescale it, to 1 for example")
    if not (np.all(v > 0) and np.all(np.isfinite(v))):
        raise ValueError(f"noise_shape must be positive and finite, got {v.min()!r} as its minimum")
    return X, y, np.maximum(v / v.mean(), _LEAST_NOISE)
