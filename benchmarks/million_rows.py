"""A million rows: features, a whole solve, its memory, and how the time grows with n.

Case 1, θᶠ = 0.3, a hard band with b = 10 and a joint mean. The denominator is what
`benchmarks.reference.features` needs for the scale kernel alone (features) or for both (solve).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from benchmarks import case_one, isolation, reference
from benchmarks.isolation import run_alone
from benchmarks.record import SEEDS, Record, ratio_of_medians
from benchmarks.timing import alternate, by_name, seconds_of, solve_afresh
from sosbands import BandProblem, Newton
from sosbands.core.features import FeatureRows, factorize

Array = npt.NDArray[np.float64]

ROWS = 1_000_000
SMALLER = (10_000, 100_000)
WIDTH_WEIGHT = 10.0
SOLVER = Newton(tol=1e-6)


def run(full: bool) -> Iterator[Record]:
    """All figures at a million rows."""
    yield peak_memory()
    yield run_alone(features_ratio)
    yield from run_alone(solve_ratio_and_slope)


def peak_memory() -> Record:
    """Largest resident memory of a process that samples the data and solves."""
    peaks = [run_alone(solve_and_weigh, seed) for seed in SEEDS]
    return Record(
        "n = 10⁶: peak memory of a solve",
        float(np.median(peaks)),
        "<=",
        3.0,
        unit="GB",
        notes="the whole process: interpreter, libraries and data included",
        details={"peaks": peaks},
    )


def solve_and_weigh(seed: int) -> float:
    """Peak resident memory in GB."""
    solve_afresh(SOLVER, case_one.problem(ROWS, seed, width_weight=WIDTH_WEIGHT))
    return isolation.peak_memory()


def features_ratio() -> Record:
    """Building the features ÷ their kernel evaluations and products."""
    kernel, times_of_seeds, ranks = case_one.SCALE_KERNEL, [], []
    for seed in SEEDS:
        X = case_one.problem(ROWS, seed, width_weight=WIDTH_WEIGHT).X
        made = factorize(kernel, X)
        ranks.append(made.features.rank)
        times_of_seeds.append(
            alternate(
                5,
                features=lambda X=X: factorize(kernel, X),
                reference=lambda X=X, made=made: reference_features(X, made),
            )
        )
    times = by_name(times_of_seeds)
    return Record(
        "n = 10⁶: features ÷ their kernel evaluations and products",
        ratio_of_medians(times, "features", "reference"),
        "<=",
        3.0,
        times=times,
        notes=f"ranks {ranks}",
    )


def solve_ratio_and_slope() -> list[Record]:
    """A whole solve ÷ the evaluations and products of both kernels; and log time over log n."""
    times_of_seeds, slopes, ranks = [], [], []
    for seed in SEEDS:
        smaller = {n: seconds_at(n, seed) for n in SMALLER}
        problem = case_one.problem(ROWS, seed, width_weight=WIDTH_WEIGHT)
        basis = replace(problem).basis
        parts = (*basis.scales, basis.mean)
        ranks.append(tuple(part.features.rank for part in parts))
        times = alternate(
            3,
            solve=lambda problem=problem: solve_afresh(SOLVER, problem),
            reference=lambda X=problem.X, parts=parts: [reference_features(X, p) for p in parts],
        )
        slopes.append(slope({**smaller, ROWS: times["solve"]}))
        times_of_seeds.append({**times, **{f"solve, n = {n}": t for n, t in smaller.items()}})
    times = by_name(times_of_seeds)
    return [
        Record(
            "n = 10⁶: solve ÷ kernel evaluations and products",
            ratio_of_medians(times, "solve", "reference"),
            "<=",
            10.0,
            times=times,
            notes=f"gap 1e-6; ranks of scale and mean {ranks}",
        ),
        Record(
            "slope of the time from n = 10⁴ to 10⁶, log-log",
            float(np.median(slopes)),
            "<=",
            1.1,
            unit="",
            notes="least squares through 10⁴, 10⁵ and 10⁶; whole solves to a gap of 1e-6",
            details={"slopes": slopes},
        ),
    ]


def seconds_at(n: int, seed: int) -> list[float]:
    """Seconds of whole solves at a smaller size."""
    problem: BandProblem = case_one.problem(n, seed, width_weight=WIDTH_WEIGHT)
    return [seconds_of(lambda: solve_afresh(SOLVER, problem)) for _ in range(3)]


def slope(times: dict[int, list[float]]) -> float:
    """Least-squares slope of log median time over log n."""
    seconds = [np.median(repeats) for repeats in times.values()]
    return float(np.polyfit(np.log(list(times)), np.log(seconds), 1)[0])


def reference_features(X: Array, made: FeatureRows) -> Array:
    """The denominator for features that are known."""
    found = made.features
    return reference.features(X, found.landmarks, float(found.kernel.lengthscale), found.whitening)
