"""Which marks the numbers of a table have, decimal and between thousands, as far as they show.

Marks are taken for those of the table if all its numbers can be read with them, and if no others
can read them as other numbers. If 1,234 might be both, it is asked. So it is of 1.234, where every
point of a table has three digits behind it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from sosbands.cli import cells, dates
from sosbands.cli.table_file import CsvFormat, Problems, TableFile
from sosbands.cli.units import quantity
from sosbands.quoting import quoted

# Decimal mark, mark between thousands; of those that read the same, the first is taken.
_MARKS = [
    *((".", ""), (",", ""), (".", ","), (",", ".")),
    *((decimal, between) for between in " '_" for decimal in ".,"),
]
_PLAIN, _POINT_BETWEEN = CsvFormat(), re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+")


def marks_shown(table: pd.DataFrame, file: TableFile, problems: Problems) -> CsvFormat:
    """The format of the file with the marks of its numbers; what is not clear is a problem."""
    form = file.form
    if {"decimal", "thousands"} <= file.said:
        return form
    possible = [
        replace(form, decimal=decimal, thousands=thousands)
        for decimal, thousands in _MARKS
        if ("decimal" not in file.said or decimal == form.decimal)
        and ("thousands" not in file.said or thousands == form.thousands)
    ] or [form]
    plain = set(cells.plain_numbers(table, list(table.columns), possible[0]))
    numbers = {
        at: found
        for at, name in enumerate(table.columns)
        if name not in plain and (found := _written_numbers(table.iloc[:, at], form))
    }
    if _reads(possible[0], numbers.values()):
        unclear = {} if "decimal" in file.said else _between_thousands(table)
        if unclear and possible[0].decimal == ".":
            ways = [form, replace(form, decimal=",", thousands=".")]
            problems.add(_question(table, unclear, ways))
        return possible[0]
    others = (_texts(table.iloc[:, at]) for at, name in enumerate(table.columns) if name in plain)
    right = readers([*numbers.values(), *others], possible)
    # Several are the same unless they read some cell differently.
    apart: dict[Any, CsvFormat] = {}
    for one in right:
        read = tuple(cells.number(cell, one) for found in numbers.values() for cell in found)
        apart.setdefault(read, one)
    if len(apart) > 1:
        problems.add(_question(table, numbers, list(apart.values())))
    return next(iter(apart.values()), possible[0])


def _between_thousands(table: pd.DataFrame) -> dict[int, list[str]]:
    """Numbers whose point may be between thousands, by column; none if one point is decimal.

    They may where semicolons separate cells, as in countries that write 1.234,5, and where whole
    numbers stand beside them in the same column, but none of a thousand or more.
    """
    found: dict[int, list[str]] = {}
    for at in range(table.shape[1]):
        texts = [cell.strip() for cell in _texts(table.iloc[:, at])]
        pointed = [cell for cell in texts if "." in cell and cells.number(cell, _PLAIN) is not None]
        if not all(map(_POINT_BETWEEN.fullmatch, pointed)):
            return {}
        whole = [cell for cell in texts if cell.isdecimal()]
        small = bool(whole) and max(map(len, whole)) <= 3
        if len(pointed) > 1 and (small or table.attrs.get("sep") == ";"):
            found[at] = pointed
    return found


def readers(
    columns: Sequence[Sequence[str]], possible: Iterable[CsvFormat] | None = None
) -> list[CsvFormat]:
    """The formats by which all cells are numbers; cells that are none by any do not count."""
    possible = list(possible or (CsvFormat(decimal=d, thousands=t) for d, t in _MARKS))
    readable = [
        [cell for cell in column if any(cells.number(cell, one) is not None for one in possible)]
        for column in columns
    ]
    return [one for one in possible if _reads(one, readable)]


def as_options(form: CsvFormat) -> str:
    """The options of the command line that name these marks."""
    named = [f"--decimal '{form.decimal}'"] if form.decimal != "." else []
    between = shlex.quote(form.thousands) if form.thousands == "'" else f"'{form.thousands}'"
    named += [f"--thousands {between}"] if form.thousands else []
    return " ".join(named) or "--decimal '.'"


def _reads(form: CsvFormat, columns: Iterable[Sequence[str]]) -> bool:
    return all(cells.number(cell, form) is not None for column in columns for cell in column)


def _written_numbers(column: pd.Series[Any], form: CsvFormat) -> list[str]:
    """The distinct cells that people would take for numbers, units apart, if they are the most."""
    texts = [cell for cell in _texts(column) if not cells.is_missing(cell, form)]
    found = []
    for cell in texts:
        parts = quantity(cell)
        bare = cell if parts is None else parts.number
        if cells.nearly_a_number(bare) and not dates.is_date(cell):
            found.append(bare)
    return found if 2 * len(found) >= len(texts) else []


def _texts(column: pd.Series[Any]) -> list[str]:
    if column.dtype != object and not pd.api.types.is_string_dtype(column.dtype):
        return []
    return [cell for cell in pd.unique(column.astype(object)) if isinstance(cell, str) and cell]


def _question(table: pd.DataFrame, numbers: dict[int, list[str]], ways: Sequence[CsvFormat]) -> str:
    """What to ask about the first cell that is not the same number in all ways."""
    at, cell, read = next(
        (at, cell, read)
        for at, column in numbers.items()
        for cell in column
        if len(set(read := [cells.number(cell, way) for way in ways])) > 1
    )
    distinct = dict(zip(read, ways, strict=True))
    values = " or ".join(f"{value:.15g}" for value in distinct)
    options = " or ".join(map(as_options, distinct.values()))
    return (
        f"column {quoted(table.columns[at])} holds {quoted(cell)}, which may be {values}: say "
        f"which, {options}"
    )
