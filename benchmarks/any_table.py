"""``estimator="auto"`` and tables as they are: how good the intervals are, and what they cost.

``python -m benchmarks any_table --data FOLDER`` scores on the development sets of the folder, with
development seeds, and on ames.csv if that is there. Without a folder it times alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
from scipy.stats import betabinom
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils.estimator_checks import check_estimator

from benchmarks.isolation import fresh_processes, run_alone
from benchmarks.record import Record
from benchmarks.stability import DEVELOPMENT, VARIABLE
from benchmarks.timing import processor_seconds
from experiments.real.measure import rows_of
from sosbands import BandRegressor
from sosbands.datasets import case
from sosbands.learning import stacking
from sosbands.metrics import coverage, interval_score

Array = npt.NDArray[np.float64]

LEVEL, MAX_ROWS = 0.9, 3000
# Splits of a set: more where a test part of few rows makes scores noisy.
SPLITS, FEW_ROWS, MANY_SPLITS = 4, 1000, 24
# No set of few rows, where a ratio is chance, counts for more than this.
LEAST_RATIO = 0.8
MISSING_SETS, MISSING = ("concrete", "airfoil", "california"), 0.2
AMES, AMES_SEEDS = "ames.csv", range(5)
# Rows of a fit, and the whole fit ÷ its cross-fitted regressors to reach.
SIZES = {1000: 3.0, 20_000: 3.0}
# What weighted rows cannot do if some are held back.
EXPECTED = {"check_sample_weight_equivalence_on_dense_data": "rows are held back to calibrate"}


def run(full: bool) -> Iterator[Record]:
    """Times, then scores on what the folder has."""
    for rows, target in SIZES.items():
        yield run_alone(share_of_means, rows, target)
    yield run_alone(small_fit)
    yield run_alone(checks)
    folder = Path(os.environ.get(VARIABLE, "nowhere"))
    if all((folder / f"{name}.csv").exists() for name in DEVELOPMENT):
        yield from beside_single_means()
        yield from missing_cells()
    if (folder / AMES).exists():
        yield beside_catboost()


def share_of_means(rows: int, target: float) -> Record:
    """The whole fit ÷ what its regressors take, in the same fit."""
    X, y = case(2, dimension=8).sample(rows, random_state=0)
    taken: list[float] = []
    cross_fit = stacking._Rows.cross_fitted

    def timed(*given: Any) -> Any:
        made: list[Any] = []
        taken.append(processor_seconds(lambda: made.append(cross_fit(*given))))
        return made[0]

    with mock.patch.object(stacking._Rows, "cross_fitted", timed):
        whole = [
            processor_seconds(partial(BandRegressor(random_state=0).fit, X, y)) for _ in range(3)
        ]
    ratio = float(np.median(np.array(whole[1:]) / np.array(taken[1:])))
    notes = f"case 2; {np.median(whole[1:]):.2g} s in all, {np.median(taken[1:]):.2g} s for these"
    name = f'fit, n = {rows}, d = 8, "auto" ÷ its cross-fitted regressors'
    return Record(name, ratio, "<=", target, seeds=(0,), notes=notes)


def small_fit() -> Record:
    """A fit of 200 rows."""
    times = []
    for seed in range(4):
        X, y = case(2, dimension=8).sample(200, random_state=seed)
        times.append(processor_seconds(partial(BandRegressor(random_state=seed).fit, X, y)))
    name = 'fit, n = 200, d = 8, "auto"'
    return Record(name, float(np.median(times[1:])), "<=", 1.5, unit="s", seeds=range(1, 4))


def checks() -> Record:
    """All checks of scikit-learn."""
    model = BandRegressor(random_state=0)
    taken = processor_seconds(
        partial(check_estimator, model, expected_failed_checks=EXPECTED, on_skip=None)
    )
    return Record('check_estimator, "auto"', taken, "<=", 60.0, unit="s", seeds=(0,))


def parts(rows: int, seed: int, most: int | None = MAX_ROWS) -> list[npt.NDArray[np.intp]]:
    """Rows that train, calibrate and test: a half and two quarters."""
    order = np.random.default_rng(seed).permutation(rows)[:most]
    return np.split(order, np.cumsum([len(order) // 2, len(order) // 4]))


def scored(X: Any, y: Array, seed: int, mean: Any, most: int | None = MAX_ROWS) -> Array:
    """The interval score, how many test rows are covered, and how many calibrate and test."""
    from sklearn.utils import _safe_indexing as take

    train, rest, test = parts(len(y), seed, most)
    model = BandRegressor(mean, calibration=None, random_state=seed).fit(take(X, train), y[train])
    C = model.conformalize(take(X, rest), y[rest]).predict_interval(take(X, test), LEVEL)
    low, high = y[train].min(), y[train].max()
    C = np.clip(C, 2 * low - high, 2 * high - low)
    held = coverage(y[test], C) * len(test)
    return np.array([interval_score(y[test], C, LEVEL), held, len(rest), len(test)])


def mean_of(kind: str, seed: int) -> Any:
    """What the intervals go around."""
    boosting = HistGradientBoostingRegressor(random_state=seed)
    return {"auto": "auto", "kernel mean": None, "boosting": boosting}[kind]


def set_score(name: str, kind: str, seed: int) -> float:
    """The interval score on one split of a set."""
    X, y = rows_of(Path(os.environ[VARIABLE]) / f"{name}.csv")
    return float(scored(X, y / y.std(), seed, mean_of(kind, seed))[0])


def beside_single_means() -> Iterator[Record]:
    """ "auto" ÷ the better of boosting and kernel mean on each set."""
    ratios = {}
    with fresh_processes(2) as processes:
        for name in DEVELOPMENT:
            few = len(rows_of(Path(os.environ[VARIABLE]) / f"{name}.csv")[1]) < FEW_ROWS
            seeds = range(MANY_SPLITS if few else SPLITS)
            kinds = ("auto", "boosting", "kernel mean")
            tried = list(product([name], kinds, seeds))
            found = list(processes.map(set_score, *zip(*tried, strict=True)))
            auto, *others = np.reshape(found, (len(kinds), -1)).mean(axis=1)
            ratios[name] = float(auto / min(others))
    notes = ", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items())
    cut = np.maximum(list(ratios.values()), LEAST_RATIO)
    what = '"auto" ÷ the better of boosting and kernel mean, interval score at .9'
    mean = float(np.exp(np.mean(np.log(cut))))
    yield Record(f"{what}, geometric mean", mean, "<=", 0.97, notes=notes)
    yield Record(f"{what}, largest", max(ratios.values()), "<=", 1.03)


def missing_score(name: str, seed: int, imputed: bool) -> Array:
    """What `scored` says of a set, a fifth of whose cells are missing, or their column's mean."""
    X, y = rows_of(Path(os.environ[VARIABLE]) / f"{name}.csv")
    X = np.where(np.random.default_rng(seed).random(X.shape) < MISSING, np.nan, X)
    if imputed:
        train = parts(len(y), seed)[0]
        X = np.where(np.isnan(X), np.nanmean(X[train], axis=0), X)
    return scored(X, y / y.std(), seed, "auto")


