"""Sides of a band that are alike to a degree ÷ sides that know nothing of each other: scores.

``python -m benchmarks alike_sides --data FOLDER`` wants the CSV files of the eight development
sets. The likeness κ is given, or comes from the data: bands of several κ are compared by the
interval score out of fold, and √(1 − κ), the size of what differs between the sides, is averaged
over them as the tuning averages all that it tries. Bands are tuned as always, and then have two
sides. Splits have development seeds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
from joblib import Parallel
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks.all_levels import LEVELS, clipped, keys
from benchmarks.any_table import mean_of, parts
from benchmarks.outcomes import Key
from benchmarks.record import Record
from benchmarks.stability import DEVELOPMENT, VARIABLE
from experiments.real.measure import rows_of
from sosbands import BandRegressor
from sosbands.core.nested import NestedSolution
from sosbands.learning.cross_fitting import CrossFit, cross_fit, shares
from sosbands.learning.scale_rows import ScaleRows
from sosbands.metrics import interval_score

Array = npt.NDArray[np.float64]

MEANS = ("boosting", "kernel mean")
GIVEN, TRIED = (0.5, 0.8, 0.95, 1.0), (0.0, 0.5, 0.8)
SOLVED = ScaleRows.solved


def run(full: bool) -> Iterator[Record]:
    """Every likeness beside none, around both means; the ratios of every set in the notes."""
    folder = Path(os.environ.get(VARIABLE, "nowhere"))
    if not all((folder / f"{name}.csv").exists() for name in DEVELOPMENT):
        print(f"      nothing to measure: name the folder of CSV files, --data or {VARIABLE}")
        return
    splits = keys(("sosbands",))
    for kind in MEANS:
        apart = [scores(key, kind, 0.0) for key in splits]
        for likeness in (*GIVEN, None):
            together = [scores(key, kind, likeness) for key in splits]
            yield beside(splits, np.log(np.array(together) / np.array(apart)), kind, likeness)


def beside(splits: list[Key], logarithms: Array, kind: str, likeness: float | None) -> Record:
    """The geometric mean of the ratios over levels, splits and sets."""
    names = np.array([key["data"] for key in splits])
    by_set = {name: np.exp(logarithms[names == name].mean()) for name in DEVELOPMENT}
    ratio = float(np.exp(np.mean(np.log(list(by_set.values())))))
    given = "from the data" if likeness is None else f"{likeness:g}"
    notes = ", ".join(f"{name} {value:.3f}" for name, value in by_set.items())
    name = f"interval score, likeness {given} ÷ 0, around {kind}"
    return Record(name, ratio, seeds=sorted({int(key["seed"]) for key in splits}), notes=notes)


def scores(key: Key, kind: str, likeness: float | None) -> Array:
    """Interval scores of one split at all levels; a likeness of None comes from the data."""
    seed = int(key["seed"])
    X, y = rows_of(Path(os.environ[VARIABLE]) / f"{key['data']}.csv")
    y = y / y.std()
    train, rest, test = parts(len(y), seed)
    model = BandRegressor(mean_of(kind, seed), calibration=None, random_state=seed)

    def solved(rows: ScaleRows, lengthscale: Any, **settings: Any) -> NestedSolution:
        """Bands of two sides, whichever the tuning found better."""
        settings["symmetric"] = False
        κ = found(rows, lengthscale, settings["factor"]) if likeness is None else likeness
        band = clone(rows.rules.band).set_params(likeness=κ)
        return SOLVED(replace(rows, rules=replace(rows.rules, band=band)), lengthscale, **settings)

    with threadpool_limits(1), mock.patch.object(ScaleRows, "solved", solved):
        model.fit(X[train], y[train]).conformalize(X[rest], y[rest])
    C = clipped(model.predict_interval(X[test], list(LEVELS)), y[train])
    return np.asarray(interval_score(y[test], C, LEVELS))


def found(rows: ScaleRows, lengthscale: Any, factor: float) -> float:
    """The likeness that the rows ask for."""
    part = rows.sample(rows.rules.tuning_rows(rows.Z.shape[1]), np.random.default_rng(0))
    problem = part.problem(lengthscale, symmetric=False, factor=factor, fold=True)
    solvers = [rows.rules.fold_solver] * len(part.folds)
    with Parallel(n_jobs=1) as parallel:
        fits = [
            cross_fit(problem.variant(likeness=κ), part.folds, solvers, parallel)[0] for κ in TRIED
        ]
    return 1 - float(shares(fits, _quality) @ np.sqrt(1 - np.array(TRIED))) ** 2


def _quality(fit: CrossFit) -> float:
    return -fit.interval_score()
