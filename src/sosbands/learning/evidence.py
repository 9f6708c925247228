"""The evidence of a Gaussian process, y ~ N(0, σ²(K_θ + η diag v)), and its gradient.

Both forms are functions of (log θ, log η) with the best σ² put in: a dense one, and a lower bound
through landmark rows for data sets that are too large for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cholesky, lapack

from sosbands.core.kernels import Gaussian
from sosbands.types import Array

# (log θ, log η) ↦ the log evidence and its gradient.
Evidence: TypeAlias = Callable[[Array], tuple[float, Array]]

# Landmarks stay where they are while θ moves, and may become nearly dependent.
_JITTER = 1e-8


def dense_evidence(parameters: Array, Z: Array, y: Array, v: Array) -> tuple[float, Array]:
    """Evidence of N(0, σ²C), C = K + η diag v, and its gradient, in O(n³ + n² d).

    With α = C⁻¹y, a derivative C′ changes it by tr((ααᵀ/σ² − C⁻¹)C′)/2.
    """
    n, nugget = len(y), np.exp(parameters[-1])
    U = Z / np.exp(parameters[:-1])
    K = Gaussian()(U, U)
    C = K.T.copy(order="F")
    C[np.diag_indices(n)] += nugget * v
    L, failed = lapack.dpotrf(C, lower=1, overwrite_a=1)
    if failed:
        raise LinAlgError("the covariance matrix is not positive definite")
    alpha = lapack.dpotrs(L, y, lower=1)[0]
    variance = y @ alpha / n
    value = -0.5 * (n * np.log(2 * np.pi * variance) + n) - np.sum(np.log(np.diag(L)))
    inverse = lapack.dpotri(L, lower=1, overwrite_c=1)[0]  # its lower triangle; zeros above
    by_nugget = 0.5 * nugget * (v @ (alpha**2 / variance - np.diag(inverse)))
    # Both parts of the slope are symmetric: one is taken apart, of the other half is enough.
    outer = alpha[:, None] * np.column_stack([np.ones(n), U])
    image = K @ outer
    by_theta = (outer[:, 0] * image[:, 0]) @ U**2 - np.einsum("ij,ij->j", outer, image)[1:]
    inverse *= K.T
    by_theta = by_theta / variance - _distance_form(inverse.T, U, U)
    return float(value), _gradient(by_theta, by_nugget, parameters)


def low_rank_evidence(
    parameters: Array, Z: Array, y: Array, v: Array, landmarks: Array
) -> tuple[float, Array]:
    """A lower bound of the evidence from p landmark rows P, and its gradient: O(n p² + n p d).

    It is the evidence of N(0, σ²(Q + η diag v)), Q = K(Z, P) K(P, P)⁻¹ K(P, Z), less what P leaves
    unexplained, Σᵢ(K − Q)ᵢᵢ/(2ηvᵢ) (Titsias, 2009). Without that last term a search may prefer
    lengthscales for which the landmarks are too far apart.
    """
    n, p, nugget, root = len(y), len(landmarks), np.exp(parameters[-1]), np.sqrt(v)
    U, P = Z / np.exp(parameters[:-1]), landmarks / np.exp(parameters[:-1])
    K_nP, K_PP = Gaussian()(U, P) / root[:, None], Gaussian()(P, P)
    L_inverse = inverse_factor(K_PP + _JITTER * np.eye(p))
    phi, y = K_nP @ L_inverse.T, y / root
    B = phi.T @ phi
    R = inverse_factor(B + nugget * np.eye(p))  # RᵀR = A⁻¹, A = B + ηI
    z = R.T @ (R @ (phi.T @ y))
    alpha = (y - phi @ z) / nugget
    variance = (nugget * (alpha @ alpha) + z @ z) / n
    log_det = (n - p) * np.log(nugget) - 2 * np.sum(np.log(np.diag(R))) + np.sum(np.log(v))
    unexplained = (np.sum(1 / v) - np.trace(B)) / nugget
    value = -0.5 * (n * np.log(2 * np.pi * variance) + n + log_det + unexplained)
    # A derivative Q′ changes it by tr((ααᵀ/σ² + φA⁻¹φᵀ/η)Q′)/2, and φᵀα = z.
    inner = R.T @ (R @ B) / nugget
    by_rows = (np.outer(alpha / variance, z @ L_inverse) + phi @ (inner @ L_inverse)) * K_nP
    by_landmarks = L_inverse.T @ (np.outer(z / variance, z) + B @ inner) @ L_inverse * K_PP
    by_theta = _distance_form(by_rows, U, P) - 0.5 * _distance_form(by_landmarks, P, P)
    trace = nugget * np.sum(R**2) + (n - p) - unexplained
    by_nugget = 0.5 * (nugget * (alpha @ alpha) / variance - trace)
    return float(value), _gradient(by_theta, by_nugget, parameters)


def inverse_factor(A: Array) -> Array:
    """R = L⁻¹ for A = LLᵀ, so that A⁻¹ = RᵀR (products are faster than triangular solves)."""
    inverse, _ = lapack.dtrtri(cholesky(A.T, lower=True, check_finite=False), lower=1)
    return np.asarray(inverse)


def _distance_form(W: Array, U: Array, P: Array) -> Array:
    """Σᵢⱼ Wᵢⱼ (uᵢ − pⱼ)² for every column, without the differences."""
    squares = W.sum(axis=1) @ U**2 + W.sum(axis=0) @ P**2
    return np.asarray(squares - 2 * np.einsum("ij,ij->j", U, W @ P))


def _gradient(by_theta: Array, by_nugget: float, parameters: Array) -> Array:
    """One derivative per input, or their sum if the inputs share θ."""
    shared = len(parameters) == 2
    return np.append(by_theta.sum() if shared else by_theta, by_nugget)
