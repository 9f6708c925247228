"""A small subspace that holds the optimal A, where there are many features.

The optimal A lives on the positive eigenvectors of M = Φ_WᵀΓΦ_W − N with N = λ₁I + (b/n)ΦᵀΦ. Each
of them is (N + μ)⁻¹Φ_Wᵀv for its own eigenvalue μ > 0. For b = 0 they lie in the span of the rows
Φ_W; for b > 0, (N + μ)⁻¹Φ_Wᵀ at two shifts μ spans them to high accuracy, and the eigenvalues of
the full M, found by a block Davidson iteration, certify what is left. That takes Cholesky factors
of N + μI, which cost far less than the eigenbasis of ΦᵀΦ that would make N diagonal.

W are the rows with a multiplier. In a soft band many of them are at C: there the subspace holds the
positive eigenvectors of the last M that was looked at as a whole, and of the free rows as above.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sosbands.core.spectrum import spectrum
from sosbands.types import Array

_DAVIDSON_ROUNDS = 12


@dataclass
class Cost:
    """N = λ₁I + (b/n)ΦᵀΦ of one side, with Cholesky factors of N + μI kept for a few shifts."""

    trace: float
    gram: Array | None
    size: int
    _factors: dict[float, tuple[Array, bool]] = field(default_factory=dict, repr=False)

    def matrix(self) -> Array:
        """N, dense."""
        N = np.zeros((self.size, self.size)) if self.gram is None else self.gram.copy()
        N[np.diag_indices(self.size)] += self.trace
        return N

    def apply(self, V: Array) -> Array:
        """N V."""
        return self.trace * V if self.gram is None else self.trace * V + self.gram @ V

    def solve(self, V: Array, shift: float) -> Array:
        """(N + μI)⁻¹V."""
        if shift not in self._factors:
            N = self.matrix()
            N[np.diag_indices(self.size)] += shift
            self._factors[shift] = cho_factor(N, lower=True, overwrite_a=True, check_finite=False)
        return np.asarray(cho_solve(self._factors[shift], V, check_finite=False))

    def compress(self, rows: Array, shift: float, extra: Array | None) -> Array:
        """Orthonormal Q of few columns that (nearly) contains the positive eigenvectors of M."""
        if self.gram is None:
            return np.linalg.qr(rows.T)[0]
        parts = [self.solve(rows.T, 0.0), self.solve(rows.T, shift)]
        # A direction of relative size δ that is left out costs eigenvalues of relative size δ².
        return orthonormal(np.hstack(parts if extra is None else [*parts, extra]), drop=1e-9)


def orthonormal(V: Array, drop: float = 1e-13) -> Array:
    """An orthonormal basis of the columns of V, without directions of squared size < drop."""
    norms = np.linalg.norm(V, axis=0)
    V = V[:, norms > 0] / norms[norms > 0]
    eigenvalues, vectors = spectrum(V.T @ V)
    kept = eigenvalues > drop * eigenvalues[-1]
    Q = V @ (vectors[:, kept] / np.sqrt(eigenvalues[kept]))
    return np.linalg.qr(Q)[0]  # a second pass makes up for the squared condition number


def positive_eigenpairs(
    cost: Cost, rows: Array, gamma: Array, guess: Array, *, shift: float, tol: float = 1e-9
) -> tuple[Array, Array]:
    """Upper bounds of the positive eigenvalues of M, and their eigenvectors.

    The search space holds N⁻¹Φ_Wᵀ, where M is positive on as many directions as on the whole
    space (T² − T has as many positive eigenvalues as T = Γ^½ Φ_W N⁻¹ Φ_Wᵀ Γ^½ has above 1): none
    is missed.
    """
    weighted = rows * gamma[:, None]
    Q = orthonormal(np.hstack([cost.solve(rows.T, 0.0), guess]))
    image = rows.T @ (weighted @ Q) - cost.apply(Q)
    for rounds_left in reversed(range(_DAVIDSON_ROUNDS)):
        values, vectors = spectrum(Q.T @ image)
        values, vectors = values[values > 0], vectors[:, values > 0]
        residual = image @ vectors - (Q @ vectors) * values
        errors = np.linalg.norm(residual, axis=0)
        if not rounds_left or not np.any(errors > tol * values.max(initial=0.0)):
            break
        fresh = cost.solve(residual, shift)
        fresh = orthonormal(fresh - Q @ (Q.T @ fresh))
        fresh = np.linalg.qr(fresh - Q @ (Q.T @ fresh))[0]
        Q = np.hstack([Q, fresh])
        image = np.hstack([image, rows.T @ (weighted @ fresh) - cost.apply(fresh)])
    return values + float(np.linalg.norm(errors)), Q @ vectors
