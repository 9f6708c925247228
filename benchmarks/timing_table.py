"""The paper's timing table: Accelerated ÷ Newton on case 1, a = b = 0, θᶠ = 0.3, one core each.

Numerator and denominator are whole solves to the same certified gap, features included; Accelerated
is compiled before its clock starts. Newton runs before and after every run of Accelerated.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks import case_one, reference
from benchmarks.isolation import run_alone
from benchmarks.record import SEEDS, Record, power_of_ten, ratio_of_medians
from benchmarks.timing import (
    TimeLimitReachedError,
    alternate,
    by_name,
    seconds_of,
    solve_afresh,
    time_limit,
)
from sosbands import Accelerated, BandProblem, Newton

SIZES = (100, 200, 500, 1000)
ALL_SIZES = (100, 200, 300, 400, 500, 600, 800, 1000)
LARGE_SIZES = (10_000, 100_000, 1_000_000)
TOLERANCES = (1e-2, 1e-3, 1e-4)
CAP_SECONDS = 600.0
SPEED_UP = 1000.0
STEP_LIMIT = 3.0


def run(full: bool) -> Iterator[Record]:
    """Every cell of the table, the cost of a step, and Newton alone where the table ends."""
    cap = None if full else CAP_SECONDS
    for n in ALL_SIZES if full else SIZES:
        yield run_alone(step_cost, n)
        for tol in TOLERANCES:
            yield run_alone(cell, n, tol, cap)
    for n in LARGE_SIZES:
        yield from run_alone(newton_alone, n)


@dataclass(frozen=True)
class Run:
    """One run of Accelerated with the runs of Newton around it."""

    seed: int
    newton: list[float]
    accelerated: float
    ended: Literal["solved", "unsolved", "capped"]


def cell(n: int, tol: float, cap: float | None) -> Record:
    """One cell of the table: converged runs only, or a lower bound where the cap leaves none."""
    compile_accelerated(n)
    runs = list(runs_within(cap, n, tol))
    solved = [run for run in runs if run.ended == "solved"]
    counted = solved or [run for run in runs if run.ended == "capped"]
    times = {
        "Newton": [run.newton for run in counted],
        "Accelerated": [[run.accelerated] for run in counted],
    }
    return Record(
        f"Accelerated ÷ Newton, n = {n}, gap {power_of_ten(tol)}",
        ratio_of_medians(times, "Accelerated", "Newton") if counted else np.nan,
        *((">=", SPEED_UP) if (n, tol) == (1000, 1e-4) else (None, None)),
        times=times,
        seeds=[run.seed for run in counted],
        notes=_notes(runs),
        capped=not solved and bool(counted),
        details={"n": n, "tol": tol},
    )


def runs_within(cap: float | None, n: int, tol: float) -> Iterator[Run]:
    """One run per seed, as long as the cap leaves time for another like the longest so far."""
    start, longest, left = time.perf_counter(), 0.0, cap
    for seed in SEEDS:
        if cap is not None:
            left = cap - (time.perf_counter() - start)
            if left < max(longest, 1.0):
                return
        problem = case_one.problem(n, seed, width_weight=0.0)
        before = newton_seconds(problem, tol)
        spent, ended = accelerated_seconds(problem, tol, left)
        yield Run(seed, before + newton_seconds(problem, tol), spent, ended)
        longest = max(longest, spent)


def step_cost(n: int) -> Record:
    """Seconds per step of Accelerated ÷ one eigh(n) of the Gram matrix."""
    steps = 20 if n >= 500 else 200
    compile_accelerated(n)
    times_of_seeds = []
    for seed in SEEDS:
        problem = case_one.problem(n, seed, width_weight=0.0)
        gram = case_one.SCALE_KERNEL(problem.X, problem.X)
        times: dict[str, list[float]] = {"step": [], "eigh": []}
        for _ in range(3):
            times["eigh"].append(seconds_of(lambda gram=gram: reference.eigh(gram)))
            certificate = Accelerated(tol=1e-12, max_iter=steps).solve(problem).certificate
            times["step"].append(certificate.seconds["solve"] / certificate.iterations)
        times_of_seeds.append(times)
    times = by_name(times_of_seeds)
    return Record(
        f"one step of Accelerated ÷ eigh(n), n = {n}",
        ratio_of_medians(times, "step", "eigh"),
        "<=",
        STEP_LIMIT,
        times=times,
        notes=f"mean over {steps} steps",
    )


def newton_alone(n: int) -> list[Record]:
    """Newton where Accelerated and SDP cannot follow, in seconds."""
    records = []
    for tol in TOLERANCES:
        times_of_seeds = []
        for seed in SEEDS:
            problem = case_one.problem(n, seed, width_weight=0.0)
            times_of_seeds.append({"Newton": newton_seconds(problem, tol, repeats=1)})
        times = by_name(times_of_seeds)
        records.append(
            Record(
                f"Newton alone, n = {n}, gap {power_of_ten(tol)}",
                float(np.median(times["Newton"])),
                unit="s",
                times=times,
                details={"n": n, "tol": tol},
            )
        )
    return records


def compile_accelerated(n: int) -> None:
    """One step on a problem of this size: the compiled functions are kept for all others."""
    Accelerated(max_iter=1).solve(case_one.problem(n, 0, width_weight=0.0))


def newton_seconds(problem: BandProblem, tol: float, repeats: int = 3) -> list[float]:
    """Seconds of whole solves."""
    solver = Newton(tol=tol)
    return alternate(repeats, Newton=lambda: solve_afresh(solver, problem))["Newton"]


def accelerated_seconds(
    problem: BandProblem, tol: float, limit: float | None
) -> tuple[float, Literal["solved", "unsolved", "capped"]]:
    """Seconds of one solve, and how it ended."""
    ended: Literal["solved", "unsolved", "capped"]
    start = time.perf_counter()
    try:
        with time_limit(limit):
            solution = Accelerated(tol=tol).solve(problem)
        ended = "solved" if solution.status.optimal else "unsolved"
    except TimeLimitReachedError:
        ended = "capped"
    return time.perf_counter() - start, ended


def _notes(runs: list[Run]) -> str:
    parts = []
    if len(runs) < len(SEEDS):
        parts.append(f"the cap left time for {len(runs)} of {len(SEEDS)} seeds")
    for ended, what in (("unsolved", "did not converge"), ("capped", "was cut off")):
        seeds = [run.seed for run in runs if run.ended == ended]
        if seeds:
            parts.append(f"Accelerated {what} on seeds {seeds}")
    return "; ".join(parts)
