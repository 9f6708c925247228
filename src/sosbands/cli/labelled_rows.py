"""From a file to rows that a model can learn from, or be judged on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sosbands.cli import cells
from sosbands.cli.table_columns import Columns
from sosbands.cli.table_file import TableError, TableFile
from sosbands.cli.table_reading import naming_lines, read_table
from sosbands.quoting import quoted
from sosbands.types import Array

_TOLD = 5  # columns that a message names


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows without missing values; those of one group belong together."""

    columns: Columns
    X: pd.DataFrame
    y: Array
    groups: Any  # an array of shape (n,), or None
    n_dropped: int  # rows that had missing values


def read_training(
    file: TableFile,
    *,
    target: str,
    drop: Sequence[str],
    categorical: Sequence[str],
    groups: str | None,
    max_categories: int | None,
    drop_missing: bool,
) -> LabelledRows:
    """All rows of a file, and what its columns are."""
    table = read_table(file)
    with naming_lines(file):
        columns = Columns.of(
            table,
            target,
            file,
            left_out=drop if groups is None else [*drop, groups],
            categorical=categorical,
            max_categories=max_categories,
        )
        return _complete(table, columns, file, groups=groups, drop_missing=drop_missing)


def read_labelled(file: TableFile, columns: Columns, *, drop_missing: bool) -> LabelledRows:
    """All rows of a file, for a model that knows its columns."""
    table = read_table(file)
    with naming_lines(file):
        return _complete(table, columns, file, groups=None, drop_missing=drop_missing)


def _complete(
    table: pd.DataFrame,
    columns: Columns,
    file: TableFile,
    *,
    groups: str | None,
    drop_missing: bool,
) -> LabelledRows:
    """The rows without missing values; others are an error unless they may be dropped."""
    X, y = columns.read_inputs(table, file), columns.read_output(table, file)
    parts: list[Any] = [X, y]
    if groups is not None:
        parts.append(cells.categories(table[groups]).rename(groups))
    lacking = pd.concat(parts, axis=1).isna()
    if not drop_missing:
        _refuse_missing(lacking.sum(), file)
    kept = ~lacking.any(axis=1)
    if not kept.any():
        raise TableError(f"every row of {file.name} has missing values: leave columns out")
    return LabelledRows(
        columns,
        X[kept].reset_index(drop=True),
        np.asarray(y[kept], dtype=np.float64),
        None if groups is None else parts[-1][kept].to_numpy(str),
        int((~kept).sum()),
    )


def _refuse_missing(counts: pd.Series[int], file: TableFile) -> None:
    counts = counts[counts > 0]
    if len(counts) == 0:
        return
    most = ", ".join(f"{quoted(name)} ({n})" for name, n in counts[:_TOLD].items())
    more = f" and {len(counts) - _TOLD} more columns" if len(counts) > _TOLD else ""
    raise TableError(
        f"{file.name} has missing values in {most}{more}: fill them in, or leave such rows out "
        "with --drop-missing, such columns with --drop"
    )
