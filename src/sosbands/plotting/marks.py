"""What pictures are drawn with: axes, colours that all readers tell apart, the parts of a band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sosbands.evaluation.band_values import BandValues
from sosbands.evaluation.coverage_counts import inside
from sosbands.evaluation.judged_rows import FAR
from sosbands.types import Array, Mask

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

# Okabe and Ito's palette.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
BLUE, VERMILION = PALETTE[:2]
INK, PALE = "0.25", "0.9"

Style = Mapping[str, Any]
Colour = tuple[float, float, float]

# Infinite intervals are cut this far beyond what is finite, as a share of its range.
_BEYOND = 0.08
_POINTS: dict[str, Any] = {"linestyle": "none"}
_DASHES: dict[str, Any] = {**_POINTS, "marker": "_", "markersize": 4}


def own_axes(rows: int = 1, *, size: tuple[float, float] = (7.0, 4.0)) -> list[Axes]:
    """Axes of a new figure, one above the other, without the lines that say nothing."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(rows, sharex=True, figsize=size, layout="constrained", squeeze=False)
    for ax in axes[:, 0]:
        ax.spines[["top", "right"]].set_visible(False)
    return list(axes[:, 0])


def tint(colour: Any, strength: float) -> Colour:
    """The colour mixed with white; opaque, so that nested areas keep their own shades."""
    from matplotlib.colors import to_rgb

    red, green, blue = 1 - strength * (1 - np.array(to_rgb(colour)))
    return float(red), float(green), float(blue)


def styled(artist: type, defaults: Style, given: Style | None) -> dict[str, Any]:
    """The defaults, replaced by what the user gives under any of matplotlib's names for it."""
    from matplotlib.cbook import normalize_kwargs

    return {**defaults, **normalize_kwargs(dict(given or {}), artist)}


def legend_beside(ax: Axes) -> Legend:
    """A legend to the right of the axes, where it hides neither data nor title."""
    return ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, borderaxespad=0.3)


@dataclass(frozen=True, eq=False)
class BandMarks:
    """Draws a band on axes, part by part; see `BandDisplay` for the artists."""

    ax: Axes
    band: BandValues
    levels: Sequence[float]
    joined: bool  # a curve along the axis; otherwise each place is a row of its own
    edges: tuple[float, float]  # where infinite intervals are cut
    colour: Any

    def intervals(self) -> list[Artist]:
        """Nested areas or segments, the widest below, in the order of the levels."""
        x, ends = self.band.x, np.clip(self.band.intervals, *self.edges)
        light, dark = (0.25, 0.6) if self.joined else (0.4, 0.65)
        shades = [tint(self.colour, s) for s in np.linspace(light, dark, len(self.levels))]
        drawn: dict[int, Artist] = {}
        for rank, j in enumerate(np.argsort(self.levels)[::-1].tolist()):
            low, high = ends[:, 0, j], ends[:, 1, j]
            if self.joined:
                drawn[j] = self.ax.fill_between(x, low, high, color=shades[rank], lw=0)
            else:
                drawn[j] = self.ax.vlines(x, low, high, colors=[shades[rank]], lw=1 + 0.8 * rank)
            drawn[j].set(zorder=1, label=_interval_label(self.levels[j]))
        return [drawn[j] for j in range(len(drawn))]

    def mean(self, given: Style | None) -> Line2D:
        """A line, or a dash for each row."""
        from matplotlib.lines import Line2D

        look = {"linewidth": 1.8, "zorder": 3} if self.joined else {**_DASHES, "zorder": 2}
        look |= {"color": self.colour, "label": "mean"}
        return self.ax.plot(self.band.x, self.band.mean, **styled(Line2D, look, given))[0]

    def truth(self) -> list[Line2D] | None:
        """Dashed lines of every level; for rows only of the largest: others would hide the rest."""
        if self.band.truth is None:
            return None
        ends, label = self.band.truth.reshape(len(self.band.x), -1), "true interval"
        look: dict[str, Any] = {"linewidth": 0.9, "linestyle": (0, (4, 2))}
        if not self.joined:
            ends, look = self.band.truth[:, :, int(np.argmax(self.levels))], _DASHES
            label = f"true {_interval_label(max(self.levels))}"
        drawn = self.ax.plot(self.band.x, ends, color="black", zorder=2.5, **look)
        drawn[0].set_label(label)
        return drawn

    def extrapolation(self) -> Artist | None:
        """Where the model guesses: a grey background, or rings around rows."""
        if self.band.extrapolation is None:
            return None
        x, far = self.band.x, self.band.extrapolation > FAR
        if self.joined:
            wall = self.ax.get_xaxis_transform()
            look: dict[str, Any] = {"color": PALE, "lw": 0, "zorder": 0, "label": "extrapolation"}
            return self.ax.fill_between(x, 0, 1, where=far.tolist(), transform=wall, **look)
        look = {**_POINTS, "marker": "o", "markersize": 9, "markerfacecolor": "none", "color": INK}
        look |= {"label": f"extrapolation ({far.sum()} of {len(x)})", "zorder": 2.5}
        return self.ax.plot(x[far], self.band.mean[far], **look)[0]

    def infinite(self) -> list[Line2D] | None:
        """Arrow heads where some interval was cut; the axes end there."""
        endless: Mask = np.any(np.isinf(self.band.intervals), axis=2)
        if not endless.any():
            return None
        every = max(len(self.band.x) // 25, 1) if self.joined else 1
        look: dict[str, Any] = {"color": self.colour, "markersize": 4, "clip_on": False}
        drawn = []
        for which, edge, marker in zip(endless.T, self.edges, "v^", strict=True):
            x = self.band.x[which][::every]
            (heads,) = self.ax.plot(x, np.full(len(x), edge), marker, **look)
            if len(x):
                heads.sticky_edges.y.append(edge)
            drawn.append(heads)
        drawn[1 if endless[:, 1].any() else 0].set_label("no finite end")
        return drawn


def visible_range(values: BandValues, y: Array | None) -> tuple[float, float]:
    """What is finite, and a little more: infinite intervals are cut there."""
    outputs = np.empty(0) if y is None else y
    everything = np.concatenate([values.intervals.ravel(), values.mean, outputs])
    finite = everything[np.isfinite(everything)]
    low, high = float(finite.min()), float(finite.max())
    margin = _BEYOND * (high - low) or 1.0
    return low - margin, high + margin


def draw_outputs(
    ax: Axes, rows: BandValues, y: Array, levels: Sequence[float], given: Style | None
) -> tuple[Line2D, Line2D]:
    """Dots for outputs inside their widest interval, crosses for those outside, both counted."""
    from matplotlib.lines import Line2D

    covered = inside(y, rows.intervals[:, :, int(np.argmax(levels))])
    dots = {"color": INK, "marker": "o", "markersize": 3, "markeredgewidth": 0}
    crosses = {"color": VERMILION, "marker": "x", "markersize": 6, "markeredgewidth": 1.6}
    drawn = []
    for which, word, look in ((covered, "inside", dots), (~covered, "outside", crosses)):
        label = f"{word} {100 * max(levels):.4g} % ({which.sum()} of {len(y)})"
        merged = styled(Line2D, {**look, **_POINTS, "label": label, "zorder": 4}, given)
        drawn += ax.plot(rows.x[which], y[which], **merged)
    return drawn[0], drawn[1]


def _interval_label(level: float) -> str:
    return f"{100 * level:.4g} % interval"
