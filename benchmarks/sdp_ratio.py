"""SDP ÷ Newton on the problem of the timing table: SCS, form A, the time that SCS itself reports.

Both solve to a certified gap of 1e-6; Newton's time is a whole solve, while that of the SDP leaves
out its statement in CVXPY, the Cholesky factors, and the certificate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks import case_one
from benchmarks.isolation import run_alone
from benchmarks.record import SEEDS, Record, power_of_ten, ratio_of_medians
from benchmarks.timing import by_name
from benchmarks.timing_table import newton_seconds
from sosbands import SDP

SIZES = (50, 100, 200)
ALL_SIZES = (50, 100, 200, 300)
SPEED_UP = 300.0
TOL = 1e-6


def run(full: bool) -> Iterator[Record]:
    """The ratio at every size, and at n = 200 also for SCS with its own, looser settings."""
    for n in ALL_SIZES if full else SIZES:
        yield run_alone(ratio, n, None, TOL)
    yield run_alone(ratio, 200, {}, 1e-4)


def ratio(n: int, options: Mapping[str, Any] | None, tol: float) -> Record:
    """Seconds that SCS reports ÷ seconds of Newton to the same gap."""
    times_of_seeds, gaps = [], []
    for seed in SEEDS:
        problem = case_one.problem(n, seed, width_weight=0.0)
        before = newton_seconds(problem, tol)
        solution = SDP(form="A", backend="SCS", tol=tol, options=options).solve(problem)
        after = newton_seconds(problem, tol)
        times_of_seeds.append(
            {"Newton": before + after, "SDP": [solution.certificate.seconds["backend"]]}
        )
        gaps.append(solution.gap)
    times = by_name(times_of_seeds)
    settings = "" if options is None else ", SCS as it comes"
    return Record(
        f"SDP ÷ Newton, n = {n}, gap {power_of_ten(tol)}{settings}",
        ratio_of_medians(times, "SDP", "Newton"),
        *((">=", SPEED_UP) if n == 200 and options is None else (None, None)),
        times=times,
        notes=f"gaps that SCS left: {np.min(gaps):.0e} to {np.max(gaps):.0e}",
        details={"n": n, "tol": tol, "gaps": gaps, "figure": options is None},
    )
