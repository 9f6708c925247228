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


@dataclass(frozen=True, eq=False)
class BandMarks:
    """The artists of a band; see `BandDisplay`."""

    intervals: list[Artist]
    mean: Line2D
    truth: list[Artist] | None
    extrapolation: Artist | None
    infinite: list[Line2D] | None


def visible_range(values: BandValues, y: Array | None) -> tuple[float, float]:
    """What is finite, and a little more: infinite intervals are cut there."""
    outputs = np.empty(0) if y is None else y
    everything = np.concatenate([values.intervals.ravel(), values.mean, outputs])
    finite = everything[np.isfinite(everything)]
    low, high = float(finite.min()), float(finite.max())
    margin = _BEYOND * (high - low) or 1.0
    return low - margin, high + margin


def draw_curve(
    ax: Axes,
    curve: BandValues,
    levels: Sequence[float],
    *,
    edges: tuple[float, float],
    colour: Any,
    line_kwargs: Style | None,
) -> BandMarks:
    """Nested areas, a line for the mean, dashed lines for the truth."""
    from matplotlib.lines import Line2D

    place, ends = curve.x, np.clip(curve.intervals, *edges)
    areas: list[Artist] = []
    for j, strength in _from_wide_to_narrow(levels, 0.25, 0.6):
        area = ax.fill_between(
            place, ends[:, 0, j], ends[:, 1, j], color=tint(colour, strength), lw=0, zorder=1
        )
        area.set_label(_interval_label(levels[j]))
        areas.append(area)
    far = None
    if curve.extrapolation is not None:
        far = ax.fill_between(
            place,
            0,
            1,
            where=(curve.extrapolation > FAR).tolist(),
            transform=ax.get_xaxis_transform(),
            color=PALE,
            lw=0,
            zorder=0,
            label="extrapolation",
        )
    look = styled(Line2D, {"color": colour, "linewidth": 1.8, "label": "mean"}, line_kwargs)
    (mean,) = ax.plot(place, curve.mean, zorder=3, **look)
    truth: list[Artist] | None = None
    if curve.truth is not None:
        truth = list(
            ax.plot(
                place,
                curve.truth.reshape(len(place), -1),
                color="black",
                linewidth=0.9,
                linestyle=(0, (4, 2)),
                zorder=2.5,
            )
        )
        truth[0].set_label("true interval")
    infinite = _draw_infinite(ax, curve, edges, colour, every=max(len(place) // 25, 1))
    return BandMarks(_in_order(areas, levels), mean, truth, far, infinite)


def draw_rows(
    ax: Axes,
    rows: BandValues,
    levels: Sequence[float],
    *,
    edges: tuple[float, float],
    colour: Any,
    line_kwargs: Style | None,
) -> BandMarks:
    """A vertical segment for each row and level, dashes for the mean and the truth."""
    from matplotlib.lines import Line2D

    place, ends = rows.x, np.clip(rows.intervals, *edges)
    segments: list[Artist] = []
    for rank, (j, strength) in enumerate(_from_wide_to_narrow(levels, 0.4, 0.65)):
        shade = tint(colour, strength)
        drawn = ax.vlines(place, ends[:, 0, j], ends[:, 1, j], colors=[shade], lw=1 + 0.8 * rank)
        drawn.set(zorder=1, label=_interval_label(levels[j]))
        segments.append(drawn)
    dash: dict[str, Any] = {"marker": "_", "markersize": 4, "linestyle": "none"}
    look = {**dash, "color": colour, "label": "mean"}
    (mean,) = ax.plot(place, rows.mean, zorder=2, **styled(Line2D, look, line_kwargs))
    truth: list[Artist] | None = None
    if rows.truth is not None:
        # Ends of several levels in every row would hide the rest.
        widest = rows.truth[:, :, int(np.argmax(levels))]
        truth = list(ax.plot(place, widest, color="black", zorder=2.5, **dash))
        truth[0].set_label(f"true {_interval_label(max(levels))}")
    far: Artist | None = None
    if rows.extrapolation is not None:
        which = rows.extrapolation > FAR
        ring: dict[str, Any] = {
            "marker": "o",
            "markersize": 9,
            "markerfacecolor": "none",
            "linestyle": "none",
        }
        label = f"extrapolation ({which.sum()} of {len(place)})"
        (far,) = ax.plot(place[which], rows.mean[which], color=INK, label=label, zorder=2.5, **ring)
    infinite = _draw_infinite(ax, rows, edges, colour, every=1)
    return BandMarks(_in_order(segments, levels), mean, truth, far, infinite)


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
        merged = styled(Line2D, {**look, "linestyle": "none", "label": label, "zorder": 4}, given)
        drawn += ax.plot(rows.x[which], y[which], **merged)
    return drawn[0], drawn[1]


def _draw_infinite(
    ax: Axes, band: BandValues, edges: tuple[float, float], colour: Any, *, every: int
) -> list[Line2D] | None:
    """Arrow heads where some interval was cut; the axes end there."""
    endless: Mask = np.any(np.isinf(band.intervals), axis=2)
    if not endless.any():
        return None
    drawn = []
    for which, edge, marker in zip(endless.T, edges, "v^", strict=True):
        x = band.x[which][::every]
        (heads,) = ax.plot(x, np.full(len(x), edge), marker, color=colour, ms=4, clip_on=False)
        if len(x):
            heads.sticky_edges.y.append(edge)
        drawn.append(heads)
    drawn[1 if endless[:, 1].any() else 0].set_label("no finite end")
    return drawn


def _from_wide_to_narrow(
    levels: Sequence[float], light: float, dark: float
) -> list[tuple[int, float]]:
    """The places of the levels, largest first, with the strength of the tint of each."""
    order = np.argsort(levels)[::-1]
    strengths = np.linspace(light, dark, len(levels)) if len(levels) > 1 else [light]
    return [(int(j), float(s)) for j, s in zip(order, strengths, strict=True)]


def _in_order(artists: list[Artist], levels: Sequence[float]) -> list[Artist]:
    """Artists from the largest level on, in the order of the levels."""
    ranks = np.argsort(np.argsort(levels)[::-1])
    return [artists[rank] for rank in ranks]


def _interval_label(level: float) -> str:
    return f"{100 * level:.4g} % interval"
