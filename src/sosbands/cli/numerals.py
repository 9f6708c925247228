"""Numbers as a CSV file writes them: what is written as a number is read, nothing else is guessed.

A cell that Python or pandas would make some number of may mean another: 4.829 beside a decimal
comma, 1,23 with a comma between thousands, 20_01. Such cells are not read but named.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

import numpy as np

from sosbands.cli.table_file import CsvFormat
from sosbands.types import Array

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
    values = _as_floats(cells)
    return None if values is None or np.isinf(values).any() else values


def nearly_a_number(cell: Any) -> bool:
    """Whether people would take a cell for a number, however it is written."""
    if not isinstance(cell, str) or len(cell) > _LONGEST:
        return False
    return _NEARLY.fullmatch(cell.strip()) is not None


def advice_on_number(text: str, form: CsvFormat) -> str:
    """What to do about a cell that is nearly a number."""
    decimal, thousands = form.decimal, form.thousands
    if "," in text and "," not in (decimal, thousands):
        return "say what the commas are, --thousands , or --decimal ,"
    if "." in text and "." not in (decimal, thousands):
        return f"the decimal mark is {decimal!r}, so say what the points are, --thousands ."
    if thousands and thousands in text:
        return (
            f"{thousands!r} between thousands is followed by three digits each time; give "
            "--decimal and --thousands as the file has them"
        )
    if re.search(r"\d\s\d", text) and not thousands:
        return "say what is between thousands, --thousands ' '"
    return "write it with the digits 0 to 9 and a sign before them, and nothing else"


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


def _as_floats(cells: Any) -> Array | None:
    """Cells as Python reads them, NaN if empty; None if there are some that it cannot read."""
    try:
        return np.asarray(cells.astype(np.float64))
    except ValueError:  # an empty cell perhaps, which few columns have
        filled = np.where(cells == "", "nan", cells)
    try:
        return np.asarray(filled.astype(np.float64))
    except ValueError:
        return None
