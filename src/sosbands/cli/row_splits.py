"""Which rows learn, which calibrate and which judge: at random, by groups, or in order of time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, TimeSeriesSplit

from sosbands.cli.table_file import TableError
from sosbands.cli.table_rows import LabelledRows
from sosbands.learning.validation import MIN_ROWS
from sosbands.types import Array, Indices

# Of the rows that do not judge, the share that calibrates if they are in order.
_CALIBRATION = 0.3


@dataclass(frozen=True, eq=False)
class RowSplit:
    """Rows to learn from, calibration included, and rows that judge, by position."""

    train: Indices
    test: Indices
    parameters: dict[str, Any] = field(default_factory=dict)  # of a BandRegressor

    @classmethod
    def of(cls, rows: LabelledRows, test_size: float, seed: int) -> RowSplit:
        """A share of the rows judges; of rows in order, the last ones."""
        n = len(rows.y)
        if rows.order is not None:
            return cls._in_order(rows.order, test_size)
        if test_size == 0:
            return cls(np.arange(n), np.arange(0))
        left = n - math.ceil(test_size * n)
        if rows.groups is None and left < MIN_ROWS:
            advice = ", or --test-size 0" if n >= MIN_ROWS else ""
            raise TableError(
                f"--test-size {test_size:g} leaves {left} of {n} rows to learn from, and at least "
                f"{MIN_ROWS} are needed: give more rows{advice}"
            )
        kind = ShuffleSplit if rows.groups is None else GroupShuffleSplit
        splitter = kind(1, test_size=test_size, random_state=seed)
        train, test = next(splitter.split(rows.X, groups=rows.groups))
        return cls(np.sort(train), np.sort(test))

    @classmethod
    def _in_order(cls, order: Array, test_size: float) -> RowSplit:
        n = len(order)
        end = _cut(order, test_size) if test_size else n
        count = end - _cut(order[:end], _CALIBRATION)
        parameters = {"cv": TimeSeriesSplit(), "calibration_size": count}
        return cls(np.arange(end), np.arange(end, n), parameters)


def _cut(order: Array, share: float) -> int:
    """Where the last share begins; rows of the same place stay together."""
    n = len(order)
    at = min(max(n - max(round(share * n), 1), 1), n - 1) if n > 1 else 0
    ends = [int(np.searchsorted(order, order[at], side)) for side in ("left", "right")]
    inner = [end for end in ends if 0 < end < n]
    if not inner:
        raise TableError(
            "--ordered names a column that is the same in all rows that are to be told apart by "
            "time: name another"
        )
    return min(inner, key=lambda end: abs(end - at))
