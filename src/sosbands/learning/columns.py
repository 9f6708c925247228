"""How each column of a table is encoded, by what it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from sosbands.learning.levels import LevelEncoding, level_counts, n_indicators
from sosbands.learning.quantities import DateEncoding, NumberEncoding
from sosbands.learning.tables import Column
from sosbands.quoting import listed
from sosbands.types import Array, Folds, Mask

# The most levels that are shown by indicators, with few rows and with many, rows for each level,
# and the least rows of such a level. bike_uci with its months, weekdays and hours as texts, scores
# at .5 and .9 around "auto" ÷ those with at most 8 levels and 30 columns: .82 and .95 with 500
# rows, .93 and .96 with 1500. With 150 rows, as many indicators would make them 1.11 and 1.12.
_FEW_LEVELS, _ROWS_PER_LEVEL, _LEAST_ROWS = (8, 32), 20, 5
# Columns that indicators may bring the encoding to, with few rows and with many, rows for each, and
# columns for each one of X: the kernel mean looks for a lengthscale of every one.
_MOST_COLUMNS, _ROWS_PER_COLUMN, _FOR_A_COLUMN = (30, 60), 8, 1.5
# A text that is another one in more than this share of the rows tells rows apart, not kinds.
_UNIQUE = 0.5
# Whole numbers that are all different and take this share of their range number the rows.
_DENSE, _NUMBERED_ROWS = 0.5, 20


@dataclass(frozen=True)
class LeftOut:
    """A column that says nothing: it has no value, or another text in nearly every row."""

    kind = "empty"
    plain = False
    categorical: tuple[bool, ...] = ()

    def encode(self, values: Any) -> Array:
        """No column."""
        return np.empty((len(values), 0))

    codes = encode

    def names(self, name: str) -> list[str]:
        """No name."""
        return []

    def strange(self, values: Any) -> Mask:
        """No row."""
        return np.zeros(len(values), dtype=bool)


ColumnEncoding: TypeAlias = NumberEncoding | DateEncoding | LevelEncoding | LeftOut


def learned_columns(
    table: Sequence[Column], y: Array, folds: Folds | None
) -> tuple[list[tuple[ColumnEncoding, Array]], list[str]]:
    """The encoding of each column with its training rows, and what there is to notice."""
    n, unique = len(y), []
    counts = {at: level_counts(one.values) for at, one in enumerate(table) if one.kind == "text"}
    for at in list(counts):
        if len(counts[at]) > max(_UNIQUE * n, 2):
            unique.append(table[at].name)
            del counts[at]
    least = max(2, min(_LEAST_ROWS, n // 20))
    few = _few_levels(list(counts.values()), least, len(table), n)
    made: list[tuple[ColumnEncoding, Array]] = []
    for at, column in enumerate(table):
        encoding: ColumnEncoding = LeftOut()
        if at in counts and len(counts[at]) > few:
            encoding, at_rows = LevelEncoding.by_output(counts[at], column.values, y, folds)
            made.append((encoding, at_rows[:, None]))
            continue
        if at in counts:
            encoding = LevelEncoding.indicators(counts[at], least)
        elif column.kind == "date":
            encoding = DateEncoding.learn(column.values)
        elif column.kind == "number" and not np.all(np.isnan(column.values)):
            encoding = NumberEncoding.learn(column.values)
        made.append((encoding, encoding.encode(column.values)))
    numbered = [one.name for one in table if one.kind == "number" and numbers_rows(one.values)]
    return made, _notices(unique, numbered if len(table) > 1 else [])


def _few_levels(counts: Sequence[dict[Any, int]], least: int, n_columns: int, n: int) -> int:
    """The most levels that indicators show, so that they do not become too many for n rows."""
    most = max(np.clip(n // _ROWS_PER_COLUMN, *_MOST_COLUMNS), _FOR_A_COLUMN * n_columns)
    for few in range(int(np.clip(n // _ROWS_PER_LEVEL, *_FEW_LEVELS)), 2, -1):
        shown = sum(n_indicators(one, least) if len(one) <= few else 1 for one in counts)
        if n_columns - len(counts) + shown <= most:
            return few
    return 2


def numbers_rows(values: Array) -> bool:
    """Whether numbers are those of rows: whole, all different, and without wide gaps."""
    if len(values) < _NUMBERED_ROWS or not np.array_equal(values, np.round(values)):
        return False  # nor is NaN the number of a row
    steps = np.diff(np.sort(values))
    return bool(steps.min() > 0 and len(values) >= _DENSE * (steps.sum() + 1))


def _notices(unique: Sequence[Any], numbered: Sequence[Any]) -> list[str]:
    notices = []
    if unique:
        notices.append(
            f"text that differs in nearly every row is left out of the encoding: {listed(unique)}"
        )
    if numbered:
        notices.append(
            f"whole numbers that differ in every row seem to number the rows: {listed(numbered)}; "
            "drop such columns unless the order of the rows means something"
        )
    return notices
