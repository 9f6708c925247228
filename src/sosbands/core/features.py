"""Explicit features of a kernel: K ≈ ΦΦᵀ from a few landmark rows, exact to a tolerance.

A smooth kernel over n rows has a numerical rank p ≪ n. A pivoted Cholesky factorisation finds p
landmark rows P such that Φ = K(X, P) L⁻ᵀ, with LLᵀ = K(P, P), reproduces every diagonal entry of K
to ``tol``. New points cost one product with L⁻ᵀ, and no jitter is ever added.

If fewer features are wanted, they are the principal directions of those of more landmarks: which
rows are landmarks then hardly matters. Rows whose claims to be a pivot are equal but for rounding
are tried in a fixed order, so that rounding never chooses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, lapack

from sosbands.core.expansions import KernelExpansion, kernel_blocks
from sosbands.core.kernels import Kernel
from sosbands.core.spectrum import spectrum
from sosbands.types import Array, Indices

# Rows among which pivots are sought in one go; their Gram matrix is formed.
_CANDIDATES = 250
_MOST_CANDIDATES = 4000
_CANDIDATES_PER_LANDMARK = 2
# How fast they grow in number until there are so many for each landmark. Each time the search for
# pivots begins anew; where the last one leaves off hardly matters, since all rows are checked.
_GROWTH = 4
# The features of one kernel take at most this many numbers (2 GB) unless max_rank says otherwise.
_DEFAULT_ENTRIES = 250_000_000
_DEFAULT_RANK = 3000
# Landmarks from which features are made, if not all of them are kept: of few features and of more.
# With 250 for the 35 of the folds, arbitrary choices moved widths around a kernel mean on bike_uci
# by .3 % on average, with 350 by .15 %, with 500, which take half as long again, by .07 %; on
# airfoil by .01 % or less.
_FEW_FEATURES, _FEW_LANDMARKS, _LANDMARKS = 40, 350, 500
# Rows for each landmark among which directions are compared.
_ROWS_PER_LANDMARK = 4
# One in so many eigenvectors is few: of 500, 40 took 20 ms, 300 took 85 ms, all took 29 ms.
_FEW_EIGENVECTORS = 8
# Claims to be the next pivot that differ by less than this share are equal.
_EQUAL_CLAIMS = 1e-3
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class Features:
    """The map x ↦ φ(x) = Wᵀk(P, x) with ⟨φ(x), φ(x′)⟩ ≈ k(x, x′).

    Attributes
    ----------
    kernel : Kernel
        The kernel that is factorised.
    landmarks : array of shape (p, d)
        The rows P.
    whitening : array of shape (p, r)
        W: L⁻ᵀ with LLᵀ = K(P, P), or some directions of it.
    """

    kernel: Kernel
    landmarks: Array
    whitening: Array

    @classmethod
    def of(cls, kernel: Kernel, landmarks: Array, factor: Array) -> Features:
        """From the lower triangular L (a product with L⁻ᵀ is faster than a triangular solve)."""
        inverse, _ = lapack.dtrtri(factor, lower=1)
        return cls(kernel, landmarks, np.ascontiguousarray(np.tril(inverse).T))

    @property
    def rank(self) -> int:
        """Number of features r."""
        return int(self.whitening.shape[1])

    def rows_and_norms(self, X: Array) -> tuple[Array, Array]:
        """Features φ(x) of shape (n, r) and ‖φ(x)‖², in one pass over blocks of rows."""
        rows, norms = np.empty((len(X), self.rank)), np.empty(len(X))
        for block in kernel_blocks(len(X), len(self.landmarks)):
            image = np.matmul(
                self.kernel(X[block], self.landmarks), self.whitening, out=rows[block]
            )
            np.einsum("ij,ij->i", image, image, out=norms[block])
        return rows, norms

    def expansion(self, coefficients: Array) -> KernelExpansion:
        """x ↦ Rᵀφ(x) for coefficients R of shape (r,) or (r, k), without the features."""
        return KernelExpansion(self.kernel, self.landmarks, self.whitening @ coefficients)


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Features φᵢ of the training rows, ‖φᵢ‖², and the fraction of the trace that is left out."""

    features: Features
    rows: Array
    squared_norms: Array
    trace_residual: float

    @cached_property
    def gram(self) -> Array:
        """ΦᵀΦ, which both sides of a band, their solver and their certificate need."""
        return np.asarray(self.rows.T @ self.rows)

    def take(self, rows: Indices) -> FeatureRows:
        """The features of some of the rows."""
        return FeatureRows(
            self.features, self.rows[rows], self.squared_norms[rows], self.trace_residual
        )

    def times(self, factors: Array) -> FeatureRows:
        """The features of every row times a number."""
        return replace(
            self, rows=factors[:, None] * self.rows, squared_norms=factors**2 * self.squared_norms
        )

    def first(self, count: int) -> FeatureRows:
        """The first features alone: those that say most."""
        features = replace(self.features, whitening=self.features.whitening[:, :count])
        rows = np.ascontiguousarray(self.rows[:, :count])
        return FeatureRows(features, rows, _norms(rows), self.trace_residual)


