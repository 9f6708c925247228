"""Intervals from the scores of all folds at once, CV+, selected without sorting them together."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sosbands.conformal.calibration import (
    BandRows,
    CalibratedBand,
    Calibration,
    Companion,
    Family,
    asked,
)
from sosbands.conformal.ranks import (
    NOTHING_TO_DRAW,
    checked_levels,
    checked_scores,
    order_rank,
    quantile_rank,
    quantile_shortage,
)
from sosbands.types import Array, Indices

# How a family takes scores to outputs.
Map: TypeAlias = Callable[[Family, Array], Array]
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
    distribution : SignedPlusCalibration or None
        Of the same rows, with signed scores.

    Examples
    --------
    >>> from sosbands.conformal import PlusCalibration
    >>> PlusCalibration([[0.1, 0.4], [0.2, 0.3]]).size
    4
    """

    name: ClassVar = "cv+"
    by_folds: ClassVar = True
    closed: ClassVar = (
        'calibration="cv+" has no rows to add to: all of them trained; use conformalize with the '
        "new rows alone"
    )

    def __init__(
        self,
        scores_by_fold: Sequence[ArrayLike],
        bands: Sequence[CalibratedBand] = (),
        distribution: Calibration | None = None,
    ) -> None:
        self.scores_by_fold = tuple(np.sort(checked_scores(scores)) for scores in scores_by_fold)
        self.bands = bands
        self.distribution = distribution

    @classmethod
    def of_folds(cls, held_out: Sequence[tuple[BandRows, Array]]) -> Self:
        """Each fold is scored by the band without it, which is kept."""
        scores = [rows.family.scores(y) for rows, y in held_out]
        signed = [rows.family.signed_scores(y) for rows, y in held_out]
        bands = tuple(rows.band for rows, _ in held_out)
        return cls(scores, bands, SignedPlusCalibration(signed, bands))

    def intervals_at(self, rows: BandRows, levels: Sequence[float], companion: Companion) -> Array:
        """Around the centre of the band of all rows."""
        families = [band.at(rows.X).family for band in self.bands]
        return self.intervals(families, levels, rows.family.centre)

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
        self, families: Sequence[Family], levels: Sequence[float], centre: Array
    ) -> Array:
        """The intervals of the new rows, shape (n, 2, len(levels)).

        The upper end is the ⌈level·(m + 1)⌉-th smallest of the upper ends that the band without
        fold k has at the scores sᵢ of that fold, for all k; the lower end mirrors it. Each interval
        is stretched to hold the centre.

        Parameters
        ----------
        families : sequence of IntervalFamily, NestedFamily or BoundedFamily
            Each fold's band at the new rows, in the order of the scores.
        levels : sequence of float
            The confidence levels.
        centre : array of shape (n,)
            That of the band of all rows; since intervals hold it they are nested, lower ≤ upper.
        """
        if len(families) != len(self.scores_by_fold):
            raise ValueError(
                f"families must hold one band for each of the {len(self.scores_by_fold)} folds, "
                f"got {len(families)}"
            )
        m = self.size
        levels, _ = checked_levels(levels, name="levels")
        ranks = [order_rank(level, m) for level in levels]
        high = _selected(self.scores_by_fold, ranks, families, lambda part, q: part.end(q, 1))
        low = -_selected(self.scores_by_fold, ranks, families, lambda part, q: -part.end(q, 0))
        ends = np.minimum(low, centre[:, None]), np.maximum(high, centre[:, None])
        return np.stack(ends, axis=1)


