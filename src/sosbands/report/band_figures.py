"""Pictures of the intervals: over the inputs, by width, and far from the training rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sosbands.report import traces
from sosbands.report.drawn import DrawnRows, Grid
from sosbands.report.markup import asked, count, number, percent, shortened, table
from sosbands.report.traces import BAND, FAR_FILL, HIT, INK, INNER, MISS, Figure
from sosbands.types import Array

# Rows with their own vertical line, over one input; rows in the other clouds.
_SEGMENTS, _CLOUD = 300, 1500
# An input with at most so many values is drawn with its rows side by side.
_FEW_VALUES = 12


def band_figure(drawn: DrawnRows, grid: Grid) -> Figure:
    """The band along the only input."""
    rows = drawn.rows
    level, inner = rows.level, _inner_level(rows.levels, rows.level)
    shown = [
        traces.ribbon(
            grid.x, grid.intervals[:, :, rows.levels.index(each)], f"{asked(each)} interval", fill
        )
        for each, fill in ((level, BAND), (inner, INNER))
        if each is not None and np.isfinite(grid.intervals[:, :, rows.levels.index(each)]).any()
    ]
    shown.append(traces.line(grid.x, grid.mean, "prediction", INK))
    shown += traces.dots(drawn.input(0), rows.y[drawn.index], rows.covered[drawn.index])
    name = shortened(rows.names[0])
    layout = traces.layout(name, "y", height=440)
    layout["shapes"] = [
        {
            "type": "rect",
            "xref": "x",
            "yref": "paper",
            "x0": float(left),
            "x1": float(right),
            "y0": 0,
            "y1": 1,
            "fillcolor": FAR_FILL,
            "line": {"width": 0},
            "layer": "below",
        }
        for left, right in traces.runs(grid.x, grid.far)
    ]
    places = np.linspace(0, len(grid.x) - 1, 11).astype(int)
    chosen = grid.intervals[:, :, rows.levels.index(level)]
    return Figure(
        "band",
        "The band over the data",
        f"About {asked(level)} of the dots should lie in the pale band; it should be narrow where "
        "they are close to the line, and wide where they are not. Grey background: no training "
        "rows are near, the model guesses.",
        f"The prediction over {name} with its {asked(level)} intervals and the rows as dots.",
        shown,
        layout,
        table(
            [name, "prediction", "lower", "upper"],
            [[number(v) for v in (grid.x[i], grid.mean[i], *chosen[i])] for i in places],
            caption=f"The band at eleven places, level {level:g}",
        ),
    )


def sorted_figure(drawn: DrawnRows) -> Figure:
    """All rows from the narrowest interval to the widest, around the prediction."""
    rows, index = drawn.rows, drawn.index[:_CLOUD]
    index = index[np.argsort(rows.widths[index], kind="stable")]
    share = 100 * (np.arange(len(index)) + 0.5) / len(index)
    mean = rows.mean[index]
    finite = np.isfinite(rows.chosen[index]).all(axis=1)
    ends = rows.chosen[index] - mean[:, None]
    shown = [traces.ribbon(share, ends, f"{asked(rows.level)} interval", BAND)]
    shown.append(traces.line(share[[0, -1]], np.zeros(2), "prediction", INK))
    shown += traces.dots(share, rows.y[index] - mean, rows.covered[index])
    quantiles = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    widths = np.quantile(rows.widths[index][finite], quantiles) if finite.any() else quantiles[:0]
    return Figure(
        "sorted",
        "From the narrowest interval to the widest",
        "Each row is a dot at its distance from the prediction, sorted by the width of its "
        "interval: dots should spread out as the band does. A band that is as wide on the left as "
        "on the right does not adapt.",
        f"Errors of the prediction within {asked(rows.level)} intervals that widen to the right.",
        shown,
        traces.layout("rows with a narrower interval, %", "y − prediction", height=400),
        table(
            ["share of rows", "narrower than"],
            [[percent(q), number(w)] for q, w in zip(quantiles, widths, strict=False)],
            caption="Quantiles of the width",
        ),
    )


def input_figure(drawn: DrawnRows, j: int) -> Figure:
    """Intervals around the prediction over one of several inputs: a partial view."""
    rows, chosen = drawn.rows, slice(0, _SEGMENTS)
    index, name = drawn.index[chosen], shortened(drawn.rows.names[j])
    x = _spread(drawn.input(j)[chosen])
    mean = rows.mean[index]
    ends = rows.chosen[index] - mean[:, None]
    finite = np.isfinite(ends).all(axis=1)
    lines = np.column_stack([x, x, x])[finite].ravel()
    heights = np.column_stack([ends, np.full(len(x), np.nan)])[finite].ravel()
    segments = {
        "type": "scatter",
        "mode": "lines",
        "name": f"{asked(rows.level)} interval",
        "x": traces.compact(lines),
        "y": traces.compact(heights),
        "line": {"color": BAND, "width": 3},
        "hoverinfo": "skip",
    }
    dots = traces.dots(x, rows.y[index] - mean, rows.covered[index])
    return Figure(
        f"input-{j}",
        f"Over {name}",
        "Each row is a dot at its distance from the prediction, on the line of its own interval: "
        "long lines are where the model expects large errors.",
        f"Errors and {asked(rows.level)} intervals around the prediction over {name}.",
        [segments, *dots],
        traces.layout(name, "y − prediction", height=340),
        table(
            [name, "rows drawn", "median width"],
            _width_by_input(drawn.input(j), rows.widths[drawn.index]),
            caption=f"Width of the intervals over {name}",
        ),
    )


def unknown_figure(drawn: DrawnRows, far: float) -> Figure:
    """Width against the distance from the training rows."""
    rows, place = drawn.rows, drawn.place[:_CLOUD]
    distance, widths = rows.extrapolation[place], rows.widths[rows.sample[place]]
    finite = np.isfinite(widths)
    distance, widths = distance[finite], widths[finite]
    near = distance <= far
    shown = [
        traces.cloud(distance[near], widths[near], "near training rows", HIT, "circle"),
        traces.cloud(distance[~near], widths[~near], "extrapolated", MISS, "diamond"),
    ]
    layout = traces.layout("extrapolation", "width of the interval", height=340)
    layout["xaxis"] |= {"range": [-0.02, 1.02]}
    layout["yaxis"] |= {"rangemode": "tozero"}
    return Figure(
        "unknown",
        "How far from the training rows",
        "Dots to the right of the middle are rows unlike all training rows: trust neither the "
        "prediction nor the interval there. Dots at the top are rows where the model knows that "
        "it does not know.",
        "Width of the interval against the distance from the training rows.",
        shown,
        layout,
        table(
            ["extrapolation", "rows drawn", "median width"],
            _width_by_distance(distance, widths, far),
            caption="Width of the intervals by distance",
        ),
    )


def _inner_level(levels: Sequence[float], level: float) -> float | None:
    """A level whose band lies well within that of `level`."""
    return 0.5 if 0.5 in levels and level > 0.6 else None


def _width_by_distance(distance: Array, widths: Array, far: float) -> Iterator[list[str]]:
    for low, high in ((0.0, 0.1), (0.1, far), (far, 1.0)):
        inside = (distance <= high) & ((distance > low) | (low == 0))
        median = float(np.median(widths[inside])) if inside.any() else None
        yield [f"{low:g} to {high:g}", count(int(inside.sum())), number(median)]


def _width_by_input(x: Array, widths: Array) -> Iterator[list[str]]:
    """Ranges of an input at its quantiles, with the median width in each."""
    edges = np.unique(np.quantile(x, np.linspace(0, 1, 6)))
    place = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, max(len(edges) - 2, 0))
    for b in np.unique(place):
        inside = place == b
        low, high = x[inside].min(), x[inside].max()
        name = number(low) if low == high else f"{number(low)} to {number(high)}"
        yield [name, count(int(inside.sum())), number(float(np.median(widths[inside])))]


def _spread(x: Array) -> Array:
    """Rows with few different values side by side, so that they do not hide each other."""
    values = np.unique(x)
    if len(values) > _FEW_VALUES:
        return x
    step = float(np.diff(values).min()) if len(values) > 1 else 1.0
    shift = np.random.default_rng(0).uniform(-0.3, 0.3, len(x))
    spread: Array = x + shift * step
    return spread