@dataclass(frozen=True, eq=False)
class Basis:
    """Features of the mean (None if it is given) and of each side of the band."""

    mean: FeatureRows | None
    scales: tuple[FeatureRows, ...]

    @classmethod
    def of(
        cls,
        mean_kernel: Kernel | None,
        scale_kernels: tuple[Kernel, ...],
        features: Callable[[Kernel], FeatureRows],
    ) -> Basis:
        """Features of every kernel, made once where both sides of a band share one."""
        made = {kernel: features(kernel) for kernel in dict.fromkeys(scale_kernels)}
        mean = None if mean_kernel is None else features(mean_kernel)
        return cls(mean, tuple(made[kernel] for kernel in scale_kernels))

    @property
    def trace_residual(self) -> float:
        """Largest fraction of a kernel's trace that its features leave out."""
        return max(part.trace_residual for part in (self.mean, *self.scales) if part is not None)

    def take(self, rows: Indices) -> Basis:
        """The features of some of the rows; sides that share theirs go on sharing them."""
        taken = {id(side): side.take(rows) for side in self.scales}
        mean = None if self.mean is None else self.mean.take(rows)
        return Basis(mean, tuple(taken[id(side)] for side in self.scales))

    def first(self, count: int) -> Basis:
        """With the first features of each side alone."""
        made = {id(side): side.first(count) for side in self.scales}
        return Basis(self.mean, tuple(made[id(side)] for side in self.scales))

    def times(self, mean_factors: Array, factors: Array) -> Basis:
        """With the features of every row times a number, one for the mean and one for the sides."""
        made = {id(side): side.times(factors) for side in self.scales}
        mean = None if self.mean is None else self.mean.times(mean_factors)
        return Basis(mean, tuple(made[id(side)] for side in self.scales))


def few_features(
    kernel: Kernel, X: Array, *, tol: float, rank: int | None, landmarks: Array | None
) -> FeatureRows:
    """Features spanned by given landmarks, or at most `rank`, or as many as `tol` takes."""
    if landmarks is not None:
        return landmark_features(kernel, X, landmarks, tol=tol)
    if rank is not None:
        return principal_features(kernel, X, tol=tol, rank=rank)
    return factorize(kernel, X, tol=tol)


def factorize(
    kernel: Kernel, X: Array, *, tol: float = 1e-10, max_rank: int | None = None
) -> FeatureRows:
    """Pivoted Cholesky features of all rows of X.

    Pivots are sought among a sample of rows; every row is then checked, and rows that the pivots do
    not reproduce to ``tol`` (relative to the largest diagonal entry) join the sample.

    Parameters
    ----------
    kernel : Kernel
    X : array of shape (n, d)
    tol : float
        Largest diagonal residual, relative to max k(x, x).
    max_rank : int, optional
        Upper bound on r. By default 3000, less where n·r numbers would take more than 2 GB.
    """
    return _all_features(kernel, X, *_landmarks(kernel, X, tol, _rank_cap(len(X), max_rank)))


