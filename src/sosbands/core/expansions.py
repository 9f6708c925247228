"""A solved band as functions of new points: landmarks and weights, nothing of its training rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sosbands.core.kernels import Kernel
from sosbands.types import Array

# Kernel blocks of about this many entries stay in the processor's cache.
_BLOCK_ENTRIES = 1 << 18


def kernel_blocks(n: int, landmarks: int) -> Iterator[slice]:
    """Slices of n rows whose kernel block stays in the processor's cache."""
    size = max(64, _BLOCK_ENTRIES // landmarks)
    return (slice(start, start + size) for start in range(0, n, size))


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """x ↦ Wᵀk(P, x), evaluated in blocks of rows.

    Attributes
    ----------
    kernel : Kernel
    landmarks : array of shape (p, d)
        The rows P.
    weights : array of shape (p,) or (p, k)
        W.
    """

    kernel: Kernel
    landmarks: Array
    weights: Array

    def sums(self, X: Array) -> Array:
        """Wᵀk(P, x) of shape (n,), for one column of weights."""
        out = np.empty(len(X))
        for block in kernel_blocks(len(X), len(self.landmarks)):
            np.matmul(self.kernel(X[block], self.landmarks), self.weights, out=out[block])
        return out

    def squares(self, X: Array) -> Array:
        """‖Wᵀk(P, x)‖² of shape (n,)."""
        one: Array = _squares_and_sums([self], None, X)[0][0]
        return one

    def shares_kernel(self, other: KernelExpansion) -> bool:
        """Whether both are made of the same k(P, x)."""
        same = self.landmarks is other.landmarks or np.array_equal(self.landmarks, other.landmarks)
        return self.kernel == other.kernel and same


def _squares_and_sums(
    expansions: Sequence[KernelExpansion], line: KernelExpansion | None, X: Array
) -> tuple[Array, Array | None]:
    """‖Wᵀk(P, x)‖² of several expansions, (k, n), and wᵀk(P, x) of one; all share k(P, x)."""
    first, squares = expansions[0], np.empty((len(expansions), len(X)))
    sums = None if line is None else np.empty(len(X))
    for block in kernel_blocks(len(X), len(first.landmarks)):
        values = first.kernel(X[block], first.landmarks)
        for expansion, squared in zip(expansions, squares, strict=True):
            image = values @ expansion.weights
            np.einsum("ij,ij->i", image, image, out=squared[block])
        if line is not None and sums is not None:
            np.matmul(values, line.weights, out=sums[block])
    return squares, sums


@dataclass(frozen=True, eq=False)
class BandFunctions:
    """The mean and the bands of a solved problem.

    Attributes
    ----------
    levels : tuple of tuple of KernelExpansion
        For each level, from the inside out, what it adds on each side: f, or f_low and f_up, as
        sums of squares.
    mean : KernelExpansion or None
        What was learned together with the first level: m, or what the centre differs by from m.
    """

    levels: tuple[tuple[KernelExpansion, ...], ...]
    mean: KernelExpansion | None

    @property
    def symmetric(self) -> bool:
        """Whether the scale is √f, rather than f_low and f_up."""
        return len(self.levels[0]) == 1

    def scale(self, X: Array) -> Array:
        """√f of shape (n,); of two-sided bands the outermost widths, shape (n, 2)."""
        spread = self.spread(X)
        return spread if self.symmetric else np.ascontiguousarray(spread[:, -1])

    def spread(self, X: Array) -> Array:
        """√f of shape (n,), or the widths of two-sided bands, shape (n, levels, 2)."""
        return np.sqrt(self.levels[0][0].squares(X)) if self.symmetric else self.widths(X)

    def widths(self, X: Array) -> Array:
        """Distances of the ends of two-sided bands from their centre, shape (n, levels, 2)."""
        return self._widths_and_centre(X, None)[0]

    def centre_and_spread(self, X: Array) -> tuple[Array | None, Array]:
        """What the centre differs by from m, or None, and the spread, in the time of the latter."""
        if self.mean is None or self.symmetric:
            return None, self.spread(X)
        widths, centre = self._widths_and_centre(X, self.mean)
        return centre, widths

    def _widths_and_centre(
        self, X: Array, mean: KernelExpansion | None
    ) -> tuple[Array, Array | None]:
        flat = [expansion for level in self.levels for expansion in level]
        others = flat[1:] if mean is None else [*flat[1:], mean]
        if all(flat[0].shares_kernel(other) for other in others):
            added, centre = _squares_and_sums(flat, mean, X)
        else:
            added = np.stack([expansion.squares(X) for expansion in flat])
            centre = None if mean is None else mean.sums(X)
        return np.cumsum(added.T.reshape(len(X), len(self.levels), 2), axis=1), centre
