"""The pictures of a report: intervals, coverage by level, and the tuning."""

from __future__ import annotations

import numpy as np

from sosbands.evaluation import Evaluation
from sosbands.evaluation.band_values import BandValues
from sosbands.evaluation.drawn_rows import DrawnRows, side_by_side
from sosbands.evaluation.judged_rows import FAR
from sosbands.evaluation.shown_columns import ShownColumn
from sosbands.evaluation.tuning_path import SearchPicture
from sosbands.report.charts import Axis, Chart, runs, usual_range
from sosbands.report.formats import asked, number, one_line, percent
from sosbands.types import Array

# A band of this level is drawn within bands of much larger ones.
_INNER_LEVEL, _MUCH_LARGER = 0.5, 0.6
# A column with no more different values than this is drawn value by value.
_FEW_VALUES = 24


def band_chart(drawn: DrawnRows, band: BandValues, target: str) -> Chart:
    """The band along the only input."""
    rows, column = drawn.rows, drawn.rows.columns[0]
    y = rows.y[drawn.index]
    known = np.ones(len(band.x), dtype=bool)
    if band.extrapolation is not None:
        known = band.extrapolation <= FAR
    at_level = band.intervals[known, :, rows.levels.index(rows.level)]
    low, high = usual_range(y, at_level if known.any() else rows.chosen[drawn.index])
    axes = Axis.over(one_line(column.name), *band.x[[0, -1]]), Axis.over(target, low, high)
    chart = Chart("band", *axes, height=380)
    if band.extrapolation is not None:
        for part in runs(band.extrapolation > FAR):
            ends = np.array([[chart.y.low, chart.y.high]])
            path = chart.boxes(band.x[part[:1]], band.x[part[-1:]], ends)
            chart.add("far", path, legend="no training rows near")
    levels = [(rows.level, "band")]
    if rows.level > _MUCH_LARGER:
        levels.append((_INNER_LEVEL, "inner"))
    for level, look in levels:
        ends = band.intervals[:, :, rows.levels.index(level)]
        chart.add(look, chart.area(band.x, ends), legend=f"{asked(level)} interval")
    chart.add_rows(drawn.values(column), y, drawn.covered)
    chart.add("line ink", chart.line(band.x, band.mean), legend="prediction")
    return chart


def sorted_chart(drawn: DrawnRows, errors: str) -> Chart:
    """Rows from the narrowest interval to the widest, around the prediction."""
    order = np.argsort(drawn.widths, kind="stable")
    share = 100 * (np.arange(len(order)) + 0.5) / len(order)
    axis = Axis("rows, from the narrowest interval to the widest, %", 0.0, 100.0, _PERCENTS)
    return _errors_chart("sorted", axis, share, drawn[order], errors, height=340)


def column_chart(drawn: DrawnRows, at: int, errors: str) -> Chart:
    """Errors and the usual interval along a column of numbers or dates."""
    column = drawn.rows.columns[at]
    drawn = drawn[np.isfinite(drawn.values(column))]
    x, kind = drawn.values(column), Axis.of_dates if column.kind == "date" else Axis.over
    low, high = _inner(x)
    if len(np.unique(x)) <= _FEW_VALUES:
        bins = drawn.median_intervals(x)
        low, high = bins.left[0], bins.right[-1]
    axis = kind(one_line(column.name), float(low), float(high))
    return _errors_chart(f"column-{at}", axis, x, drawn, errors, height=280)


def has_chart(drawn: DrawnRows, column: ShownColumn) -> bool:
    """Whether a column has values to draw along; categories have a table."""
    return column.kind != "category" and len(np.unique(drawn.values(column)[column.known])) > 1