def trial_order(n: int) -> Indices:
    """The order in which rows are tried as landmarks, fixed and random; it decides among equals."""
    return np.random.default_rng(0).permutation(n)


def principal_features(kernel: Kernel, X: Array, *, tol: float = 1e-10, rank: int) -> FeatureRows:
    """At most `rank` features: the directions in which those of more landmarks vary most.

    They vary among a sample of the rows as they do among all, where these are many.
    """
    most = _FEW_LANDMARKS if rank <= _FEW_FEATURES else _LANDMARKS
    cap = _rank_cap(len(X), max(rank, most))
    landmarks, factor, made = _landmarks(kernel, X, tol, cap)
    if len(landmarks) <= rank:
        return _all_features(kernel, X, landmarks, factor, made)
    count = _ROWS_PER_LANDMARK * len(landmarks)
    sample = trial_order(len(X))[:count] if count < len(X) else slice(None)
    if made is None:  # of few rows sooner than by L⁻ᵀ
        columns = lapack.dtrtrs(factor, kernel(X[sample], X[landmarks]).T, lower=1)[0]
    else:
        columns = made[sample].T
    directions = _leading_eigenvectors(columns @ columns.T, rank)
    whitening = lapack.dtrtrs(factor, directions, lower=1, trans=1)[0]  # sooner than by L⁻ᵀ
    return _at_all_rows(Features(kernel, X[landmarks], np.ascontiguousarray(whitening)), X)


def _all_features(
    kernel: Kernel, X: Array, landmarks: Indices, factor: Array, rows: Array | None
) -> FeatureRows:
    """As many features as landmarks; perhaps those of all rows are known already."""
    features = Features.of(kernel, X[landmarks], factor)
    if rows is None:
        return _at_all_rows(features, X)
    return _feature_rows(features, rows, _norms(rows), kernel.diagonal(X))


def _leading_eigenvectors(gram: Array, count: int) -> Array:
    """Those of the largest eigenvalues, the largest first; many of them take longer than all."""
    if count * _FEW_EIGENVECTORS > len(gram):
        return spectrum(gram)[1][:, : -count - 1 : -1]
    most = [len(gram) - count, len(gram) - 1]
    return np.asarray(eigh(gram, subset_by_index=most)[1][:, ::-1])


def _at_all_rows(features: Features, X: Array) -> FeatureRows:
    return _feature_rows(features, *features.rows_and_norms(X), features.kernel.diagonal(X))


