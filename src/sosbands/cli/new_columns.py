"""The columns that ``sosbands predict`` adds to a table, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from sosbands.cli.models import StoredModel
from sosbands.cli.table_file import RowError, TableError, TableFile
from sosbands.quoting import listed
from sosbands.types import Array, Mask

# Unseen categories that are remembered: there may be as many as rows.
_TOLD = 5


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
            self._refuse_missing(X, complete)
        for name, kinds in self.stored.columns.unseen(X).items():
            told = self.unseen.setdefault(name, [])
            told += sorted(kinds - set(told))[: _TOLD - len(told)]
        made = np.full((len(block), len(names)), np.nan)
        if complete.any():
            made[complete] = self._predictions(X if complete.all() else X[complete])
        new = pd.DataFrame(made, block.index, names)
        return pd.concat([block.assign(**X) if self.typed else block, new], axis=1)

    def _names(self) -> list[str]:
        ends = [
            f"{end}_{level:g}" if len(self.levels) > 1 else end
            for level in self.levels
            for end in ("lower", "upper")
        ]
        return [f"{self.prefix}{name}" for name in ("mean", *ends)]

    def _predictions(self, X: pd.DataFrame) -> Array:
        model = self.stored.model
        intervals = model.predict_interval(X, self.levels)
        # One level after the other, its lower end first.
        ends = intervals.transpose(0, 2, 1).reshape(len(X), -1)
        return np.column_stack([np.asarray(model.predict(X)), ends])

    def _refuse_missing(self, X: pd.DataFrame, complete: Mask) -> None:
        first = int(np.argmin(complete))
        lacking = listed(X.columns[X.iloc[first].isna()])
        raise RowError(
            "",
            int(X.index[first]),
            f" of {self.file.name} has no value in {lacking}: fill it in, or give --skip-missing "
            "to leave the new columns empty there",
        )