def level_chart(evaluation: Evaluation) -> Chart:
    """Observed coverage against the level asked for, and the range to be expected."""
    parts = evaluation.by_level
    values = [s for p in parts for s in (p.coverage, *(p.expected or p.bounds), p.level)]
    low = 10 * np.floor(10 * min(values))
    ticks = tuple((float(at), f"{at:.0f} %") for at in range(int(low), 101, 10))
    chart = Chart(
        "levels",
        Axis("level asked for", low - 2, 102.0, ticks),
        Axis("rows that were covered", low - 2, 102.0, ticks),
        height=320,
    )
    ends = np.array([low, 100.0])
    chart.add("line dashed", chart.line(ends, ends), legend="as asked")
    for part in parts:
        x = np.full(2, 100 * part.level)
        expected = 100 * np.array(part.expected or part.bounds)
        words = f"asked {asked(part.level)}: {percent(part.coverage)} covered, "
        words += f"{number(expected[0])} to {number(expected[1])} % was to be expected"
        if part.n_infinite:
            words += f"; {part.n_infinite} intervals are infinite"
        chart.add("range", chart.line(x, expected), words, legend="to be expected")
        inside = expected[0] <= 100 * part.coverage <= expected[1]
        look, legend = (
            ("dot big hit", "covered") if inside else ("dot big miss", "covered, not as expected")
        )
        chart.add(look, chart.dots(x[:1], np.array([100 * part.coverage])), words, legend=legend)
    return chart


def tuning_charts(picture: SearchPicture) -> list[Chart]:
    """The criterion and the interval score against the lengthscale: what `TuningDisplay` draws."""
    return [_tuning_chart(picture, what) for what in picture.y_labels]


def _tuning_chart(picture: SearchPicture, what: str) -> Chart:
    everything = [*picture.lines, picture.chosen]
    x = np.concatenate([line.lengthscale for line in everything])
    y = np.concatenate([line.panels[what] for line in everything])
    name, way = picture.y_labels[what]
    chart = Chart(
        f"tuning-{what.replace('_', '-')}",
        Axis.over(picture.x_label, float(x.min()), float(x.max()), log=True),
        Axis.over(f"{name}, {way}", *map(float, (y.min(), y.max()))),
        height=230,
    )
    for i, line in enumerate(picture.lines):
        place, heights = line.lengthscale, line.panels[what]
        if line.joined:
            chart.add(f"line tint{i % 4}", chart.line(place, heights))
        for one in range(len(place)):
            at = slice(one, one + 1)
            words = f"{line.label}: lengthscale {number(place[one])}, {name} {number(heights[one])}"
            path = chart.dots(place[at], heights[at])
            chart.add(f"dot big tint{i % 4}", path, words, legend=line.label)
    chosen = picture.chosen
    path = chart.dots(chosen.lengthscale, chosen.panels[what])
    chart.add("dot ring", path, "chosen", legend="chosen")
    chart.add("dot core", path, "chosen")
    return chart


def _errors_chart(
    name: str, axis: Axis, x: Array, drawn: DrawnRows, words: str, *, height: int
) -> Chart:
    """Errors of the prediction along x, and the usual interval there."""
    errors = drawn.errors
    chart = Chart(name, axis, Axis.over(words, *usual_range(errors, drawn.ends)), height=height)
    level = asked(drawn.rows.level)
    chart.add("band", chart.boxes(*drawn.median_intervals(x)), legend=f"usual {level} interval")
    chart.add_rows(_apart(x), errors, drawn.covered)
    zero = np.zeros(2)
    chart.add("line ink", chart.line(np.array([axis.low, axis.high]), zero), legend="prediction")
    return chart


def _apart(x: Array) -> Array:
    """Few different values, spread about so that their rows do not hide each other."""
    return side_by_side(x) if len(np.unique(x)) <= _FEW_VALUES else x


def _inner(x: Array) -> tuple[float, float]:
    """From the smallest value to the largest, but for those far from all others."""
    low, high = np.quantile(x, [0.01, 0.99])
    room = 0.15 * (high - low)
    inner = max(x.min(), low - room), min(x.max(), high + room)
    return inner if inner[0] < inner[1] else (x.min(), x.max())


_PERCENTS = tuple((float(at), f"{at}") for at in range(0, 101, 20))
