"""Soft bands: d = 8, n = 20 000, rank 300, τ = 0.9: a whole solve ÷ what its features need.

Case 2 with standard normal inputs around its true mean, θᶠ = 0.8 √8. The denominator is
`benchmarks.reference.features`: the kernel evaluations and products of 300 landmarks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.isolation import run_alone
from benchmarks.million_rows import reference_features
from benchmarks.record import SEEDS, Record, ratio_of_medians
from benchmarks.timing import alternate, by_name, processor_seconds, solve_afresh
from sosbands import BandProblem, Gaussian, Newton
from sosbands.core.features import factorize
from sosbands.datasets import case

ROWS, DIMENSION, RANK = 20_000, 8, 300
# b, and the ratio to reach.
WIDTH_WEIGHTS = {300.0: 6.0, 3000.0: 10.0}
SOLVER = Newton(tol=1e-4)


def run(full: bool) -> Iterator[Record]:
    """Both weights of the width."""
    for width_weight, target in WIDTH_WEIGHTS.items():
        yield run_alone(solve_ratio, width_weight, target)


def solve_ratio(width_weight: float, target: float) -> Record:
    """Processor seconds of a whole solve ÷ those of the kernel evaluations and products."""
    times_of_seeds = []
    for seed in SEEDS:
        problem = sine_scale(width_weight, seed)
        made = factorize(problem.scale_kernels[0], problem.X, max_rank=RANK)
        times_of_seeds.append(
            alternate(
                3,
                timed=processor_seconds,
                solve=lambda problem=problem: solve_afresh(SOLVER, problem),
                reference=lambda X=problem.X, made=made: reference_features(X, made),
            )
        )
    times = by_name(times_of_seeds)
    return Record(
        f"soft band, rank 300, b = {width_weight:g}: solve ÷ kernel evaluations and products",
        ratio_of_medians(times, "solve", "reference"),
        "<=",
        target,
        times=times,
        notes="d = 8, n = 20 000, τ = 0.9, gap 1e-4, given mean",
    )


def sine_scale(width_weight: float, seed: int) -> BandProblem:
    """Case 2 in eight dimensions."""
    truth = case(2, dimension=DIMENSION)
    X, y = truth.sample(ROWS, random_state=seed)
    return BandProblem.from_data(
        X,
        y,
        mean=truth.mean(X),
        scale_kernel=Gaussian(0.8 * np.sqrt(DIMENSION)),
        max_rank=RANK,
        width_weight=width_weight,
        training_coverage=0.9,
    )
