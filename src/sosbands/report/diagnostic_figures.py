"""Pictures of the diagnostics: coverage by level, width and region, and the tuning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sosbands.evaluation import Evaluation, PartCoverage
from sosbands.report import traces
from sosbands.report.markup import asked, count, number, percent, shortened, table
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
    """The criterion against the lengthscale, for each weight of the width."""
    families: dict[tuple[float, bool], list[Any]] = {}
    for trial in tuning.trials:
        families.setdefault((trial.width_weight, trial.symmetric), []).append(trial)
    tints = (HIT, MUTED, INK, MISS)
    shown = []
    for i, ((weight, symmetric), trials) in enumerate(families.items()):
        trials.sort(key=lambda trial: _size(trial.lengthscale))
        trace = traces.line(
            np.array([_size(trial.lengthscale) for trial in trials]),
            np.array([trial.criterion for trial in trials]),
            f"b = {number(weight)}{'' if symmetric else ', two-sided'}",
            tints[i % len(tints)],
        )
        trace |= {"mode": "lines+markers", "marker": {"color": tints[i % len(tints)], "size": 7}}
        trace["text"] = [f"interval score {number(trial.interval_score)}" for trial in trials]
        trace["hovertemplate"] = "lengthscale %{x:.3g}<br>criterion %{y:.3g}<br>%{text}"
        shown.append(trace)
    chosen = tuning.chosen
    star = traces.cloud(
        np.array([_size(chosen.lengthscale)]),
        np.array([chosen.criterion]),
        "chosen",
        MISS,
        "star",
    )
    star["marker"]["size"] = 16
    layout = traces.layout(
        "lengthscale (standardised units)", _criterion(tuning.criterion), height=340
    )
    layout["xaxis"] |= {"type": "log"}
    return Figure(
        "tuning",
        "How the band was tuned",
        "Higher is better along a line: there the width follows the size of the errors best. Lines "
        "of different b are compared by their interval score (hover, or see the numbers).",
        "The tuning criterion against the lengthscale, with the chosen point.",
        [*shown, star],
        layout,
        table(
            ["lengthscale", "b", "sides", "criterion", "interval score", "chosen"],
            [
                [
                    number(_size(trial.lengthscale)),
                    number(trial.width_weight),
                    "one" if trial.symmetric else "two",
                    number(trial.criterion),
                    number(trial.interval_score),
                    "yes" if trial is chosen else "",
                ]
                for trial in tuning.trials
            ],
            caption="Every trial of the tuning",
        ),
    )


def _criterion(name: str) -> str:
    return {"hsic": "HSIC of error and width"}.get(name, name.replace("_", " "))


def _size(lengthscale: ArrayLike) -> float:
    """The geometric mean of the lengthscales of all inputs."""
    return float(np.exp(np.mean(np.log(lengthscale))))


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
