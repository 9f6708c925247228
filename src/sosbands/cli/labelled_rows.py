"""From a file to rows that a model can learn from, or be judged on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sosbands.cli import cells
from sosbands.cli.table_columns import Columns, check_present
from sosbands.cli.tables import CsvFormat, RowError, TableError, named, read_table
from sosbands.quoting import quoted
from sosbands.types import Array

_TOLD = 5  # columns that a message names


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows without missing values.

    Attributes
    ----------
    columns : Columns
    X : DataFrame
    y : array of shape (n,)
    groups : array of shape (n,) or None
        Rows of one group belong together.
    n_dropped : int
        Rows that had missing values.
    """

    columns: Columns
    X: pd.DataFrame
    y: Array
    groups: Any
    n_dropped: int


def read_training(
    data: str,
    *,
    form: CsvFormat,
    target: str,
    drop: Sequence[str],
    categorical: Sequence[str],
    groups: str | None,
    max_categories: int | None,
    drop_missing: bool,
) -> LabelledRows:
    """All rows of a file, and what its columns are."""
    table = read_table(data, form)
    with naming_lines(data, form):
        columns = Columns.of(
            table,
            target,
            path=named(data),
            form=form,
            left_out=drop if groups is None else [*drop, groups],
            categorical=categorical,
            max_categories=max_categories,
        )
        return _complete(table, columns, data, form, groups=groups, drop_missing=drop_missing)


def read_labelled(
    data: str, columns: Columns, form: CsvFormat, *, drop_missing: bool
) -> LabelledRows:
    """All rows of a file, for a model that knows its columns."""
    table = read_table(data, form)
    with naming_lines(data, form):
        return _complete(table, columns, data, form, groups=None, drop_missing=drop_missing)


@contextmanager
def naming_lines(data: str, form: CsvFormat) -> Iterator[None]:
    """Errors name the line of the file, which an editor shows, and not the number of the row."""
    try:
        yield
    except RowError as error:
        raise error.in_file(data, form) from None


def _complete(
    table: pd.DataFrame,
    columns: Columns,
    data: str,
    form: CsvFormat,
    *,
    groups: str | None,
    drop_missing: bool,
) -> LabelledRows:
    """The rows without missing values; others are an error unless they may be dropped."""
    X = columns.read_inputs(table, form, path=named(data))
    y = columns.read_output(table, form, path=named(data))
    belongs = None
    if groups is not None:
        check_present(table, [groups], named(data))
        belongs = cells.categories(table[groups]).rename(groups)
    lacking = pd.concat([X, y, *([] if belongs is None else [belongs])], axis=1).isna()
    if not drop_missing and lacking.to_numpy().any():
        counts = lacking.sum()
        counts = counts[counts > 0]
        most = ", ".join(f"{quoted(name)} ({n})" for name, n in counts[:_TOLD].items())
        more = f" and {len(counts) - _TOLD} more columns" if len(counts) > _TOLD else ""
        raise TableError(
            f"{named(data)} has missing values in {most}{more}: fill them in, or leave such rows "
            "out with --drop-missing, such columns with --drop"
        )
    kept = ~lacking.any(axis=1)
    if not kept.any():
        raise TableError(f"every row of {named(data)} has missing values: leave columns out")
    return LabelledRows(
        columns,
        X[kept].reset_index(drop=True),
        np.asarray(y[kept], dtype=np.float64),
        None if belongs is None else belongs[kept].to_numpy(str),
        int((~kept).sum()),
    )
