"""The rows that pictures show, where they stand, and how wide their intervals are."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.stats import rankdata

from sosbands.dependence import distance_correlation
from sosbands.estimator import BandRegressor
from sosbands.evaluation.band_values import BandValues, band_at, places_along
from sosbands.evaluation.coverage_counts import PartCoverage, part_coverage
from sosbands.evaluation.judged_rows import FAR, PredictedRows, without_shortage_warning
from sosbands.evaluation.shown_columns import ShownColumn
from sosbands.learning.encoding import TableEncoder
from sosbands.types import Array, Indices, Mask

Target: TypeAlias = Literal["width", "prediction"]

# Rows that the dependence on inputs is judged by, and the most columns that are shown.
_RANKED_ROWS, _MOST_COLUMNS = 2000, 4
# A band is drawn this far beyond the rows, as a share of their range.
_MARGIN = 0.05
# Equal inputs are drawn side by side over this share of the smallest gap between different ones.
_SPREAD = 0.6
# Rows of a bin whose median interval is drawn, and the most bins; values of a column that has no
# more different ones than that are bins themselves.
_BIN_ROWS, _MOST_BINS = 25, 24
# The most categories of a column that are shown, and the fewest rows that their coverage needs.
_MOST_CATEGORIES, _CATEGORY_ROWS = 10, 20


class MedianIntervals(NamedTuple):
    """The median ends of intervals, as seen from the prediction, between neighbouring edges."""

    left: Array
    right: Array
    ends: Array  # shape (bins, 2)


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """The sampled rows that were predicted, or some of them."""

    rows: PredictedRows
    place: Indices  # of the drawn ones in `rows.sample`
    important: tuple[int, ...]  # the columns that `target` depends on most, see `_ranked_inputs`
    target: Target

    @classmethod
    def of(cls, rows: PredictedRows) -> Self:
        """All of the sample; the seed of the rows chooses by which of them columns are ranked."""
        order = np.random.default_rng(rows.seed).permutation(len(rows.sample))
        target, ranked = _ranked_inputs(rows, order[:_RANKED_ROWS])
        columns = tuple(dict.fromkeys(rows.origin[j] for j in ranked.tolist()))
        return cls(rows, np.arange(len(rows.sample)), columns[:_MOST_COLUMNS], target)

    def __getitem__(self, which: slice | Indices | Mask) -> Self:
        return replace(self, place=self.place[which])

    def widest(self, most: int) -> Self:
        """The widest intervals of all sampled rows."""
        widths = self.rows.widths[self.rows.sample]
        return replace(self, place=np.argsort(-widths, kind="stable")[:most])

    def furthest(self, most: int) -> Self:
        """Of all sampled rows, those furthest from the training rows, where the model guesses."""
        distance = self.rows.extrapolation
        place = np.argsort(-distance, kind="stable")[:most]
        return replace(self, place=place[distance[place] > FAR])

    @property
    def index(self) -> Indices:
        """Where they are among all rows."""
        return self.rows.sample[self.place]

    @property
    def important_columns(self) -> tuple[ShownColumn, ...]:
        """The columns that `target` depends on most."""
        return tuple(self.rows.columns[at] for at in self.important)

    def values(self, column: ShownColumn) -> Array:
        """A column of numbers or dates at these rows."""
        values: Array = column.values[self.place]
        return values

    @property
    def errors(self) -> Array:
        """y − prediction."""
        return (self.rows.y - self.rows.mean)[self.index]

    @property
    def ends(self) -> Array:
        """The ends of the intervals as seen from the prediction, shape (k, 2)."""
        ends: Array = self.rows.chosen[self.index] - self.rows.mean[self.index, None]
        return ends

    @property
    def widths(self) -> Array:
        """Of the intervals."""
        return self.rows.widths[self.index]

    @property
    def covered(self) -> Mask:
        """Whether each interval holds its y."""
        return self.rows.covered[self.index]

    @property
    def extrapolation(self) -> Array:
        """How far from the training rows they are, in [0, 1]."""
        return self.rows.extrapolation[self.place]

    def finite(self) -> Self:
        """Those with a finite interval."""
        return self[np.isfinite(self.widths)]

    def coverage(self, label: str) -> PartCoverage:
        """How many of them are covered."""
        return part_coverage(label, self.rows.y[self.index], self.rows.chosen[self.index])

    def by_category(self, column: ShownColumn) -> tuple[PartCoverage, ...]:
        """The most frequent categories by name, from the narrowest intervals to the widest."""
        values = np.array(column.values, dtype=object)[self.place]
        frequent = Counter(values.tolist()).most_common(_MOST_CATEGORIES)
        found = [self[values == name].coverage(name) for name, n in frequent if n >= _CATEGORY_ROWS]
        return self.rows.expected(sorted(found, key=lambda part: part.median_width))

    def by_distance(self) -> tuple[PartCoverage, ...]:
        """Near the training rows, further away, and where the model guesses."""
        distance = self.extrapolation
        parts = {
            "close to training rows": distance <= 0.1,
            "not close to any training row": (distance > 0.1) & (distance <= FAR),
            "unlike all training rows": distance > FAR,
        }
        found = [self[inside].coverage(name) for name, inside in parts.items() if inside.any()]
        return self.rows.expected(found)

    def median_intervals(self, x: Array) -> MedianIntervals:
        """The usual interval along x, in bins with about as many rows each."""
        different = np.unique(x)
        if len(different) <= min(_MOST_BINS, len(x) // 2):
            edges = _around(different)
        else:
            n_bins = int(np.clip(len(x) // _BIN_ROWS, 1, _MOST_BINS))
            edges = np.unique(np.quantile(x, np.linspace(0, 1, n_bins + 1)))
        place = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, max(len(edges) - 2, 0))
        used, ends = np.unique(place), self.ends
        medians = np.array([np.median(ends[place == b], axis=0) for b in used])
        return MedianIntervals(edges[used], edges[np.minimum(used + 1, len(edges) - 1)], medians)

    def width_quantiles(self) -> Iterator[tuple[float, float]]:
        """Shares of the rows with a finite interval, and the width that they stay below."""
        widths = self.finite().widths
        if len(widths):
            for share in (0.05, 0.25, 0.5, 0.75, 0.95):
                yield share, float(np.quantile(widths, share))

    def band_along(self, model: BandRegressor, X: Any) -> BandValues | None:
        """The band along the only column of X; None if there are others, or no plain numbers."""
        encoder = model.band_.encoding.transformer
        plain = encoder is None or (isinstance(encoder, TableEncoder) and encoder.plain)
        if np.shape(X)[1] != 1 or not plain:
            return None
        x = self.rows.units.undo(self.rows.inputs)[:, 0]
        margin = _MARGIN * float(np.ptp(x)) or 1.0
        places = places_along(X, x.min() - margin, x.max() + margin)
        with without_shortage_warning():
            return band_at(model, self.rows.levels, *places, extrapolation=True)


def side_by_side(x: Array) -> Array:
    """x, with equal ones spread about their value so that each can be seen."""
    different = np.unique(x)
    gap = float(np.diff(different).min()) if len(different) > 1 else 1.0
    first, last, place = (rankdata(x, method=method) for method in ("min", "max", "ordinal"))
    return x + _SPREAD * gap * ((place - first + 0.5) / (last - first + 1) - 0.5)


def _around(different: Array) -> Array:
    """Edges half way between the values."""
    if len(different) == 1:
        return np.array([different[0] - 0.5, different[0] + 0.5])
    middle = (different[1:] + different[:-1]) / 2
    first, last = 2 * different[0] - middle[0], 2 * different[-1] - middle[-1]
    return np.concatenate([[first], middle, [last]])


def _ranked_inputs(rows: PredictedRows, place: Indices) -> tuple[Target, Indices]:
    """The inputs of the band, the one that the width depends on most first.

    Judged by distance correlation on the sampled rows at `place`. If their widths are all equal or
    infinite, it is the prediction that the inputs are compared with.
    """
    index, inputs = rows.sample[place], rows.inputs[place]
    widths = rows.widths[index]
    finite = np.isfinite(widths)
    if finite.sum() > 1 and np.ptp(widths[finite]) > 0:
        return "width", _by_dependence(inputs[finite], widths[finite])
    return "prediction", _by_dependence(inputs, rows.mean[index])


def _by_dependence(inputs: Array, target: Array) -> Indices:
    strength = np.zeros(inputs.shape[1])
    if len(target) > 1:
        strength = np.array([distance_correlation(column, target) for column in inputs.T])
    return np.argsort(-strength, kind="stable")
