"""The nested intervals of every row, and the scores that say which of them hold an output."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from sosbands.types import Array

# Numbers that differ by this fraction only are meant to be equal.
ROUNDING = 16 * float(np.finfo(float).eps)
# Ends are moved outwards by this fraction of the width. A row that is predicted alone, in a table
# or on another processor gets numbers that differ by far less, and outputs in round numbers that
# are meant to be on an end must not drop out by that.
OUTWARD = 1e-9


@dataclass(frozen=True, eq=False)
class IntervalFamily:
    """The nested intervals [lower − q·width, upper + q·width] of every row.

    Attributes
    ----------
    lower, upper, width : arrays of shape (n,)
        Finite, with width ≥ 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.conformal import IntervalFamily
    >>> family = IntervalFamily.around(np.array([10.0, 20.0]), np.array([1.0, 3.0]))
    >>> family.scores(np.array([12.0, 17.0])).tolist()
    [2.0, 1.0]
    >>> family.intervals(np.array([2.0]))[:, :, 0].round(6).tolist()
    [[8.0, 12.0], [14.0, 26.0]]
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

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(self.lower[rows], self.upper[rows], self.width[rows])

    @property
    def centre(self) -> Array:
        """What every interval holds, unless it is empty."""
        return 0.5 * self.lower + 0.5 * self.upper

    def scores(self, y: Array) -> Array:
        """The smallest q whose interval holds y: max(lower − y, y − upper)/width.

        A width of zero scores 0 inside the bounds, up to rounding, and +∞ outside.
        """
        with np.errstate(over="ignore"):
            excess = np.maximum(self.lower - y, y - self.upper)
            return _ratio(excess, self.width, np.where(excess > self.slack(0.0), np.inf, 0.0))

    def signed_scores(self, y: Array) -> Array:
        """The scores of a symmetric band with the sign of y − mean."""
        if np.any(self.lower != self.upper):
            raise ValueError(
                "signed scores need intervals around one number, got some between two: use scores"
            )
        return np.where(y < self.lower, -1.0, 1.0) * self.scores(y)

    def raised(self, y: Array) -> Array:
        """Outputs above all that are meant to be y, quantiles that are moved away among them."""
        with np.errstate(over="ignore"):
            return np.asarray(y + 2 * self.slack(np.abs(y - self.lower)))

    def intervals(self, q: Array) -> Array:
        """The intervals for q of shape (k,) or (n, k), shape (n, 2, k).

        They are (−∞, ∞) for q = +∞ whatever the width, and the midpoint where q is so negative that
        the bounds cross.
        """
        q = np.broadcast_to(q, (len(self.width), np.shape(q)[-1]))
        middle = self.centre[:, None]
        ends = np.minimum(self.end(q, 0), middle), np.maximum(self.end(q, 1), middle)
        return np.stack(ends, axis=1)

    def end(self, q: Array, side: int) -> Array:
        """Lower (0) or upper (1) ends for q of shape (n, k), that may cross; infinite if q is."""
        start = self.upper if side else self.lower
        with np.errstate(over="ignore", invalid="ignore"):
            step = np.where(np.isinf(q), q, q * self.width[:, None])
            end: Array = start[:, None] + (2 * side - 1) * (step + self.slack(step))
        return end

    def points(self, q: Array) -> Array:
        """The outputs of a symmetric band with these signed scores, of shape (n, k)."""
        with np.errstate(over="ignore"):
            return self.lower[:, None] + q * self.width[:, None]

    def quantiles(self, levels: Sequence[float], q: Array) -> Array:
        """mean + q·width of a symmetric band for q of shape (k,), shape (n, k).

        They are moved away from the median, as ends are outwards. An infinite q on the other side
        of it says that outputs are beyond the mean where there is no width: it gives the mean.
        """
        away = from_median(levels)
        mean, width = self.lower[:, None], self.width[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            step = np.where(np.isinf(q), q, q * width)
            step = np.where(step == -np.inf * away, 0.0, step)
            return self.away_from_median(levels, mean + step)

    def away_from_median(self, levels: Sequence[float], points: Array) -> Array:
        """Outputs of shape (n, k) at quantiles, moved as ends are outwards."""
        return points + from_median(levels) * self.slack(points - self.lower[:, None])

    def slack(self, step: Array | float) -> Array:
        """How far off an output may be that is meant to be on an end, so far from the bounds.

        Of shape (n,), or (n, k) for steps of that shape.
        """
        size, width = np.maximum(np.abs(self.lower), np.abs(self.upper)), self.width
        if np.ndim(step) == 2:
            size, width = size[:, None], width[:, None]
        finite = np.where(np.isinf(step), 0.0, np.abs(step))
        return np.asarray(ROUNDING * size + OUTWARD * (width + finite))


def from_median(levels: Sequence[float]) -> Array:
    """The direction of quantiles: −1 below one half, 1 above."""
    return np.where(np.asarray(levels) < 0.5, -1.0, 1.0)


def _ratio(numerator: Array, width: Array, at_zero: Array) -> Array:
    ratio: Array = np.divide(numerator, width, out=at_zero, where=width > 0)
    return ratio
