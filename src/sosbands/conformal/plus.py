"""Intervals from the scores of all folds at once, CV+, selected without sorting them together."""

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sosbands.conformal.calibration import BandRows, CalibratedBand, Calibration, Companion, asked
from sosbands.conformal.families import IntervalFamily
from sosbands.conformal.ranks import checked_levels, checked_scores, order_rank
from sosbands.types import Array, Indices

# A selection passes over its arrays many times: they stay in the processor's cache.
_SELECTION_ENTRIES = 1 << 14


class PlusCalibration(Calibration):
    """CV+ (Barber et al., 2021): each row is scored by the model that did not see its fold.

    All rows train and all calibrate; the price is the `guarantee`, weaker than the level. There is
    no way to add rows: one that no fold holds out breaks the symmetry that the proof needs.

    Attributes
    ----------
    scores_by_fold : tuple of arrays
        Ascending.
    bands : sequence of CalibratedBand
        The bands without each fold.
    """

    name: ClassVar = "cv+"
    by_folds: ClassVar = True
    closed: ClassVar = (
        'calibration="cv+" has no rows to add to: all of them trained; use conformalize with the '
        "new rows alone"
    )

    def __init__(
        self, scores_by_fold: Sequence[ArrayLike], bands: Sequence[CalibratedBand] = ()
    ) -> None:
        self.scores_by_fold = tuple(np.sort(checked_scores(scores)) for scores in scores_by_fold)
        self.bands = bands

    @classmethod
    def of_folds(cls, held_out: Sequence[tuple[BandRows, Array]]) -> Self:
        """Each fold is scored by the band without it, which is kept."""
        scores = [rows.family.scores(y) for rows, y in held_out]
        return cls(scores, tuple(rows.band for rows, _ in held_out))

    def intervals_at(self, rows: BandRows, levels: Sequence[float], companion: Companion) -> Array:
        """Around the middle of the band of all rows."""
        families = [band.at(rows.X).family for band in self.bands]
        return self.intervals(families, levels, 0.5 * (rows.family.lower + rows.family.upper))

    @property
    def size(self) -> int:
        """How many rows calibrate."""
        return sum(map(len, self.scores_by_fold))

    def claim(self, level: float) -> str:
        """Less than the level."""
        proven = guarantee(level, self.size, len(self.scores_by_fold))
        share = f"{100 * proven:.1f}\N{NO-BREAK SPACE}%"
        return (
            f"{share} of new rows {self.covered} are covered on average, in practice about "
            f"{asked(level)}"
        )

    def intervals(
        self, families: Sequence[IntervalFamily], levels: Sequence[float], centre: Array
    ) -> Array:
        """The intervals of the new rows, shape (n, 2, len(levels)).

        The upper end is the ⌈level·(m + 1)⌉-th smallest of upperₖ + sᵢ·widthₖ over the folds k and
        their scores sᵢ, the lower end mirrors it. Each interval is stretched to hold the centre.

        Parameters
        ----------
        families : sequence of IntervalFamily
            Each fold's band at the new rows, in the order of the scores.
        levels : sequence of float
            The confidence levels.
        centre : array of shape (n,)
            The prediction; since intervals hold it they are nested and lower ≤ upper.
        """
        if len(families) != len(self.scores_by_fold):
            raise ValueError(
                f"families must hold one band for each of the {len(self.scores_by_fold)} folds, "
                f"got {len(families)}"
            )
        m = self.size
        levels, _ = checked_levels(levels, name="levels")
        ranks = [order_rank(level, m) for level in levels]
        lower, upper, width, rounding = (
            np.stack([getattr(family, part) for family in families], axis=1)
            for part in ("lower", "upper", "width", "rounding")
        )
        high = _selected(self.scores_by_fold, ranks, upper + rounding, width)
        low = -_selected(self.scores_by_fold, ranks, rounding - lower, width)
        ends = np.minimum(low, centre[:, None]), np.maximum(high, centre[:, None])
        return np.stack(ends, axis=1)


def guarantee(level: float, n: int, K: int) -> float:
    """1 − 2α − min{2(1 − 1/K)/(n/K + 1), (1 − K/n)/(K + 1)}, or zero: the coverage CV+ proves.

    Theorem 4 of Barber et al. (2021) for n rows in K folds of one size. In practice coverage is
    close to the level; for K = n (jackknife+) the minimum is zero.
    """
    loss = min(2 * (1 - 1 / K) / (n / K + 1), (1 - K / n) / (K + 1))
    return max(1 - 2 * (1 - level) - loss, 0.0)


def _selected(folds: Sequence[Array], ranks: Sequence[int], start: Array, width: Array) -> Array:
    """The rank-th smallest of startₖ + sᵢ·widthₖ for each row and rank; +∞ beyond the finite sᵢ.

    Infinite scores are the last in any order, so the others decide; and 0·∞ never comes up.
    """
    finite = [scores[np.isfinite(scores)] for scores in folds]
    q = np.full((len(start), len(ranks)), np.inf)
    size = max(1, _SELECTION_ENTRIES // len(folds))
    for first in range(0, len(start), size):
        rows = slice(first, first + size)
        for j, rank in enumerate(ranks):
            if rank <= sum(map(len, finite)):
                q[rows, j] = _select(finite, rank, start[rows], width[rows])
    return q


def _select(lists: Sequence[Array], rank: int, start: Array, width: Array) -> Array:
    """The rank-th smallest of the ascending lists, each mapped affinely, merged only in thought.

    Rounding is monotone, so the mapped lists ascend as well and searches in them are exact. The
    entries low ≤ j < high of each are candidates. The pivot is the median, weighted by their
    numbers, of the entries that would be the answer if the lists were alike: it halves the
    candidates below the answer or those above it. Once it is the answer it stays.
    """
    counts = np.array([len(values) for values in lists], dtype=np.intp)
    first = np.cumsum(counts) - counts
    # An index just past the last list is looked up, but not counted.
    merged = np.concatenate([*lists, [0.0]])

    def at(index: Indices) -> Array:
        mapped: Array = start + merged[first + index] * width
        return mapped

    def count(before: np.ufunc, low: Indices, high: Indices) -> Indices:
        for _ in range(int(np.max(high - low)).bit_length()):
            middle = (low + high) // 2
            left = before(at(middle), pivot) & (low < high)
            low, high = np.where(left, middle + 1, low), np.where(left, high, middle)
        return low

    low, high = np.zeros(start.shape, dtype=np.intp), np.tile(counts, (len(start), 1))
    with np.errstate(over="ignore"):
        while True:
            size = high - low
            wanted = rank - low.sum(axis=1, keepdims=True)
            guess = low + (wanted - 1) * size // size.sum(axis=1, keepdims=True)
            pivot = _weighted_median(at(guess), size)
            below = count(np.less, low, high)
            upto = count(np.less_equal, below, high)
            beyond = below.sum(axis=1, keepdims=True) >= rank
            within = upto.sum(axis=1, keepdims=True) >= rank
            if np.all(within & ~beyond):
                return pivot[:, 0]
            low, high = np.where(within, low, upto), np.where(beyond, below, high)


def _weighted_median(values: Array, weights: Indices) -> Array:
    """The lower weighted median of each row, shape (n, 1); values of weight zero do not count."""
    order = np.argsort(np.where(weights > 0, values, np.inf), axis=1)
    mass = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    median = np.argmax(2 * mass >= mass[:, -1:], axis=1)[:, None]
    chosen: Array = np.take_along_axis(values, np.take_along_axis(order, median, axis=1), axis=1)
    return chosen
