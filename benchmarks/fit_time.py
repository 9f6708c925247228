"""The whole of `BandRegressor(None).fit` on small data, tuning included.

As ratios to hetGP and to MAPIE's conformalized quantile forest on the same rows, and in seconds at
the size of scikit-learn's checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import partial

import numpy as np
import numpy.typing as npt

from benchmarks.isolation import run_alone
from benchmarks.record import SEEDS, Record, Times, ratio_of_medians
from benchmarks.timing import alternate, by_name, seconds_of
from experiments.methods import heteroscedastic_gp
from experiments.methods._boosting import tails
from sosbands import BandRegressor
from sosbands.datasets import case

Array = npt.NDArray[np.float64]
Fit = Callable[[Array, Array, int], object]

LEVEL = 0.9
TINY, SMALL, MEDIUM = 100, 200, 1000
TRAINING = 0.7  # the share of the rows that train by default


def run(full: bool) -> Iterator[Record]:
    """Both ratios, then the seconds."""
    yield run_alone(against_hetgp)
    yield run_alone(against_forest)
    for dimension in (1, 10):
        yield run_alone(seconds_of_check, dimension)


def against_hetgp() -> Record:
    """All rows train, nothing calibrates."""
    times = in_turns(TINY, partial(fit, calibration=None), hetgp)
    return Record(
        f"fit, n = {TINY}, d = 1 ÷ that of hetGP",
        ratio_of_medians(times, "fit", "peer"),
        "<=",
        5.0,
        times=times,
        notes=f"case 1; {listed(times)}",
    )


def against_forest() -> Record:
    """Both train on 70 % of the rows and calibrate on the others."""
    times = in_turns(MEDIUM, fit, forest_cqr)
    return Record(
        f"fit, n = {MEDIUM}, d = 1 ÷ that of MAPIE's CQR, 300 trees",
        ratio_of_medians(times, "fit", "peer"),
        "<=",
        1.0,
        times=times,
        notes=f"case 1, one forest for all quantiles; {listed(times)}",
    )


def seconds_of_check(dimension: int) -> Record:
    """A fit that keeps nobody waiting."""
    found = []
    for seed in SEEDS:
        X, y = case(4, dimension=dimension).sample(SMALL, random_state=seed)
        found.append([seconds_of(partial(fit, X, y, seed))])
    return Record(
        f"fit, n = {SMALL}, d = {dimension}",
        float(np.median(found)),
        "<=",
        0.5,
        unit="s",
        times={"fit": found},
        notes="case 4",
    )


def in_turns(rows: int, ours: Fit, peer: Fit) -> Times:
    """Three fits of each to case 1, for every seed."""
    times_of_seeds = []
    for seed in SEEDS:
        X, y = case(1).sample(rows, random_state=seed)
        calls = {"fit": partial(ours, X, y, seed), "peer": partial(peer, X, y, seed)}
        times_of_seeds.append(alternate(3, **calls))
    return by_name(times_of_seeds)


def fit(
    X: Array, y: Array, seed: int, estimator: object = None, **parameters: object
) -> BandRegressor:
    """Split, tune, solve, calibrate; around a kernel mean, unless there is another."""
    return BandRegressor(estimator, random_state=seed, **parameters).fit(X, y)


def hetgp(X: Array, y: Array, seed: int) -> object:
    """The likelihood of a Gaussian process with another one for its noise."""
    return heteroscedastic_gp.learn(X, y)


def forest_cqr(X: Array, y: Array, seed: int) -> object:
    """MAPIE wants a model for each of three quantiles: one forest serves them all."""
    from mapie.regression import ConformalizedQuantileRegressor
    from quantile_forest import RandomForestQuantileRegressor

    train = round(TRAINING * len(y))
    forest = RandomForestQuantileRegressor(300, min_samples_leaf=10, random_state=seed)
    forest.fit(X[:train], y[:train])
    levels = (*tails(LEVEL), 0.5)
    models = [copy(forest).set_params(default_quantiles=level) for level in levels]
    peer = ConformalizedQuantileRegressor(models, confidence_level=LEVEL, prefit=True)
    return peer.conformalize(X[train:], y[train:])


def listed(times: Times) -> str:
    """The median seconds behind a ratio."""
    return ", ".join(f"{name} {np.median(found):.2g} s" for name, found in times.items())
