"""The preliminary Gaussian process of algorithm 1, step 1: θᵐ, a nugget, and s = ‖m‖².

The model is y ~ N(0, σ²(K_θ + η diag v)), with v the shape of the noise (ones, if all rows are
equally noisy). θ and η maximise the evidence, with σ² = yᵀ(K_θ + η diag v)⁻¹y / n put in. A few
hundred rows find them, with dense matrices; more rows correct them, through landmarks if the rows
are many. The mean then uses the features of all rows: O(n p²) time for p features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve

from sosbands.core.features import FeatureRows, Features, factorize, landmark_features
from sosbands.core.kernels import Gaussian
from sosbands.core.threads import one_blas_thread
from sosbands.learning.evidence import (
    Evidence,
    dense_evidence,
    dense_value,
    inverse_factor,
    low_rank_evidence,
)
from sosbands.types import Array, Indices

Seed: TypeAlias = int | np.random.Generator | None

# Rows that find a maximum, that compare several, and that correct it (densely, or by landmarks).
_COARSE, _SAMPLE, _MIDDLE, _DENSE_ROWS, _LOW_RANK_ROWS = 150, 500, 350, 800, 6000
# Iterations from each of several starts, to a maximum, and of its correction.
_SHORT, _LONG, _CORRECTION = 6, 50, 8
# Landmarks correct if what they leave out is this small a fraction of the noise. So do features of
# more than so many rows: 7000 of california and of case 2, where errors changed by .01 %.
_LANDMARKS, _LANDMARK_TOL, _UNEXPLAINED, _EXACT_ROWS = 256, 1e-6, 1e-3, 2000
# Lengthscales, in standard deviations of a column (the upper one times √d), and nuggets.
_LENGTHSCALES, _NUGGETS = (0.02, 100.0), (1e-5, 1e6)
# Evidence that is no gain, and that a search with no idea of θ finds in white noise (200 rows).
_NO_GAIN, _CHANCE = 0.01, 2.0
# Evidence that a last step promises, of several starts and of the end.
_ROUGH, _PRECISE = 1e-2, 1e-4
# The longest step (factors of e), the least damping and curvature, steps that are remembered, and
# how much of the expected curvature must have been seen on the way.
_LONGEST, _DAMPING, _LEAST_CURVATURE, _MEMORY, _SEEN = 1.5, 1e-2, 1e-3, 4, 0.05
# No row is taken to be less noisy than this fraction of the average.
_LEAST_NOISE = 1e-6
# The final fit takes about 5 n p² operations; by default n p² is at most this.
_WORK = 1e10
# Landmarks of the final fit are sought among this many rows: verifying all takes several passes.
_PIVOT_ROWS = 100_000
_BLOCK_ENTRIES = 1 << 20
# Inputs whose squares can be summed, and outputs that can be squared.
_LARGEST_INPUT, _LARGEST_OUTPUT = 1e140, 1e153


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """A Gaussian process given its training rows.

    Attributes
    ----------
    kernel : Gaussian
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
    """

    kernel: Gaussian
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
    noise_shape: ArrayLike | None = None,
    n_starts: int = 3,
    spread: float | None = None,
    max_rank: int | None = None,
    feature_tol: float = 1e-8,
    random_state: Seed = None,
) -> GaussianProcess:
    """Select θ, η and σ² by maximum likelihood, then condition on all rows.

    Parameters
    ----------
    X, y : array-like of shape (n, d), array-like of shape (n,)
        The rows. The outputs are centred: the mean a priori is zero.
    lengthscale : float or sequence of float, optional
        θ, if it is known. Then only η and σ² are estimated.
    isotropic : bool
        One θ for all inputs, rather than one for each.
    noise_shape : array-like of shape (n,), optional
        v > 0, proportional to the variance of the noise in every row; divided by its mean.
    n_starts : int
        Starts of the search for one common θ.
    spread : float, optional
        How much inputs are thought to differ: the standard deviation a priori of log θ around that
        of √d standard deviations of a column. By default nothing is thought.
    max_rank : int, optional
        Upper bound on the number of features p. By default such that n p² ≤ 10¹⁰.
    feature_tol : float
        Largest error of k(xᵢ, xᵢ) that the features may leave at (a sample of 100 000) rows. More
        than 2000 rows are content with a thousandth of the nugget.
    random_state : int, numpy.random.Generator or None
        Chooses the rows of the search if there are more than 150.
    """
    X, y, v = _checked(X, y, noise_shape)
    scale = float(np.abs(y).max()) or 1.0  # with |y| ≤ 1 no unit of y is too small or too large
    unit, known = _unit(X, lengthscale, isotropic), lengthscale is not None
    search = _Search((X - X.mean(axis=0)) / unit, y / scale, v, unit, known, spread)
    rng = np.random.default_rng(random_state)
    with one_blas_thread():
        parameters, evidence, used = search.run(n_starts, rng)
    kernel, nugget = search.kernel(parameters), float(np.exp(parameters[-1]))
    if len(X) > _EXACT_ROWS:
        feature_tol = max(feature_tol, _UNEXPLAINED * nugget)
    made = _features(kernel, X, max_rank, feature_tol, rng)
    weights, left_out, variance = _condition(made.rows, y / scale, v, nugget)
    variance, evidence = variance * scale**2, evidence - used * float(np.log(scale))
    rest = made.features, weights * scale, left_out * scale
    return GaussianProcess(kernel, nugget, variance, evidence, *rest)


def _features(
    kernel: Gaussian, X: Array, max_rank: int | None, tol: float, rng: np.random.Generator
) -> FeatureRows:
    """Features of all rows, by landmarks among a sample of them if there are very many."""
    cap = max(100, int(np.sqrt(_WORK / len(X)))) if max_rank is None else max_rank
    if len(X) <= _PIVOT_ROWS:
        return factorize(kernel, X, tol=tol, max_rank=cap)
    pool = X[rng.choice(len(X), _PIVOT_ROWS, replace=False)]
    found = factorize(kernel, pool, tol=tol, max_rank=cap)
    return landmark_features(kernel, X, found.features.landmarks, tol=tol)


@dataclass(frozen=True, eq=False)
class _Search:
    """Maximum likelihood in (log θ, log η), with Z in units of its spread or of a known θ."""

    Z: Array
    y: Array
    v: Array
    unit: Array
    known: bool
    spread: float | None

    def kernel(self, parameters: Array) -> Gaussian:
        """The kernel of (log θ, log η), in the units of X."""
        theta = self.unit * np.exp(parameters[:-1])
        return Gaussian(_plain(theta if self.unit.ndim else theta[0]))

    def run(self, n_starts: int, rng: np.random.Generator) -> tuple[Array, float, int]:
        """The best parameters, their evidence, and the number of rows that it is about."""
        if n_starts < 1:
            raise ValueError(f"n_starts must be at least 1, got {n_starts!r}: give a positive one")
        if not self.y.any():
            return self._starts(1)[0], np.inf, len(self.y)
        order = np.arange(len(self.y))
        if len(order) > _COARSE:
            order = rng.permutation(order)
        coarse, used = self._dense(order[:_COARSE]), min(len(order), _COARSE)
        best = self._best_end(coarse, self._starts(n_starts), order)
        if self.unit.size > 1 and not self.known:
            best = self._best_end(coarse, self._separate_starts(best, n_starts, order), order)
        best, gained = self._ascend(coarse, best, _LONG)
        if len(order) > used:
            best, gained, used = self._correct(best, order)
        # White noise also fits a kernel whose lengthscale is tiny, but no mean should follow it.
        noise, plain = np.append(best[:-1], np.log(_NUGGETS[1])), self._noise_value(order[:used])
        least = _CHANCE if self.spread is None and not self.known else _NO_GAIN
        return (best, gained, used) if gained > plain + least else (noise, plain, used)

    def _best_end(self, evidence: Evidence, starts: list[Array], order: Indices) -> Array:
        """Where the best of several short searches ends, by the evidence of more rows."""
        ends = [self._ascend(evidence, start, _SHORT, _ROUGH)[0] for start in starts]
        return max(ends, key=lambda end: self._value(end, order[:_SAMPLE]) - self._penalty(end))

    def _correct(self, best: Array, order: Indices) -> tuple[Array, float, int]:
        """A few iterations with more rows, by landmarks if these can stand for the kernel."""
        best, rows = self._ascend(self._dense(order[:_MIDDLE]), best, _CORRECTION, _ROUGH)[0], order
        for _ in range(2):  # the second time with the landmarks of a better θ
            rows = order[:_LOW_RANK_ROWS]
            landmarks = self._landmarks(best, rows) if len(rows) > _DENSE_ROWS else None
            if landmarks is None:
                break
            at_rows = partial(low_rank_evidence, Z=self.Z[rows], y=self.y[rows], v=self.v[rows])
            evidence = partial(at_rows, landmarks=landmarks)
            best, value = self._ascend(evidence, best, _CORRECTION)
        else:
            return best, value, len(rows)
        rows = order[:_DENSE_ROWS]
        return *self._ascend(self._dense(rows), best, _CORRECTION), len(rows)

    def _landmarks(self, best: Array, rows: Indices) -> Array | None:
        """Rows that can stand for all of them; None if too many would be needed."""
        theta = np.exp(best[:-1]) * np.ones(self.Z.shape[1])
        kernel = Gaussian(_plain(theta))
        made = factorize(kernel, self.Z[rows], tol=_LANDMARK_TOL, max_rank=_LANDMARKS)
        enough = made.trace_residual <= _UNEXPLAINED * np.exp(best[-1])
        return made.features.landmarks if enough else None

    def _value(self, parameters: Array, rows: Indices) -> float:
        return dense_value(parameters, Z=self.Z[rows], y=self.y[rows], v=self.v[rows])

    def _noise_value(self, rows: Indices) -> float:
        """The evidence of noise alone."""
        n, y, v = len(rows), self.y[rows], self.v[rows]
        return -0.5 * float(n * np.log(2 * np.pi * np.mean(y**2 / v)) + n + np.sum(np.log(v)))

    def _dense(self, rows: Indices) -> Evidence:
        return partial(dense_evidence, Z=self.Z[rows], y=self.y[rows], v=self.v[rows])

    def _starts(self, count: int) -> list[Array]:
        """From smooth and noisy to rough and precise: the evidence may peak at either end."""
        widest = 0.0 if self.known else np.log(1.5 * np.sqrt(self.Z.shape[1]))
        narrower = np.log(0.1) * (not self.known) * np.linspace(0, 1, count)
        return list(np.column_stack([widest + narrower, np.log(np.geomspace(1.0, 0.01, count))]))

    def _separate_starts(self, common: Array, count: int, order: Indices) -> list[Array]:
        """The best common θ, and the best of those that are short in one input and long in others.

        A rough dependence on one input of many hides from every common lengthscale.
        """
        d = self.unit.size
        short = [np.where(np.eye(d), theta, 1.5 * np.sqrt(d)) for theta in (0.1, 0.4)]
        single = np.log(np.column_stack([np.vstack(short), np.full(2 * d, 0.2)]))
        ranked = sorted(single, key=lambda start: -self._value(start, order[:_COARSE]))
        return [np.append(np.full(d, common[0]), common[1]), *ranked[:count]]

    def _ascend(
        self, evidence: Evidence, start: Array, iterations: int, least: float = _PRECISE
    ) -> tuple[Array, float]:
        """A quasi-Newton method from the average information on, damped, within bounds.

        It ends where a step promises far less evidence than data can tell. The parameters, and
        their evidence.
        """
        low, high = self._limits(len(start))
        x, damping = np.clip(start, low, high), _DAMPING
        changes: list[tuple[Array, Array]] = []
        value, slope, information = self._penalised(evidence, x)
        for _ in range(iterations):
            free = ~(((x <= low) & (slope < 0)) | ((x >= high) & (slope > 0)))
            matrix = _secant(information, changes)[np.ix_(free, free)]
            matrix.flat[:: len(matrix) + 1] *= 1 + damping
            matrix.flat[:: len(matrix) + 1] += _LEAST_CURVATURE
            step = np.zeros(len(x))
            step[free] = solve(matrix, slope[free], assume_a="pos", check_finite=False)
            if not slope @ step > least:
                break
            moved = np.clip(x + step * min(1.0, _LONGEST / np.abs(step).max()), low, high)
            found = self._penalised(evidence, moved)
            changes.append((moved - x, slope - found[1]))
            if found[0] > value:
                x, (value, slope, information) = moved, found
                damping = max(0.1 * damping, _DAMPING)
            else:
                damping *= 10
        return x, value + self._penalty(x)

    def _penalised(self, evidence: Evidence, parameters: Array) -> tuple[float, Array, Array]:
        """The evidence with the density of θ a priori."""
        value, slope, curvature = evidence(parameters)
        if self.spread is None:
            return value, slope, curvature
        pull = np.append((parameters[:-1] - 0.5 * np.log(self.Z.shape[1])) / self.spread**2, 0.0)
        prior = np.append(np.full(len(pull) - 1, self.spread**-2), 0.0)
        return value - self._penalty(parameters), slope - pull, curvature + np.diag(prior)

    def _penalty(self, parameters: Array) -> float:
        if self.spread is None:
            return 0.0
        away = (parameters[:-1] - 0.5 * np.log(self.Z.shape[1])) / self.spread
        return 0.5 * float(away @ away)

    def _limits(self, count: int) -> tuple[Array, Array]:
        """Least and largest parameters."""
        widest = _LENGTHSCALES[1] * np.sqrt(self.Z.shape[1])
        lengthscales = (1.0, 1.0) if self.known else (_LENGTHSCALES[0], widest)
        # The second bound keeps the condition number of the final fit below 10¹².
        least = max(_NUGGETS[0], 1e-12 * float(np.sum(1 / self.v)))
        ends = zip(lengthscales, (least, _NUGGETS[1]), strict=True)
        low, high = (np.log(np.append(np.full(count - 1, end), last)) for end, last in ends)
        return low, high


def _secant(matrix: Array, changes: Sequence[tuple[Array, Array]]) -> Array:
    """The matrix, changed until it maps every step to the change of slope that was seen (BFGS)."""
    for step, change in changes[-_MEMORY:]:
        image, seen = matrix @ step, float(step @ change)
        if seen > _SEEN * float(step @ image) > 0:
            new, old = np.outer(change, change) / seen, np.outer(image, image) / (step @ image)
            matrix = matrix + new - old
    return matrix


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
    R = inverse_factor(A)
    z = R.T @ (R @ b)
    own = np.empty(n)
    for block in blocks:
        image = rows[block] @ R.T
        own[block] = np.einsum("ij,ij->i", image, image) / v[block]
    residual = y - rows @ z
    variance = (np.sum(residual**2 / v) + nugget * (z @ z)) / (nugget * n)
    return z, y - residual / np.maximum(1 - own, np.finfo(float).eps), float(variance)


def _unit(X: Array, lengthscale: float | Sequence[float] | None, isotropic: bool) -> Array:
    """The lengthscale, if it is known; else the standard deviation of every column, or their rms.

    One where X is constant.
    """
    if lengthscale is not None:
        unit = np.asarray(lengthscale, dtype=np.float64)
        Gaussian(_plain(unit)).check_inputs(X)
        return unit
    variance = np.var(X - X.min(axis=0), axis=0)  # exactly zero for a constant column
    spread = np.sqrt(variance.mean() if isotropic else variance)
    return np.asarray(np.where(spread > 0, spread, 1.0))


def _plain(theta: Array) -> float | tuple[float, ...]:
    return tuple(theta.tolist()) if np.ndim(theta) else float(theta)


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
