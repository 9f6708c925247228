"""The paper's parameter study (appendix 'Hyperparameter influence'): is every problem solved?

Cases 1 to 3, n = 50 and 100, three seeds, ten lengthscales, and each of a, b, λ₁, λ₂ over eleven
decades with all others at 1: 7920 problems. Floating-point errors other than underflow, and
warnings, count as failures. Nothing is timed, so two processes share the work.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from benchmarks.case_one import ridge_norm
from benchmarks.isolation import fresh_processes
from benchmarks.record import Record
from sosbands import BandProblem, Gaussian, Newton
from sosbands.datasets import case

TOL = 1e-6
MEAN_LENGTHSCALES = {1: 0.15, 2: 1.0, 3: 1.0}
SIZES = (50, 100)
SEEDS = (0, 1, 2)
LENGTHSCALES = tuple(np.geomspace(0.05, 5.0, 10).tolist())
WEIGHTS = ("mean_weight", "width_weight", "trace_penalty", "ridge_penalty")
DECADES = tuple(10.0**k for k in range(-3, 8))

Setting = tuple[int, int, int, float]


def run(full: bool) -> Iterator[Record]:
    """Solve every problem of the study."""
    settings = list(product(MEAN_LENGTHSCALES, SIZES, SEEDS, LENGTHSCALES))
    with fresh_processes(2) as pool:
        runs = [run for runs in pool.map(solve_all_weights, settings) for run in runs]
    failures = [run for run in runs if run["failure"]]
    worst = max((run["gap"] for run in runs if not run["failure"]), default=np.nan)
    yield Record(
        name="parameter study: runs with gap ≤ 1e-6 and no warning",
        measured=100 * (1 - len(failures) / len(runs)),
        comparison=">=",
        target=100.0,
        unit="%",
        seeds=SEEDS,
        notes=f"{len(runs)} runs, {len(failures)} failed, largest gap of the others {worst:.1e}",
        details={"failures": failures},
    )


def solve_all_weights(setting: Setting) -> list[dict[str, Any]]:
    """Vary each weight over its decades, for one data set and lengthscale."""
    number, n, seed, lengthscale = setting
    X, y = case(number).sample(n, random_state=seed)
    mean_kernel = Gaussian(MEAN_LENGTHSCALES[number])
    bound = ridge_norm(X, y, mean_kernel)
    runs = []
    for weight, value in product(WEIGHTS, DECADES):
        problem = BandProblem.from_data(
            X,
            y,
            mean_kernel=mean_kernel,
            mean_bound=bound,
            scale_kernel=Gaussian(lengthscale),
            **{**dict.fromkeys(WEIGHTS, 1.0), weight: value},
        )
        names = {"case": number, "n": n, "seed": seed, "lengthscale": lengthscale, weight: value}
        runs.append({**names, **solve_strictly(problem)})
    return runs


def solve_strictly(problem: BandProblem) -> dict[str, Any]:
    """Gap and reason of failure, where every floating-point error and every warning is one."""
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        try:
            solution = Newton(tol=TOL).solve(problem)
        except Exception as error:
            return {"gap": None, "failure": repr(error)}
    return {
        "gap": solution.gap,
        "failure": "" if solution.gap <= TOL else f"gap {solution.gap:.1e}: {solution.status.name}",
    }
