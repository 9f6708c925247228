"""Newton: path following on a working set of rows, the default solver.

At the optimum few rows carry a multiplier strictly inside its box. The solver follows the central
path (see `path`) on such rows only, checks all others in one pass, lets those that are
on the wrong side of the band join, and repeats. Multipliers outside the working set stay at 0, or
at C for the rows that a soft band misses. A coarse problem on a sample of the rows starts it, or
the bands that it goes around.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from sosbands.core.dual import shrunk
from sosbands.core.gap import Gaps
from sosbands.core.primal import Feasible, Fit, evaluate, relative_gap, repair, uncoverable
from sosbands.core.problem import BandProblem
from sosbands.core.solvers.base import Candidate, Clock, Solver
from sosbands.core.solvers.path import PathState, follow
from sosbands.core.solvers.reduction import Reduction, Restricted
from sosbands.core.solvers.solution import Solution, Status
from sosbands.core.solvers.units import Normalised
from sosbands.core.solvers.working_set import WorkingSet
from sosbands.core.threads import one_blas_thread
from sosbands.types import Array

_FEW_ROWS = 180  # up to here all rows move at once,
_CHEAP_ROWS, _FEW_FEATURES = 350, 18  # and up to here with so few features
_SAMPLE, _EXTREME = 150, 15  # rows of the smallest coarse problem, the largest outputs among them
_ROWS_PER_FEATURE = 20  # of a soft coarse problem
# Of the first rounds, whose working sets will change, or so many times the tolerance. Less accurate
# ones (.03) ended where they started, after a look at all rows for nothing: 9 % of what
# `benchmarks/soft.py` takes after its features, b = 300. Of folds they say where the solution is
# within its tolerance: with 2 instead of 3, the score of one split of bike_uci moved by 1.4 %.
_FIRST_TOL, _FIRST_MULTIPLE = 0.01, 3.0
# Of the coarse problem. A band further from its optimum lies below rows that the optimum covers; to
# have started with too many rows at C can take ten times as long to undo.
_COARSE_TOL = 0.003
_ELSEWHERE = 3.0  # how much further up the path a solution of another problem is taken up
# Bands inside that have less than this share of their mean width somewhere say little of the next
# (one output of a million among 5600: 65 steps instead of 17).
_VANISHING = 0.05
_PATIENCE = 2  # rounds without progress that are forgiven
# A ridge that is lost in the rounding of λ₁I + (b/n)ΦᵀΦ is raised, first to where A is easy to
# recover from M, then to where it is just possible; each time the certificate is the problem's own.
_LEAST_RIDGES = (1e-8, 1e-10)


@dataclass(frozen=True)
class Newton(Solver):
    """Second-order solver on a working set, for any number of rows.

    Parameters
    ----------
    tol : float, default=1e-6
        Certified relative gap to reach.
    max_iter : int, default=1000
        Largest number of Newton steps.
    start : Solution, optional
        Of a similar problem with the same rows and sides, say with another lengthscale: takes the
        place of the coarse problem that many rows start from, and changes nothing but the time.

    Examples
    --------
    >>> from sosbands import BandProblem, Gaussian, Newton
    >>> problem = BandProblem.from_data([0, 1, 2], [0.1, -0.4, 1.5], scale_kernel=Gaussian(1.0))
    >>> Newton(tol=1e-6).solve(problem).gap < 1e-6
    True
    """

    tol: float = 1e-6
    max_iter: int = 1000
    start: Solution | None = field(default=None, repr=False, compare=False)
    wants_all_features: ClassVar[bool] = False
    takes_start: ClassVar[bool] = True
    takes_likeness: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse settings that cannot be met."""
        self._check_settings()
        if self.start is not None and not isinstance(self.start, Solution):
            raise TypeError(f"start must be a Solution, got {type(self.start).__name__}")

    def solve(self, problem: BandProblem) -> Solution:
        """Solve to a certified relative gap of ``tol``, or say by the status why not."""
        with one_blas_thread():
            return super().solve(problem)

    def candidates(self, problem: BandProblem, clock: Clock) -> Iterator[Candidate]:
        """Yield one candidate per pass over all rows."""
        with clock.phase("features"):
            basis = problem.basis
        if uncoverable(problem, basis):
            yield Candidate.zero(problem, basis, verdict=Status.INFEASIBLE)
            return
        steps = 0
        for least_ridge in _LEAST_RIDGES:
            units = Normalised.of(problem, least_ridge=least_ridge)
            last = not units.perturbed or least_ridge == _LEAST_RIDGES[-1]
            for candidate in self._rounds(problem, units, clock, steps):
                steps = candidate.iterations
                yield candidate if last else replace(candidate, verdict=None)
            if last:
                return

    def _rounds(
        self, problem: BandProblem, units: Normalised, clock: Clock, steps: int
    ) -> Iterator[Candidate]:
        with clock.phase("rows"):
            reduction = Reduction(units)
        with clock.phase("coarse"):
            working = self._start(problem, units, reduction)
        floor = problem.zero_level / units.value
        gap, stalls, joined = np.inf, 0, 0 if working.complete else 1
        tol = max(_FIRST_TOL, _FIRST_MULTIPLE * self.tol)
        while stalls <= _PATIENCE:
            # The tolerance itself is aimed at first, with a margin only if that was not enough.
            least = self.tol if tol > self.tol else 0.3 * self.tol
            # Accuracy on the free rows beyond a tenth of the gap that all rows leave is wasted.
            tol = max(least, min(tol, 0.1 * gap) if joined else 0.0)
            with clock.phase("newton"):
                # A tenth of the tolerance may go into keeping θ off 0.
                least_theta = 0.1 * tol * floor / units.bound
                restricted = reduction.restrict(working.rows, working.gamma, least_theta)
                outcome = follow(
                    restricted.restriction,
                    working.iterate(),
                    tol=tol,
                    floor=floor,
                    max_steps=self.max_iter - steps,
                )
            steps += outcome.steps
            idle = not (joined or outcome.steps)
            stalls = stalls + 1 if outcome.stalled or idle else 0
            last = stalls > _PATIENCE or steps >= self.max_iter
            with clock.phase("rows"):
                restricted.tune_shifts(outcome.state)
                # Directions that only the barrier keeps alive help a hard band to cover its rows.
                fit = restricted.fit(outcome.state, positive_only=problem.soft)
                feasible = repair(problem, fit)
                multipliers = working.multipliers(outcome.state.gamma)
                penalty = restricted.penalty(outcome.state)
                gap = restricted.gap(outcome.state, feasible, multipliers, penalty)
                proposed = None
                # An idle path cannot come closer: the subspaces, chosen anew by a proposal, can.
                if gap <= self.tol or idle or last:
                    proposed, gap = self._proposed(
                        restricted, outcome.state, multipliers, fit, repaired=feasible
                    )
            if proposed is not None:
                verdict = Status.STALLED if stalls > _PATIENCE else None
                yield replace(proposed, iterations=steps, verdict=verdict)
            with clock.phase("rows"):
                joined = working.update(outcome, fit, feasible.value.band / units.value, gap)

    def _proposed(
        self,
        restricted: Restricted,
        state: PathState,
        multipliers: Array,
        fit: Fit,
        *,
        repaired: Feasible,
    ) -> tuple[Candidate, float]:
        """The candidate of a state and its gap, on all features."""
        units = restricted.reduction.units
        problem, theta = units.problem, units.theta(state.mean.theta)
        if units.perturbed:
            multipliers, theta = shrunk(problem, problem.basis, multipliers, theta)
            gaps = Gaps(problem)
        else:
            penalty = restricted.certified_penalty(state)

        def gap_of(feasible: Feasible) -> float:
            if not units.perturbed:
                return restricted.gap(state, feasible, multipliers, penalty)
            difference = gaps.between(feasible, multipliers, theta)
            return relative_gap(problem, feasible.value, difference)

        gap = gap_of(repaired)
        if problem.soft and gap > self.tol:
            whole = restricted.fit(state)
            if (gap_of_whole := gap_of(repair(problem, whole))) < gap:
                fit, gap = whole, gap_of_whole
        elif not problem.soft and gap <= self.tol:
            # Leave out the directions that only the barrier keeps alive, if the gap permits.
            slim = restricted.fit(state, positive_only=True)
            if gap_of(repair(problem, slim)) <= self.tol:
                fit = slim
        return Candidate(fit.point, multipliers, theta, 0), gap

    def _start(self, problem: BandProblem, units: Normalised, reduction: Reduction) -> WorkingSet:
        """All rows if they are few; else those at the edge of a similar band."""
        if self.start is not None:
            return self._warm_start(problem, units, reduction, self.start)
        few_features = max(side.rows.shape[1] for side in units.scales) <= _FEW_FEATURES
        if problem.n <= (_CHEAP_ROWS if problem.soft and few_features else _FEW_ROWS):
            return WorkingSet.all_rows(units, reduction)
        if problem.reached is not None and _tells_a_shape(problem.reached):
            return WorkingSet.around_inner(units, problem.reached)
        coarsening = 6 if problem.soft else 16
        order = np.random.default_rng(0).permutation(problem.n)  # a sample to start from, no more
        sample = np.sort(order[: max(_SAMPLE, problem.n // coarsening)])
        if not problem.soft:
            extreme = np.argpartition(np.abs(problem.targets), -_EXTREME)[-_EXTREME:]
            sample = np.union1d(sample, extreme)
        small = problem.subset(sample)
        if problem.soft:  # with as many features a few rows would be followed too closely
            first = small.plain_basis.first(len(sample) // _ROWS_PER_FEATURE)
            small = replace(small, shared_basis=first)
        coarse = replace(self, tol=max(_COARSE_TOL, self.tol)).solve(small)
        fit = evaluate(problem, replace(coarse.point, basis=problem.basis))
        return WorkingSet.from_coarse(units, sample, coarse, fit)

    def _warm_start(
        self, problem: BandProblem, units: Normalised, reduction: Reduction, start: Solution
    ) -> WorkingSet:
        """Where a similar problem ended; a hard band of few rows has no use for it."""
        shape = (problem.sides, problem.n)
        if problem.one_sided and start.multipliers.shape == (2, problem.n // 2):
            start = replace(start, multipliers=start.multipliers.reshape(shape))
        if start.multipliers.shape != shape:
            raise ValueError(
                f"start has multipliers of shape {start.multipliers.shape}, this problem has "
                f"{shape}: start from one with the same rows and sides"
            )
        if problem.n > _FEW_ROWS:
            fit = evaluate(start.problem, start.point)
            if problem.one_sided:
                fit = Fit.of(problem, fit.point, problem.targets, fit.scales.reshape(shape))
            working = WorkingSet.from_coarse(units, np.arange(problem.n), start, fit)
            working.mu *= _ELSEWHERE
            return working
        if problem.soft and start.problem.soft:
            return WorkingSet.all_rows_from(units, start)
        return WorkingSet.all_rows(units, reduction)


def _tells_a_shape(inner: Array) -> bool:
    """Whether what bands inside reach, of shape (sides, n), is a start for one around them."""
    mean = np.mean(inner, axis=1)
    return bool(np.all((mean > 0) & (np.min(inner, axis=1) >= _VANISHING * mean)))
