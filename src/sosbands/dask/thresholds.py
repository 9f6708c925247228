"""What new rows need of a calibration at levels that are known: some numbers, and no scores.

They travel with every prediction. Warnings are the driver's, which knows all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sosbands.conformal import (
    BandRows,
    Calibration,
    Companion,
    GroupCalibration,
    WeightedCalibration,
    checked_levels,
)
from sosbands.conformal.ranks import quantile_shortage
from sosbands.conformal.split import SignedCalibration
from sosbands.types import Array


class Thresholds(Calibration):
    """One q for all rows at each of some levels.

    Attributes
    ----------
    found : dict
        The threshold of each level.
    rows : int
        How many units calibrated.
    counted : str
        What they are called.
    """

    def __init__(self, found: Mapping[float, float], rows: int, counted: str = "rows") -> None:
        self.found, self.rows, self.counted = dict(found), rows, counted

    @property
    def size(self) -> int:
        """How many units calibrated."""
        return self.rows

    def quantiles(self, levels: Sequence[float], *beside: Any) -> Array:
        """The thresholds, shape (len(levels),)."""
        given, _ = checked_levels(levels, name="levels")
        return np.array([self.found[level] for level in given])

    def notes(self, levels: Sequence[float], companion: Companion) -> Iterator[str]:
        """Nothing: `shortage_notes` is asked before any row is read."""
        return iter(())

    def shortage_notes(self, levels: Sequence[float]) -> Iterator[str]:
        """What to warn of when these levels are asked for."""
        return super().notes(levels, Companion())


class SignedThresholds(Thresholds):
    """Quantiles of signed scores at some levels, as of a `SignedCalibration`."""

    asked_for = SignedCalibration.asked_for

    def shortage(self, levels: Sequence[float]) -> int | None:
        """The rows that finite quantiles of all levels need; None if they are there."""
        return quantile_shortage(levels, self.size)

    def quantiles_at(self, rows: BandRows, levels: Sequence[float]) -> Array:
        """Quantiles of Y at new rows, shape (n, len(levels))."""
        return rows.family.quantiles(levels, self.quantiles(levels))


class GroupThresholds(GroupCalibration):
    """One q for each group at each of some levels; +∞ for an unseen group."""

    def __init__(self, by_group: Mapping[Hashable, Thresholds]) -> None:
        self.by_group: dict[Hashable, Any] = dict(by_group)

    def notes(self, levels: Sequence[float], companion: Companion) -> Iterator[str]:
        """Nothing."""
        return iter(())


class WeightedTail(WeightedCalibration):
    """The rows of largest scores; those below, which no new row selects, are one row."""

    def __init__(
        self, scores: ArrayLike, weights: ArrayLike, ratio: Callable[[Any], Any] | None = None
    ) -> None:
        super().__init__(scores, weights, ratio)

    def notes(self, levels: Sequence[float], companion: Companion) -> Iterator[str]:
        """Nothing."""
        return iter(())
