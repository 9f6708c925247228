"""Pictures of the intervals: over the inputs, by width, and far from the training rows."""

from __future__ import annotations

import numpy as np

from sosbands.evaluation.band_values import BandValues
from sosbands.evaluation.drawn_rows import DrawnRows, side_by_side
from sosbands.evaluation.judged_rows import FAR
from sosbands.report import traces
from sosbands.report.formats import asked, plot_text
from sosbands.report.traces import BAND, HIT, INK, INNER, MISS, Figure

# Rows with their own vertical line, over one input.
_SEGMENTS = 300
# A band of this level is drawn within bands of much larger ones.
_INNER_LEVEL, _MUCH_LARGER = 0.5, 0.6


def band_figure(drawn: DrawnRows, band: BandValues) -> Figure:
    """The band along the only input."""
    rows, shown = drawn.rows, []
    inner = (_INNER_LEVEL, INNER)
    for level, fill in ((rows.level, BAND), *((inner,) if rows.level > _MUCH_LARGER else ())):
        ends = band.intervals[:, :, rows.levels.index(level)]
        if np.isfinite(ends).any():
            shown.append(traces.ribbon(band.x, ends, f"{asked(level)} interval", fill))
    shown.append(traces.line(band.x, band.mean, "prediction", INK))
    shown += traces.dots(drawn.inputs[:, 0], rows.y[drawn.index], drawn.covered)
    layout = traces.layout(plot_text(rows.names[0]), "y", height=440)
    if band.extrapolation is not None:
        layout["shapes"] = traces.far_away(band.x, band.extrapolation > FAR)
    return Figure("band", shown, layout)


def sorted_figure(cloud: DrawnRows) -> Figure:
    """Rows from the narrowest interval to the widest, around the prediction."""
    drawn, k = cloud.sorted_by_width(), len(cloud.place)
    share = 100 * (np.arange(k) + 0.5) / k
    return Figure(
        "sorted",
        [
            traces.ribbon(share, drawn.ends, f"{asked(drawn.rows.level)} interval", BAND),
            traces.line(share[[0, -1]], np.zeros(2), "prediction", INK),
            *traces.dots(share, drawn.errors, drawn.covered),
        ],
        traces.layout("rows with a narrower interval, %", "y − prediction", height=400),
    )


def input_figure(drawn: DrawnRows, j: int) -> Figure:
    """Intervals around the prediction over one of several inputs: a partial view."""
    drawn = drawn.thinned(_SEGMENTS)
    x, ends = side_by_side(drawn.inputs[:, j]), drawn.ends
    finite = np.isfinite(ends).all(axis=1)
    across = np.column_stack([x, x, x])[finite].ravel()
    heights = np.column_stack([ends, np.full(len(x), np.nan)])[finite].ravel()
    segments = {
        **traces.scatter("lines", f"{asked(drawn.rows.level)} interval", across, heights),
        "line": {"color": BAND, "width": 3},
        "hoverinfo": "skip",
    }
    layout = traces.layout(plot_text(drawn.rows.names[j]), "y − prediction", height=340)
    return Figure(f"input-{j}", [segments, *traces.dots(x, drawn.errors, drawn.covered)], layout)


def unknown_figure(cloud: DrawnRows) -> Figure:
    """Width against the distance from the training rows."""
    drawn = cloud.finite()
    distance, widths = drawn.extrapolation, drawn.widths
    near = distance <= FAR
    layout = traces.layout("extrapolation", "width of the interval", height=340)
    layout["xaxis"] |= {"range": [-0.02, 1.02]}
    layout["yaxis"] |= {"rangemode": "tozero"}
    return Figure(
        "unknown",
        [
            traces.cloud(distance[near], widths[near], "near training rows", HIT, "circle"),
            traces.cloud(distance[~near], widths[~near], "extrapolated", MISS, "diamond"),
        ],
        layout,
    )
