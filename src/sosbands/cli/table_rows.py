"""Rows of a file for a model: to learn from, to be judged on, or to predict block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from sosbands.cli import cells
from sosbands.cli.models import StoredModel
from sosbands.cli.table_columns import Columns
from sosbands.cli.table_file import RowError, TableError, TableFile
from sosbands.cli.table_reading import naming_lines, read_table
from sosbands.quoting import listed, quoted
from sosbands.types import Array

# Columns that a message names; unseen categories that are remembered: there may be as many as rows.
_TOLD = 5


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
    groups: str | None,
    drop_missing: bool,
    **kinds: Any,
) -> LabelledRows:
    """All rows of a file, and what its columns are; `Columns.of` knows the other options."""
    table = read_table(file)
    with naming_lines(file):
        left_out = drop if groups is None else [*drop, groups]
        columns = Columns.of(table, target, file, left_out=left_out, **kinds)
        return _complete(table, columns, file, groups=groups, drop_missing=drop_missing)


def read_labelled(file: TableFile, columns: Columns, *, drop_missing: bool) -> LabelledRows:
    """All rows of a file, for a model that knows its columns."""
    table = read_table(file)
    with naming_lines(file):
        return _complete(table, columns, file, groups=None, drop_missing=drop_missing)


@dataclass(eq=False)
class NewColumns:
    """The mean, and the ends of the intervals at each level, of the rows of a file."""

    stored: StoredModel
    file: TableFile
    levels: Sequence[float]
    prefix: str  # before the names
    skip_missing: bool  # rows with missing inputs are left empty rather than an error
    typed: bool  # inputs are written as the numbers they are, and not as the text they were
    # Some of the categories that training has not seen, by column.
    unseen: dict[str, list[str]] = field(default_factory=dict)

    def added_to(self, block: pd.DataFrame) -> pd.DataFrame:
        """The block with its new columns."""
        names = self._names()
        taken = [name for name in names if name in block.columns]
        if taken:
            raise TableError(
                f"{self.file.name} already has a column {listed(taken)}: name the new ones "
                "differently with --prefix"
            )
        X = self.stored.columns.read_inputs(block, self.file)
        complete = ~X.isna().any(axis=1).to_numpy()
        if not (self.skip_missing or complete.all()):
            first = int(np.argmin(complete))
            raise RowError(
                "",
                int(X.index[first]),
                f" of {self.file.name} has no value in {listed(X.columns[X.iloc[first].isna()])}: "
                "fill it in, or give --skip-missing to leave the new columns empty there",
            )
        for name, kinds in self.stored.columns.unseen(X).items():
            told = self.unseen.setdefault(name, [])
            told += sorted(kinds - set(told))[: _TOLD - len(told)]
        made = np.full((len(block), len(names)), np.nan)
        if complete.any():
            rows = X if complete.all() else X[complete]
            made[complete] = self.stored.model.predict_table(rows, self.levels)
        new = pd.DataFrame(made, block.index, names)
        return pd.concat([block.assign(**X) if self.typed else block, new], axis=1)

    def _names(self) -> list[str]:
        ends = [
            f"{end}_{level:g}" if len(self.levels) > 1 else end
            for level in self.levels
            for end in ("lower", "upper")
        ]
        return [f"{self.prefix}{name}" for name in ("mean", *ends)]


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
    counts = lacking.sum()
    if not drop_missing and counts.any():
        counts = counts[counts > 0]
        most = ", ".join(f"{quoted(name)} ({n})" for name, n in counts[:_TOLD].items())
        more = f" and {len(counts) - _TOLD} more columns" if len(counts) > _TOLD else ""
        raise TableError(
            f"{file.name} has missing values in {most}{more}: fill them in, or leave such rows out "
            "with --drop-missing, such columns with --drop"
        )
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
