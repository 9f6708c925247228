"""One interface for every solver: `Solver.solve(problem) -> Solution`, one loop, one certificate.

A solver supplies candidates (a dual point and the primal point recovered from it) as it goes; the
loop here repairs and certifies them, counts, keeps the history and decides when to stop. It takes
nothing on trust: values, feasibility and gap are computed here from the candidate's numbers.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from sosbands.core.checks import check_count, number
from sosbands.core.features import Basis
from sosbands.core.gap import Gaps
from sosbands.core.primal import Feasible, Point, evaluate, relative_gap, repair
from sosbands.core.problem import BandProblem
from sosbands.core.solvers.alike import AlikeSides
from sosbands.core.solvers.solution import Certificate, Solution, Status
from sosbands.types import Array


@dataclass
class Clock:
    """Seconds by phase."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time spent inside to a phase."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + spent


@dataclass(frozen=True)
class Candidate:
    """A solver's proposal: a dual point, and the primal point that belongs to it.

    Attributes
    ----------
    point : Point
        Not necessarily feasible; the loop repairs it.
    multipliers : array of shape (sides, n)
        Γ; the loop brings it into its box, from 0 to C.
    theta : float
        The multiplier of ‖m‖² ≤ s; the loop takes 0 for less.
    iterations : int
        Inner iterations so far.
    verdict : Status, optional
        Set when the solver cannot go on.

    Examples
    --------
    >>> from sosbands import BandProblem, Gaussian, Newton
    >>> from sosbands.core.solvers.base import Candidate, Clock
    >>> problem = BandProblem.from_data([0, 1, 2], [0.1, -0.4, 1.5], scale_kernel=Gaussian(1.0))
    >>> *_, last = Newton().candidates(problem, Clock())
    >>> isinstance(last, Candidate), last.multipliers.shape, last.iterations > 0
    (True, (1, 3), True)
    """

    point: Point
    multipliers: Array
    theta: float
    iterations: int
    verdict: Status | None = None

    @classmethod
    def zero(
        cls, problem: BandProblem, basis: Basis, iterations: int = 0, verdict: Status | None = None
    ) -> Candidate:
        """m = 0, f = 0, no multipliers: where nothing is to be covered, or nothing was found."""
        multipliers = np.zeros((problem.sides, problem.n))
        return cls(Point.zero(basis), multipliers, 0.0, iterations, verdict=verdict)


