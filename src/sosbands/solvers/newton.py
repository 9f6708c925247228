"""Newton: path following on a working set of rows, the default solver.

At the optimum few rows carry a multiplier strictly inside its box. The solver follows the central
path (`sosbands.solvers.path`) on such rows only, checks all others in one pass, lets those that are
on the wrong side of the band join, and repeats. Multipliers outside the working set stay at 0, or
at C for the rows that a soft band misses. A coarse problem on a sample of the rows starts it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sosbands.problem import BandProblem, evaluate, relative_gap, repair, uncoverable
from sosbands.solvers.base import Candidate, Clock, Solver, Status
from sosbands.solvers.path import follow
from sosbands.solvers.reduction import Reduction
from sosbands.solvers.threads import one_blas_thread
from sosbands.solvers.units import Normalised
from sosbands.solvers.working_set import WorkingSet

_COARSE_TOL = 0.03


@dataclass(frozen=True)
class Newton(Solver):
    """Second-order solver on a working set, for any number of rows.

    Parameters
    ----------
    tol : float, default=1e-6
        Certified relative gap to reach.
    max_iter : int, default=1000
        Largest number of Newton steps.
    """

    tol: float = 1e-6
    max_iter: int = 1000

    def __post_init__(self) -> None:
        """Refuse settings that cannot be met."""
        self._check_settings()

    def candidates(self, problem: BandProblem, clock: Clock) -> Iterator[Candidate]:
        """Yield one candidate per pass over all rows."""
        with one_blas_thread(), clock.phase("features"):
            basis = problem.basis
        if uncoverable(problem, basis):
            yield Candidate.zero(problem, basis, verdict=Status.INFEASIBLE)
            return
        with one_blas_thread():
            yield from self._rounds(problem, clock)

    def _rounds(self, problem: BandProblem, clock: Clock) -> Iterator[Candidate]:
        units = Normalised.of(problem)
        with clock.phase("rows"):
            reduction = Reduction(units)
        with clock.phase("coarse"):
            working = self._start(problem, units, reduction)
        floor = 1e-10 * float(np.mean(units.targets**2))
        gap, tol, steps, stalls, joined = np.inf, _COARSE_TOL, 0, 0, 1
        while True:
            # Accuracy on the free rows beyond a tenth of the gap that all rows leave is wasted.
            tol = max(0.3 * self.tol, min(tol, 0.1 * gap) if joined else 0.0)
            with clock.phase("newton"):
                restricted = reduction.restrict(working.rows)
                outcome = follow(
                    restricted.restriction,
                    working.iterate(),
                    tol=tol,
                    floor=floor,
                    max_steps=self.max_iter - steps,
                )
            steps += outcome.steps
            stalls = stalls + 1 if outcome.stalled or not (joined or outcome.steps) else 0
            with clock.phase("rows"):
                restricted.tune_shifts(outcome.state)
                fit = restricted.fit(outcome.state)
                feasible, lower = repair(problem, fit), restricted.dual_value(outcome.state)
                gap = relative_gap(problem, feasible.value, lower)
                last = stalls > 2 or steps >= self.max_iter
                if (gap <= self.tol or last) and restricted.approximate:
                    lower = restricted.certified_dual_value(outcome.state)
                    gap = relative_gap(problem, feasible.value, lower)
                if gap <= self.tol:
                    slim = repair(problem, restricted.fit(outcome.state, positive_only=True))
                    if relative_gap(problem, slim.value, lower) <= self.tol:
                        feasible = slim
            if gap <= self.tol or last or not restricted.approximate:
                yield Candidate(
                    feasible.point,
                    working.multipliers(outcome.state.gamma),
                    units.theta(outcome.state.theta),
                    steps,
                    dual_value=lower,
                    feasible=feasible,
                    verdict=Status.STALLED if stalls > 2 else None,
                )
            with clock.phase("rows"):
                joined = working.update(outcome, fit, gap)

    def _start(self, problem: BandProblem, units: Normalised, reduction: Reduction) -> WorkingSet:
        """All rows if they are few; else the rows that a coarse problem finds active."""
        few, coarsening = (300, 4) if problem.soft else (150, 16)
        if problem.n <= few:
            return WorkingSet.all_rows(units, reduction)
        order = np.random.default_rng(0).permutation(problem.n)  # a sample to start from, no more
        sample = np.sort(order[: max(few, problem.n // coarsening)])
        coarse = replace(self, tol=max(_COARSE_TOL, self.tol)).solve(problem.subset(sample))
        fit = evaluate(problem, replace(coarse.point, basis=problem.basis))
        return WorkingSet.from_coarse(units, sample, coarse, fit)
