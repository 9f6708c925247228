"""The evidence of a Gaussian process, y ~ N(0, σ²(K_θ + η diag v)), its gradient and information.

Both forms are functions of (log θ, log η) with the best σ² put in: a dense one, and a lower bound
through landmark rows for data sets that are too large for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cholesky, lapack

from sosbands.core.kernels import Gaussian, Smooth, exponents
from sosbands.types import Array

# (log θ, log η) ↦ the log evidence, its gradient, and the average information: the mean of what
# the data say of its curvature and what one expects, from products with vectors alone (Gilmour,
# Thompson and Cullis, 1995).
Evidence: TypeAlias = Callable[[Array], tuple[float, Array, Array]]

# Landmarks stay where they are while θ moves, and may become nearly dependent.
_JITTER = 1e-8
_GAUSSIAN = Gaussian()


class DenseEvidence:
    """Evidence of N(0, σ²C), C = K + η diag v, for given rows and a kernel of lengthscale one."""

    def __init__(self, Z: Array, y: Array, v: Array, kernel: Smooth = _GAUSSIAN) -> None:
        self.Z, self.y, self.v, self.kernel = Z, y, v, kernel
        self._known: dict[bytes, tuple[float, Array, Array]] = {}
        # Kept, since memory that is new each time takes as long as the factorisation.
        self._C = np.empty((len(y), len(y)), order="F")

    def value(self, parameters: Array) -> float:
        """The evidence alone, in O(n³/3)."""
        if (known := self._known.get(parameters.tobytes())) is not None:
            return known[0]
        return self._factorised(parameters)[0]

    def __call__(self, parameters: Array) -> tuple[float, Array, Array]:
        """The evidence, its gradient and information, in O(n³ + n² d); a search comes back."""
        key = parameters.tobytes()
        if key not in self._known:
            self._known[key] = self._evaluated(parameters)
        return self._known[key]

    def _evaluated(self, parameters: Array) -> tuple[float, Array, Array]:
        """With α = C⁻¹y, a derivative C′ changes it by tr((ααᵀ/σ² − C⁻¹)C′)/2."""
        y, v, nugget = self.y, self.v, np.exp(parameters[-1])
        value, U, slope, L, alpha = self._factorised(parameters)
        variance = float(y @ alpha) / len(y)
        moved = _by_parameter(_moved(slope, U, U, alpha), nugget * v * alpha, parameters)
        half = lapack.dtrtrs(L, moved, lower=1)[0]
        information = _information(half.T @ half, alpha @ moved, len(y), variance)
        inverse = lapack.dpotri(L, lower=1, overwrite_c=1)[0]  # its lower triangle; zeros above
        expected = 0.5 * nugget * (v @ np.diag(inverse))
        inverse *= slope.T  # C⁻¹ and the distances are symmetric: of both, half is enough
        slopes = _distance_form(inverse.T, U, U)
        gradient = 0.5 * (alpha @ moved) / variance - _by_parameter(slopes, expected, parameters)
        return value, gradient, information

    def _factorised(self, parameters: Array) -> tuple[float, Array, Array, Array, Array]:
        """The evidence, Z in units of θ, dK/de, the Cholesky factor of C, and α."""
        y, n, U = self.y, len(self.y), self.Z / np.exp(parameters[:-1])
        K, slope = self.kernel.profile(_own_exponents(U))
        self._C[:] = K.T
        self._C.flat[:: n + 1] += np.exp(parameters[-1]) * self.v
        L, failed = lapack.dpotrf(self._C, lower=1, overwrite_a=1)
        if failed:
            raise LinAlgError("the covariance matrix is not positive definite")
        alpha = lapack.dpotrs(L, y, lower=1)[0]
        value = -0.5 * (n * np.log(2 * np.pi * (y @ alpha) / n) + n) - np.sum(np.log(np.diag(L)))
        return float(value), U, slope, L, alpha


def low_rank_evidence(
    parameters: Array, Z: Array, y: Array, v: Array, landmarks: Array, *, kernel: Smooth = _GAUSSIAN
) -> tuple[float, Array, Array]:
    """A lower bound of the evidence from p landmark rows P, and its gradient: O(n p² + n p d).

    It is the evidence of N(0, σ²(Q + η diag v)), Q = K(Z, P) K(P, P)⁻¹ K(P, Z), less what P leaves
    unexplained, Σᵢ(K − Q)ᵢᵢ/(2ηvᵢ) (Titsias, 2009). Without that last term a search may prefer
    lengthscales for which the landmarks are too far apart.
    """
    n, p, nugget, root = len(y), len(landmarks), np.exp(parameters[-1]), np.sqrt(v)
    U, P = Z / np.exp(parameters[:-1]), landmarks / np.exp(parameters[:-1])
    # K, and dK/de, in the rows and among the landmarks.
    (K_nP, S_nP), (K_PP, S_PP) = (kernel.profile(exponents(rows, P)) for rows in (U, P))
    K_nP, S_nP = K_nP / root[:, None], S_nP / root[:, None]
    L_inverse = inverse_factor(K_PP + _JITTER * np.eye(p))
    phi, y = K_nP @ L_inverse.T, y / root
    B = phi.T @ phi
    R = inverse_factor(B + nugget * np.eye(p))  # RᵀR = A⁻¹, A = B + ηI
    z = R.T @ (R @ (phi.T @ y))
    alpha, w = (y - phi @ z) / nugget, z @ L_inverse  # φᵀα = z
    variance = (nugget * (alpha @ alpha) + z @ z) / n
    log_det = (n - p) * np.log(nugget) - 2 * np.sum(np.log(np.diag(R))) + np.sum(np.log(v))
    unexplained = (np.sum(1 / v) - np.trace(B)) / nugget
    value = -0.5 * (n * np.log(2 * np.pi * variance) + n + log_det + unexplained)
    # A derivative Q′ changes it by tr((ααᵀ/σ² + φA⁻¹φᵀ/η)Q′)/2.
    inner = R.T @ (R @ B) / nugget
    by_rows = (np.outer(alpha / variance, w) + phi @ (inner @ L_inverse)) * S_nP
    by_landmarks = L_inverse.T @ (np.outer(z / variance, z) + B @ inner) @ L_inverse * S_PP
    by_theta = _distance_form(by_rows, U, P) - 0.5 * _distance_form(by_landmarks, P, P)
    trace = nugget * np.sum(R**2) + (n - p) - unexplained
    by_nugget = 0.5 * (nugget * (alpha @ alpha) / variance - trace)
    gradient = _by_parameter(by_theta, by_nugget, parameters)
    # Q′α = K′w + K K_PP⁻¹(K′ᵀα − K_PP′w)
    through = L_inverse @ (_moved(S_nP.T, P, U, alpha) - _moved(S_PP, P, P, w))
    moved = _by_parameter(_moved(S_nP, U, P, w) + phi @ through, nugget * alpha, parameters)
    image = R @ (phi.T @ moved)
    product = (moved.T @ moved - image.T @ image) / nugget
    return float(value), gradient, _information(product, alpha @ moved, n, variance)


def _own_exponents(U: Array) -> Array:
    """−‖uᵢ − uⱼ‖²/2 of centred rows: one product."""
    exponent = U @ U.T
    halves = 0.5 * exponent.diagonal()
    exponent -= halves
    exponent -= halves[:, None]
    return np.asarray(exponent)


def inverse_factor(A: Array) -> Array:
    """R = L⁻¹ for A = LLᵀ, so that A⁻¹ = RᵀR (products are faster than triangular solves)."""
    inverse, _ = lapack.dtrtri(cholesky(A.T, lower=True, check_finite=False), lower=1)
    return np.asarray(inverse)


def _distance_form(W: Array, U: Array, P: Array) -> Array:
    """Σᵢⱼ Wᵢⱼ (uᵢ − pⱼ)² for every column, without the differences."""
    squares = W.sum(axis=1) @ U**2 + W.sum(axis=0) @ P**2
    return np.asarray(squares - 2 * np.einsum("ij,ij->j", U, W @ P))


def _moved(slope: Array, U: Array, P: Array, weights: Array) -> Array:
    """Σⱼ Sᵢⱼ (uᵢ − pⱼ)² wⱼ for every row and column, without the differences."""
    d = P.shape[1]
    image = slope @ (weights[:, None] * np.column_stack([np.ones(len(P)), P, P**2]))
    return np.asarray(U**2 * image[:, :1] - 2 * U * image[:, 1 : d + 1] + image[:, d + 1 :])


def _information(product: Array, paid: Array, n: int, variance: float) -> Array:
    """(C′ᵢα)ᵀC⁻¹(C′ⱼα)/(2σ²), given as a product, less what the best σ² makes up for."""
    return np.asarray((product - np.outer(paid, paid) / (n * variance)) / (2 * variance))


def _by_parameter(by_theta: Array, by_nugget: Array | float, parameters: Array) -> Array:
    """One column for each input, or their sum if the inputs share θ, and one for the nugget."""
    if len(parameters) == 2:
        by_theta = by_theta.sum(axis=-1, keepdims=True)
    return np.concatenate([by_theta, np.asarray(by_nugget)[..., None]], axis=-1)