def missing_cells() -> Iterator[Record]:
    """Missing values as they are ÷ after mean imputation, and whether coverage is right."""
    ratios, far = {}, 0.0
    with fresh_processes(2) as processes:
        for name in MISSING_SETS:
            tried = list(product([name], range(SPLITS), (False, True)))
            found = np.array(list(processes.map(missing_score, *zip(*tried, strict=True))))
            as_it_is, imputed = found[::2], found[1::2]
            ratios[name] = float(as_it_is[:, 0].mean() / imputed[:, 0].mean())
            for _, held, m, n in as_it_is:
                k = np.ceil(LEVEL * (m + 1))
                p = betabinom.cdf(held, n, k, m + 1 - k)
                far = max(far, float(abs(p - 0.5)))
    notes = ", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items())
    what = f"{MISSING:.0%} of the cells missing"
    name = f"{what} ÷ after mean imputation, interval score at .9, largest"
    yield Record(name, max(ratios.values()), "<=", 1.0, notes=notes)
    splits = SPLITS * len(MISSING_SETS)
    # Of so many splits none is beyond these quantiles, with a probability of 99 %.
    name = (
        f"{what}: distance of coverage from the median of its law, in probability, {splits} splits"
    )
    yield Record(name, far, "<=", 0.5 - 0.5 * (1 - 0.99 ** (1 / splits)))


def ames_score(seed: int) -> tuple[float, float]:
    """Interval scores of "auto" and of conformalized quantiles by CatBoost, on the same rows."""
    import pandas as pd
    from catboost import CatBoostRegressor

    X = pd.read_csv(Path(os.environ[VARIABLE]) / AMES)
    y = X.pop("SalePrice").to_numpy(float)
    ours = float(scored(X, y, seed, "auto", None)[0])
    names = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    X[names] = X[names].astype(object).where(X[names].notna(), "missing").astype(str)
    train, rest, test = parts(len(y), seed, None)
    model = CatBoostRegressor(
        loss_function="MultiQuantile:alpha=0.05,0.95",
        **{"cat_features": names, "verbose": 0, "allow_writing_files": False},
        **{"random_seed": seed, "thread_count": 1},
    ).fit(X.iloc[train], y[train])
    low, high = np.sort(model.predict(X.iloc[rest]), axis=1).T
    scores = np.sort(np.maximum(low - y[rest], y[rest] - high))
    shift = scores[int(np.ceil(LEVEL * (len(rest) + 1))) - 1]
    C = np.sort(model.predict(X.iloc[test]), axis=1) + np.array([-shift, shift])
    return ours, float(interval_score(y[test], C, LEVEL))


def beside_catboost() -> Record:
    """Ames as it is ÷ conformalized quantiles of CatBoost with its own categories and defaults."""
    with fresh_processes(2) as processes:
        ours, theirs = np.array(list(processes.map(ames_score, AMES_SEEDS))).mean(axis=0)
    name = 'ames, "auto" ÷ conformalized quantiles by CatBoost, interval score at .9'
    notes = f"{ours:.0f} ÷ {theirs:.0f}"
    return Record(name, ours / theirs, "<=", 0.95, seeds=AMES_SEEDS, notes=notes)
