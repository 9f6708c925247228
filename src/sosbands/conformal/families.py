"""The nested intervals of every row, and the scores that say which of them hold an output."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from sosbands.types import Array, Mask

# The least width that a shift may be in proportion to, in units of typical ones.
_LEAST_WIDTH = 1e-3
# Numbers that differ by this fraction only are meant to be equal.
ROUNDING = 16 * float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class IntervalFamily:
    """The nested intervals [lower − q·width, upper + q·width] of every row.

    Attributes
    ----------
    lower, upper, width : arrays of shape (n,)
        Finite, with width ≥ 0.
    """

    lower: Array
    upper: Array
    width: Array

    def __post_init__(self) -> None:
        parts = np.stack([self.lower, self.upper, self.width])
        if parts.ndim != 2 or not np.all(np.isfinite(parts)) or np.any(parts[2] < 0):
            raise ValueError(
                f"a band must have finite bounds and widths ≥ 0 in the shape (n,), got shape "
                f"{parts.shape[1:]}, NaN, infinity or a negative width: check the mean and scale"
            )

    @classmethod
    def around(cls, mean: Array, scale: Array) -> Self:
        """mean ± q·scale, the symmetric band: the scale is √f."""
        return cls(mean, mean, scale)

    @classmethod
    def between(
        cls, mean: Array, scales: Array, *, power: float = 0.0, typical: float = 1.0
    ) -> Self:
        """[mean − scales[:, 0] − q·u, mean + scales[:, 1] + q·u], the two-sided band.

        u is (w/typical)^power, with w the mean of the two scales: power 0 shifts all bounds by the
        same, power 1 in proportion to the width. Far smaller w than typical ones count as
        typical/1000, lest single rows get infinite scores.
        """
        w = np.maximum(scales.mean(axis=1) / typical, _LEAST_WIDTH)
        return cls(mean - scales[:, 0], mean + scales[:, 1], w**power)

    def scores(self, y: Array) -> Array:
        """The smallest q whose interval holds y: max(lower − y, y − upper)/width.

        A width of zero scores 0 inside the bounds, up to rounding, and +∞ outside. The score is a
        float that `intervals` takes back to y or beyond: outputs in round numbers share their
        scores, and those at the calibrated one must not drop out by rounding.
        """
        with np.errstate(over="ignore"):
            excess = np.maximum(self.lower - y, y - self.upper)
            q = _ratio(excess, self.width, np.where(excess > self.rounding, np.inf, 0.0))
            while np.any(short := self._misses(y, q)):
                q = np.where(short, np.nextafter(q, np.inf), q)
        return q

    def signed_scores(self, y: Array) -> Array:
        """(y − mean)/width of a symmetric band, with 0/0 = 0, up to rounding, and x/0 = ±∞."""
        if np.any(self.lower != self.upper):
            raise ValueError("signed scores need a symmetric band, got a two-sided one: use scores")
        with np.errstate(over="ignore"):
            residual = y - self.lower
            equal = np.abs(residual) <= self.rounding
            beyond = np.where(equal, 0.0, np.copysign(np.inf, residual))
            return _ratio(residual, self.width, beyond)

    def intervals(self, q: Array) -> Array:
        """The intervals for q of shape (k,) or (n, k), shape (n, 2, k).

        They are (−∞, ∞) for q = +∞ whatever the width, and the midpoint where q is so negative that
        the bounds cross.
        """
        lower, upper, width = (part[:, None] for part in (self.lower, self.upper, self.width))
        q = np.broadcast_to(q, (len(width), np.shape(q)[-1]))
        middle = 0.5 * lower + 0.5 * upper
        with np.errstate(over="ignore", invalid="ignore"):
            step = np.where(np.isinf(q), q, q * width + self.rounding[:, None])
            ends = np.minimum(lower - step, middle), np.maximum(upper + step, middle)
        return np.stack(ends, axis=1)

    def quantiles(self, levels: Sequence[float], q: Array) -> Array:
        """mean + q·width of a symmetric band for q of shape (k,), shape (n, k).

        They are rounded away from the median: outputs in round numbers share their scores, and
        those at a quantile must not drop out. An infinite q on the other side of it says that
        outputs are beyond the mean where there is no width: it gives the mean.
        """
        outward = np.where(np.asarray(levels) < 0.5, -1.0, 1.0)
        mean, width = self.lower[:, None], self.width[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            step = np.where(np.isinf(q), q, q * width)
            step = np.where(step == -np.inf * outward, 0.0, step)
            quantiles: Array = mean + step + outward * ROUNDING * (np.abs(mean) + np.abs(step))
        return quantiles

    @property
    def rounding(self) -> Array:
        """How far off an output may be that is meant to be on a bound: 0 where there is a width."""
        size = np.maximum(np.abs(self.lower), np.abs(self.upper))
        return np.where(self.width > 0, 0.0, ROUNDING * size)

    def _misses(self, y: Array, q: Array) -> Mask:
        """Where rounding leaves y outside its own interval; widths of zero cannot repair it."""
        with np.errstate(invalid="ignore"):
            step = q * self.width
        return (self.width > 0) & ((self.lower - step > y) | (self.upper + step < y))


def _ratio(numerator: Array, width: Array, at_zero: Array) -> Array:
    ratio: Array = np.divide(numerator, width, out=at_zero, where=width > 0)
    return ratio