def _landmarks(
    kernel: Kernel, X: Array, tol: float, cap: int
) -> tuple[Indices, Array, Array | None]:
    """Landmark rows and their Cholesky factor; the features of all rows, if those were needed."""
    order = trial_order(len(X))
    diagonal = kernel.diagonal(X)
    threshold = _threshold(tol, diagonal)
    pool = min(len(X), _CANDIDATES)
    candidates = order[:pool]
    while True:
        landmarks, factor, reached = _pivots(kernel, X, candidates, threshold, cap)
        # Too many pivots for the pool: most of what is missing is elsewhere, so do not check yet.
        most = min(len(X), _CANDIDATES_PER_LANDMARK * cap, _MOST_CANDIDATES)
        if pool < min(most, _CANDIDATES_PER_LANDMARK * len(landmarks)):
            pool = min(most, _GROWTH * pool)
            candidates = order[:pool]
            continue
        if len(candidates) == len(X):
            rows = np.empty_like(reached)
            rows[candidates] = reached
            return landmarks, factor, rows
        if len(landmarks) >= cap:
            return landmarks, factor, None
        made = _at_all_rows(Features.of(kernel, X[landmarks], factor), X)
        residual = diagonal - made.squared_norms
        residual[candidates] = 0.0  # tried already: what they show is rounding
        missed = order[residual[order] > 10 * threshold]
        if not len(missed):
            return landmarks, factor, made.rows
        count = min(max(pool, len(missed) // 10), _MOST_CANDIDATES - len(landmarks))
        worst = np.argsort(-residual[missed], kind="stable")[:count]
        candidates = np.concatenate([landmarks, missed[worst]])


def _threshold(tol: float, diagonal: Array) -> float:
    return tol * max(float(diagonal.max(initial=0.0)), _TINY)


def _norms(rows: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _feature_rows(features: Features, rows: Array, norms: Array, diagonal: Array) -> FeatureRows:
    """Rows with the fraction of the trace that they leave out."""
    left_out = float(np.maximum(diagonal - norms, 0.0).sum())
    return FeatureRows(features, rows, norms, left_out / max(float(diagonal.sum()), _TINY))


def landmark_features(
    kernel: Kernel, X: Array, landmarks: Array, *, tol: float = 1e-10
) -> FeatureRows:
    """Features spanned by given landmark points (Nyström); repeated landmarks are dropped."""
    threshold, everyone = _threshold(tol, kernel.diagonal(landmarks)), np.arange(len(landmarks))
    chosen, factor, _ = _pivots(kernel, landmarks, everyone, threshold, len(landmarks))
    return _at_all_rows(Features.of(kernel, landmarks[chosen], factor), X)


def full_features(kernel: Kernel, X: Array) -> FeatureRows:
    """The paper's V: a full Cholesky factor of K, with the smallest jitter that makes it exist."""
    gram = kernel(X, X)
    size = max(float(np.trace(gram)) / len(X), _TINY)
    for jitter in (0.0, *(10.0**k for k in range(-14, -5))):
        try:
            factor = cholesky(gram + jitter * size * np.eye(len(X)), lower=True)
        except LinAlgError:
            continue
        return _at_all_rows(Features.of(kernel, X, factor), X)
    raise ValueError("the kernel matrix has no Cholesky factor: is the kernel positive definite?")


def _rank_cap(n: int, max_rank: int | None) -> int:
    if max_rank is None:
        return min(n, _DEFAULT_RANK, max(100, _DEFAULT_ENTRIES // n))
    if max_rank < 1:
        raise ValueError(f"max_rank must be at least 1, got {max_rank!r}")
    return min(n, max_rank)


def _pivots(
    kernel: Kernel, X: Array, candidates: Indices, threshold: float, cap: int
) -> tuple[Indices, Array, Array]:
    """Pivots among the candidates, their Cholesky factor, and the features of all candidates.

    Every pivot is a row that the ones before it reproduce worst; of equals, the first candidate.
    """
    rows = X[candidates]
    gram = kernel(rows, rows)
    np.fill_diagonal(gram, kernel.diagonal(rows))  # not 1 ± rounding, which would choose
    # LAPACK takes the largest of the claims: they are scaled, and the scale is undone.
    claim = np.linspace(1.0, 1.0 - _EQUAL_CLAIMS, len(rows))
    gram *= claim
    gram *= claim[:, None]
    packed, order, rank, _ = lapack.dpstrf(gram.T, tol=threshold, lower=1, overwrite_a=1)
    if rank == 0:  # the kernel vanishes on every candidate: one feature that is zero
        return candidates[:1], np.ones((1, 1), order="F"), np.zeros((len(candidates), 1))
    rank, order = min(int(rank), cap), order - 1
    reached = np.tril(packed[:, :rank])
    reached /= claim[order, None]
    features = np.empty_like(reached)
    features[order] = reached
    return candidates[order[:rank]], np.asfortranarray(reached[:rank]), features
