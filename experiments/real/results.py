"""The results on disk: a CSV file for each data set, a few rows for each method and split.

What is measured is appended at once, so that a run that was interrupted goes on from there. Results
stay until ``--fresh`` asks for new ones, whatever becomes of the code: of a unit measured twice the
last rows count, and `tidy` drops the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import sosbands

KEY = ["method", "seed", "level"]


@dataclass(frozen=True)
class Results:
    """The results of one data set."""

    path: Path

    def load(self) -> pd.DataFrame:
        """The rows that count, by method, seed and level."""
        if not self.path.exists():
            return pd.DataFrame(columns=KEY)
        return pd.read_csv(self.path).drop_duplicates(KEY, keep="last").sort_values(KEY)

    def done(self) -> set[tuple[str, int]]:
        """The methods and seeds that are there."""
        rows = self.load()
        return set(zip(rows["method"], rows["seed"], strict=True))

    def add(self, method: str, seed: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append what was measured."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        key = {"method": method, "seed": seed}
        found = pd.DataFrame([{**key, **row, "version": sosbands.__version__} for row in rows])
        new = not self.path.exists()
        if not new and list(pd.read_csv(self.path, nrows=0)) != list(found):
            raise ValueError(
                f"{self.path} must have the columns {', '.join(found)}, got others of an older "
                "version: move it away and measure again"
            )
        found.to_csv(self.path, mode="a", header=new, index=False, float_format="%.6g")

    def tidy(self) -> None:
        """Sort the file, and drop what was measured again."""
        if self.path.exists():
            rows, part = self.load(), self.path.with_suffix(".part")
            rows.to_csv(part, index=False, float_format="%.6g")
            part.replace(self.path)
