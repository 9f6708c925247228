"""Tables as users have them, read column by column: numbers, texts and dates."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any, Literal, TypeAlias

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_array

from sosbands.quoting import listed, quoted
from sosbands.types import Array, Indices

# "empty" is a column without a value, whose kind nobody can tell.
ColumnKind: TypeAlias = Literal["number", "text", "date", "empty"]

# Rows that are predicted at once: what is computed for them stays far below 256 MB.
_BLOCK_ROWS = 1 << 15
_SECOND = 1e6  # in the microseconds of narwhals


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str or int
        Its number, if columns have no names.
    kind : ColumnKind
    values : array of float64, or list of str and None
        Numbers with NaN for missing ones, truth values as 0 and 1, durations in seconds, dates in
        seconds since 1970 by the clock of their time zone; texts as they are.
    """

    name: str | int
    kind: ColumnKind
    values: Any


def is_frame(X: Any) -> bool:
    """Whether X is a data frame in memory, of pandas, polars, pyarrow or another library."""
    return bool(nw.dependencies.is_into_dataframe(X))


def frame_like(X: Any, table: Array, names: Sequence[str]) -> Any:
    """A table as a frame of the library of X, and with its index if frames of it have one."""
    made = nw.from_numpy(table, schema=list(names), backend=nw.get_native_namespace(X)).to_native()
    return made.set_axis(X.index, axis=0) if hasattr(made, "set_axis") else made


def mixed_rows(X: Any, places: Indices) -> Any:
    """A table of the kind of X, whose column j holds the cells of X at the rows places[:, j]."""
    if not is_frame(X):
        cells = np.asarray(X)
        return cells[places, np.arange(cells.shape[1])]
    frame = _named(X)
    columns = {name: frame[name][places[:, j]] for j, name in enumerate(frame.columns)}
    made = nw.from_dict(columns).to_native()
    return made.set_axis(X.columns, axis=1) if hasattr(made, "set_axis") else made


def row_blocks(X: Any) -> Iterator[slice]:
    """Slices that cover the rows of X."""
    rows = X.shape[0]
    return (slice(start, min(start + _BLOCK_ROWS, rows)) for start in range(0, rows, _BLOCK_ROWS))


def numbers_of(X: Any, **checks: Any) -> Array:
    """What is no frame, as numbers in rows; missing ones are NaN, infinite ones refused."""
    checks = {"dtype": np.float64, "order": "C", "ensure_all_finite": "allow-nan", **checks}
    try:
        return np.asarray(check_array(X, input_name="X", **checks))
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        text = str(error).partition(": ")[2]
        raise ValueError(
            f"X is an array that holds text, such as {text}: pass a DataFrame, whose columns say "
            "which are numbers and which are categories"
        ) from None


def read_table(X: Any, *, empty: bool = True) -> list[Column]:
    """The columns of a frame or of an array of numbers; all that cannot be read in one error.

    Unless `empty`, every column needs a value.
    """
    if is_frame(X):
        frame = _named(X)
        names: Sequence[Any] = frame.columns if _has_names(X) else range(X.shape[1])
        series = [
            partial(_read, name, frame[at]) for name, at in zip(names, frame.columns, strict=True)
        ]
    else:
        numbers = numbers_of(X)
        names = range(numbers.shape[1])
        series = [partial(_numeric, j, "number", values) for j, values in enumerate(numbers.T)]
    columns, faults = [], []
    for name, read in zip(names, series, strict=True):
        try:
            column = read()
            if column.kind == "empty" and not empty:
                raise ValueError("has no value in these rows")
            columns.append(column)
        except ValueError as fault:
            faults.append(f"column {quoted(name)} {fault}")
    if faults:
        raise ValueError(
            f"X cannot be read: {'; '.join(faults)}: correct or leave out "
            f"{'this column' if len(faults) == 1 else 'these columns'}"
        )
    return columns


def _has_names(X: Any) -> bool:
    """Whether columns have names of their own; those of pandas may be numbers, or repeated."""
    names = list(getattr(X, "columns", ())) if hasattr(X, "set_axis") else []
    return len(set(names)) == len(names) and all(isinstance(name, str) for name in names)


