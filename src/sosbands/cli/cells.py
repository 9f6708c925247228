"""What the cells of a column stand for: numbers, names of categories, or nothing (NaN, None).

What is written as a number is read, nothing else is guessed. A cell that Python or pandas would
make some number of may mean another: 4.829 beside a decimal comma, 1,23 with a comma between
thousands, 20_01. Such cells are not read but named.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from sosbands.cli.table_file import CsvFormat, RowError
from sosbands.quoting import quoted
from sosbands.types import Array

# Cells that are read by one call: enough that the call does not count.
_AT_ONCE = 100_000
# What programs write where there is nothing, in small letters.
_MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none"})
_TRUTH = {"true": 1.0, "false": 0.0}
_MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    r"(\d{4}-\d\d?-\d\d?|\d\d?[/.]\d\d?[/.](\d\d|\d{4})"
    rf"|\d\d?[ -]{_MONTH}[ -](\d\d|\d{{4}})|{_MONTH} \d\d?,? \d{{4}})([T ].*)?",
    re.IGNORECASE,
)
# Around a number; some are typed by accident, or by programs that align.
_AROUND = " \t\r\n\u00a0\u2007\u2009\u202f"
# Writers do not tell these apart, so that one stands for all.
_ALIKE = (" \u00a0\u2007\u2009\u202f", "'’")
_MINUS = "\N{MINUS SIGN}"
# Nobody writes longer numbers by hand, and patterns take their time over long text.
_LONGEST = 100
# People would take it for a number: other separators, digits, signs, a currency, a percentage.
_NEARLY = re.compile(
    r"[-+−–—(]*\s*(?:[$€£¥]\s*)?[-+−–—]?"
    r"(?:\d+(?:[.,]\d*)?|\d{1,3}(?:[.,'’\s]\d{3})+(?:[.,]\d*)?|\d+(?:,\d+)+(?:\.\d*)?|[.,]\d+)"
    r"(?:[eE][-+]?\d+)?\s*[-+−–—%‰$€£¥)]*"
)


def numbers(column: pd.Series[Any], form: CsvFormat) -> Array:
    """Finite numbers, or NaN where there is nothing; any other cell is an error."""
    values, wrong = numbers_and_others(column, form)
    if wrong:
        first, more = wrong[0], f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        cell = column.iloc[first]
        raise RowError(
            f"column {quoted(column.name)} must hold finite numbers, got {quoted(str(cell))} in ",
            int(column.index[first]),
            f"{more}: {advice(cell, form)}",
        )
    return values


def numbers_and_others(column: pd.Series[Any], form: CsvFormat) -> tuple[Array, list[int]]:
    """The numbers (NaN elsewhere), and the places of cells that are neither finite nor missing.

    False and true count as zero and one.
    """
    if pd.api.types.is_numeric_dtype(column.dtype):
        values = column.to_numpy(np.float64, na_value=np.nan)
        return values, np.flatnonzero(np.isinf(values)).tolist()
    cells = column.to_numpy(object)
    plain = all_numbers(cells, form)
    if plain is not None:
        return plain, []
    found = [math.nan if is_missing(cell) else _number(cell, form) for cell in cells]
    wrong = [at for at, value in enumerate(found) if value is None]
    return np.array(found, dtype=np.float64), wrong  # None becomes NaN


def plain_numbers(table: pd.DataFrame, names: Sequence[str], form: CsvFormat) -> dict[str, Array]:
    """The columns of text all of whose cells are plainly written numbers, or empty.

    Many columns are read at once: each alone takes longer than its cells if they are few. What is
    absent here needs `numbers`, which gives the same where both give something.
    """
    there = table.columns.get_indexer(pd.Index(names, dtype=object))
    there = there[table.dtypes.to_numpy()[there] == np.dtype(object)]
    step = max(_AT_ONCE // len(table), 1)
    found: dict[str, Array] = {}
    for start in range(0, len(there), step):
        part = table.iloc[:, there[start : start + step]]
        values = all_numbers(part.to_numpy().ravel(), form)
        if values is not None:
            found.update(zip(part.columns, values.reshape(part.shape).T, strict=True))
    return found


def categories(column: pd.Series[Any]) -> pd.Series[Any]:
    """The name of each cell's category, a string, or None where there is nothing."""
    cells = column.astype(object)
    known = {}
    for cell in pd.unique(cells):
        if not is_missing(cell):
            whole = isinstance(cell, float) and cell.is_integer()  # 3 and 3.0 are the same
            known[cell] = str(int(cell) if whole else cell).strip()
    return cells.map(known).astype(object).where(cells.isin(list(known)), None)


