"""Pictures of the diagnostics: coverage by level, width and region, and the tuning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sosbands.evaluation import Evaluation, PartCoverage
from sosbands.evaluation.tuning_path import SearchPicture, shortest
from sosbands.report import traces
from sosbands.report.markup import asked, count, escaped, number, percent, shortened, table
from sosbands.report.traces import HIT, INK, MISS, MUTED, Figure, Trace


def level_figure(evaluation: Evaluation) -> Figure:
    """Observed coverage against the level asked for."""
    parts = evaluation.by_level
    least = parts[0].level
    ideal = traces.line(
        np.array([least, 1.0]), np.array([least, 1.0]), "as asked", MUTED, dash="dash"
    )
    observed = traces.points(
        [part.level for part in parts],
        [part.coverage for part in parts],
        [part.bounds for part in parts],
        [
            f"asked {asked(part.level)}, observed {percent(part.coverage)}"
            + (f"; {part.n_infinite} intervals are infinite" if part.n_infinite else "")
            for part in parts
        ],
    )
    observed["marker"]["symbol"] = [
        "circle-open" if part.n_infinite else "circle" for part in parts
    ]
    layout = traces.layout("level asked for", "share of rows covered", height=340)
    layout["xaxis"] |= {"tickformat": ".0%", "range": [least - 0.03, 1.02]}
    layout["yaxis"] |= {"tickformat": ".0%"}
    return Figure(
        "levels",
        "Coverage at every level",
        "Dots should lie on the dashed line, or their whiskers (95 % bounds) touch it. Open dots: "
        "some intervals are infinite, for want of calibration rows.",
        "Share of rows covered against the level asked for, with 95 % bounds.",
        [ideal, observed],
        layout,
        table(
            ["asked", "observed", "95 % bounds", "mean width", "infinite"],
            [
                [
                    f"{part.level:g}",
                    percent(part.coverage),
                    _between(part.bounds),
                    number(part.mean_width),
                    count(part.n_infinite),
                ]
                for part in parts
            ],
            caption="Coverage by level",
        ),
    )


def width_figure(evaluation: Evaluation) -> Figure:
    """Coverage from the narrowest intervals to the widest, in two bins or more."""
    parts = evaluation.by_width
    labels = ["narrow", *(str(i) for i in range(2, len(parts))), "wide"]
    return Figure(
        "widths",
        "Coverage of narrow and of wide intervals",
        "All dots should be near the dashed line: then narrow intervals are as trustworthy as "
        "wide ones. A dot far below on the left means over-confidence.",
        "Share of rows covered in bins of the width of their intervals, with 95 % bounds.",
        _part_traces(evaluation, parts, labels),
        _part_layout("width of the interval"),
        _part_table(parts, labels, "Coverage by width"),
    )


def cluster_figure(evaluation: Evaluation) -> Figure:
    """Coverage in regions of the inputs."""
    parts = evaluation.by_cluster
    labels = [chr(ord("A") + i) for i in range(len(parts))]
    return Figure(
        "clusters",
        "Coverage in regions of the inputs",
        "Rows with similar inputs form a region, from A, covered least, to the one covered best; "
        "whiskers far below the dashed line mark regions where intervals are too narrow.",
        "Share of rows covered in clusters of the inputs, with 95 % bounds.",
        _part_traces(evaluation, parts, labels),
        _part_layout("region, see the numbers"),
        _part_table(parts, labels, "Coverage by region"),
    )


def tuning_figure(tuning: Any) -> Figure:
    """The criterion and the interval score against the lengthscale: what `TuningDisplay` draws."""
    picture = SearchPicture.of(tuning.to_frame(), tuning.criterion)
    (name, _), _ = picture.y_labels.values()
    return Figure(
        "tuning",
        "How the band was tuned",
        "Above, higher is better along a line: there the width follows the size of the errors "
        "best. Below, lower is better: the interval score compares lines of different b. A ring "
        "marks what was chosen.",
        "The tuning criterion and the interval score against the lengthscale, with the chosen "
        "point.",
        [
            trace
            for axis, what in zip(("y", "y2"), picture.y_labels, strict=True)
            for trace in _tuning_traces(picture, what, axis)
        ],
        _tuning_layout(picture),
        table(
            [picture.x_label, "b", "sides", escaped(name), "interval score", "chosen"],
            [
                [
                    number(shortest(trial.lengthscale)),
                    number(trial.width_weight),
                    "one" if trial.symmetric else "two",
                    number(trial.criterion),
                    number(trial.interval_score),
                    "yes" if trial is tuning.chosen else "",
                ]
                for trial in tuning.trials
            ],
            caption="Every trial of the tuning",
        ),
    )


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
    hover = f"{picture.x_label} %{{x:.3g}}<br>{escaped(picture.y_labels[what][0])} %{{y:.4g}}"
    for trace in (*shown, ring):
        trace |= {"yaxis": axis, "legendgroup": trace["name"], "showlegend": axis == "y"}
        trace["hovertemplate"] = hover
    return [*shown, ring]


def _tuning_layout(picture: SearchPicture) -> dict[str, Any]:
    upper, lower = (f"{escaped(name)},<br>{way}" for name, way in picture.y_labels.values())
    layout = traces.layout(picture.x_label, upper, height=520)
    layout["yaxis2"] = {**layout["yaxis"], "title": {"text": lower}}
    for axis, domain in (("yaxis", [0.54, 1.0]), ("yaxis2", [0.0, 0.46])):
        layout[axis] |= {"type": picture.y_scale, "domain": domain}
    layout["xaxis"] |= {"type": picture.x_scale, "anchor": "y2"}
    return layout


def _part_traces(
    evaluation: Evaluation, parts: Sequence[PartCoverage], labels: list[str]
) -> list[Trace]:
    level = evaluation.level
    ideal = traces.line(
        np.arange(float(len(parts))),
        np.full(len(parts), level),
        f"asked: {asked(level)}",
        MUTED,
        dash="dash",
    )
    ideal["x"] = labels
    texts = [
        f"{shortened(part.label, 60)}<br>{percent(part.coverage)} of {count(part.n_rows)} rows"
        for part in parts
    ]
    observed = traces.points(
        labels, [part.coverage for part in parts], [part.bounds for part in parts], texts
    )
    return [ideal, observed]


def _part_layout(title: str) -> dict[str, Any]:
    layout = traces.layout(title, "share of rows covered", height=340)
    layout["xaxis"] |= {"type": "category", "showgrid": False}
    layout["yaxis"] |= {"tickformat": ".0%"}
    return layout


def _part_table(parts: Sequence[PartCoverage], labels: Sequence[str], caption: str) -> str:
    return table(
        ["", "which", "rows", "covered", "95 % bounds", "median width"],
        [
            [
                label,
                shortened(part.label, 90),
                count(part.n_rows),
                percent(part.coverage),
                _between(part.bounds),
                number(part.median_width),
            ]
            for part, label in zip(parts, labels, strict=True)
        ],
        caption=caption,
    )


def _between(bounds: tuple[float, float]) -> str:
    return f"{percent(bounds[0])} to {percent(bounds[1])}"