def check_names(frame: Any) -> None:
    """Refuse columns of one name: nobody could tell which of them is meant."""
    counts = Counter(getattr(frame, "column_names", frame.columns))
    if twice := [name for name, times in counts.items() if times > 1]:
        raise ValueError(f"X has several columns named {listed(twice)}: give each its own name")


def _named(X: Any) -> Any:
    """X as narwhals sees it; where columns have no names, their numbers stand for them."""
    if not _has_names(X):
        X = X.set_axis([str(at) for at in range(X.shape[1])], axis=1)
    return nw.from_native(X, eager_only=True)


def _read(name: Any, series: Any) -> Column:
    """A column by its type, or by the types of its values if it has none."""
    kind = series.dtype
    if kind.is_numeric() or kind == nw.Boolean:
        return _numeric(name, "number", series.cast(nw.Float64).to_numpy())
    if kind == nw.Datetime:
        series = series if kind.time_zone is None else series.dt.replace_time_zone(None)
        return _numeric(name, "date", series.dt.timestamp("us").to_numpy() / _SECOND)
    if kind == nw.Date:
        times = series.cast(nw.Datetime("us")).dt.timestamp("us")
        return _numeric(name, "date", times.to_numpy() / _SECOND)
    if kind == nw.Duration:
        return _numeric(name, "number", series.dt.total_microseconds().to_numpy() / _SECOND)
    values = series.to_list()
    if kind in (nw.Categorical, nw.Enum):
        # A category may be a number, which then is a name.
        return _texts(name, [None if _missing(value) else str(value) for value in values])
    return _by_values(name, values)


def _by_values(name: Any, values: list[Any]) -> Column:
    """A column of Python's objects, which must all be of one kind."""
    values = [None if _missing(value) else value for value in values]
    known = [value for value in values if value is not None]
    if all(isinstance(value, str) for value in known):
        return _texts(name, values)
    for kinds, kind, number in _OF_OBJECTS:
        if all(isinstance(value, kinds) for value in known):
            made = [np.nan if value is None else number(value) for value in values]
            return _numeric(name, kind, np.array(made, dtype=np.float64))
    types = sorted({type(value).__name__ for value in known})
    raise ValueError(
        f"holds objects of the {'type' if len(types) == 1 else 'types'} {', '.join(types)}, of "
        "which neither numbers nor categories nor dates can be made"
    )


def _seconds_since_1970(date: Any) -> float:
    if not isinstance(date, datetime.datetime):
        date = datetime.datetime(date.year, date.month, date.day)
    return float((date.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)).total_seconds())


def _seconds_of_day(time: datetime.time) -> float:
    return time.hour * 3600.0 + time.minute * 60 + time.second + time.microsecond / _SECOND


# Types of objects ↦ the kind of column that they make, and how.
_OF_OBJECTS: tuple[tuple[Any, ColumnKind, Any], ...] = (
    ((Real, Decimal, np.bool_), "number", float),
    (datetime.date, "date", _seconds_since_1970),  # a datetime is a date
    (datetime.timedelta, "number", datetime.timedelta.total_seconds),
    (datetime.time, "number", _seconds_of_day),
)


def _missing(value: Any) -> bool:
    """None, NaN, NaT and NA: what is not equal to itself, or does not know whether it is."""
    if value is None or isinstance(value, str):
        return value is None
    try:
        return not bool(value == value)  # noqa: PLR0124
    except (TypeError, ValueError):  # NA has no truth value, nor have arrays
        return not hasattr(value, "__len__")


def _texts(name: Any, values: list[str | None]) -> Column:
    kind: ColumnKind = "empty" if all(value is None for value in values) else "text"
    return Column(name, kind, values)


def _numeric(name: Any, kind: ColumnKind, values: Any) -> Column:
    numbers = np.asarray(values, dtype=np.float64)
    if np.any(np.isinf(numbers)):
        raise ValueError(f"holds {int(np.isinf(numbers).sum())} infinite values")
    return Column(name, "empty" if np.all(np.isnan(numbers)) else kind, numbers)
