"""Rows of a file that have a target: to learn from, to calibrate or to be judged on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from sosbands.cli import cells
from sosbands.cli.column_judging import LeftOut, judged
from sosbands.cli.column_kinds import Names
from sosbands.cli.command import say
from sosbands.cli.file_bytes import fingerprint, held
from sosbands.cli.known_files import KnownFile, known_as
from sosbands.cli.number_marks import marks_shown
from sosbands.cli.table_columns import Choice, Columns
from sosbands.cli.table_file import CsvFormat, Problems, TableError, TableFile
from sosbands.cli.table_reading import read_table, with_lines
from sosbands.quoting import quoted
from sosbands.types import Array, Indices, Mask


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows with a target; inputs may be missing."""

    columns: Columns
    form: CsvFormat  # of the cells of the file
    X: pd.DataFrame
    y: Array
    groups: Any  # an array of shape (n,), or None; rows of one group belong together
    order: Any  # the same, by which rows are sorted already
    places: Indices  # of these rows in the file
    n_file: int  # rows of the file
    sha256: str | None  # of the file
    dropped: Mapping[str, int]  # rows of the file that are not among these, by reason
    left_out: Mapping[str, str] = field(default_factory=dict)  # columns, with the reason
    held_out: bool = False  # whether these are what a fit held out of its own file

    def take(self, rows: Any) -> LabelledRows:
        """Some of the rows, by number or by truth."""
        return replace(
            self,
            X=self.X.iloc[rows].reset_index(drop=True),
            y=self.y[rows],
            groups=None if self.groups is None else self.groups[rows],
            order=None if self.order is None else self.order[rows],
            places=self.places[rows],
        )


def read_training(
    file: TableFile,
    choice: Choice,
    *,
    drop_missing: bool = False,
    drop_ragged: bool = False,
) -> LabelledRows:
    """All rows of a file, and what its columns are; all that is wrong with it in one error.

    Rows without a target, a group or a place in the order are left out.
    """
    file, problems = held(file), Problems()
    table = read_table(file, problems, drop_ragged=drop_ragged)
    form = marks_shown(table, file, problems)
    columns, left_out = choice.columns(table, file, form, problems)
    order = None if choice.ordered is None else _order(table, choice.ordered, form, problems)
    with_lines(problems, file).raised(file)
    groups = None
    if choice.groups is not None:
        groups = cells.categories(table[choice.groups], form).to_numpy(object)
    rows = _labelled(table, columns, file, form, drop_missing, groups=groups, order=order)
    if order is not None:
        rows = rows.take(np.argsort(rows.order, kind="stable"))
    return replace(rows, left_out=left_out)


def read_labelled(
    file: TableFile,
    columns: Columns,
    form: CsvFormat,
    *,
    drop_missing: bool = False,
    drop_ragged: bool = False,
) -> LabelledRows:
    """All rows of a file, for a model that knows its columns and how cells are written."""
    file, problems = held(file), Problems()
    table = read_table(file, problems, drop_ragged=drop_ragged)
    with_lines(problems, file).raised(file)
    return _labelled(table, columns, file, form, drop_missing)


def labelled_block(
    block: pd.DataFrame, columns: Columns, file: TableFile, form: CsvFormat, drop_missing: bool
) -> LabelledRows:
    """The same of some rows; there may be none that can be used."""
    return _labelled(block, columns, file, form, drop_missing, whole=False)


def unseen_rows(rows: LabelledRows, files: Sequence[KnownFile], file: TableFile) -> LabelledRows:
    """Those rows that a model has not seen, if it knows the file; all rows if it does not."""
    known = known_as(files, rows.sha256, rows.n_file)
    if known is None:
        return rows
    kept = known.held_out[rows.places]
    if not kept.any():
        raise TableError(
            f"the model has seen every row of {file.name}, which therefore says nothing of new "
            "ones: give other rows, or hold some out with fit --test-size 0.2"
        )
    say(f"the model knows {file.name}: of it, the {int(kept.sum())} rows it has not seen count")
    return replace(rows.take(kept), held_out=True)


def _labelled(
    table: pd.DataFrame,
    columns: Columns,
    file: TableFile,
    form: CsvFormat,
    drop_missing: bool,
    *,
    groups: Any = None,
    order: Any = None,
    whole: bool = True,
) -> LabelledRows:
    """The rows that can be used; those that cannot are counted."""
    problems = Problems()
    X = columns.read_inputs(table, file, form, problems)
    y = columns.read_output(table, file, form, problems)
    with_lines(problems, file).raised(file)
    kept, dropped = np.ones(len(table), dtype=bool), {}
    reasons: list[tuple[str, Mask]] = [(f"no {columns.target}", y.isna().to_numpy())]
    if groups is not None:
        reasons.append(("no group", pd.isna(groups)))
    if order is not None:
        reasons.append(("no place in the order", np.isnan(order)))
    if drop_missing:
        reasons.append(("missing inputs", X.isna().any(axis=1).to_numpy()))
    for reason, lacking in reasons:
        if (lacking & kept).any():
            dropped[reason] = int((lacking & kept).sum())
            kept &= ~lacking
    if whole and not kept.any():
        why = ", ".join(f"{count} have {reason}" for reason, count in dropped.items())
        advice = ": leave columns out with --drop" if "missing inputs" in dropped else ""
        raise TableError(f"no row of {file.name} can be used, {why}{advice}")
    rows = LabelledRows(
        columns,
        form,
        X,
        np.asarray(y, dtype=np.float64),
        groups,
        order,
        np.arange(len(table)),
        len(table),
        fingerprint(file) if whole else None,
        dropped,
    )
    return rows.take(kept)


def _order(table: pd.DataFrame, ordered: str, form: CsvFormat, problems: Problems) -> Array | None:
    """Numbers by which rows are sorted, NaN where there is nothing; None if it is a problem."""
    if ordered not in table.columns:
        return None
    values: Any = None
    with problems.collected():
        column = table[ordered]
        found = judged(column, form)
        kind = found.otherwise if isinstance(found, LeftOut) else found
        if kind is None or isinstance(kind, Names):
            raise TableError(
                f"--ordered needs numbers, dates or times, and column {quoted(ordered)} holds "
                f"{'nothing' if kind is None else 'text'}: name another"
            )
        values, _ = kind.read(column, form)
    if values is None or values.dtype.kind != "M":
        return values  # type: ignore[no-any-return]
    return np.where(np.isnat(values), np.nan, values.astype(np.int64).astype(np.float64))
