"""What bands are drawn with: areas or segments, lines, points, arrow heads where they never end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sosbands.evaluation.band_values import BandValues
from sosbands.evaluation.coverage_counts import inside
from sosbands.evaluation.judged_rows import FAR
from sosbands.plotting.style import INK, PALE, VERMILION, Style, styled, tint
from sosbands.types import Array, Mask

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Infinite intervals are cut this far beyond what is finite, as a share of its range.
_BEYOND = 0.08
_POINTS: dict[str, Any] = {"linestyle": "none"}
_DASHES: dict[str, Any] = {**_POINTS, "marker": "_", "markersize": 4}


@dataclass(frozen=True, eq=False)
class BandMarks:
    """Draws a band on axes, part by part; see `BandDisplay` for the artists.

    Attributes
    ----------
    ax : matplotlib Axes
    band : BandValues
    levels : sequence of float
    joined : bool
        Whether the band is a curve along the axis; otherwise each place is a row of its own.
    edges : (float, float)
        Where infinite intervals are cut.
    colour : matplotlib colour
    """

    ax: Axes
    band: BandValues
    levels: Sequence[float]
    joined: bool
    edges: tuple[float, float]
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
