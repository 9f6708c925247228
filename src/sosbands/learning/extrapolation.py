"""How far rows are from the rows that a band was learned from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sosbands.learning.neighbours import NearestRow, distances_among
from sosbands.learning.standardize import Affine
from sosbands.types import Array

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
    def learn(cls, B: Array, rng: np.random.Generator) -> tuple[Extrapolation, Array]:
        """From pre-training rows; at most 5000 of them, in random order.

        And d of these rows from the nearest other one; NaN for rows that are not among them.
        """
        inputs, chosen = Affine.of(B), rng.permutation(len(B))[:_NEIGHBOURS]
        rows = inputs(B[chosen])
        among = distances_among(rows)
        unit = _usual(among)
        for jitter, least in _REPEATED.items():
            if unit <= _FACTOR * jitter:  # most rows are repeated: how far apart are the places?
                places = _places(rows, jitter)
                apart = distances_among(places)
                if len(places) >= least and np.median(apart) >= _APART * jitter:
                    unit = _usual(apart)
        made = cls(inputs, rows, unit if unit >= _LEAST_UNIT else 1.0)
        distances = np.full(len(B), np.nan)
        distances[chosen] = made._in_units(among)
        return made, distances

    @cached_property
    def nearest(self) -> NearestRow:
        """Finds the distance to the nearest training row."""
        return NearestRow(self.rows)

    @staticmethod
    def share(distance: Array) -> Array:
        """In [0, 1): zero on training rows, near one far from all of them."""
        return np.asarray(-np.expm1(-(distance**2) / 2))

    def distance(self, B: Array) -> Array:
        """d of every row."""
        return self._in_units(self.nearest.distance(self.inputs(B)))

    def _in_units(self, distances: Array) -> Array:
        return np.minimum(distances / self.unit, _FARTHEST)


def wider(spread: Array, distance: Array, caution: float) -> Array:
    """Scales or widths of shape (n, ...), the wider the farther a row is from the data.

    Like d²/2 near the data and √d far away, where nobody knows how wrong a mean can be.
    """
    factor = 1 + caution * 2 * (np.sqrt(np.hypot(1, distance)) - 1)
    return np.asarray((spread.T * factor).T)


def _usual(distances: Array) -> float:
    """Twice the distance that one row in twenty exceeds: farther rows count as far away."""
    return _FACTOR * float(np.quantile(distances, _QUANTILE))


def _places(rows: Array, jitter: float) -> Array:
    """Rows of which no two are as close as that, and one of which is near each row."""
    places = []
    while len(rows):
        places.append(rows[0])
        rows = rows[np.linalg.norm(rows - rows[0], axis=1) > jitter]
    return np.array(places)
