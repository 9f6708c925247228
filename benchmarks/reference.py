"""The denominators: what a task cannot do without, in plain NumPy and as fast as NumPy allows.

A Gaussian kernel block is one matrix product and one exponential in place: −‖x − z‖²/2 is the
product of a row (x, −‖x‖²/2, 1) and a column (z, 1, −‖z‖²/2). Features φ(x) = Wᵀk(P, x) of
landmarks P are one more product. Blocks of rows stay in the processor's cache. Nothing is searched,
checked or certified.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy.linalg

Array = npt.NDArray[np.float64]

_BLOCK_ENTRIES = 1 << 16


def features(X: Array, landmarks: Array, lengthscale: float, whitening: Array) -> Array:
    """K(X, P) W: the kernel evaluations and products that features need."""
    out = np.empty((len(X), whitening.shape[1]))
    for rows, gram in _kernel_blocks(X, landmarks, lengthscale):
        np.matmul(gram, whitening, out=out[rows])
    return out


def scale(X: Array, landmarks: Array, lengthscale: float, whitening: Array, R: Array) -> Array:
    """√f at new rows, f(x) = ‖RᵀWᵀk(P, x)‖², with one product per block."""
    weights = whitening @ R
    out = np.empty(len(X))
    for rows, gram in _kernel_blocks(X, landmarks, lengthscale):
        image = gram @ weights
        np.einsum("ij,ij->i", image, image, out=out[rows])
    return np.sqrt(out, out=out)


def eigh(gram: Array) -> tuple[Array, Array]:
    """One eigendecomposition of a Gram matrix."""
    eigenvalues, vectors = scipy.linalg.eigh(gram)
    return eigenvalues, vectors


def _kernel_blocks(X: Array, landmarks: Array, lengthscale: float) -> Iterator[tuple[slice, Array]]:
    """exp(−‖x − z‖²/2) in units of the lengthscale; the next block overwrites the last."""
    x, z = X / lengthscale, landmarks / lengthscale
    x_half, z_half = (-0.5 * np.einsum("ij,ij->i", a, a) for a in (x, z))
    left = np.column_stack([x, x_half, np.ones(len(x))])
    right = np.vstack([z.T, np.ones(len(z)), z_half])
    size = _BLOCK_ENTRIES // len(z)
    block = np.empty((size, len(z)))
    for start in range(0, len(x), size):
        rows = slice(start, min(start + size, len(x)))
        gram = block[: rows.stop - rows.start]
        np.matmul(left[rows], right, out=gram)
        yield rows, np.exp(gram, out=gram)
