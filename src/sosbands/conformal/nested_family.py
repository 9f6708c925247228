"""Nested intervals that go through learned levels, from the centre outwards without bound."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from sosbands.conformal.families import OUTWARD, ROUNDING, from_median
from sosbands.types import Array, Indices

# The least width that a step may be in proportion to, in units of typical ones.
_LEAST_WIDTH = 1e-3


@dataclass(frozen=True, eq=False)
class NestedFamily:
    """The intervals I(t), t ≥ 0, of every row: I(0) is the centre, I(k) the k-th learned level.

    Between two levels both ends move in proportion; beyond the last one by `step` for each unit of
    t, everywhere, so that every output is in some interval, and the smallest such t is its score.

    Attributes
    ----------
    centre : array of shape (n,)
    widths : array of shape (n, levels, 2)
        Distances of the ends from the centre, (low, up), ≥ 0 and not decreasing from level to
        level.
    step : array of shape (n,)
        Positive.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.conformal import NestedFamily
    >>> widths = np.array([[[1.0, 2.0], [3.0, 4.0]]])  # one row, two levels, low and up
    >>> family = NestedFamily(np.array([10.0]), widths, np.array([1.0]))
    >>> family.intervals(np.array([1.0, 2.0, 3.0])).round(6)[0].tolist()
    [[9.0, 7.0, 6.0], [12.0, 14.0, 15.0]]
    >>> family.scores(np.array([13.0])).round(6).tolist()
    [1.5]
    """

    centre: Array
    widths: Array
    step: Array

    def __post_init__(self) -> None:
        n = len(self.centre)
        shapes = self.widths.ndim == 3 and self.widths.shape[::2] == (n, 2) == (len(self.step), 2)
        parts = (self.centre, self.widths, self.step)
        if not shapes or not all(np.all(np.isfinite(part)) for part in parts):
            raise ValueError(
                "nested intervals need finite centres, widths and steps in the shapes (n,), "
                f"(n, levels, 2) and (n,), got {[part.shape for part in parts]}, NaN or infinity"
            )
        if np.any(np.diff(self.widths, axis=1, prepend=0.0) < 0) or np.any(self.step <= 0):
            raise ValueError(
                "nested intervals need widths >= 0 that do not decrease from level to level, and "
                f"steps > 0, got widths from {self.widths.min():g} on and steps from "
                f"{self.step.min():g} on"
            )

    @classmethod
    def of(cls, centre: Array, widths: Array, *, power: float, typical: float) -> Self:
        """With steps of (w/typical)^power, w the mean width of the last level.

        Power 0 moves all ends by the same, power 1 in proportion to the width. Far smaller w than
        typical ones count as typical/1000, lest single rows get infinite scores.
        """
        w = np.maximum(widths[:, -1].mean(axis=1) / typical, _LEAST_WIDTH)
        return cls(centre, widths, typical * w**power)

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(self.centre[rows], self.widths[rows], self.step[rows])

    def scores(self, y: Array) -> Array:
        """The smallest t whose interval holds y."""
        with np.errstate(over="ignore"):
            distance, side = np.abs(y - self.centre), (y > self.centre).astype(np.intp)
            return self._level_of(distance, side)

    def signed_scores(self, y: Array) -> Array:
        """The score with the sign of y − centre."""
        return np.where(y < self.centre, -1.0, 1.0) * self.scores(y)

    def raised(self, y: Array) -> Array:
        """Outputs above all that are meant to be y, quantiles that are moved away among them."""
        with np.errstate(over="ignore"):
            return np.asarray(y + 2 * self.slack(np.abs(y - self.centre)))

    def intervals(self, q: Array) -> Array:
        """The intervals for q ≥ 0 of shape (k,) or (n, k), shape (n, 2, k)."""
        t = np.broadcast_to(q, (len(self.centre), np.shape(q)[-1]))
        return np.stack([self.end(t, 0), self.end(t, 1)], axis=1)

    def end(self, t: Array, side: int) -> Array:
        """Lower (0) or upper (1) ends for t of shape (n, k); infinite where t is."""
        distance = self._distances(t, side)
        with np.errstate(over="ignore"):
            return self.centre[:, None] + (2 * side - 1) * (distance + self.slack(distance))

    def points(self, q: Array) -> Array:
        """The outputs with these signed scores, of shape (n, k)."""
        low, up = (self._distances(np.abs(q), side) for side in (0, 1))
        with np.errstate(over="ignore"):
            return self.centre[:, None] + np.where(q < 0, -low, up)

    def quantiles(self, levels: Sequence[float], q: Array) -> Array:
        """Outputs at signed scores q of shape (k,), shape (n, k), moved away from the median."""
        points = self.points(np.broadcast_to(q, (len(self.centre), len(q))))
        return self.away_from_median(levels, points)

    def away_from_median(self, levels: Sequence[float], points: Array) -> Array:
        """Outputs of shape (n, k) at quantiles, moved as ends are outwards."""
        distance = np.abs(points - self.centre[:, None])
        return points + from_median(levels) * self.slack(distance)

    def slack(self, distance: Array) -> Array:
        """How far off an output may be that is meant to be on an end, so far from the centre.

        Of shape (n,), or (n, k) for distances of that shape.
        """
        size, step = np.abs(self.centre), self.step
        if np.ndim(distance) == 2:
            size, step = size[:, None], step[:, None]
        finite = np.where(np.isinf(distance), 0.0, distance)
        return np.asarray(ROUNDING * size + OUTWARD * (step + finite))

    def _level_of(self, distance: Array, side: Indices) -> Array:
        """t at which the end on one side is at a distance from the centre."""
        knots = self._knots(side)
        k = np.sum(distance[:, None] > knots[:, 1:], axis=1)
        low, last = _taken(knots, k), k == knots.shape[1] - 1
        high = _taken(knots, np.minimum(k + 1, knots.shape[1] - 1))
        length = np.where(last, self.step, high - low)
        # Where the distance is that of a level, or none, the level itself is meant.
        share = np.divide(distance - low, length, out=np.zeros_like(distance), where=length > 0)
        return np.where(distance > 0, k + share, 0.0)

    def _distances(self, t: Array, side: int) -> Array:
        """How far the ends on one side are from the centre, for t of shape (n, k)."""
        columns = [self._distance(column, np.full(len(column), side)) for column in t.T]
        return np.stack(columns, axis=1)

    def _distance(self, t: Array, side: Indices) -> Array:
        """How far the ends on one side are from the centre."""
        knots = self._knots(side)
        last = knots.shape[1] - 1
        k = np.minimum(np.minimum(t, last).astype(np.intp), last)
        low, high = _taken(knots, k), _taken(knots, np.minimum(k + 1, last))
        with np.errstate(over="ignore"):
            inside = np.minimum(low + (np.minimum(t, last) - k) * (high - low), high)
            distance: Array = np.where(t > last, low + (t - last) * self.step, inside)
        return distance

    def _knots(self, side: Indices) -> Array:
        """0 and the widths of every level on one side of each row, shape (n, 1 + levels)."""
        widths: Array = np.take_along_axis(self.widths, side[:, None, None], axis=2)[:, :, 0]
        return np.asarray(np.concatenate([np.zeros((len(widths), 1)), widths], axis=1))


def _taken(values: Array, column: Indices) -> Array:
    """The entry of each row in a column of its own."""
    return np.asarray(np.take_along_axis(values, column[:, None], axis=1)[:, 0])
