"""Which columns of a table a model sees, as numbers or categories; kept with the model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sosbands.cli import cells
from sosbands.cli.table_file import CsvFormat, RowError, TableError, TableFile
from sosbands.quoting import listed, quoted, shortened

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer

_MOST_CATEGORIES = 100


@dataclass(frozen=True)
class Columns:
    """The inputs of a model in the order of training, their categories, and its output."""

    inputs: tuple[str, ...]
    # Of those inputs that have some; the others are numbers.
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # None if it is not known.
    target: str | None = None

    @classmethod
    def of(
        cls,
        table: pd.DataFrame,
        target: str,
        file: TableFile,
        *,
        left_out: Sequence[str] = (),
        categorical: Sequence[str] = (),
        max_categories: int | None = None,
    ) -> Columns:
        """Numbers where all cells are numbers, categories elsewhere; doubtful columns are refused.

        The model must not see the columns `left_out`; those of `categorical` hold categories even
        if they look like numbers. A column of more than `max_categories` is taken for an
        identifier: without it, of more than 100, or of more than half as many as rows.
        """
        check_present(table, [target, *left_out, *categorical], file)
        unseen, names = {target, *left_out}, set(categorical)
        inputs = tuple(name for name in table.columns if name not in unseen)
        if not inputs:
            raise TableError(
                f"no columns are left beside the target {quoted(target)}: keep some inputs"
            )
        if "" in inputs:
            raise TableError(
                "a column has no name, as when a row number is written with a table: give it a "
                "name, or leave it out with --drop ''"
            )
        numbers = cells.plain_numbers(table, [n for n in inputs if n not in names], file.form)
        known = {}
        for name in inputs:
            if name in numbers and not np.isnan(numbers[name]).all():
                continue
            if name in names or not _holds_numbers(table[name], file.form):
                known[name] = _categories(table[name], max_categories)
        return cls(inputs, known, target)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Columns:
        """What `dataclasses.asdict` made, tuples or lists."""
        known = {name: tuple(kinds) for name, kinds in stored["categories"].items()}
        return cls(tuple(stored["inputs"]), known, stored["target"])

    def read_inputs(self, table: pd.DataFrame, file: TableFile) -> pd.DataFrame:
        """The inputs in the order of training, numbers and strings; NaN or None where missing."""
        check_present(table, self.inputs, file)
        numeric = [name for name in self.inputs if name not in self.categories]
        # Arrays: the rows of so many series would be aligned one by one.
        read: dict[str, Any] = dict.fromkeys(self.inputs)
        read.update(cells.plain_numbers(table, numeric, file.form))
        for name in self.inputs:
            if name in self.categories:
                read[name] = cells.categories(table[name]).array
            elif read[name] is None:
                read[name] = cells.numbers(table[name], file.form)
        return pd.DataFrame(read, table.index)

    def read_output(self, table: pd.DataFrame, file: TableFile) -> pd.Series[float]:
        """The numbers of the target, NaN where they are missing."""
        if self.target is None:
            raise TableError(
                "the model does not say what it predicts: name the column with --target"
            )
        check_present(table, [self.target], file)
        values = cells.numbers(table[self.target], file.form)
        return pd.Series(values, table.index, name=self.target)

    def unseen(self, X: pd.DataFrame) -> dict[str, set[str]]:
        """Categories that training has not seen, by column."""
        found = {
            name: set(X[name].dropna().unique()) - set(self.categories[name])
            for name in self.categories
        }
        return {name: kinds for name, kinds in found.items() if kinds}

    def encoder(self) -> ColumnTransformer | None:
        """Categories to zeros and ones, numbers as they are; None if all are numbers."""
        if not self.categories:
            return None
        from sklearn.compose import ColumnTransformer
        from sklearn.preprocessing import OneHotEncoder

        kinds = [np.array(kinds, dtype=object) for kinds in self.categories.values()]
        # Named beforehand, for a fold that lacks one.
        one_hot = OneHotEncoder(categories=kinds, handle_unknown="ignore", sparse_output=False)
        return ColumnTransformer(
            [("categories", one_hot, list(self.categories))],
            remainder="passthrough",
            verbose_feature_names_out=False,
        )


def check_present(table: pd.DataFrame, wanted: Sequence[str], file: TableFile) -> None:
    """Raise an error if a table lacks columns."""
    absent = [name for name in wanted if name not in table.columns]
    if absent:
        raise TableError(
            f"{file.name} has no column {listed(absent)}: it has {listed(table.columns, 20)}"
        )


def _holds_numbers(column: pd.Series[Any], form: CsvFormat) -> bool:
    """Whether a column is one of numbers; an error if it is neither that nor one of categories."""
    values, wrong = cells.numbers_and_others(column, form)
    name = quoted(column.name)
    if not wrong:
        if np.isnan(values).all():
            raise TableError(f"column {name} is empty: leave it out with --drop")
        return True
    others = column.iloc[wrong]
    if not all(map(pd.api.types.is_scalar, others)):
        raise TableError(f"column {name} holds lists: leave it out with --drop")
    row, example = int(others.index[0]), quoted(str(others.iloc[0]))
    if all(map(cells.looks_like_a_date, others)):
        raise RowError(
            f"column {name} holds dates, such as {example} in ",
            row,
            ": make numbers of them, such as the day of the year, or leave it out with --drop",
        )
    # Percentages or 1.234.567 may be all there is; as categories they would lose their order.
    nearly = sum(map(cells.nearly_a_number, others))
    if len(wrong) - nearly < np.isfinite(values).sum() + nearly:
        many = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise RowError(
            f"column {name} holds numbers, but {example} in ",
            row,
            f"{many} is not written as one: {cells.advice(others.iloc[0], form)}; if they are "
            f"names, give --categorical {shortened(str(column.name))}",
        )
    return False


def _categories(column: pd.Series[Any], most: int | None) -> tuple[str, ...]:
    filled = cells.categories(column).dropna()
    found = filled.unique()
    if most is None:
        most = min(_MOST_CATEGORIES, math.ceil(len(filled) / 2))
    if len(found) > most:
        raise TableError(
            f"column {quoted(column.name)} has {len(found)} categories in {len(filled)} rows, like "
            f"an identifier: leave it out with --drop, or allow that many with --max-categories "
            f"{len(found)}"
        )
    return tuple(sorted(found))
