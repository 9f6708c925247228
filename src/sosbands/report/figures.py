"""The pictures of a report: intervals, coverage by level, width and region, and the tuning."""

import html
from collections.abc import Sequence
from string import ascii_uppercase

import numpy as np

from sosbands.evaluation import Evaluation, PartCoverage
from sosbands.evaluation.band_values import BandValues
from sosbands.evaluation.drawn_rows import DrawnRows, side_by_side
from sosbands.evaluation.judged_rows import FAR
from sosbands.evaluation.tuning_path import SearchPicture
from sosbands.report import traces
from sosbands.report.formats import asked, count, percent, plot_text
from sosbands.report.traces import BAND, HIT, INK, INNER, MISS, MUTED, Figure, Trace

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
    drawn, k = cloud[np.argsort(cloud.widths, kind="stable")], len(cloud.place)
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
    drawn = drawn[:_SEGMENTS]
    x, ends = side_by_side(drawn.inputs[:, j]), drawn.ends
    finite = np.isfinite(ends).all(axis=1)
    across = np.column_stack([x, x, x])[finite].ravel()
    heights = np.column_stack([ends, np.full(len(x), np.nan)])[finite].ravel()
    name, look = f"{asked(drawn.rows.level)} interval", {"color": BAND, "width": 3}
    segments = traces.scatter("lines", name, across, heights, line=look, hoverinfo="skip")
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


def level_figure(evaluation: Evaluation) -> Figure:
    """Observed coverage against the level asked for."""
    parts = evaluation.by_level
    least = parts[0].level
    ends = np.array([least, 1.0])
    texts = [
        f"asked {asked(part.level)}, observed {percent(part.coverage)}"
        + (f"; {part.n_infinite} intervals are infinite" if part.n_infinite else "")
        for part in parts
    ]
    observed = traces.points([part.level for part in parts], parts, texts)
    observed["marker"]["symbol"] = [
        "circle-open" if part.n_infinite else "circle" for part in parts
    ]
    layout = traces.layout("level asked for", "share of rows covered", height=340)
    layout["xaxis"] |= {"tickformat": ".0%", "range": [least - 0.03, 1.02]}
    layout["yaxis"] |= {"tickformat": ".0%"}
    ideal = traces.line(ends, ends, "as asked", MUTED, dash="dash")
    return Figure("levels", [ideal, observed], layout)


def width_figure(evaluation: Evaluation) -> Figure:
    """Coverage from the narrowest intervals to the widest, in two bins or more."""
    parts = evaluation.by_width
    labels = ["narrow", *(str(i) for i in range(2, len(parts))), "wide"]
    return _part_figure("widths", evaluation.level, parts, labels, "width of the interval")


def cluster_figure(evaluation: Evaluation) -> Figure:
    """Coverage in regions of the inputs."""
    parts = evaluation.by_cluster
    labels = ascii_uppercase[: len(parts)]
    return _part_figure("clusters", evaluation.level, parts, labels, "region, see the numbers")


def tuning_figure(picture: SearchPicture) -> Figure:
    """The criterion and the interval score against the lengthscale: what `TuningDisplay` draws."""
    panels = zip(("y", "y2"), picture.y_labels, strict=True)
    shown = [trace for axis, what in panels for trace in _tuning_traces(picture, what, axis)]
    upper, lower = (f"{html.escape(name)},<br>{way}" for name, way in picture.y_labels.values())
    layout = traces.layout(picture.x_label, upper, height=520)
    layout["yaxis2"] = {**layout["yaxis"], "title": {"text": lower}}
    for axis, domain in (("yaxis", [0.54, 1.0]), ("yaxis2", [0.0, 0.46])):
        layout[axis] |= {"type": picture.y_scale, "domain": domain}
    layout["xaxis"] |= {"type": picture.x_scale, "anchor": "y2"}
    return Figure("tuning", shown, layout)


def _tuning_traces(picture: SearchPicture, what: str, axis: str) -> list[Trace]:
    """The lines of one panel and a ring; those of the upper one are in the legend for both."""
    tints = (HIT, MUTED, INK, MISS)
    shown = []
    for i, line in enumerate(picture.lines):
        colour = tints[i % len(tints)]
        trace = traces.line(line.lengthscale, line.panels[what], line.label, colour)
        trace |= {
            "mode": "lines+markers" if line.joined else "markers",
            "marker": {"color": colour, "size": 7, "symbol": i},
        }
        shown.append(trace)
    chosen = picture.chosen
    ring = traces.cloud(chosen.lengthscale, chosen.panels[what], chosen.label, INK, "circle-open")
    ring["marker"] |= {"size": 16, "line": {"width": 2}}
    hover = f"{picture.x_label} %{{x:.3g}}<br>{html.escape(picture.y_labels[what][0])} %{{y:.4g}}"
    for trace in (*shown, ring):
        trace |= {"yaxis": axis, "legendgroup": trace["name"], "showlegend": axis == "y"}
        trace["hovertemplate"] = hover
    return [*shown, ring]


def _part_figure(
    name: str, level: float, parts: Sequence[PartCoverage], labels: Sequence[str], title: str
) -> Figure:
    asked_for = np.full(len(parts), level)
    ideal = traces.line(asked_for, asked_for, f"asked: {asked(level)}", MUTED, dash="dash")
    ideal["x"] = list(labels)
    texts = [
        f"{plot_text(part.label, 60)}<br>{percent(part.coverage)} of {count(part.n_rows)} rows"
        for part in parts
    ]
    layout = traces.layout(title, "share of rows covered", height=340)
    layout["xaxis"] |= {"type": "category", "showgrid": False}
    layout["yaxis"] |= {"tickformat": ".0%"}
    return Figure(name, [ideal, traces.points(labels, parts, texts)], layout, labels)
