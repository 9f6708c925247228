"""The rows that pictures show, where they stand, and how wide their intervals are."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from scipy.stats import rankdata

from sosbands.dependence import distance_correlation
from sosbands.estimator import BandRegressor
from sosbands.evaluation.band_values import BandValues, band_at, places_along
from sosbands.evaluation.judged_rows import FAR, PredictedRows, without_shortage_warning
from sosbands.learning.encoding import TableEncoder
from sosbands.types import Array, Indices, Mask

Target: TypeAlias = Literal["width", "prediction"]

# More rows make pictures slower, not clearer.
_MOST_ROWS, _RANKED_ROWS = 3000, 2000
_MOST_INPUTS = 4
# A band is drawn this far beyond the rows, as a share of their range.
_MARGIN = 0.05
# Equal inputs are drawn side by side over this share of the smallest gap between different ones.
_SPREAD = 0.6


@dataclass(frozen=True)
class WidthPart:
    """The width of the intervals of rows between two values; None if there are no such rows."""

    low: float
    high: float
    n_rows: int
    median_width: float | None

    @classmethod
    def of(cls, low: float, high: float, widths: Array) -> Self:
        """From the widths of these rows."""
        median = float(np.median(widths)) if len(widths) else None
        return cls(float(low), float(high), len(widths), median)


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """A sample of the rows that were predicted, at most 3000."""

    rows: PredictedRows
    place: Indices  # of the drawn ones in `rows.sample`, in random order
    important: tuple[int, ...]  # the inputs that `target` depends on most, see `_ranked_inputs`
    target: Target

    @classmethod
    def of(cls, rows: PredictedRows) -> Self:
        """Chosen by the seed of the rows."""
        order = np.random.default_rng(rows.seed).permutation(len(rows.sample))
        target, ranked = _ranked_inputs(rows, order[:_RANKED_ROWS])
        # Of the inputs that come from one column of X, the first one.
        columns = {rows.sources[j]: int(j) for j in reversed(ranked.tolist())}
        important = tuple(j for j in ranked.tolist() if columns[rows.sources[j]] == j)
        return cls(rows, order[:_MOST_ROWS], important[:_MOST_INPUTS], target)

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
    def important_names(self) -> tuple[str, ...]:
        """Of the columns of X behind the important inputs."""
        return tuple(self.rows.sources[j] for j in self.important)

    @property
    def inputs(self) -> Array:
        """What the band sees of them, in its own units."""
        return self.rows.units.undo(self.rows.inputs[self.place])

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

    def width_quantiles(self) -> Iterator[tuple[float, float]]:
        """Shares of the rows with a finite interval, and the width that they stay below."""
        widths = self.finite().widths
        if len(widths):
            for share in (0.05, 0.25, 0.5, 0.75, 0.95):
                yield share, float(np.quantile(widths, share))

    def width_by_input(self, j: int) -> Iterator[WidthPart]:
        """Ranges of an input, cut at its quantiles."""
        x, widths = self.inputs[:, j], self.widths
        edges = np.unique(np.quantile(x, np.linspace(0, 1, 6)))
        place = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, max(len(edges) - 2, 0))
        for b in np.unique(place):
            inside = place == b
            yield WidthPart.of(x[inside].min(), x[inside].max(), widths[inside])

    def width_by_distance(self) -> Iterator[WidthPart]:
        """Near the training rows, further away, and where the model guesses."""
        distance, widths = self.extrapolation, self.widths
        for low, high in ((0.0, 0.1), (0.1, FAR), (FAR, 1.0)):
            inside = (distance <= high) & ((distance > low) | (low == 0))
            yield WidthPart.of(low, high, widths[inside])

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
