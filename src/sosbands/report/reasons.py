"""Why the widest intervals are wide, in words and in bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from sosbands.estimator import BandRegressor
from sosbands.evaluation.drawn_rows import DrawnRows
from sosbands.evaluation.shown_columns import sees_columns
from sosbands.explanation import WidthParts, column_names, width_parts
from sosbands.report.formats import one_line
from sosbands.types import Array, Indices

# Of the widest tenth so many rows are explained, and of these so many shown one by one.
_EXPLAINED, _SHOWN = 24, 4
# Rows that say what is usual, and the fewest that do.
_USUAL, _LEAST = 2000, 10
# Inputs that a row names; the others are one part. Parts below this share of all are left out.
_NAMED, _LEAST_SHARE = 3, 0.002


@dataclass(frozen=True)
class Part:
    """What one thing adds to a width or takes away, and its share of all that is added."""

    look: str
    words: str
    value: float
    share: float


@dataclass(frozen=True)
class WideRow:
    """One row, counted from one, and the parts of the width of its interval, the largest first."""

    row: int
    mean: float
    interval: tuple[float, float]
    y: float
    width: float
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class WidthReasons:
    """The widest rows one by one, and the means over the widest tenth."""

    rows: tuple[WideRow, ...]
    tenth: tuple[Part, ...]
    tenth_width: float
    usual: float


def width_reasons(model: BandRegressor, X: Any, drawn: DrawnRows) -> WidthReasons | None:
    """None if there are too few rows to say what is usual, or no finite interval."""
    finite = drawn.finite()
    if len(finite.place) < _LEAST or not np.ptp(finite.widths) > 0:
        return None
    explained = _widest(finite)
    others = np.setdiff1d(finite.index, explained.index)
    others = others[_even(len(others), _USUAL)]
    table = _safe_indexing(X, np.concatenate([explained.index, others]))
    found = width_parts(model, table, np.arange(len(explained.place)), explained.widths)
    names, cells = _columns(model, X, explained)
    rows = tuple(
        _wide_row(explained, k, _parts(found.usual, *_of(found, k), cells[k]))
        for k in range(min(_SHOWN, len(explained.place)))
    )
    tenth = _parts(found.usual, *_of(found, slice(None)), names)
    return WidthReasons(rows, tenth, float(explained.widths.mean()), found.usual)


def _widest(finite: DrawnRows) -> DrawnRows:
    """The very widest, and some of the widest tenth in even steps."""
    widest = finite[np.argsort(-finite.widths, kind="stable")]
    n = min(max(len(widest.place) // 10, _SHOWN), len(widest.place))
    chosen: Indices = np.unique(np.concatenate([np.arange(min(_SHOWN, n)), _even(n)]))
    return widest[chosen]


def _wide_row(explained: DrawnRows, k: int, parts: tuple[Part, ...]) -> WideRow:
    rows, i = explained.rows, int(explained.index[k])
    lower, upper = rows.chosen[i].tolist()
    return WideRow(
        row=i + 1,
        mean=float(rows.mean[i]),
        interval=(lower, upper),
        y=float(rows.y[i]),
        width=float(explained.widths[k]),
        parts=parts,
    )


def _of(found: WidthParts, which: int | slice) -> tuple[Array, float, float]:
    """The parts of one row, or their means over several."""
    inputs = np.atleast_2d(found.inputs[which]).mean(axis=0)
    return inputs, float(np.mean(found.distance[which])), float(np.mean(found.calibration[which]))


def _parts(
    usual: float, inputs: Array, distance: float, calibration: float, names: list[str]
) -> tuple[Part, ...]:
    """The usual width, the inputs that change it most, all others, the distance, calibration."""
    order = np.argsort(-np.abs(inputs), kind="stable")
    found = [("usual", "usual", usual)]
    found += [(f"input{k}", names[j], float(inputs[j])) for k, j in enumerate(order[:_NAMED])]
    if len(order) > _NAMED:
        found.append(("others", "other inputs", float(inputs[order[_NAMED:]].sum())))
    found += [
        ("distance", "distance to the data", distance),
        ("calibration", "calibration", calibration),
    ]
    added = sum(max(value, 0.0) for _, _, value in found) or 1.0
    return tuple(
        Part(look, words, value, round(100 * max(value, 0.0) / added, 2))
        for look, words, value in found
        if look == "usual" or abs(value) > _LEAST_SHARE * added
    )


def _columns(
    model: BandRegressor, X: Any, explained: DrawnRows
) -> tuple[list[str], list[list[str]]]:
    """The names of the columns of X, and for each row its cells with their names."""
    if sees_columns(model):
        columns = explained.rows.columns
        names = [one_line(column.name) for column in columns]
        cells = [[one_line(c.cell(i), 24) for c in columns] for i in explained.place.tolist()]
        return names, [[f"{n} = {c}" for n, c in zip(names, row, strict=True)] for row in cells]
    names = [one_line(str(name)) for name in column_names(model, X)]
    return names, [names] * len(explained.place)


def _even(n: int, most: int = _EXPLAINED) -> Indices:
    """At most so many of n places, in even steps."""
    places: Indices = np.unique(np.linspace(0, max(n - 1, 0), min(n, most)).astype(np.intp))
    return places
