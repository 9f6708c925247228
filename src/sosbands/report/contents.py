"""All that the templates of a report tell of."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from sosbands.estimator import BandRegressor
from sosbands.evaluation import Evaluation, PartCoverage, PredictedRows
from sosbands.evaluation.drawn_rows import DrawnRows
from sosbands.evaluation.shown_columns import ShownColumn, said_date
from sosbands.evaluation.tuning_path import SearchPicture, choice_in_words
from sosbands.quoting import shortened
from sosbands.report import pictures
from sosbands.report.charts import Chart
from sosbands.report.doubts import doubts
from sosbands.report.formats import number, one_line
from sosbands.report.reasons import width_reasons

# The coverage of fewer rows than this says nothing.
_LEAST_ROWS = 20
# Lengthscales that are listed, and characters of a parameter.
_LENGTHSCALES, _LONGEST_VALUE = 12, 160
_BADGES = {"as asked": "good", "too high": "fair", "too low": "poor", "infinite": "poor"}


@dataclass(frozen=True)
class Strips:
    """Coverage of parts of the rows on one common scale, in percent of its length."""

    parts: tuple[PartCoverage, ...]
    level: float
    low: float

    @classmethod
    def of(cls, parts: tuple[PartCoverage, ...], level: float) -> Strips:
        """From the smallest share that must be shown to 100 %."""
        told = [part for part in parts if part.n_rows >= _LEAST_ROWS]
        shares = [s for p in told for s in (p.coverage, *(p.expected or (level,)))]
        return cls(parts, level, min([*shares, level]) - 0.03)

    def tells(self, part: PartCoverage) -> bool:
        """Whether a part has rows enough for a picture."""
        return part.n_rows >= _LEAST_ROWS or len(self.parts) == 1

    def place(self, share: float) -> float:
        """Where a share is."""
        return round(100 * (share - self.low) / (1.02 - self.low), 1)


def contents(
    model: BandRegressor, X: Any, rows: PredictedRows, *, name: str, target: str, unit: str
) -> dict[str, Any]:
    """The whole report on these rows; X are the same rows as the user gave them.

    The name of what is predicted stands at axes; in sentences it is parted from its unit.
    """
    evaluation, drawn, tuning = rows.evaluation(), DrawnRows.of(rows), model.tuning_
    band = drawn.band_along(model, X)
    categories, distances = _categories(drawn), drawn.by_distance()
    named = {rows.columns[at].name: parts for at, parts in categories.items()}
    search = None if tuning is None else SearchPicture.of(tuning.to_frame(), tuning.criterion)
    if band is not None:
        shown = [pictures.band_chart(drawn, band, name)]
    else:
        shown = _column_charts(drawn, f"{target} − prediction{',' if unit else ''}{unit}")
    shown.append(pictures.level_chart(evaluation))
    if search is not None:
        shown += pictures.tuning_charts(search)
    return {
        "model": model,
        "rows": rows,
        "evaluation": evaluation,
        "drawn": drawn,
        "band": band,
        "eleven_places": [] if band is None else np.linspace(0, len(band.x) - 1, 11).astype(int),
        "target": target,
        "unit": unit,
        "example": _example(rows),
        "overall": Strips.of((_overall(evaluation),), rows.level),
        "quantiles": dict(drawn.width_quantiles()),
        "doubts": doubts(evaluation, named, distances, unit),
        "usual_intervals": lambda column: _usual_intervals(drawn, column),
        "diagnostics": _diagnostics(evaluation),
        "reasons": width_reasons(model, X, drawn),
        "charts": {chart.name: chart for chart in shown},
        "strips": _strips(evaluation, distances, categories),
        "badge": _badge(evaluation, [*distances, *chain(*categories.values())]),
        "guarantee": model.calibration_.promise(evaluation.level),
        "status": model.certificate_.status,
        "choice": None if tuning is None else choice_in_words(tuning),
        "search": search,
        "lengthscales": list(_lengthscales(model, rows.names)),
        "parameters": list(_parameters(model)),
    }


def _column_charts(drawn: DrawnRows, errors: str) -> list[Chart]:
    """By width, and over the most important columns that have numbers or dates.

    `errors` are the words at the axis.
    """
    columns = drawn.rows.columns
    along = (at for at in drawn.important if pictures.has_chart(drawn, columns[at]))
    return [
        pictures.sorted_chart(drawn, errors),
        *(pictures.column_chart(drawn, at, errors) for at in along),
    ]


def _strips(
    evaluation: Evaluation,
    distances: tuple[PartCoverage, ...],
    categories: dict[int, tuple[PartCoverage, ...]],
) -> dict[str, Strips]:
    """Coverage by width, region, distance and category, where there is something to show."""
    found = {"widths": evaluation.by_width}
    if evaluation.outcome != "infinite":
        found |= {"regions": evaluation.by_cluster, "distances": distances}
    found |= {f"column-{at}": parts for at, parts in categories.items()}
    return {name: Strips.of(parts, evaluation.level) for name, parts in found.items() if parts}


def _categories(drawn: DrawnRows) -> dict[int, tuple[PartCoverage, ...]]:
    """Coverage by name of the important columns of categories."""
    columns = drawn.rows.columns
    return {
        at: drawn.by_category(columns[at])
        for at in drawn.important
        if columns[at].kind == "category"
    }


def _overall(evaluation: Evaluation) -> PartCoverage:
    return PartCoverage(
        label="all rows",
        n_rows=evaluation.n_rows,
        coverage=evaluation.coverage,
        bounds=evaluation.coverage_bounds,
        median_width=evaluation.median_width,
        expected=evaluation.expected_coverage,
    )


def _usual_intervals(drawn: DrawnRows, column: ShownColumn) -> Iterator[tuple[str, str, Any]]:
    """The bins of a chart along a column, with their ends in words."""
    known = drawn[np.isfinite(drawn.values(column))]
    say = said_date if column.kind == "date" else number
    for left, right, ends in zip(*known.median_intervals(known.values(column)), strict=True):
        yield say(float(left)), say(float(right)), ends


def _diagnostics(evaluation: Evaluation) -> list[tuple[str, float | None, str]]:
    """Name, value and meaning of each; those by level have a picture."""
    frame = evaluation.to_frame()
    frame = frame[~frame["diagnostic"].str.startswith("coverage at ")]
    return list(frame.itertuples(index=False, name=None))


def _badge(evaluation: Evaluation, others: Sequence[PartCoverage]) -> str:
    """The colour of the verdict; coverage that holds on average alone is no more than fair."""
    parts = (*evaluation.by_width, *evaluation.by_cluster, *others)
    if evaluation.outcome == "as asked" and any(part.short for part in parts):
        return "fair"
    return _BADGES[evaluation.outcome]


def _example(rows: PredictedRows) -> int:
    """A row whose interval is as wide as those of most rows."""
    return int(np.argsort(rows.widths, kind="stable")[len(rows.widths) // 2])


def _lengthscales(model: BandRegressor, inputs: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The shortest ones: over a short lengthscale the width varies much."""
    found, sees = np.atleast_1d(model.lengthscale_), model.band_.scale_inputs
    if len(found) == 1:
        yield "lengthscale", number(float(found[0]))
        return
    names = [one_line(inputs[j]) for j in sees.inputs.columns]
    names += ["(the prediction)"] if sees.predictions is not None else []
    names += ["(error of a level)"] * len(sees.sizes)
    names += ["(first guess of the error)"] if sees.difficulty is not None else []
    order = np.argsort(found, kind="stable")
    for j in order[:_LENGTHSCALES]:
        yield f"lengthscale of {names[j]}", number(float(found[j]))
    if len(order) > _LENGTHSCALES:
        yield "other lengthscales", f"{len(order) - _LENGTHSCALES}, all longer"


def _parameters(model: BandRegressor) -> Iterator[dict[str, Any]]:
    """Every parameter beside its default."""
    defaults = inspect.signature(type(model)).parameters
    for name, given in model.get_params(deep=False).items():
        value, default = _value(given), _value(defaults[name].default)
        yield {"name": name, "value": value, "default": default, "changed": value != default}


def _value(value: Any) -> str:
    return shortened(" ".join(repr(value).split()), _LONGEST_VALUE)
