"""What a column of a table that trains holds: numbers, dates, times, categories, or no use.

What could be one thing or the other is a `TableError` with what to do.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sosbands.cli import cells, dates
from sosbands.cli.column_kinds import Dates, Kind, Names, Numbers, Times
from sosbands.cli.number_marks import as_options, readers
from sosbands.cli.table_file import CsvFormat, RowError, TableError
from sosbands.cli.units import is_known, quantity
from sosbands.learning.columns import numbers_rows
from sosbands.quoting import quoted, shortened
from sosbands.types import Array

# A text that is another one in more than this share of the rows, and a whole number that is in
# nearly all of them and is called so, tells rows apart: it says nothing of others.
_UNIQUE_TEXT, _UNIQUE_NUMBER = 0.5, 0.95
_IDENTIFIER = re.compile(
    r"(?i:(^|[\W_])(p|u|uu|gu|row)?(id|key|nr|no|number|index)$)|[a-z]I[dD]$"  # paid is none
)
# Cells that advice can name as missing, and how long they may be.
_MOST_ODD, _LONGEST_ODD = 5, 40


@dataclass(frozen=True)
class LeftOut:
    """A column that is no input, and why; what it would be `otherwise`, unless it is empty."""

    why: str
    otherwise: Kind | None = None


def judged(column: pd.Series[Any], form: CsvFormat, *, may_leave: bool = True) -> Kind | LeftOut:
    """What a column holds; advice is to leave it out if it may be."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return named(column, form)
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return Dates() if column.notna().any() else LeftOut("empty")
    values, wrong = cells.numbers_and_others(column, form)
    if not wrong:
        return _numbers(column, values)
    others = column.iloc[wrong]
    if not all(map(pd.api.types.is_scalar, others)):
        advice = f"leave it out, --drop {_as_argument(column.name)}"
        advice = advice if may_leave else "name a column of numbers with --target"
        raise TableError(f"column {quoted(column.name)} holds lists: {advice}")
    kind = _guess(column, others, int(np.isfinite(values).sum()), form, may_leave)
    if kind is None:
        return named(column, form)
    _, wrong = kind.read(column, form)
    if wrong:
        raise wrong_cell(column, kind, wrong, may_leave=may_leave)
    return kind


def _guess(
    column: pd.Series[Any],
    others: pd.Series[Any],
    n_numbers: int,
    form: CsvFormat,
    may_leave: bool,
) -> Numbers | Dates | Times | None:
    """What most cells of a column are, if they are not names; `others` are no numbers."""
    distinct = list(pd.unique(others.astype(object)))
    if n_numbers < len(others):
        if dates.are_dates(distinct):
            return _dates(column, distinct, form, may_leave)
        if 2 * sum(dates.hours(cell) is not None for cell in distinct) > len(distinct):
            return Times()
    unit = _unit(column, distinct, n_numbers, may_leave)
    if unit:
        return Numbers(unit)
    # Percentages or 1.234.567 may be all there is; as categories they would lose their order.
    nearly = int(others.isin([cell for cell in distinct if cells.nearly_a_number(cell)]).sum())
    return Numbers() if len(others) - nearly < n_numbers + nearly else None


def named(column: pd.Series[Any], form: CsvFormat) -> Names | LeftOut:
    """What a column of categories holds."""
    found = cells.categories(column, form)
    filled, distinct = int(found.notna().sum()), found.nunique()
    if distinct == 0:
        return LeftOut("empty")
    if distinct > max(_UNIQUE_TEXT * filled, 2):
        return LeftOut("another text in nearly every row", Names.among(found.dropna().unique()))
    return Names.among(found.dropna().unique())


def wrong_cell(
    column: pd.Series[Any],
    kind: Kind,
    wrong: list[int],
    *,
    may_leave: bool = False,
    may_differ: bool = False,
) -> RowError:
    """The error about cells that are not what the column holds, with what to do.

    A column of training may be left out, unless it is the target. The numbers of a later file may
    be written differently from those of training; those of training have been looked at already.
    """
    others = column.iloc[wrong]
    first, many = others.iloc[0], f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    what = "finite numbers" if kind == Numbers() else kind.told()
    return RowError(
        f"column {quoted(column.name)} must hold {what}, got {quoted(str(first))} in ",
        int(others.index[0]),
        f"{many}: {_advice(column, kind, others, may_differ)}{_leaving_out(column, may_leave)}",
    )


