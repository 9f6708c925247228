"""The whole of `BandRegressor.fit`, tuning included, beside the model that it goes around.

Around a boosted mean: ÷ the cross-fitted boosting alone, and the memory of that process; with one
wild output ÷ without it; CV+ ÷ split; bands of several levels ÷ one. Around a kernel mean: what its
Gaussian process takes ÷ the rest. Processor time, one seed, two repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from unittest import mock

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

from benchmarks.fit_time import TRAINING, fit, listed
from benchmarks.isolation import peak_memory, run_alone
from benchmarks.record import Record, ratio_of_medians
from benchmarks.timing import alternate, by_name, processor_seconds
from experiments.methods._boosting import cross_fitted
from sosbands import KernelBand
from sosbands.datasets import case
from sosbands.learning import kernel_mean

Array = npt.NDArray[np.float64]

ROWS, REPEATS, SEED = 100_000, 2, 0
# Rows, and the fit ÷ the boosting to reach.
SIZES = {1000: 4.0, 10_000: 3.0, 100_000: 2.5, 1_000_000: 2.0}


def run(full: bool) -> Iterator[Record]:
    """The ratios and the memory around given means, the share of the Gaussian process."""
    for rows, target in SIZES.items():
        yield from run_alone(around_boosting, rows, target)
    yield run_alone(wild_output)
    for kind in ("boosting", "kernel mean"):
        yield run_alone(by_folds, kind)
    for rows in (1000, 20_000):
        yield run_alone(several_levels, rows)
    yield run_alone(share_of_process)


def around_boosting(rows: int, target: float) -> list[Record]:
    """A band around a boosted mean ÷ the six boosted models that it cannot do without."""
    X, y = case(2, dimension=8).sample(rows, random_state=SEED)
    train, mean = round(TRAINING * rows), HistGradientBoostingRegressor(random_state=SEED)
    calls = {
        "fit": partial(fit, X, y, SEED, estimator=mean),
        "boosting": partial(cross_fitted, X[:train], y[:train], SEED),
    }
    fit(X[:1000], y[:1000], SEED, estimator=mean)  # first calls take longer
    times = by_name([alternate(REPEATS, timed=processor_seconds, **calls)])
    ratio = Record(
        f"fit, {size(8, rows)}, boosted mean ÷ the cross-fitted boosting alone",
        ratio_of_medians(times, "fit", "boosting"),
        "<=",
        target,
        times=times,
        seeds=(SEED,),
        notes=f"case 2; five folds and a refit on {train} rows, as in the fit; {listed(times)}",
    )
    if rows < max(SIZES):
        return [ratio]
    memory = Record(
        f"fit, {size(8, rows)}, boosted mean: peak memory",
        peak_memory(),
        "<=",
        2.0,
        unit="GB",
        seeds=(SEED,),
        notes="the whole process: interpreter, libraries and data included",
    )
    return [ratio, memory]


def wild_output() -> Record:
    """One output of a million among 8000 rows ÷ without it."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((8000, 10))
    y = X[:, 0] + np.exp(0.5 * X[:, 1]) * rng.standard_normal(len(X))
    wild = np.where(np.arange(len(y)) == 17, 1e6, y)
    calls = {
        "wild": partial(fit, X, wild, SEED, estimator=Ridge()),
        "usual": partial(fit, X, y, SEED, estimator=Ridge()),
    }
    name = "fit, n = 8000, d = 10, around ridge: with one output of 1e6 ÷ without it"
    return first_by_second(name, 1.5, calls)


def by_folds(kind: str) -> Record:
    """CV+ ÷ the fit that holds rows back."""
    X, y = case(2, dimension=8).sample(1000, random_state=SEED)
    mean = HistGradientBoostingRegressor(random_state=SEED) if kind == "boosting" else None
    ours = partial(fit, X, y, SEED, estimator=mean)
    calls = {name: partial(ours, calibration=name) for name in ("cv+", "split")}
    return first_by_second(f"CV+, {size(8, 1000)}, {kind} ÷ the split fit", 4.0, calls)


def several_levels(rows: int) -> Record:
    """The default, a centre of its own and two levels, ÷ one level around the mean."""
    X, y = case(2, dimension=8).sample(rows, random_state=SEED)
    ours = partial(fit, X, y, SEED, estimator=HistGradientBoostingRegressor(random_state=SEED))
    one = KernelBand(training_coverage=0.9, centre_penalty=None)
    calls = {"nested": ours, "one level": partial(ours, band=one)}
    name = f"nested bands, {size(8, rows)}, boosted mean ÷ one level"
    return first_by_second(name, 1.8, calls)


def first_by_second(name: str, target: float, calls: dict[str, Callable[[], object]]) -> Record:
    """The time of the first call ÷ that of the second."""
    times = by_name([alternate(REPEATS, timed=processor_seconds, **calls)])
    ratio = ratio_of_medians(times, *calls)
    return Record(name, ratio, "<=", target, times=times, seeds=(SEED,), notes=listed(times))


def share_of_process() -> Record:
    """The Gaussian process that gives the mean ÷ the rest of the fit."""
    X, y = case(4, dimension=3).sample(ROWS, random_state=SEED)
    process: list[float] = []
    rest: list[float] = []
    learn = kernel_mean.fit_gaussian_process

    def timed(*rows: Array, **settings: object) -> object:
        found: list[object] = []
        process.append(processor_seconds(lambda: found.append(learn(*rows, **settings))))
        return found[0]

    with mock.patch.object(kernel_mean, "fit_gaussian_process", timed):
        for _ in range(REPEATS):
            whole = processor_seconds(partial(fit, X, y, SEED))
            rest.append(whole - process[-1])
    times = {"process": [process], "rest": [rest]}
    return Record(
        f"fit, {size(3, ROWS)}: Gaussian process of the mean ÷ the rest",
        ratio_of_medians(times, "process", "rest"),
        "<=",
        1.0,
        times=times,
        seeds=(SEED,),
        notes=f"case 4; {listed(times)}",
    )


def size(dimension: int, rows: int) -> str:
    """Rows and inputs, as one writes them."""
    return f"n = {rows:_}, d = {dimension}".replace("_", " ")
