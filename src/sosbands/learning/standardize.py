"""Units in which columns and outputs have mean zero and variance one: made once, then handed on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sosbands.types import Array, Indices

# Columns that vary by a smaller share of their size are constant but for rounding: 0.1 + 0.2, 0.3.
_ROUNDING = 10 * float(np.finfo(np.float64).eps)
# Values that even units know of each column, and the distance below which two of them are one.
_KNOTS, _SAME = 100, 1e-9


@dataclass(frozen=True, eq=False)
class Affine:
    """Columns to mean zero and variance one, constant columns to zero.

    The two values of a column that has no others become one unit apart: a rare one would be far
    away in units of the standard deviation.
    """

    centre: Array
    scale: Array

    @classmethod
    def of(cls, values: Array, *, active: bool = True) -> Affine:
        """Centre and scale of the rows; nothing happens if not `active`."""
        if not active:
            return cls(np.zeros(values.shape[1:]), np.ones(values.shape[1:]))
        size = np.abs(values).max(axis=0)
        size = np.where(size > 0, size, 1.0)  # with |values| ≤ 1 no square over- or underflows
        shares = values / size
        spread = np.std(shares, axis=0)
        if values.ndim == 2:
            low, high = shares.min(axis=0), shares.max(axis=0)
            two = np.all((shares - low <= _ROUNDING) | (high - shares <= _ROUNDING), axis=0)
            spread = np.where(two, high - low, spread)
        scale = np.where(spread > _ROUNDING, spread, 1.0) * size
        return cls(np.mean(shares, axis=0) * size, np.where(scale > 0, scale, 1.0))

    def __call__(self, values: Array) -> Array:
        """Standardised values."""
        standardised: Array = (values - self.centre) / self.scale
        return standardised

    def undo(self, values: Array) -> Array:
        """Values in their own units."""
        original: Array = values * self.scale + self.centre
        return original


@dataclass(frozen=True, eq=False)
class VaryingInputs:
    """The columns of B that vary, in units of their own: a constant column changes nothing.

    Attributes
    ----------
    columns : array of shape (d,)
        Their numbers; all columns if nothing is standardised, or if none varies.
    units : Affine
    """

    columns: Indices
    units: Affine

    @classmethod
    def of(cls, B: Array, *, active: bool = True) -> VaryingInputs:
        """From training rows; if not `active`, columns and units stay as they are."""
        units = Affine.of(B, active=active)
        columns = np.arange(B.shape[1])
        if active:
            varying = np.flatnonzero(np.ptp(units(B), axis=0) > _ROUNDING)
            columns = varying if len(varying) else columns
        return cls(columns, Affine(units.centre[columns], units.scale[columns]))

    def __call__(self, B: Array) -> Array:
        """Standardised values."""
        return self.units(B[:, self.columns])

    def entries(self, name: str, values: Any, n_columns: int) -> Any:
        """Of a parameter with one entry per column of B, those of the columns that count."""
        if np.ndim(values) == 0:
            return values
        if len(np.asarray(values)) != n_columns:
            raise ValueError(
                f"{name} has {len(np.asarray(values))} entries for {n_columns} inputs: give one "
                "number, or one per input"
            )
        return np.asarray(values, dtype=np.float64)[self.columns]


@dataclass(frozen=True, eq=False)
class EvenUnits:
    """Columns of standardised inputs, each halfway between its value and its rank.

    Most rows of a skewed column are near each other, where one lengthscale for the whole of it sees
    no difference; their ranks are evenly apart. Values still count, between and beyond those known.

    Attributes
    ----------
    knots : tuple of arrays of shape (2, k)
        For each column some of its values, ascending, and the shares of the rows below them.
    """

    knots: tuple[Array, ...]

    @classmethod
    def of(cls, Z: Array) -> EvenUnits:
        """From training rows; of equal values one half are below."""
        return cls(tuple(map(_ranks, Z.T)))

    def __call__(self, Z: Array) -> Array:
        """The same columns; evenly spread ranks have variance one."""
        shares = [np.interp(z, *knots) for z, knots in zip(Z.T, self.knots, strict=True)]
        return np.asarray(0.5 * (Z + np.sqrt(12) * np.column_stack(shares)))


def _ranks(z: Array) -> Array:
    """Some values of a column, and the share of it below each."""
    z = np.sort(z)
    values = z[np.round(np.linspace(0, len(z) - 1, _KNOTS + 1)).astype(np.intp)]
    values = values[np.diff(values, prepend=-np.inf) > 2 * _SAME]
    below = np.searchsorted(z, values - _SAME) + np.searchsorted(z, values + _SAME, side="right")
    return np.stack([values, below / (2 * len(z))])