class SignedPlusCalibration(Calibration):
    """Quantiles of the outputs that the signed scores of all folds stand for; nothing is proved.

    Attributes
    ----------
    scores_by_fold : tuple of arrays
        Ascending.
    bands : sequence of CalibratedBand
        The bands without each fold.

    Examples
    --------
    >>> from sosbands import BandRegressor
    >>> from sosbands.datasets import case
    >>> model = BandRegressor(None, calibration="cv+", cv=3, random_state=0)
    >>> model = model.fit(*case(1).sample(60, random_state=0))
    >>> type(model.calibration_.distribution).__name__
    'SignedPlusCalibration'
    """

    asked_for = "quantile", "quantiles"

    def __init__(
        self, scores_by_fold: Sequence[ArrayLike], bands: Sequence[CalibratedBand]
    ) -> None:
        signed = (checked_scores(scores, signed=True) for scores in scores_by_fold)
        self.scores_by_fold, self.bands = tuple(map(np.sort, signed)), bands

    @property
    def size(self) -> int:
        """How many rows calibrate."""
        return sum(map(len, self.scores_by_fold))

    def shortage(self, levels: Sequence[float]) -> int | None:
        """The rows that finite quantiles of all levels need; None if they are there."""
        return quantile_shortage(levels, self.size)

    def quantiles_at(self, rows: BandRows, levels: Sequence[float]) -> Array:
        """Quantiles of Y at new rows, shape (n, len(levels))."""
        given, _ = checked_levels(levels, name="levels")
        below = sum(int(np.sum(scores == -np.inf)) for scores in self.scores_by_fold)
        ranks = [quantile_rank(level, self.size) for level in given]
        found = _selected(
            self.scores_by_fold,
            [max(rank - below, 1) for rank in ranks],
            self._families(rows),
            lambda part, q: part.points(q),
        )
        points = np.where(np.array(ranks) <= below, -np.inf, found)
        return rows.family.away_from_median(given, points)

    def counts_at(self, rows: BandRows, y: Array) -> Indices:
        """How many calibration rows score at most what y does by the band of their fold."""
        parts = zip(self.scores_by_fold, self._families(rows), strict=True)
        y = rows.family.raised(y)
        counts = [np.searchsorted(s, part.signed_scores(y), side="right") for s, part in parts]
        return np.asarray(np.sum(counts, axis=0))

    def drawn_at(self, rows: BandRows, shares: Array) -> Array:
        """Outputs with the scores of calibration rows, drawn by uniform numbers, shape (n, k)."""
        finite = [scores[np.isfinite(scores)] for scores in self.scores_by_fold]
        ends = np.cumsum([len(scores) for scores in finite])
        if not ends[-1]:
            raise ValueError(NOTHING_TO_DRAW)
        index, out = (shares * ends[-1]).astype(np.intp), np.empty(shares.shape)
        for scores, end, part in zip(finite, ends, self._families(rows), strict=True):
            own = (index < end) & (index >= end - len(scores))
            place = np.clip(index - end + len(scores), 0, max(len(scores) - 1, 0))
            if len(scores):
                out = np.where(own, part.points(scores[place]), out)
        return out

    def _families(self, rows: BandRows) -> list[Family]:
        return [band.at(rows.X).family for band in self.bands]


def guarantee(level: float, n: int, K: int) -> float:
    """1 − 2α − min{2(1 − 1/K)/(n/K + 1), (1 − K/n)/(K + 1)}, or zero: the coverage CV+ proves.

    Theorem 4 of Barber et al. (2021) for n rows in K folds of one size. In practice coverage is
    close to the level; for K = n (jackknife+) the minimum is zero.

    Examples
    --------
    >>> from sosbands.conformal import guarantee
    >>> round(guarantee(0.9, 1000, 10), 3), round(guarantee(0.95, 1000, 1000), 3)
    (0.782, 0.9)
    """
    loss = min(2 * (1 - 1 / K) / (n / K + 1), (1 - K / n) / (K + 1))
    return max(1 - 2 * (1 - level) - loss, 0.0)


def _selected(
    folds: Sequence[Array], ranks: Sequence[int], families: Sequence[Family], mapped: Map
) -> Array:
    """The rank-th smallest output of all scores, each mapped by the family of its fold.

    Shape (n, len(ranks)); +∞ beyond the finite scores. Infinite ones are the last in any order, so
    the others decide; and 0·∞ never comes up.
    """
    finite, n = [scores[np.isfinite(scores)] for scores in folds], len(families[0].centre)
    q = np.full((n, len(ranks)), np.inf)
    size = max(1, _SELECTION_ENTRIES // len(folds))
    for first in range(0, n, size):
        rows = slice(first, first + size)
        parts = [family[rows] for family in families]
        for j, rank in enumerate(ranks):
            if rank <= sum(map(len, finite)):
                q[rows, j] = _select(finite, rank, parts, mapped)
    return q


def _select(lists: Sequence[Array], rank: int, families: Sequence[Family], mapped: Map) -> Array:
    """The rank-th smallest of the ascending lists, each mapped by a family, merged only in thought.

    Families are monotone, rounding included, so the mapped lists ascend as well and searches in
    them are exact. The entries low ≤ j < high of each are candidates. The pivot is the median,
    weighted by their numbers, of the entries that would be the answer if the lists were alike: it
    halves the candidates below the answer or those above it. Once it is the answer it stays.
    """
    counts = np.array([len(values) for values in lists], dtype=np.intp)
    first = np.cumsum(counts) - counts
    # An index just past the last list is looked up, but not counted.
    merged = np.concatenate([*lists, [0.0]])

    def at(index: Indices) -> Array:
        scores = merged[first + index]
        columns = [mapped(part, scores[:, [k]]) for k, part in enumerate(families)]
        return np.concatenate(columns, axis=1)

    def count(before: np.ufunc, low: Indices, high: Indices) -> Indices:
        for _ in range(int(np.max(high - low)).bit_length()):
            middle = (low + high) // 2
            left = before(at(middle), pivot) & (low < high)
            low, high = np.where(left, middle + 1, low), np.where(left, high, middle)
        return low

    shape = len(families[0].centre), len(lists)
    low, high = np.zeros(shape, dtype=np.intp), np.tile(counts, (shape[0], 1))
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
