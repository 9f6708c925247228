"""Timing in turns: numerator and denominator alternate, so that both see the same machine."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from benchmarks.record import Times
from sosbands import BandProblem, Solution, Solver


def seconds_of(call: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def processor_seconds(call: Callable[[], object]) -> float:
    """Seconds of the processor that one call takes: on one thread other processes hardly matter."""
    start = time.process_time()
    call()
    return time.process_time() - start


def alternate(
    rounds: int,
    *,
    timed: Callable[[Callable[[], object]], float] = seconds_of,
    **calls: Callable[[], object],
) -> dict[str, list[float]]:
    """Seconds of every call, by name, when they take turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(timed(call))
    return times


def by_name(times_of_seeds: Sequence[dict[str, list[float]]]) -> Times:
    """The times of several seeds, one list per name."""
    return {name: [times[name] for times in times_of_seeds] for name in times_of_seeds[0]}


def solve_afresh(solver: Solver, problem: BandProblem) -> Solution:
    """Solve a problem whose features are not built yet; an unmet tolerance is an error."""
    solution = solver.solve(replace(problem))  # a copy has nothing cached
    if not solution.gap <= solver.tol:
        raise RuntimeError(
            f"{type(solver).__name__} left a gap of {solution.gap:.1e} > {solver.tol:.0e}: "
            f"{solution.status.value}"
        )
    return solution


class TimeLimitReachedError(Exception):
    """A time limit ran out."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Interrupt what is inside after some seconds; compiled code is left to return first."""

    def interrupt(*_: object) -> None:
        raise TimeLimitReachedError

    if seconds is None:
        yield
        return
    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
