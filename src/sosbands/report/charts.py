"""Drawings of our own: axes, and layers of SVG paths between them.

A drawing is stretched to the room that it has, and its words are HTML beside it: so lines and dots
keep their thickness and words their size on every screen, and nothing has to run in the browser.
Dots are lines of length zero with round ends. Colours are classes of the style sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sosbands.report.formats import number
from sosbands.types import Array, Indices, Mask

# The side of the square that layers are drawn in.
SIDE = 1000
# More dots than this hide each other: a density takes their place, and of those outside their
# interval so many stay dots.
_MOST_DOTS, _MOST_MISSES = 400, 250
# Cells of a density in both directions, and its shades.
_CELLS, _SHADES = (56, 36), 5


@dataclass(frozen=True)
class Axis:
    """From low to high, with ticks; `log` axes go by factors."""

    label: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]  # value, words
    log: bool = False

    @classmethod
    def over(cls, label: str, low: float, high: float, *, log: bool = False) -> Self:
        """With ticks at round numbers, a little beyond low and high."""
        from matplotlib.ticker import LogLocator, MaxNLocator

        if log:
            values = LogLocator(subs=(1.0, 2.0, 5.0), numticks=12).tick_values(low, high)
            edges = low / 1.15, high * 1.15
        else:
            margin = 0.03 * (high - low) or 0.5
            edges = low - margin, high + margin
            values = MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]).tick_values(*edges)
        inside = [float(v) for v in values if edges[0] <= v <= edges[1]]
        words = tick_words(inside)
        return cls(label, *edges, tuple(zip(inside, words, strict=True)), log)

    @classmethod
    def of_dates(cls, label: str, low: float, high: float) -> Self:
        """Of seconds since 1970, with ticks at the beginnings of years, months, days or hours."""
        from matplotlib import dates as untyped

        dates: Any = untyped
        first, last = (dates.num2date(at / 86_400) for at in (low, max(high, low + 60)))
        locator = dates.AutoDateLocator(minticks=3, maxticks=6)
        values = locator.tick_values(first, last)
        words = dates.AutoDateFormatter(locator)
        inside = [(float(v) * 86_400, words(v)) for v in values]
        ticks = tuple((at, said) for at, said in inside if low <= at <= high)
        return cls(label, low, max(high, low + 60), ticks)

    def share(self, values: Array | float) -> Array:
        """Where values are, from 0 to 1; those beyond an end are at it."""
        low, high, x = self.low, self.high, np.asarray(values, dtype=np.float64)
        if self.log:
            low, high, x = np.log(low), np.log(high), np.log(x)
        return np.clip((x - low) / (high - low), 0.0, 1.0)

    def cuts(self, values: Array) -> bool:
        """Whether some values are beyond an end."""
        return bool(np.any((values < self.low) | (values > self.high)))

    @property
    def marks(self) -> list[tuple[float, str]]:
        """The ticks in percent of the axis."""
        return [(round(100 * float(self.share(at)), 2), words) for at, words in self.ticks]


@dataclass(frozen=True)
class Layer:
    """A path with the class that gives it its look, and words for the pointer."""

    look: str
    path: str
    words: str = ""


@dataclass
class Chart:
    """A picture by its name, under which templates have its words and numbers."""

    name: str
    x: Axis
    y: Axis
    height: int
    layers: list[Layer] = field(default_factory=list)
    legend: list[tuple[str, str]] = field(default_factory=list)  # look, words

    def add(self, look: str, path: str, words: str = "", *, legend: str = "") -> None:
        """Draw a path over what is there."""
        if path:
            self.layers.append(Layer(look, path, words))
            if legend and (look, legend) not in self.legend:
                self.legend.append((look, legend))

    def points(self, x: Array, y: Array) -> Indices:
        """Places in the square, as whole numbers of shape (n, 2)."""
        places = np.stack([SIDE * self.x.share(x), SIDE * (1 - self.y.share(y))], axis=-1)
        return np.asarray(np.rint(places), dtype=np.intp)

    def line(self, x: Array, y: Array) -> str:
        """Through all points; it has a gap where one is not finite."""
        finite = np.all(np.isfinite(np.column_stack([x, y])), axis=1)
        return "".join(
            "M" + "L".join(f"{a} {b}" for a, b in self.points(x[part], y[part]).tolist())
            for part in runs(finite)
        )

    def area(self, x: Array, ends: Array) -> str:
        """Between two curves; it has a gap where an end is infinite."""
        made = []
        for part in runs(np.all(np.isfinite(ends), axis=1)):
            upper, lower = (self.points(x[part], ends[part, side]).tolist() for side in (1, 0))
            made.append("M" + "L".join(f"{a} {b}" for a, b in [*upper, *lower[::-1]]) + "Z")
        return "".join(made)

    def boxes(self, left: Array, right: Array, ends: Array) -> str:
        """From left to right, from the lower end to the upper; infinite ones are left out."""
        kept = np.isfinite(ends).all(axis=1)
        corners = self.points(left[kept], ends[kept, 1]), self.points(right[kept], ends[kept, 0])
        return "".join(
            f"M{a} {b}H{c}V{d}H{a}Z"
            for (a, b), (c, d) in zip(*(corner.tolist() for corner in corners), strict=True)
        )

    def dots(self, x: Array, y: Array) -> str:
        """Lines of length zero; dots on the same place are drawn once."""
        places = np.unique(self.points(x, y), axis=0).tolist()
        return "".join(f"M{a} {b}h0" for a, b in places)

    def add_rows(self, x: Array, y: Array, covered: Mask) -> None:
        """Rows inside their interval, as dots or as a density, and those outside it as dots."""
        missed, words = np.flatnonzero(~covered), "row outside"
        if len(x) <= _MOST_DOTS:
            self.add("dot row", self.dots(x[covered], y[covered]), legend="row inside its interval")
        else:
            for shade, path in enumerate(self._density(x[covered], y[covered]), 1):
                self.add(f"shade s{shade}", path)
            self.legend.append((f"shade s{_SHADES}", "rows inside: the darker, the more"))
            if len(missed) > _MOST_MISSES:
                step = -(-len(missed) // _MOST_MISSES)
                missed, words = missed[::step], f"row outside (one in {step} drawn)"
        self.add("dot miss", self.dots(x[missed], y[missed]), legend=words)
        if self.x.cuts(x) or self.y.cuts(y):
            self.legend.append(("", "rows at the edge lie beyond it"))

    def _density(self, x: Array, y: Array) -> list[str]:
        """Cells with rows in them, by shade: each is for several times as many rows as the last."""
        (columns, lines), place = _CELLS, self.points(x, y) / SIDE
        at = np.minimum((place * _CELLS).astype(np.intp), np.array(_CELLS) - 1)
        counts = np.bincount(at[:, 0] * lines + at[:, 1], minlength=columns * lines)
        most = max(int(counts.max(initial=0)), 1)
        shade = np.ceil(_SHADES * np.log1p(counts) / np.log1p(most)).astype(np.intp)
        edges_x = np.rint(np.linspace(0, SIDE, columns + 1)).astype(int)
        edges_y = np.rint(np.linspace(0, SIDE, lines + 1)).astype(int)
        paths = []
        for level in range(1, _SHADES + 1):
            cells = [divmod(int(cell), lines) for cell in np.flatnonzero(shade == level)]
            paths.append(
                "".join(
                    f"M{edges_x[i]} {edges_y[j]}H{edges_x[i + 1]}V{edges_y[j + 1]}H{edges_x[i]}Z"
                    for i, j in cells
                )
            )
        return paths

    @property
    def gutter(self) -> int:
        """Pixels that the words of the ticks need on the left."""
        return 14 + 8 * max((len(words) for _, words in self.y.ticks), default=0)

    @property
    def grid(self) -> str:
        """Lines at the ticks."""
        across = [round(SIDE * (1 - at / 100)) for at, _ in self.y.marks]
        up = [round(SIDE * at / 100) for at, _ in self.x.marks]
        return "".join(f"M0 {y}H{SIDE}" for y in across) + "".join(f"M{x} 0V{SIDE}" for x in up)


def runs(inside: ArrayLike) -> list[Indices]:
    """The places of each stretch that is inside."""
    places = np.flatnonzero(inside)
    parts = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    return parts if len(places) else []


def tick_words(values: Sequence[float]) -> list[str]:
    """Numbers at equal distances with as many decimals as tell them apart."""
    texts = [number(value) for value in values]
    return texts if len(set(texts)) == len(texts) else [f"{value:.10g}" for value in values]


def usual_range(errors: Array, ends: Array, *, beyond: float = 0.005) -> tuple[float, float]:
    """What an axis must show: nearly all errors and intervals, not the wildest."""
    finite = ends[np.isfinite(ends).all(axis=1)]
    low, high = np.quantile(errors, [beyond, 1 - beyond])
    if len(finite):
        low = min(low, float(np.quantile(finite[:, 0], beyond)))
        high = max(high, float(np.quantile(finite[:, 1], 1 - beyond)))
    return float(low), float(high) if high > low else float(low) + 1.0
