"""Full rank, r = n = 2000: a whole solve ÷ one `scipy.linalg.eigh` of the Gram matrix of kᶠ.

Case 4 with inputs that are uniform on the cube, hard bands, gap 1e-6. In ten dimensions with θᶠ = 1
few rows are active; the case that hurts, five dimensions with θᶠ = 0.3, has well over a hundred.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import reference
from benchmarks.isolation import run_alone
from benchmarks.record import SEEDS, Record, ratio_of_medians
from benchmarks.timing import alternate, by_name, solve_afresh
from sosbands import BandProblem, Gaussian, Newton, Solution
from sosbands.datasets import case

ROWS = 2000
SOLVER = Newton(tol=1e-6)
# What, d, θᶠ, target.
GEOMETRIES = (("full rank", 10, 1.0, 3.0), ("the case that hurts", 5, 0.3, 10.0))
WIDTH_WEIGHTS = (0.0, 10.0)


def run(full: bool) -> Iterator[Record]:
    """Both geometries, with b = 0 and 10, and the mean learned jointly or given."""
    for what, dimension, lengthscale, target in GEOMETRIES:
        for width_weight in WIDTH_WEIGHTS:
            for joint in (True, False):
                yield run_alone(
                    solve_ratio,
                    what,
                    dimension,
                    Gaussian(lengthscale),
                    width_weight=width_weight,
                    joint=joint,
                    target=target,
                )


def solve_ratio(
    what: str,
    dimension: int,
    kernel: Gaussian,
    *,
    width_weight: float,
    joint: bool,
    target: float,
) -> Record:
    """Seconds of a whole solve ÷ seconds of one eigh."""
    times_of_seeds = []
    solutions: list[Solution] = []
    for seed in SEEDS:
        problem = single_index(dimension, kernel, width_weight, joint, seed)
        gram = kernel(problem.X, problem.X)
        times_of_seeds.append(
            alternate(
                2,
                solve=lambda problem=problem: solutions.append(solve_afresh(SOLVER, problem)),
                eigh=lambda gram=gram: reference.eigh(gram),
            )
        )
    times = by_name(times_of_seeds)
    active = int(np.median([solution.certificate.active_rows for solution in solutions]))
    rank = solutions[-1].point.basis.scales[0].features.rank
    mean = "joint" if joint else "given"
    return Record(
        f"{what}, d = {dimension}, n = {ROWS}, b = {width_weight:g}, {mean} mean: solve ÷ eigh",
        ratio_of_medians(times, "solve", "eigh"),
        "<=",
        target,
        times=times,
        notes=f"rank {rank}, {active} active rows",
        details={"active_rows": [solution.certificate.active_rows for solution in solutions]},
    )


def single_index(
    dimension: int, kernel: Gaussian, width_weight: float, joint: bool, seed: int
) -> BandProblem:
    """Case 4 with β = (1, 0.1, …, 0.1)."""
    truth = case(4, dimension=dimension)
    X, y = truth.sample(ROWS, random_state=seed)
    mean: dict[str, Any] = {"mean": truth.mean(X)}
    if joint:
        mean = {"mean_kernel": Gaussian(1.0), "mean_bound": 10.0}
    return BandProblem.from_data(X, y, scale_kernel=kernel, width_weight=width_weight, **mean)