def is_missing(cell: Any) -> bool:
    """Whether there is nothing in a cell."""
    if isinstance(cell, str):
        return cell.strip().lower() in _MISSING
    return cell is None or (pd.api.types.is_scalar(cell) and bool(pd.isna(cell)))


def looks_like_a_date(cell: Any) -> bool:
    """Whether a cell is a day, or people would read it as one."""
    if isinstance(cell, str):
        return _DATE.fullmatch(cell.strip()) is not None
    return isinstance(cell, date)


def advice(cell: Any, form: CsvFormat) -> str:
    """What to do about a cell that should be a number."""
    decimal, thousands = form.decimal, form.thousands
    said = "write it with the digits 0 to 9 and a sign before them, and nothing else"
    if looks_like_a_date(cell):
        said = "make a number of the date, such as the day of the year"
    elif not nearly_a_number(cell):
        said = "correct it, or leave it empty"
    elif "," in cell and "," not in (decimal, thousands):
        said = "say what the commas are, --thousands , or --decimal ,"
    elif "." in cell and "." not in (decimal, thousands):
        said = f"the decimal mark is {decimal!r}, so say what the points are, --thousands ."
    elif thousands and thousands in cell:
        said = (
            f"{thousands!r} between thousands is followed by three digits each time; give "
            "--decimal and --thousands as the file has them"
        )
    elif re.search(r"\d\s\d", cell) and not thousands:
        said = "say what is between thousands, --thousands ' '"
    return said


def number(text: str, form: CsvFormat) -> float | None:
    """The finite number that is written, or None."""
    found = _pattern(form).fullmatch(text.strip(_AROUND).replace(_MINUS, "-"))
    if found is None:
        return None
    whole = re.sub(r"\D", "", found["whole"] or "0")
    value = float(f"{found['sign']}{whole}.{found['part'] or '0'}{found['exponent']}")
    return value if math.isfinite(value) else None


def all_numbers(cells: Any, form: CsvFormat) -> Array | None:
    """The numbers in an array of strings, NaN where one is empty; None if one is no plain number.

    A few calls for all cells: tens of times as fast as `number`, which must look at the others.
    """
    if form.thousands:
        return None
    try:
        text = "\n".join(cells)
    except TypeError:  # not only strings
        return None
    # With these characters alone, Python reads what is written as a number, and all of it.
    decimal = form.decimal if form.decimal.isascii() else ""
    if not text.isascii() or text.encode().translate(None, f"0123456789+-eE \n{decimal}".encode()):
        return None
    if form.decimal != ".":
        parts = text.replace(form.decimal, ".").split("\n")
        if len(parts) != len(cells):  # a line end within quotes
            return None
        cells = np.array(parts, dtype=object)
    try:
        values = np.asarray(cells, np.float64)
    except ValueError:  # an empty cell perhaps, which few columns have
        try:
            values = np.asarray(np.where(cells == "", "nan", cells), np.float64)
        except ValueError:
            return None
    return None if np.isinf(values).any() else values


def nearly_a_number(cell: Any) -> bool:
    """Whether people would take a cell for a number, however it is written."""
    if not isinstance(cell, str) or len(cell) > _LONGEST:
        return False
    return _NEARLY.fullmatch(cell.strip()) is not None


def _number(cell: Any, form: CsvFormat) -> float | None:
    if isinstance(cell, Real | Decimal):  # of a typed file: no text to be read
        value = float(cell)
        return value if math.isfinite(value) else None
    text = str(cell)
    truth = _TRUTH.get(text.strip().lower())
    return number(text, form) if truth is None else truth


@lru_cache(maxsize=8)
def _pattern(form: CsvFormat) -> re.Pattern[str]:
    point, whole = re.escape(form.decimal), "[0-9]+"
    if form.thousands:
        between = next((a for a in _ALIKE if form.thousands in a), form.thousands)
        # A zero comes first in 0.123, which has no thousands.
        whole += f"|[1-9][0-9]{{0,2}}(?:[{re.escape(between)}][0-9]{{3}})+"
    return re.compile(
        rf"(?P<sign>[+-]?)(?=[0-9]|{point}[0-9])(?P<whole>{whole})?"
        rf"(?:{point}(?P<part>[0-9]*))?(?P<exponent>(?:[eE][+-]?[0-9]+)?)"
    )
