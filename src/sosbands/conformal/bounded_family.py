"""Nested intervals that end where outputs end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from sosbands.conformal.families import IntervalFamily
from sosbands.conformal.nested_family import NestedFamily
from sosbands.types import Array


@dataclass(frozen=True, eq=False)
class BoundedFamily:
    """The intervals of another family, cut off at the limits of outputs.

    An output beyond a limit is in none of them but the last, the whole line: it scores +∞, so that
    limits cost no coverage, whether they are right or not.

    Attributes
    ----------
    inner : IntervalFamily or NestedFamily
    low, high : float
        The limits, −∞ and ∞ where there is none.
    tolerance : float
        Outputs beyond a limit by no more than this are meant to be on it.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.conformal import BoundedFamily, IntervalFamily
    >>> inner = IntervalFamily.around(np.array([1.0, 5.0]), np.array([1.0, 1.0]))
    >>> family = BoundedFamily(inner, 0.0, np.inf)
    >>> family.intervals(np.array([2.0, np.inf]))[0].round(6).tolist()
    [[0.0, -inf], [3.0, inf]]
    >>> family.scores(np.array([3.0, -1.0])).tolist()
    [2.0, inf]
    """

    inner: IntervalFamily | NestedFamily
    low: float
    high: float
    tolerance: float = 0.0

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(self.inner[rows], self.low, self.high, self.tolerance)

    @property
    def centre(self) -> Array:
        """What every interval holds, unless it is empty."""
        return self._clipped(self.inner.centre)

    def scores(self, y: Array) -> Array:
        """The smallest q whose interval holds y.

        Where the centre is beyond a limit, all intervals are cut off at the limit, and hold it.
        """
        centre, inside = self.inner.centre, self._clipped(y)
        held = (inside == self._clipped(centre)) & ((centre < self.low) | (centre > self.high))
        scores = self.inner.scores(np.where(held, centre, inside))
        return np.where(self._beyond(y) != 0, np.inf, scores)

    def signed_scores(self, y: Array) -> Array:
        """The scores with the sign of y − centre, infinite beyond the limits."""
        beyond = self._beyond(y)
        signed = self.inner.signed_scores(self._clipped(y))
        return np.where(beyond == 0, signed, np.copysign(np.inf, beyond))

    def raised(self, y: Array) -> Array:
        """Outputs above all that are meant to be y; none is beyond a limit because of that."""
        return np.where(self._beyond(y) == 0, self._clipped(self.inner.raised(y)), y)

    def intervals(self, q: Array) -> Array:
        """The intervals for q of shape (k,) or (n, k), shape (n, 2, k)."""
        return self._finite_clipped(self.inner.intervals(q))

    def end(self, q: Array, side: int) -> Array:
        """Lower (0) or upper (1) ends for q of shape (n, k); infinite where q is."""
        return self._finite_clipped(self.inner.end(q, side))

    def points(self, q: Array) -> Array:
        """The outputs with these signed scores, of shape (n, k)."""
        return self._finite_clipped(self.inner.points(q))

    def quantiles(self, levels: Sequence[float], q: Array) -> Array:
        """Outputs at signed scores q of shape (k,), shape (n, k)."""
        return self._finite_clipped(self.inner.quantiles(levels, q))

    def away_from_median(self, levels: Sequence[float], points: Array) -> Array:
        """Outputs of shape (n, k) at quantiles, moved as ends are outwards."""
        return self._finite_clipped(self.inner.away_from_median(levels, points))

    def _clipped(self, values: Array) -> Array:
        return np.clip(values, self.low, self.high)

    def _finite_clipped(self, ends: Array) -> Array:
        return np.where(np.isinf(ends), ends, self._clipped(ends))

    def _beyond(self, y: Array) -> Array:
        """−1 below, 1 above and 0 within the limits, but for rounding."""
        above = (y > self.high + self.tolerance).astype(np.float64)
        return above - (y < self.low - self.tolerance)
