"""The whole of `BandRegressor.fit` at 100 000 rows, tuning included.

Around a boosted mean: ÷ the cross-fitted boosting alone, and the memory of that process. Around a
kernel mean: what its Gaussian process takes ÷ the rest. One seed, two repeats.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from unittest import mock

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.fit_time import TRAINING, fit, listed
from benchmarks.isolation import peak_memory, run_alone
from benchmarks.record import Record, ratio_of_medians
from benchmarks.timing import alternate, by_name, seconds_of
from experiments.methods._boosting import cross_fitted
from sosbands.datasets import case
from sosbands.learning import means

Array = npt.NDArray[np.float64]

ROWS, REPEATS, SEED = 100_000, 2, 0


def run(full: bool) -> Iterator[Record]:
    """The ratio and the memory around a boosted mean, the share of the Gaussian process."""
    yield from run_alone(around_boosting)
    yield run_alone(share_of_process)


def around_boosting() -> list[Record]:
    """A band around a boosted mean ÷ the six boosted models that it cannot do without."""
    X, y = case(2, dimension=8).sample(ROWS, random_state=SEED)
    train, mean = round(TRAINING * ROWS), HistGradientBoostingRegressor(random_state=SEED)
    calls = {
        "fit": partial(fit, X, y, SEED, estimator=mean),
        "boosting": partial(cross_fitted, X[:train], y[:train], SEED),
    }
    times = by_name([alternate(REPEATS, **calls)])
    ratio = Record(
        f"fit, {size(8)}, boosted mean ÷ the cross-fitted boosting alone",
        ratio_of_medians(times, "fit", "boosting"),
        "<=",
        30.0,
        times=times,
        seeds=(SEED,),
        notes=f"case 2; five folds and a refit on {train} rows, as in the fit; {listed(times)}",
    )
    memory = Record(
        f"fit, {size(8)}, boosted mean: peak memory",
        peak_memory(),
        "<=",
        4.0,
        unit="GB",
        seeds=(SEED,),
        notes="the whole process: interpreter, libraries and data included",
    )
    return [ratio, memory]


def share_of_process() -> Record:
    """The Gaussian process that gives the mean ÷ the rest of the fit."""
    X, y = case(4, dimension=3).sample(ROWS, random_state=SEED)
    process: list[float] = []
    rest: list[float] = []
    learn = means.fit_gaussian_process

    def timed(*rows: Array, **settings: object) -> object:
        found: list[object] = []
        process.append(seconds_of(lambda: found.append(learn(*rows, **settings))))
        return found[0]

    with mock.patch.object(means, "fit_gaussian_process", timed):
        for _ in range(REPEATS):
            whole = seconds_of(partial(fit, X, y, SEED))
            rest.append(whole - process[-1])
    times = {"process": [process], "rest": [rest]}
    return Record(
        f"fit, {size(3)}: Gaussian process of the mean ÷ the rest",
        ratio_of_medians(times, "process", "rest"),
        "<=",
        1.0,
        times=times,
        seeds=(SEED,),
        notes=f"case 4; {listed(times)}",
    )


def size(dimension: int) -> str:
    """Rows and inputs, as one writes them."""
    return f"n = {ROWS:_}, d = {dimension}".replace("_", " ")
