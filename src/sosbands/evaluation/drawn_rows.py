"""The rows that pictures show, where they stand, and how wide their intervals are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sosbands.evaluation.band_values import BandPredictor, BandValues
from sosbands.evaluation.importance import Target, ranked_inputs
from sosbands.evaluation.judged_rows import FAR, PredictedRows, without_shortage_warning
from sosbands.types import Array, Indices, Mask

if TYPE_CHECKING:
    from sosbands.estimator import BandRegressor

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
    def of(cls, low: float, high: float, widths: Array) -> WidthPart:
        """From the widths of these rows."""
        median = float(np.median(widths)) if len(widths) else None
        return cls(float(low), float(high), len(widths), median)


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """A sample of the rows that were predicted, at most 3000.

    Attributes
    ----------
    rows : PredictedRows
        All of them.
    place : array of shape (k,)
        Where the drawn ones are in `rows.sample`, in random order.
    important : tuple of int
        The inputs that `target` depends on most, by distance correlation; the first one first.
    target : {"width", "prediction"}
        Which of the two; the prediction if widths are all equal, or infinite.
    """

    rows: PredictedRows
    place: Indices
    important: tuple[int, ...]
    target: Target

    @classmethod
    def of(cls, rows: PredictedRows) -> DrawnRows:
        """Chosen by the seed of the rows."""
        order = np.random.default_rng(rows.seed).permutation(len(rows.sample))
        target, ranked = ranked_inputs(rows, order[:_RANKED_ROWS])
        important = tuple(int(j) for j in ranked[:_MOST_INPUTS])
        return cls(rows, order[:_MOST_ROWS], important, target)

    def thinned(self, most: int) -> DrawnRows:
        """At most so many of them."""
        return replace(self, place=self.place[:most])

    def sorted_by_width(self) -> DrawnRows:
        """The narrowest interval first."""
        return replace(self, place=self.place[np.argsort(self.widths, kind="stable")])

    def widest(self, most: int) -> DrawnRows:
        """The widest intervals of all sampled rows."""
        widths = self.rows.widths[self.rows.sample]
        return replace(self, place=np.argsort(-widths, kind="stable")[:most])

    def furthest(self, most: int) -> DrawnRows:
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
        """Of the important inputs."""
        return tuple(self.rows.names[j] for j in self.important)

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

    def finite(self) -> DrawnRows:
        """Those with a finite interval."""
        return replace(self, place=self.place[np.isfinite(self.widths)])

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
        """The band along the only column of X; None if there are others, or a transformer."""
        if np.shape(X)[1] != 1 or model.band_transformer is not None:
            return None
        x = self.rows.units.undo(self.rows.inputs)[:, 0]
        margin = _MARGIN * float(np.ptp(x)) or 1.0
        predictor = BandPredictor(model, self.rows.levels, extrapolation=True)
        with without_shortage_warning():
            return predictor.along(X, x.min() - margin, x.max() + margin)


def side_by_side(x: Array) -> Array:
    """x, with equal ones spread about their value so that each can be seen."""
    different, group, counts = np.unique(x, return_inverse=True, return_counts=True)
    if len(different) == len(x):
        return x
    gap = float(np.diff(different).min()) if len(different) > 1 else 1.0
    rank = np.empty(len(x))
    rank[np.argsort(group, kind="stable")] = np.concatenate([np.arange(count) for count in counts])
    return x + _SPREAD * gap * ((rank + 0.5) / counts[group] - 0.5)
