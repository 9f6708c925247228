"""What ``sosbands predict`` adds to the rows of a file, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from sosbands.cli.models import StoredModel
from sosbands.cli.table_file import CsvFormat, Problems, TableError, TableFile
from sosbands.cli.table_reading import with_lines
from sosbands.estimator import BandRegressor
from sosbands.learning.encoding import TableEncoder
from sosbands.learning.levels import LevelEncoding
from sosbands.prediction import table_columns
from sosbands.quoting import listed, quoted
from sosbands.types import Mask

# Unseen categories that are remembered: there may be as many as rows.
_TOLD = 5
_FLAGS = ("extrapolation", "unseen", "missing")


@dataclass(eq=False)
class NewColumns:
    """The mean, the ends of the intervals at each level, and perhaps flags, of rows of a file."""

    stored: StoredModel
    file: TableFile
    form: CsvFormat
    levels: Sequence[float]
    prefix: str  # before the names
    flags: bool
    drop_missing: bool  # rows with missing inputs are left empty
    typed: bool  # inputs are written as the numbers they are, and not as the text they were
    unseen: UnseenCategories

    def added_to(self, block: pd.DataFrame) -> pd.DataFrame:
        """The block with its new columns."""
        names = [f"{self.prefix}{name}" for name in (*self._ends(), *_FLAGS[: 3 * self.flags])]
        taken = [name for name in names if name in block.columns]
        if taken:
            raise TableError(
                f"{self.file.name} already has a column {listed(taken)}: name the new ones "
                "differently with --prefix"
            )
        problems = Problems()
        X = self.stored.columns.read_inputs(block, self.file, self.form, problems)
        with_lines(problems, self.file).raised(self.file)
        made = np.full((len(X), len(names)), np.nan)
        self.unseen.note(self.stored.model, X)
        kept = ~X.isna().any(axis=1).to_numpy() if self.drop_missing else np.ones(len(X), bool)
        if kept.any():
            rows = X if kept.all() else X[kept]
            made[kept, : len(self._ends())] = self.stored.model.predict_table(rows, self.levels)
            if self.flags:
                made[kept, -3] = self.stored.model.extrapolation(rows)
        new = pd.DataFrame(made, block.index, names)
        if self.flags:
            strange = {name: rows for name, _, rows in unseen_cells(self.stored.model, X)}
            lacking = {str(name): column.isna().to_numpy() for name, column in X.items()}
            new[names[-2]], new[names[-1]] = _joined(strange, len(X)), _joined(lacking, len(X))
        return pd.concat([block.assign(**X) if self.typed else block, new], axis=1)

    def _ends(self) -> list[str]:
        return table_columns(self.levels, scalar=len(self.levels) == 1)


@dataclass(eq=False)
class UnseenCategories:
    """Some of the categories that training has not seen, or hardly, by column."""

    found: dict[str, list[str]] = field(default_factory=dict)

    def note(self, model: BandRegressor, X: pd.DataFrame) -> UnseenCategories:
        """Remember those of these rows."""
        for name, values, rows in unseen_cells(model, X):
            told = self.found.setdefault(name, [])
            kinds = {value for value, new in zip(values, rows, strict=True) if new}
            told += sorted(kinds - set(told))[: _TOLD - len(told)]
        return self

    def sentences(self) -> Iterator[str]:
        """What to warn of."""
        for name, kinds in self.found.items():
            such = listed(kinds)
            yield f"column {quoted(name)} has categories that training had not, such as {such}"


def unseen_cells(model: BandRegressor, X: pd.DataFrame) -> Iterator[tuple[str, Any, Mask]]:
    """Columns with categories that training has not seen: name, values, and in which rows."""
    encoder = model.band_.encoding.transformer
    if not isinstance(encoder, TableEncoder):
        return
    for name, encoding in zip(X, encoder.columns_, strict=True):
        if isinstance(encoding, LevelEncoding):
            there = X[name].notna().to_numpy()
            values = X[name].astype(object).where(there, None).tolist()
            rows = encoding.strange(values) & there
            if rows.any():
                yield str(name), values, rows


def _joined(columns: dict[str, Mask], n: int) -> list[str]:
    """The names of the columns that hold at each row."""
    told: list[list[str]] = [[] for _ in range(n)]
    for name, rows in columns.items():
        for at in np.flatnonzero(rows):
            told[at].append(name)
    return [", ".join(names) for names in told]
