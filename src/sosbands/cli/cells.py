"""What the cells of a column stand for: numbers, names of categories, or nothing (NaN, None)."""

from __future__ import annotations

import math
import re
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from sosbands.tables import CsvFormat, TableError
from sosbands.types import Array

# What programs write where there is nothing, in small letters.
_MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none"})
_TRUTH = {"true": 1.0, "false": 0.0}
_MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    r"(\d{4}-\d\d?-\d\d?|\d\d?[/.]\d\d?[/.](\d\d|\d{4})"
    rf"|\d\d?[ -]{_MONTH}[ -](\d\d|\d{{4}})|{_MONTH} \d\d?,? \d{{4}})([T ].*)?",
    re.IGNORECASE,
)
_COMMAS = re.compile(r"[+-]?\d+(,\d+)+(\.\d*)?")


def numbers(column: pd.Series[Any], form: CsvFormat) -> Array:
    """Finite numbers, or NaN where there is nothing; any other cell is an error."""
    values, wrong = numbers_and_others(column, form)
    if wrong:
        first, more = wrong[0], f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise TableError(
            f"column {column.name!r} must hold finite numbers, got {str(column.iloc[first])!r} in "
            f"row {column.index[first] + 1}{more}: {advice(column.iloc[first])}"
        )
    return values


def numbers_and_others(column: pd.Series[Any], form: CsvFormat) -> tuple[Array, list[int]]:
    """Numbers, NaN elsewhere, and where a cell is neither a finite number nor missing.

    False and true count as zero and one.
    """
    if pd.api.types.is_numeric_dtype(column.dtype):
        values = column.to_numpy(np.float64, na_value=np.nan)
        return values, np.flatnonzero(np.isinf(values)).tolist()
    cells = column.to_numpy(object)
    plain = _plain_numbers(cells) if form.decimal == "." and not form.thousands else None
    if plain is not None and not np.isinf(plain).any():
        return plain, []
    values, wrong = np.full(len(cells), np.nan), []
    for at, cell in enumerate(cells):
        if is_missing(cell):
            continue
        number = _number(cell, form)
        if number is None:
            wrong.append(at)
        else:
            values[at] = number
    return values, wrong


def categories(column: pd.Series[Any]) -> pd.Series[Any]:
    """The name of each cell's category, a string, or None where there is nothing."""
    cells = column.astype(object)
    known = {cell: _name(cell) for cell in pd.unique(cells) if not is_missing(cell)}
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


def has_commas(cell: Any) -> bool:
    """Whether a cell is a number but for its commas."""
    return isinstance(cell, str) and _COMMAS.fullmatch(cell.strip()) is not None


def advice(cell: Any) -> str:
    """What to do about a cell that should be a number."""
    if has_commas(cell):
        return "say what the commas are, --thousands , or --decimal ,"
    return "correct it, or leave it empty"


def _plain_numbers(cells: Any) -> Array | None:
    """All cells by one call, which is several times as fast; None if one needs a closer look."""
    try:
        values: Array = cells.astype(np.float64)
        return None if "_" in "".join(cells) else values  # Python reads 20_01 as 2001
    except (TypeError, ValueError):
        return None


def _number(cell: Any, form: CsvFormat) -> float | None:
    text = str(cell).strip()
    if text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    if form.thousands:
        text = text.replace(form.thousands, "")
    if form.decimal != ".":
        text = text.replace(form.decimal, ".")
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


def _name(cell: Any) -> str:
    """3 and 3.0 are the same category."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()
