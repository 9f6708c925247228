"""Shares of rows in the place of numbers: units in which every part of a column has its weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sosbands.types import Array

# Numbers of a column that the shares are counted among; not measured.
_MOST_VALUES = 500
# What two numbers differ by that are far enough apart to be two, in standard deviations: ties stay
# ties if rounding moves one of them.
_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class InputRanks:
    """z ↦ the share of the training rows with smaller numbers, of every column.

    A Gaussian process has one lengthscale for a column; where most rows are within a small part of
    its range, that is too long for them or too short for the others. Ranks have as many rows in
    every part. Beyond the training rows nothing changes any more.

    Attributes
    ----------
    values : array of shape (d, m)
        Numbers of each column, in order: all, or those at equally spaced ranks.
    """

    values: Array

    @classmethod
    def of(cls, Z: Array) -> InputRanks:
        """From standardised training rows."""
        some = np.linspace(0, len(Z) - 1, min(len(Z), _MOST_VALUES))
        return cls(np.sort(Z.T, axis=1)[:, np.round(some).astype(np.intp)])

    def __call__(self, Z: Array) -> Array:
        """The shares, a number counting for a half where it is equal, and linearly near there."""
        shares = [_share(z, values) for z, values in zip(Z.T, self.values, strict=True)]
        return np.column_stack(shares)


def _share(z: Array, values: Array) -> Array:
    """The mean of F over [z − h/2, z + h/2], F the distribution function of the values."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    z = np.clip(z, values[0] - _STEP, values[-1] + _STEP)

    def area(t: Array) -> Array:
        """m ∫F up to t."""
        k = np.searchsorted(values, t)
        return np.asarray(k * t - sums[k])

    return (area(z + _STEP / 2) - area(z - _STEP / 2)) / (_STEP * len(values))
