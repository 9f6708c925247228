"""What the cells of a column stand for: numbers, names of categories, or nothing (NaN, None).

What is written as a number is read, nothing else is guessed. A cell that Python or pandas would
make some number of may mean another: 4.829 beside a decimal comma, 1,23 with a comma between
thousands, 20_01. Such cells are not read but named.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from sosbands.cli.table_file import CsvFormat
from sosbands.types import Array

# Cells that are read by one call: enough that the call does not count.
_AT_ONCE = 100_000
# What programs and people write where there is nothing, in small letters.
_MISSING = frozenset(
    {"", "na", "n/a", "n.a.", "<na>", "nan", "-nan", "null", "(null)", "none", "nat"}
    | {"?", "-", "--", "–", "—"}
    | {"#n/a", "#div/0!", "#null!", "#num!", "#ref!", "#value!", "#name?"}
)
_TRUTH = {"true": 1.0, "false": 0.0}
# Around a number; some are typed by accident, or by programs that align.
_AROUND = " \t\r\n\u00a0\u2007\u2009\u202f"
# Writers do not tell these apart, so that one stands for all.
_ALIKE = (" \u00a0\u2007\u2009\u202f", "'’")
_MINUS = "\N{MINUS SIGN}"
# Nobody writes longer numbers by hand, and patterns take their time over long text.
LONGEST = 100
# People would take it for a number: other separators, digits, signs, a currency, a percentage.
_NEARLY = re.compile(
    r"[-+−–—(]*\s*(?:[$€£¥]\s*)?[-+−–—]?"
    r"(?:\d+(?:[.,]\d*)?|\d{1,3}(?:[.,'’\s]\d{3})+(?:[.,]\d*)?|\d+(?:,\d+)+(?:\.\d*)?|[.,]\d+)"
    r"(?:[eE][-+]?\d+)?\s*[-+−–—%‰$€£¥)]*"
)


def numbers_and_others(column: pd.Series[Any], form: CsvFormat) -> tuple[Array, list[int]]:
    """The numbers (NaN elsewhere), and the places of cells that are neither finite nor missing.

    False and true count as zero and one. A number that stands for nothing does however it is
    written: 999 and 999.0 are the same.
    """
    values, wrong = _numbers_and_others(column, form)
    nothing = [value for text in form.na_values if (value := number(text, form)) is not None]
    return (np.where(np.isin(values, nothing), np.nan, values) if nothing else values), wrong


def _numbers_and_others(column: pd.Series[Any], form: CsvFormat) -> tuple[Array, list[int]]:
    if pd.api.types.is_numeric_dtype(column.dtype):
        values = column.to_numpy(np.float64, na_value=np.nan)
        return values, np.flatnonzero(np.isinf(values)).tolist()
    cells = column.to_numpy(object)
    plain = all_numbers(cells, form)
    if plain is not None:
        return plain, []
    found, wrong = read_distinct(cells, form, lambda cell: _number(cell, form))
    return np.array(found, dtype=np.float64), wrong  # None becomes NaN


def read_distinct(
    cells: Any, form: CsvFormat, read: Callable[[Any], Any]
) -> tuple[list[Any], list[int]]:
    """What cells stand for, NaN where there is nothing; and the places where it is None.

    Each distinct cell is read once: columns of text have few.
    """
    known: dict[Any, Any] = {}  # not by pandas, to which "1" and "1\0" are the same
    found = []
    for cell in cells:
        try:
            value = known[cell]
        except KeyError:
            value = known[cell] = math.nan if is_missing(cell, form) else read(cell)
        except TypeError:  # a list, which is no key
            value = read(cell)
        found.append(value)
    return found, [at for at, value in enumerate(found) if value is None]


def plain_numbers(table: pd.DataFrame, names: Sequence[str], form: CsvFormat) -> dict[str, Array]:
    """The columns of text all of whose cells are plainly written numbers, or empty.

    Many columns are read at once: each alone takes longer than its cells if they are few. What is
    absent here needs `numbers_and_others`, which gives the same where both give something.
    """
    place = {name: at for at, name in enumerate(table.columns)}
    there = np.array([place[name] for name in names], dtype=np.intp)
    there = there[table.dtypes.to_numpy()[there] == np.dtype(object)]
    step = max(_AT_ONCE // len(table), 1)
    found: dict[str, Array] = {}
    for start in range(0, len(there), step):
        part = table.iloc[:, there[start : start + step]]
        values = all_numbers(part.to_numpy().ravel(), form)
        if values is not None:
            found.update(zip(part.columns, values.reshape(part.shape).T, strict=True))
    return found


def categories(column: pd.Series[Any], form: CsvFormat) -> pd.Series[Any]:
    """The name of each cell's category, a string, or None where there is nothing."""
    found, _ = read_distinct(column.to_numpy(object), form, _category)
    names = [name if isinstance(name, str) else None for name in found]
    return pd.Series(names, column.index, dtype=object, name=column.name)


def is_missing(cell: Any, form: CsvFormat) -> bool:
    """Whether there is nothing in a cell."""
    if isinstance(cell, str):
        text = cell.strip()
        return text.lower() in _MISSING or text in form.na_values
    return cell is None or (pd.api.types.is_scalar(cell) and bool(pd.isna(cell)))


def number(text: str, form: CsvFormat) -> float | None:
    """The finite number that is written, or None."""
    found = _pattern(form.decimal, form.thousands).fullmatch(
        text.strip(_AROUND).replace(_MINUS, "-")
    )
    if found is None:
        return None
    written = found["whole"] or "0"
    whole = re.sub(r"\D", "", written)
    if whole != written and found["part"] == "":  # 1,234. is rather the end of a sentence
        return None
    value = float(f"{found['sign']}{whole}.{found['part'] or '0'}{found['exponent']}")
    return value if math.isfinite(value) else None


def all_numbers(cells: Any, form: CsvFormat) -> Array | None:
    """The numbers in an array of strings, NaN where one is empty; None if one is no plain number.

    A few calls for all cells: tens of times as fast as `number`, which must look at the others.
    """
    if form.thousands or form.na_values:
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
    if not isinstance(cell, str) or len(cell) > LONGEST:
        return False
    return _NEARLY.fullmatch(cell.strip()) is not None


def _category(cell: Any) -> str:
    whole = isinstance(cell, float) and cell.is_integer()  # 3 and 3.0 are the same
    # Some programs fill cells up with NUL, which nobody sees.
    return str(int(cell) if whole else cell).strip().strip("\0")


def _number(cell: Any, form: CsvFormat) -> float | None:
    if isinstance(cell, Real | Decimal | np.bool_):  # of a typed file: no text to be read
        value = float(cell)
        return value if math.isfinite(value) else None
    text = str(cell)
    truth = _TRUTH.get(text.strip().lower())
    return number(text, form) if truth is None else truth


@lru_cache(maxsize=16)
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    point, whole = re.escape(decimal), "[0-9]+"
    if thousands:
        between = next((a for a in _ALIKE if thousands in a), thousands)
        # A zero comes first in 0.123, which has no thousands.
        whole += f"|[1-9][0-9]{{0,2}}(?:[{re.escape(between)}][0-9]{{3}})+"
    return re.compile(
        rf"(?P<sign>[+-]?)(?=[0-9]|{point}[0-9])(?P<whole>{whole})?"
        rf"(?:{point}(?P<part>[0-9]*))?(?P<exponent>(?:[eE][+-]?[0-9]+)?)"
    )
