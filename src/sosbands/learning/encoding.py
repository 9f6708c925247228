"""What a band sees of X: its numeric columns, or what a transformer makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array

from sosbands.learning.means import Affine
from sosbands.learning.neighbours import NearestRow, distances_among
from sosbands.quoting import listed
from sosbands.types import Array

# Rows that are predicted at once: what is computed for them stays far below 256 MB.
_BLOCK_ROWS = 1 << 15
# Training rows that a new row is compared with.
_NEIGHBOURS = 5_000
# A row is far away if its nearest neighbour is as far as twice what 5 % of the rows exceed.
_QUANTILE, _FACTOR = 0.95, 2.0
# Distances are cut here, far beyond any that means something: they stay finite.
_FARTHEST = 1e8
# In standard deviations: how close rows may be that are one row, measured again ↦ how many such
# places there must be at least. They must be so many times as far from each other.
_REPEATED, _APART = {1e-6: 2, 1e-5: 10, 1e-4: 10, 1e-3: 10, 1e-2: 10}, 10.0
_LEAST_UNIT = 1e-6


def is_frame(X: Any) -> bool:
    """Whether X is a DataFrame, of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def row_blocks(X: Any) -> Iterator[slice]:
    """Slices that cover the rows of X."""
    rows = X.shape[0]
    return (slice(start, min(start + _BLOCK_ROWS, rows)) for start in range(0, rows, _BLOCK_ROWS))


@dataclass(frozen=True, eq=False)
class BandInputs:
    """X ↦ an array of finite numbers of shape (n, d).

    Attributes
    ----------
    columns : list or None
        The numeric columns of a DataFrame: their names, or numbers if they have none.
    positions : list of int or None
        Where they are, for rows that come without their names.
    transformer : transformer or None
        Fitted; takes the place of the columns.
    """

    columns: list[Any] | None
    positions: list[int] | None
    transformer: Any | None

    @classmethod
    def learn(cls, X: Any, y: Array, transformer: Any | None) -> BandInputs:
        """From pre-training rows."""
        if transformer is not None:
            return cls(None, None, clone(transformer).fit(X, y))
        if not is_frame(X):
            return cls(None, None, None)
        columns = _numeric_columns(X)
        if not columns:
            raise ValueError(
                f"X has no numeric columns among {listed(X.columns)}: give a band_transformer that "
                "makes numbers of them"
            )
        # The first of several columns of one name.
        places = {name: at for at, name in reversed(list(enumerate(X.columns)))}
        return cls(columns, [places[name] for name in columns], None)

    def __call__(self, X: Any) -> Array:
        """The numbers, checked."""
        if self.transformer is not None:
            made = self.transformer.transform(X)
            if hasattr(made, "toarray"):
                made = made.toarray()
            return _finite(made, "what band_transformer makes of X", "impute in band_transformer")
        if self.columns is None:
            return np.asarray(X, dtype=np.float64)
        if is_frame(X) and all(isinstance(name, str) and name in X for name in self.columns):
            seen = X[self.columns]
        else:  # numbers are not names
            rows = X.iloc if hasattr(X, "iloc") else X if is_frame(X) else np.asarray(X)
            seen = rows[:, self.positions]
        advice = "impute them, or give a band_transformer that does"
        return _finite(seen, "the numeric columns of X", advice)


@dataclass(frozen=True, eq=False)
class Extrapolation:
    """1 − exp(−d²/2) with d the distance to the nearest training row, in units of usual ones.

    Attributes
    ----------
    inputs : Affine
        Units of the columns of B.
    rows : array of shape (p, d)
        Training rows, standardised, in random order.
    unit : float
    """

    inputs: Affine
    rows: Array
    unit: float

    @classmethod
    def of(cls, B: Array, rng: np.random.Generator) -> Extrapolation:
        """From pre-training rows; at most 5000 of them, in random order."""
        inputs = Affine.of(B)
        rows = inputs(B[rng.permutation(len(B))[:_NEIGHBOURS]])
        unit = _usual(distances_among(rows))
        for jitter, least in _REPEATED.items():
            if unit <= _FACTOR * jitter:  # most rows are repeated: how far apart are the places?
                places = _places(rows, jitter)
                apart = distances_among(places)
                if len(places) >= least and np.median(apart) >= _APART * jitter:
                    unit = _usual(apart)
        return cls(inputs, rows, unit if unit >= _LEAST_UNIT else 1.0)

    @cached_property
    def nearest(self) -> NearestRow:
        """Finds the distance to the nearest training row."""
        return NearestRow(self.rows)

    def __call__(self, B: Array) -> Array:
        """In [0, 1): zero on training rows, near one far from all of them."""
        return np.asarray(-np.expm1(-(self.distance(B) ** 2) / 2))

    def distance(self, B: Array) -> Array:
        """d of every row."""
        return np.minimum(self.nearest.distance(self.inputs(B)) / self.unit, _FARTHEST)


def _usual(distances: Array) -> float:
    """What they seldom come near."""
    return _FACTOR * float(np.quantile(distances, _QUANTILE))


def _places(rows: Array, jitter: float) -> Array:
    """Rows of which no two are as close as that, and one of which is near each row."""
    places = []
    while len(rows):
        places.append(rows[0])
        rows = rows[np.linalg.norm(rows - rows[0], axis=1) > jitter]
    return np.array(places)


def _numeric_columns(X: Any) -> list[Any]:
    if hasattr(X, "select_dtypes"):
        return list(X.select_dtypes(["number", "bool"], exclude="timedelta").columns)
    return [
        name
        for name, kind in zip(X.columns, X.dtypes, strict=True)
        if kind.is_numeric() or str(kind) == "Boolean"
    ]


def _finite(values: Any, what: str, advice: str) -> Array:
    # In rows, as arrays come: another order of summation would round differently.
    numbers: Array = check_array(values, dtype=np.float64, order="C", ensure_all_finite=False)
    bad = int(np.sum(~np.isfinite(numbers)))
    if bad:
        raise ValueError(f"{what} hold {bad} NaN or infinite values: {advice}")
    return numbers
