"""Predicting √f at a million rows from 50 features ÷ the kernel evaluations and products it needs.

Case 2 with two inputs. The denominator is `benchmarks.reference.scale`: the kernel evaluations of
all landmarks behind the features, their product with WR, and the row norms. That the work is done
in blocks shows in its memory.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from benchmarks import reference
from benchmarks.isolation import run_alone
from benchmarks.record import SEEDS, Record, ratio_of_medians
from benchmarks.timing import alternate, by_name, solve_afresh
from sosbands import BandProblem, Gaussian, Newton, Solution
from sosbands.datasets import case

Array = npt.NDArray[np.float64]

ROWS, TRAINING_ROWS, RANK = 1_000_000, 2000, 50
KERNEL = Gaussian(1.5)


def run(full: bool) -> Iterator[Record]:
    """Time and memory."""
    yield run_alone(time_ratio)
    yield run_alone(memory_ratio)


def time_ratio() -> Record:
    """Seconds of `Solution.scale` ÷ seconds of the reference."""
    times_of_seeds, ranks = [], []
    for seed in SEEDS:
        solution, X = band(seed), new_rows(seed)
        features, R = solution.point.basis.scales[0].features, solution.point.factors[0]
        parts = (features.landmarks, float(KERNEL.lengthscale), features.whitening, compact(R))
        ranks.append(parts[-1].shape[1])
        times_of_seeds.append(
            alternate(
                5,
                scale=lambda solution=solution, X=X: solution.scale(X),
                reference=lambda X=X, parts=parts: reference.scale(X, *parts),
            )
        )
    times = by_name(times_of_seeds)
    return Record(
        "predicting 10⁶ rows at rank 50 ÷ kernel evaluations and products",
        ratio_of_medians(times, "scale", "reference"),
        "<=",
        1.5,
        times=times,
        notes=f"columns that R needs: {ranks}",
    )


def compact(R: Array) -> Array:
    """A factor of the same A = RRᵀ with no more columns than rows."""
    return R if R.shape[1] <= R.shape[0] else np.linalg.qr(R.T, mode="r").T


def memory_ratio() -> Record:
    """Largest memory that `Solution.scale` takes ÷ that of all features at once."""
    solution, X = band(0), new_rows(0)
    tracemalloc.start()
    solution.scale(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return Record(
        "predicting 10⁶ rows at rank 50: memory ÷ all features at once",
        peak / (8 * ROWS * RANK),
        "<=",
        0.1,
        seeds=(0,),
        notes=f"{peak / 2**20:.0f} MB, of which {8 * ROWS / 2**20:.0f} MB are the result",
    )


def band(seed: int) -> Solution:
    """A hard band of 50 features."""
    truth = case(2, dimension=2)
    X, y = truth.sample(TRAINING_ROWS, random_state=seed)
    problem = BandProblem.from_data(X, y, mean=truth.mean, scale_kernel=KERNEL, max_rank=RANK)
    solution = solve_afresh(Newton(), problem)
    rank = solution.point.basis.scales[0].features.rank
    if rank != RANK:
        raise RuntimeError(f"the band has {rank} features instead of {RANK}")
    return solution


def new_rows(seed: int) -> Array:
    """Rows that the band has not seen."""
    return case(2, dimension=2).sample_inputs(ROWS, random_state=1000 + seed)