class Solver(ABC):
    """Turns a `BandProblem` into a `Solution`.

    Subclasses are frozen dataclasses with fields ``tol`` (certified relative gap) and ``max_iter``.
    Their abilities are class attributes, for those who state problems to ask.

    Attributes
    ----------
    needs_ridge : bool
        Whether λ₂ must be positive.
    wants_all_features : bool
        Whether to state problems without `max_rank`.
    takes_start : bool
        Whether there is a field ``start``, the solution of a similar problem.
    takes_likeness : bool
        Whether problems of one side are solved, as which those with likeness are stated.

    Examples
    --------
    >>> from sosbands import Newton, Solver
    >>> isinstance(Newton(), Solver), Newton.takes_start
    (True, True)
    """

    tol: float
    max_iter: int
    needs_ridge: ClassVar[bool] = True
    wants_all_features: ClassVar[bool] = True
    takes_start: ClassVar[bool] = False
    takes_likeness: ClassVar[bool] = False

    def _check_settings(self) -> None:
        if not 0 < number(self.tol) < 1:
            raise ValueError(f"tol must be in (0, 1), got {self.tol!r}: 1e-6 is a small gap")
        check_count("max_iter", self.max_iter)

    @abstractmethod
    def candidates(self, problem: BandProblem, clock: Clock) -> Iterator[Candidate]:
        """Yield better and better candidates; the last one may carry a verdict."""

    def solve(self, problem: BandProblem) -> Solution:
        """Solve to a certified relative gap of ``tol``, or say by the status why not."""
        self._check_problem(problem)
        if problem.likeness:
            sides = AlikeSides.of(problem, all_features=self.wants_all_features)
            return sides.two_sided(self._solved(sides.one_sided))
        return self._solved(problem)

    def _solved(self, problem: BandProblem) -> Solution:
        """The one loop."""
        clock, history, gaps = Clock(), [], Gaps(problem)
        best: Certified | None = None
        status = None
        for candidate in self._proposals(problem, clock):
            with clock.phase("certificate"):
                certified = self._certified(gaps, candidate)
            history.append((candidate.iterations, certified.gap))
            if best is None or certified.gap <= best.gap:
                best = certified
            status = self._ending(candidate, certified.gap)
            if status is not None:
                break
        if best is None:
            raise RuntimeError(f"{type(self).__name__} proposed no candidate")
        return _solution(problem, status or Status.STALLED, best, tuple(history), clock)

    def _check_problem(self, problem: BandProblem) -> None:
        if not isinstance(problem, BandProblem):
            raise TypeError(f"solve takes a BandProblem, got {type(problem).__name__}")
        if problem.n == 0:
            raise ValueError("the problem has no rows, as that of a model from a file: fit again")
        if self.needs_ridge and problem.ridge_penalty == 0:
            raise ValueError(
                "ridge_penalty must be > 0, got 0: the dual needs it; use the solver SDP for λ2 = 0"
            )
        if problem.likeness and not self.takes_likeness:
            raise ValueError(
                f"{type(self).__name__} takes no likeness, got {problem.likeness:g}: use Newton or "
                "SDP, or leave likeness at 0"
            )

    def _proposals(self, problem: BandProblem, clock: Clock) -> Iterator[Candidate]:
        """The solver's candidates; zero alone if there is nothing to cover, and so no scale."""
        if np.any(problem.requirements(problem.targets) > 0):
            return self.candidates(problem, clock)
        return iter([Candidate.zero(problem, problem.basis)])

    def _ending(self, candidate: Candidate, gap: float) -> Status | None:
        """How the solve ends with this candidate; None if it goes on."""
        if gap <= self.tol:
            return Status.CONVERGED
        if candidate.verdict is not None:
            # That the tolerance is met is not for the solver to say.
            return Status.STALLED if candidate.verdict.optimal else candidate.verdict
        return Status.ITERATION_LIMIT if candidate.iterations >= self.max_iter else None

    def _certified(self, gaps: Gaps, candidate: Candidate) -> Certified:
        """Repair a candidate, bring its multipliers into their box, and measure the gap."""
        problem, point, name = gaps.problem, candidate.point, type(self).__name__
        if not problem.owns(point.basis):
            raise ValueError(
                f"{name} proposed a point on features that are not the problem's: use its basis "
                "or its full_basis"
            )
        shape = (problem.sides, problem.n)
        if np.shape(candidate.multipliers) != shape:
            raise ValueError(
                f"{name} proposed multipliers of shape {np.shape(candidate.multipliers)}: "
                f"this problem has {shape}"
            )
        multipliers = np.clip(candidate.multipliers, 0.0, problem.multiplier_bound)
        theta = 0.0 if point.basis.mean is None else max(candidate.theta, 0.0)
        feasible = repair(problem, evaluate(problem, point))
        difference = np.inf
        if np.isfinite(theta) and np.all(np.isfinite(multipliers)):
            difference = gaps.between(feasible, multipliers, theta)
        gap = relative_gap(problem, feasible.value, difference)
        return Certified(gap, difference, feasible, multipliers, theta)


@dataclass(frozen=True)
class Certified:
    """A repaired candidate with its relative gap and p − d."""

    gap: float
    difference: float
    feasible: Feasible
    multipliers: Array
    theta: float


def _solution(
    problem: BandProblem,
    status: Status,
    best: Certified,
    history: tuple[tuple[int, float], ...],
    clock: Clock,
) -> Solution:
    feasible = best.feasible
    largest = max(float(best.multipliers.max()), np.finfo(float).tiny)
    active = np.any(best.multipliers > 1e-6 * largest, axis=0)
    rank = sum(_rank(R) for R in feasible.point.factors)
    demanded = np.any(problem.requirements(problem.targets) > 0)
    if status is Status.CONVERGED and rank == 0 and demanded:
        status = Status.ZERO_SCALE
    certificate = Certificate(
        status=status,
        dual_value=feasible.value.total - best.difference,
        primal_value=feasible.value.total,
        gap=best.gap,
        violation=feasible.violation,
        iterations=history[-1][0],
        active_rows=int(active.sum()),
        rank=rank,
        trace_residual=feasible.point.basis.trace_residual,
        seconds={**clock.seconds, "total": sum(clock.seconds.values())},
    )
    point, multipliers = feasible.point, best.multipliers
    return Solution(problem, point, multipliers, best.theta, certificate, history)


def _rank(R: Array) -> int:
    """Numerical rank of A = RRᵀ."""
    squared = np.linalg.eigvalsh(R.T @ R if R.shape[1] <= R.shape[0] else R @ R.T)
    return int(np.sum(squared > 1e-6 * squared[-1])) if len(squared) and squared[-1] > 0 else 0
