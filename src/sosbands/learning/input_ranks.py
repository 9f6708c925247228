"""Shares of rows in the place of numbers: units in which every part of a column has its weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sosbands.types import Array

# Numbers that are known of each column, and the distance below which two of them are one, in
# standard deviations: ties stay ties if rounding moves one of them.
_KNOTS, _SAME = 100, 1e-9


@dataclass(frozen=True, eq=False)
class InputRanks:
    """z ↦ the share of the training rows with smaller numbers, of every column.

    A Gaussian process has one lengthscale for a column; where most rows are within a small part of
    its range, that is too long for them or too short for the others. Ranks have as many rows in
    every part. Between known numbers they are interpolated, beyond them nothing changes any more.

    Attributes
    ----------
    knots : tuple of arrays of shape (2, k)
        For each column some of its numbers, ascending, and the shares of the rows below them.
    """

    knots: tuple[Array, ...]

    @classmethod
    def of(cls, Z: Array) -> InputRanks:
        """From standardised training rows; of equal numbers one half are below."""
        return cls(tuple(map(_known, Z.T)))

    def __call__(self, Z: Array) -> Array:
        """The shares, from 0 to 1."""
        shares = [np.interp(z, *knots) for z, knots in zip(Z.T, self.knots, strict=True)]
        return np.column_stack(shares)


def _known(z: Array) -> Array:
    """Some numbers of a column, and the share of it below each."""
    z = np.sort(z)
    values = z[np.round(np.linspace(0, len(z) - 1, _KNOTS + 1)).astype(np.intp)]
    values = values[np.diff(values, prepend=-np.inf) > 2 * _SAME]
    below = np.searchsorted(z, values - _SAME) + np.searchsorted(z, values + _SAME, side="right")
    return np.stack([values, below / (2 * len(z))])
