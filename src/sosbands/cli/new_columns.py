"""Tables with predictions, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from sosbands.cli.models import StoredModel
from sosbands.cli.tables import CsvFormat, RowError, TableError
from sosbands.quoting import listed
from sosbands.types import Array, Mask

# Unseen categories that are remembered: there may be as many as rows.
_TOLD = 5


@dataclass(eq=False, kw_only=True)
class Predictor:
    """Adds predictions to blocks of a table.

    Attributes
    ----------
    stored : StoredModel
    levels : sequence of float
    prefix : str
        Before the names of the new columns.
    form : CsvFormat
    path : str
        What messages call the table.
    skip_missing : bool
        Whether rows with missing inputs are left empty rather than an error.
    typed : bool
        Whether inputs are written as the numbers they are, and not as the text they were.
    unseen : dict of str to list of str
        Some of the categories that training has not seen, by column.
    """

    stored: StoredModel = field(kw_only=False)
    levels: Sequence[float]
    prefix: str
    form: CsvFormat
    path: str
    skip_missing: bool
    typed: bool
    unseen: dict[str, list[str]] = field(default_factory=dict)

    def annotated(self, block: pd.DataFrame) -> pd.DataFrame:
        """The block with its new columns."""
        names = self._names()
        self._check_names(block, names)
        X = self.stored.columns.read_inputs(block, self.form, path=self.path)
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

    def _predictions(self, X: pd.DataFrame) -> Array:
        """Mean, and lower and upper of each level."""
        model, n = self.stored.model, len(X)
        intervals = model.predict_interval(X, self.levels)
        # One level after the other, its lower end first.
        ends = intervals.transpose(0, 2, 1).reshape(n, -1)
        return np.column_stack([np.asarray(model.predict(X)), ends])

    def _names(self) -> list[str]:
        ends = [
            f"{end}_{level:g}" if len(self.levels) > 1 else end
            for level in self.levels
            for end in ("lower", "upper")
        ]
        return [f"{self.prefix}{name}" for name in ("mean", *ends)]

    def _check_names(self, block: pd.DataFrame, names: list[str]) -> None:
        taken = [name for name in names if name in block.columns]
        if taken:
            raise TableError(
                f"{self.path} already has a column {listed(taken)}: name the new ones "
                "differently with --prefix"
            )

    def _refuse_missing(self, X: pd.DataFrame, complete: Mask) -> None:
        first = int(np.argmin(complete))
        lacking = listed(X.columns[X.iloc[first].isna()])
        raise RowError(
            "",
            int(X.index[first]),
            f" of {self.path} has no value in {lacking}: fill it in, or give --skip-missing to "
            "leave the new columns empty there",
        )