def _numbers(column: pd.Series[Any], values: Array) -> Numbers | LeftOut:
    known = values[np.isfinite(values)]
    if not len(known):
        return LeftOut("empty")
    if numbers_rows(values):
        return LeftOut("numbers the rows", Numbers())
    name = str(column.name)
    if not name or _IDENTIFIER.search(name):
        whole = np.array_equal(known, np.round(known))
        if whole and len(np.unique(known)) >= _UNIQUE_NUMBER * len(known):
            return LeftOut("another whole number in nearly every row", Numbers())
    return Numbers()


def _dates(column: pd.Series[Any], distinct: list[Any], form: CsvFormat, may_leave: bool) -> Dates:
    name, unclear = quoted(column.name), [one for one in distinct if dates.needs_order(one)]
    order = form.day_first
    if order is None and dates.may_begin_with_years(unclear):
        raise TableError(
            f"column {name} holds dates such as {quoted(unclear[0])}, in which the year may come "
            "first: write years with four digits, or say what comes first, --day-first or "
            "--month-first"
        )
    if order is None and unclear:
        shown = dates.order_shown(unclear)
        if not shown:
            raise TableError(
                f"column {name} holds dates such as {quoted(unclear[0])}: say what comes first, "
                "--day-first or --month-first"
            )
        if len(shown) == 2:
            first, other = (
                next(one for one in unclear if dates.order_shown([one]) == {way})
                for way in (True, False)
            )
            raise TableError(
                f"column {name} holds dates with the day first, {quoted(first)}, and with the "
                f"month first, {quoted(other)}: write them alike{_leaving_out(column, may_leave)}"
            )
        order = shown.pop()
    return Dates(order)


def _unit(column: pd.Series[Any], distinct: list[Any], n_numbers: int, may_leave: bool) -> str:
    """The unit of a column whose numbers all have the same; empty if it has none."""
    found = [parts for cell in distinct if (parts := quantity(cell)) is not None]
    units = {parts.unit for parts in found}
    if 2 * len(found) <= len(distinct):
        return ""
    if len(units) == 1 and not n_numbers:
        return units.pop()
    if all(map(is_known, units)):
        several = ", ".join(map(quoted, sorted(units)[:_MOST_ODD]))
        bare = " and without a unit" if n_numbers else ""
        raise TableError(
            f"column {quoted(column.name)} holds numbers in {several}{bare}: write all of them in "
            f"the same unit{_leaving_out(column, may_leave)}"
        )
    return ""


def _advice(column: pd.Series[Any], kind: Kind, others: pd.Series[Any], may_differ: bool) -> str:
    """What can be done about these cells; every part of it works by itself."""
    odd = [str(cell) for cell in pd.unique(others.astype(object))]
    if kind == Dates(None) and all(map(dates.needs_order, odd)):
        return "say what comes first, --day-first or --month-first"
    said = ["correct it" if len(odd) == 1 else "correct them"]
    bare = all(map(cells.nearly_a_number, odd))
    if isinstance(kind, Numbers) and kind.unit and bare:
        said = ["write the unit as well"]
        if kind.unit not in "%‰":  # 0.5 may be 50 %
            said = [f"write the unit as well, {quoted(f'{odd[0].strip()} {kind.unit}')}"]
    elif may_differ and isinstance(kind, Numbers) and bare:
        texts = [cell for cell in column if isinstance(cell, str)]
        ways: dict[float, CsvFormat] = {}  # the first by which the first cell is that number
        for one in readers([texts]):
            read = [value for cell in odd if (value := cells.number(cell, one)) is not None]
            if len(read) == len(odd):
                ways.setdefault(read[0], one)
        right = [(one, f" for {value:.15g}") for value, one in ways.items()]
        said += [
            f"say how the numbers are written, {as_options(one)}{means * (len(right) > 1)}"
            for one, means in right
        ]
    short = len(odd) <= _MOST_ODD and max(map(len, odd)) <= _LONGEST_ODD
    if short and all(cell.isprintable() for cell in odd):
        missing = " ".join(f"--na-values {shlex.quote(cell.strip())}" for cell in odd)
        stands = "it stands" if len(odd) == 1 else "they stand"
        said.append(f"if {stands} for nothing, give {missing}")
    return ", or ".join(said)


def _leaving_out(column: pd.Series[Any], may_leave: bool) -> str:
    name = _as_argument(column.name)
    if not may_leave:
        return ""
    return (
        f", or leave the column out with --drop {name}, or take it for names, --categorical {name}"
    )


def _as_argument(name: Any) -> str:
    """A name as a shell takes it, unless it is too long for a sentence."""
    return shlex.quote(str(name)) if shortened(str(name)) == str(name) else "COL"
