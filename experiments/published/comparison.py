"""What a published comparison is: its data sets, its splits, the smallest scores in it.

Ours learns from the rows that trained the published methods, is calibrated by the rows that
calibrated them and judged on the same test rows, with default settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from experiments.methods import Array
from sosbands import BandRegressor
from sosbands.metrics import coverage, interval_score, mean_width

Rows: TypeAlias = Any  # indices


class Folders(NamedTuple):
    """Where the CSV files are: numbers alone, and tables as they came."""

    data: Path
    raw: Path | None


def as_it_is(table: pd.DataFrame) -> pd.DataFrame:
    """Nothing is prepared."""
    return table


@dataclass(frozen=True)
class PublishedSet:
    """One data set of a comparison.

    Attributes
    ----------
    best : float
        The smallest mean score of the published methods.
    by : str
        The method that has it.
    file : str
    rows : int
        How many the file holds: with others, or in another order, splits are not the published.
    split : callable
        (rows, k) ↦ the indices of split k that train, calibrate and test.
    raw : bool
        Whether the file is a table as it came.
    target : str
        The column of y.
    prepare : callable
        A table ↦ the table with the inputs that the published methods saw.
    """

    best: float
    by: str
    file: str
    rows: int
    split: Callable[[int, int], tuple[Rows, Rows, Rows]]
    raw: bool = False
    target: str = "y"
    prepare: Callable[[pd.DataFrame], pd.DataFrame] = as_it_is

    def path(self, folders: Folders) -> Path:
        """Where its file is."""
        if self.raw and folders.raw is None:
            raise ValueError(f"{self.file} is a raw table: name the folder of those with --raw")
        return (folders.raw if self.raw else folders.data) / self.file

    def load(self, folders: Folders) -> tuple[pd.DataFrame, Array]:
        """Inputs and outputs."""
        table = pd.read_csv(self.path(folders))
        if len(table) != self.rows:
            raise ValueError(
                f"{self.file} must hold the {self.rows} rows of the published comparison, got "
                f"{len(table)}: its splits are those of other rows"
            )
        y = table.pop(self.target).to_numpy(dtype=np.float64)
        return self.prepare(table), y


@dataclass(frozen=True)
class Comparison:
    """A published table of interval scores.

    Attributes
    ----------
    name : str
        That of its file.
    title : str
    source : str
        What the numbers and splits are taken from, one sentence.
    level : float
        Of the intervals.
    splits : int
        Over how many scores are averaged.
    unit : callable
        Training outputs ↦ what y is divided by.
    sets : mapping
    """

    name: str
    title: str
    source: str
    level: float
    splits: int
    unit: Callable[[Array], float]
    sets: Mapping[str, PublishedSet]


def measure(comparison: Comparison, name: str, folders: Folders, *, seed: int) -> dict[str, Any]:
    """Our defaults on split `seed` of one data set; seconds are of the processor, on one thread."""
    chosen = comparison.sets[name]
    X, y = chosen.load(folders)
    train, cal, test = chosen.split(len(y), seed)
    y = y / comparison.unit(y[train])
    with threadpool_limits(1):
        start = process_time()
        model = BandRegressor(calibration=None, random_state=seed).fit(X.iloc[train], y[train])
        model.conformalize(X.iloc[cal], y[cal])
        seconds = process_time() - start
        C = model.predict_interval(X.iloc[test], comparison.level)
    return {
        "train": len(train),
        "calibrate": len(cal),
        "test": len(test),
        "interval_score": float(interval_score(y[test], C, comparison.level)),
        "coverage": float(coverage(y[test], C)),
        "mean_width": float(mean_width(C)),
        "fit_seconds": seconds,
    }
