"""Eigenvalues and square roots of symmetric matrices."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, lapack

from sosbands.types import Array

# Up to this size QR iteration is faster than divide and conquer.
_SMALL = 50


def spectrum(M: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of a symmetric matrix.

    LAPACK's divide and conquer is the fastest method, but fails on rare matrices whose eigenvalues
    differ by many orders of magnitude; those are left to the one with robust representations.
    """
    if len(M) <= _SMALL:
        eigenvalues, vectors, failed = lapack.dsyev(M.T, lower=1)
        if not failed:
            return eigenvalues, vectors
    try:
        eigenvalues, vectors = np.linalg.eigh(M)
    except np.linalg.LinAlgError:
        eigenvalues, vectors = eigh(M, driver="evr")
    return eigenvalues, vectors


def matrix_root(gram: Array) -> Array:
    """R with RᵀR = gram, for a positive semi-definite matrix."""
    eigenvalues, vectors = spectrum(gram)
    return np.asarray(np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T)
