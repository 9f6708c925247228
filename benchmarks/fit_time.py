"""The whole of `BandRegressor.fit`, tuning included, as ratios to what others need.

Small data against MAPIE's conformalized quantile forest and against hetGP; 100 000 rows against the
boosted mean that the band is put around, with the memory of that process, and the share of the
preliminary Gaussian process; and the seconds of a fit that scikit-learn's checks would wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from unittest import mock

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks import peers
from benchmarks.isolation import peak_memory, run_alone
from benchmarks.record import SEEDS, Record, ratio_of_medians
from benchmarks.timing import alternate, by_name, seconds_of
from sosbands import BandRegressor, means
from sosbands.datasets import case

Array = npt.NDArray[np.float64]
Fit = Callable[[Array, Array, int], object]

LEVEL = 0.9
FEW, SOME, CHECKED, MANY = 100, 1000, 200, 100_000
CALIBRATION = 0.3  # the default share


def run(full: bool) -> Iterator[Record]:
    """Small data, many rows, and a few seconds."""
    yield run_alone(
        ratio, f"fit, n = {SOME}, d = 1 ÷ MAPIE's CQR, 300 trees", SOME, default, forest_cqr, 1.0
    )
    yield run_alone(ratio, f"fit, n = {FEW}, d = 1 ÷ hetGP's", FEW, uncalibrated, hetgp, 5.0)
    yield from run_alone(around_boosting)
    yield run_alone(gaussian_process_share)
    for dimension in (1, 10):
        yield run_alone(seconds, dimension)


def ratio(name: str, rows: int, ours: Fit, theirs: Fit, target: float) -> Record:
    """Seconds of our fit ÷ those of a peer's, case 1."""
    times_of_seeds = []
    for seed in SEEDS:
        data = (*case(1).sample(rows, random_state=seed), seed)
        times_of_seeds.append(
            alternate(3, ours=lambda data=data: ours(*data), peer=lambda data=data: theirs(*data))
        )
    times = by_name(times_of_seeds)
    ours_s, theirs_s = (float(np.median(times[key])) for key in ("ours", "peer"))
    notes = f"case 1; {ours_s:.2f} s and {theirs_s:.2f} s"
    measured = ratio_of_medians(times, "ours", "peer")
    return Record(name, measured, "<=", target, times=times, notes=notes)


def default(X: Array, y: Array, seed: int) -> BandRegressor:
    """Split, tune, solve, calibrate."""
    return BandRegressor(random_state=seed).fit(X, y)


def uncalibrated(X: Array, y: Array, seed: int) -> BandRegressor:
    """All rows train."""
    return BandRegressor(calibration=None, random_state=seed).fit(X, y)


def forest_cqr(X: Array, y: Array, seed: int) -> object:
    """One forest of 300 trees gives all three quantiles that MAPIE conformalizes."""
    from mapie.regression import ConformalizedQuantileRegressor
    from quantile_forest import RandomForestQuantileRegressor

    train = round((1 - CALIBRATION) * len(y))
    forest = RandomForestQuantileRegressor(300, min_samples_leaf=10, random_state=seed)
    forest.fit(X[:train], y[:train])
    quantiles = (*peers.tails(LEVEL), 0.5)
    models = [copy(forest).set_params(default_quantiles=q) for q in quantiles]
    peer = ConformalizedQuantileRegressor(models, confidence_level=LEVEL, prefit=True)
    return peer.conformalize(X[train:], y[train:])


def hetgp(X: Array, y: Array, seed: int) -> object:
    """The maximum likelihood of a heteroscedastic Gaussian process."""
    return peers.heteroscedastic_gp.learn(X, y, LEVEL, seed)


def around_boosting() -> list[Record]:
    """A band around a boosted mean ÷ the six boosted models it cannot do without; and memory."""
    X, y = case(2, dimension=8).sample(MANY, random_state=0)
    train = round((1 - CALIBRATION) * MANY)
    times = by_name(
        [
            alternate(
                2,
                fit=lambda: BandRegressor(
                    HistGradientBoostingRegressor(random_state=0), random_state=0
                ).fit(X, y),
                boosting=lambda: peers.cross_fitted(X[:train], y[:train], 0),
            )
        ]
    )
    measured = ratio_of_medians(times, "fit", "boosting")
    name = f"fit, n = {MANY:,}, d = 8, boosted mean".replace(",", " ", 1)
    notes = f"case 2; five folds and a refit on {train} rows, as many as train the band"
    whole = "the whole process: interpreter, libraries and data included"
    return [
        Record(
            f"{name} ÷ the cross-fitted boosting alone",
            measured,
            "<=",
            30.0,
            times=times,
            seeds=(0,),
            notes=notes,
        ),
        Record(
            f"{name}: peak memory", peak_memory(), "<=", 4.0, unit="GB", seeds=(0,), notes=whole
        ),
    ]


def gaussian_process_share() -> Record:
    """The Gaussian process of the mean ÷ the rest of a fit around it."""
    X, y = case(4, dimension=3).sample(MANY, random_state=0)
    times: dict[str, list[list[float]]] = {"process": [[]], "rest": [[]]}
    for _ in range(2):
        with mock.patch.object(means, "fit_gaussian_process", Timed(means.fit_gaussian_process)) as process:
            whole = seconds_of(lambda: default(X, y, 0))
        times["process"][0].append(process.seconds)
        times["rest"][0].append(whole - process.seconds)
    return Record(
        "x", ratio_of_medians(times, "process", "rest"), "<=", 1.0, times=times, seeds=(0,)
    )
