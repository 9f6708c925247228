"""The scale's part of the dual, −Ω*(M(Γ)): value, gradient, curvature and the recovery of A.

Each side of the band has M(Γ) = M₀ + Φᵀ diag(Γ) Φ and Ω*(M) = ‖[M]₊‖² / (4λ₂) (Prop. 2).

A smoothing μ > 0 replaces A = [M]₊ / (2λ₂) by the solution of A (2λ₂A − M) = μI, that is, it adds
the barrier −μ log det A to the primal problem: path following then sees an analytic function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from sosbands.core.spectrum import spectrum
from sosbands.types import Array, Mask

# Up to this many features the curvature is one product of all pairs of features; beyond it, a sum
# of a few Hadamard products (the matrix 1/(sₖ + sₗ) has a tiny numerical rank) is cheaper, to an
# accuracy at which Newton's method gains three digits a step.
_PAIRWISE_FEATURES = 96
_CAUCHY_TOLERANCE = 1e-3
# Rows of a symmetric matrix that are computed at once, up to the diagonal: with 400 rows and 300
# features 256 took a fifth longer, all at once twice as long.
_BLOCK = 64


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
        return ScaleState(self, gamma, smoothing, eigenvalues, vectors, self.rows @ vectors)

    @cached_property
    def pair_columns(self) -> Array:
        """Memory for one column for each pair of features: new memory takes as long as they do."""
        n, r = self.rows.shape
        return np.empty((r * (r + 1) // 2, n))

    @cached_property
    def triangle(self) -> Mask:
        """Which pairs of features have a column."""
        return np.tri(self.rows.shape[1], dtype=bool)


@dataclass(frozen=True)
class ScaleState:
    """M(Γ) = U diag(m) Uᵀ, the rows G = ΦU in the eigenbasis, and what follows from them."""

    term: ScaleTerm
    gamma: Array
    smoothing: float
    eigenvalues: Array
    vectors: Array
    images: Array

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
        m, ridge = self.eigenvalues, self.term.ridge
        total = np.maximum(np.abs(m) + self.roots, 1e-300)
        return np.where(m > 0, total / (4 * ridge), 2 * self.smoothing / total)

    @cached_property
    def values(self) -> Array:
        """f = φᵀAφ at the rows."""
        return (self.images**2) @ self.weights

    @property
    def penalty(self) -> float:
        """Ω*(M), not smoothed: the dual value subtracts it."""
        positive = np.maximum(self.eigenvalues, 0.0)
        return float(positive @ positive) / (4 * self.term.ridge)

    @property
    def suboptimality(self) -> float:
        """λ₂‖A‖² − ⟨M, A⟩ + Ω*(M) ≥ 0: what smoothing costs, summed without cancellation.

        λ₂(α − m/2λ₂)² where m > 0, else α(λ₂α − m); with α(2λ₂α − m) = μ.
        """
        squares, mu = self.term.ridge * self.weights**2, self.smoothing
        above = mu**2 / np.maximum(4 * squares, 1e-300)
        return float(np.where(self.eigenvalues > 0, above, mu - squares).sum())

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
            # Beside what is left out, more accuracy than a tenth of it saves no step.
            return self._hadamard_curvature(least, max(_CAUCHY_TOLERANCE, 0.1 * least))
        small = 4 * self.term.ridge * self.weights <= least * self.roots
        factor = self.curvature_factor(int(np.count_nonzero(small)))
        return factor @ factor.T

    def curvature_factor(self, first: int = 0) -> Array:
        """E with EEᵀ = curvature, one column √Θₖₗ GᵢₖGᵢₗ for each pair of features.

        Without the pairs of the first directions, which have the least weights. The columns are
        those of the last call.
        """
        alpha, s = self.weights, self.roots
        theta = 2 * np.add.outer(alpha[first:], alpha) / np.add.outer(s[first:], s)
        theta.flat[first :: len(s) + 1] *= 0.5  # of a pair and its reverse one column
        skipped, columns = first * (first + 1) // 2, np.ascontiguousarray(self.images.T)
        out, start = self.term.pair_columns[skipped:], 0
        for k in range(first, len(s)):
            np.multiply(columns[: k + 1], columns[k], out=out[start : start + k + 1])
            start += k + 1
        out *= np.sqrt(theta[self.term.triangle[first:]])[:, None]
        return out.T

    def _hadamard_curvature(self, least: float = 0.0, tol: float = _CAUCHY_TOLERANCE) -> Array:
        G, alpha = self.images, self.weights
        # Θₖₗ is tiny unless one of k and l has a weight beside its root: few directions do.
        large = 4 * self.term.ridge * alpha > max(least, 0.1 * tol) * self.roots
        G_large, alpha = G[:, large], alpha[large]
        factors = [(e, 2 * alpha * e[large]) for e in cauchy_factor(self.roots, tol).T]
        out = np.empty((len(G), len(G)))
        for start in range(0, len(G), _BLOCK):
            rows, upto = slice(start, start + _BLOCK), slice(start + _BLOCK)
            part = out[rows, upto]
            part[:] = 0.0
            for e, weighted in factors:
                part += ((G_large[rows] * weighted) @ G_large[upto].T) * ((G[rows] * e) @ G[upto].T)
            out[upto, rows] = part.T
        return out


def cauchy_factor(s: Array, tol: float) -> Array:
    """E with EEᵀ = [1 / (sₖ + sₗ)] to a relative diagonal error of tol; few columns suffice."""
    # The diagonal scaling √s makes every diagonal entry 1/2, so that tol is relative in each entry.
    root = np.sqrt(s)
    scaled = np.outer(root, root) / np.add.outer(s, s)
    packed, order, rank, _ = lapack.dpstrf(scaled, tol=0.5 * tol, lower=1, overwrite_a=1)
    E = np.empty((len(s), rank))
    E[order - 1] = np.tril(packed)[:, :rank]
    return E / root[:, None]
