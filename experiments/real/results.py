"""The results on disk: a CSV file for each data set, a few rows for each method and split.

What is measured is appended at once, so that a run that was interrupted goes on from there. Results
stay until ``--fresh`` asks for new ones, whatever becomes of the code: of a unit measured twice the
last rows count, and `tidy` drops the others. A unit without a row for every level, or a file with
other columns, is of an older declaration: it can be read, but counts as not measured, and the first
new rows take the place of such a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import sosbands
from experiments.real.measure import COLUMNS, LEVELS

KEY = ["method", "seed", "level"]
HEADER = [*KEY, *COLUMNS, "version"]
_DIGITS = {"float_format": "%.6g"}


@dataclass(frozen=True)
class Results:
    """The results of one data set."""

    path: Path

    def load(self) -> pd.DataFrame:
        """The rows that there are, by method, seed and level; NaN in columns that they lack."""
        if not self.path.exists():
            return pd.DataFrame(columns=HEADER)
        rows = pd.read_csv(self.path).reindex(columns=HEADER)
        return rows.drop_duplicates(KEY, keep="last").sort_values(KEY)

    def done(self) -> set[tuple[str, int]]:
        """The methods and seeds that are measured as they would be today."""
        if not self.current():
            return set()
        levels = self.load().groupby(KEY[:2])["level"].agg(set)
        return {unit for unit, found in levels.items() if found >= set(LEVELS)}

    def current(self) -> bool:
        """Whether there is a file, with the columns of today."""
        return self.path.exists() and list(pd.read_csv(self.path, nrows=0)) == HEADER

    def add(self, method: str, seed: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append what was measured."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        key, goes_on = {"method": method, "seed": seed}, self.current()
        found = pd.DataFrame([{**key, **row, "version": sosbands.__version__} for row in rows])
        if sorted(found) != sorted(HEADER):
            raise ValueError(f"rows must have the columns {', '.join(HEADER)}, got {list(found)}")
        found[HEADER].to_csv(
            self.path, mode="a" if goes_on else "w", header=not goes_on, index=False, **_DIGITS
        )

    def tidy(self) -> None:
        """Sort the file, and drop what was measured again."""
        if self.current():
            rows, part = self.load(), self.path.with_suffix(".part")
            rows.to_csv(part, index=False, **_DIGITS)
            part.replace(self.path)
