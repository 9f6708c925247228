"""The scale's part of the dual, −Ω*(M(Γ)): value, gradient, curvature and the recovery of A.

Each side of the band has M(Γ) = M₀ + Φᵀ diag(Γ) Φ and Ω*(M) = ‖[M]₊‖² / (4λ₂) (Prop. 2).

A smoothing μ > 0 replaces A = [M]₊ / (2λ₂) by the solution of A (2λ₂A − M) = μI, that is, it adds
the barrier −μ log det A to the primal problem: path following then sees an analytic function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy.linalg import lapack

from sosbands.core.spectrum import spectrum
from sosbands.types import Array, Indices

# Up to this many features the curvature is one product of all pairs of features; beyond it, a sum
# of a few Hadamard products (the matrix 1/(sₖ + sₗ) has a tiny numerical rank) is cheaper, to an
# accuracy at which Newton's method gains three digits a step.
_PAIRWISE_FEATURES = 96
_CAUCHY_TOLERANCE = 1e-3


@dataclass(frozen=True)
class ScaleTerm:
    """−Ω*(M₀ + Φᵀ diag(Γ) Φ) for one side of the band, on the rows of Φ."""

    rows: Array
    base: Array
    ridge: float

    def at(self, gamma: Array, smoothing: float = 0.0) -> ScaleState:
        """Evaluate at Γ: one symmetric eigendecomposition."""
        M = (self.rows.T * gamma) @ self.rows + self.base
        eigenvalues, vectors = spectrum(M)
        return ScaleState(self, gamma, smoothing, eigenvalues, vectors)


@dataclass(frozen=True)
class ScaleState:
    """M(Γ) = U diag(m) Uᵀ and what follows from it."""

    term: ScaleTerm
    gamma: Array
    smoothing: float
    eigenvalues: Array
    vectors: Array

    def smoothed(self, smoothing: float) -> ScaleState:
        """The same Γ with another μ, at no cost."""
        return replace(self, smoothing=smoothing)

    @cached_property
    def roots(self) -> Array:
        """s = √(m² + 8λ₂μ)."""
        return np.hypot(self.eigenvalues, np.sqrt(8 * self.term.ridge * self.smoothing))

    @cached_property
    def weights(self) -> Array:
        """Eigenvalues of A: (m + s) / (4λ₂), without cancellation where m < 0."""
        m, s = self.eigenvalues, self.roots
        positive = m > 0
        other = 2 * self.smoothing / np.where(positive, 1.0, np.maximum(s - m, 1e-300))
        return np.where(positive, (m + s) / (4 * self.term.ridge), other)

    @cached_property
    def images(self) -> Array:
        """G = ΦU, the rows in the eigenbasis."""
        return self.term.rows @ self.vectors

    @cached_property
    def values(self) -> Array:
        """f = φᵀAφ at the rows."""
        return (self.images**2) @ self.weights

    @property
    def penalty(self) -> float:
        """Ω*(M), not smoothed: the dual value subtracts it."""
        return float(np.sum(np.maximum(self.eigenvalues, 0.0) ** 2)) / (4 * self.term.ridge)

    @property
    def suboptimality(self) -> float:
        """λ₂‖A‖² − ⟨M, A⟩ + Ω*(M) ≥ 0: what smoothing costs, summed without cancellation."""
        m, alpha, ridge = self.eigenvalues, self.weights, self.term.ridge
        above = ridge * (alpha - m / (2 * ridge)) ** 2
        below = alpha * (ridge * alpha - m)
        return float(np.sum(np.where(m > 0, above, below)))

    @property
    def factor(self) -> Array:
        """R with A = RRᵀ."""
        return self.vectors * np.sqrt(self.weights)

    @property
    def pairs(self) -> int:
        """Columns of `curvature_factor`: the number of pairs of features."""
        return len(self.eigenvalues) * (len(self.eigenvalues) + 1) // 2

    def curvature(self, least: float = 0.0) -> Array:
        """−∂²D/∂Γ∂Γ = Σₖₗ Θₖₗ (GᵢₖGᵢₗ)(GⱼₖGⱼₗ) with the divided differences Θ of m ↦ α.

        Θₖₗ = (αₖ + αₗ) / (sₖ + sₗ), from α = (m + s) / (4λ₂) and s² = m² + const. Pairs of
        directions which both have less than a fraction `least` of its bound are left out.
        """
        if len(self.eigenvalues) > _PAIRWISE_FEATURES:
            return self._hadamard_curvature()
        large = 4 * self.term.ridge * self.weights > least * self.roots
        k, ell, times = _pairs(len(large))
        kept = large[k] | large[ell]
        factor = self._pair_columns(k[kept], ell[kept], times[kept])
        return factor @ factor.T

    def curvature_factor(self) -> Array:
        """E with EEᵀ = curvature, one column √Θₖₗ GᵢₖGᵢₗ for each pair of features."""
        return self._pair_columns(*_pairs(len(self.eigenvalues)))

    def _pair_columns(self, k: Indices, ell: Indices, times: Array) -> Array:
        alpha, s = self.weights, self.roots
        theta = times * (alpha[k] + alpha[ell]) / (s[k] + s[ell])
        columns = np.ascontiguousarray(self.images.T)  # whole rows are gathered faster
        factor = columns[k]
        factor *= columns[ell]
        factor *= np.sqrt(theta)[:, None]
        return factor.T

    def _hadamard_curvature(self, tol: float = _CAUCHY_TOLERANCE) -> Array:
        G, alpha = self.images, self.weights
        # Θₖₗ is tiny unless one of k and l has a weight beside its root: few directions do.
        large = 4 * self.term.ridge * alpha > 0.1 * tol * self.roots
        G_large, alpha = G[:, large], alpha[large]
        out = np.zeros((len(G), len(G)))
        for e in cauchy_factor(self.roots, tol).T:
            out += ((G_large * (2 * alpha * e[large])) @ G_large.T) * ((G * e) @ G.T)
        return out


@lru_cache(maxsize=8)
def _pairs(size: int) -> tuple[Indices, Indices, Array]:
    """Pairs k ≤ l, and how often each occurs among all ordered pairs."""
    k, ell = np.triu_indices(size)
    return k, ell, np.where(k == ell, 1.0, 2.0)


def cauchy_factor(s: Array, tol: float) -> Array:
    """E with EEᵀ = [1 / (sₖ + sₗ)] to a relative diagonal error of tol; few columns suffice."""
    # The diagonal scaling √s makes every diagonal entry 1/2, so that tol is relative in each entry.
    root = np.sqrt(s)
    scaled = np.outer(root, root) / np.add.outer(s, s)
    packed, order, rank, _ = lapack.dpstrf(scaled, tol=0.5 * tol, lower=1, overwrite_a=1)
    E = np.empty((len(s), rank))
    E[order - 1] = np.tril(packed)[:, :rank]
    return E / root[:, None]
