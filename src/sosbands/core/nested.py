"""Bands inside bands: several levels that never cross, solved from the inside out.

A sum of sums of squares is a sum of squares. So the ends of level k are c ∓ (g₁ + … + g_k), with
gⱼ = φᵀAⱼφ ≥ 0 on each side, and wherever one looks, the band of a higher level holds those of
lower ones. Each gₖ solves a soft problem of its own, given the inner ones: what it has to reach is
∓rᵢ − (g₁ + … + g_{k−1})(xᵢ). Level k then estimates the same quantiles as a band that is learned
for this level alone, wherever these do not cross the inner ones.

One problem for all levels at once is convex as well (`benchmarks/joint_levels.py` states it). Its
Newton matrices couple all levels, many times the work, for scores that were lower by 0.4 % or less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sosbands.core.centre import Centre
from sosbands.core.checks import checked_array, checked_coverages
from sosbands.core.expansions import BandFunctions, KernelExpansion
from sosbands.core.features import Basis
from sosbands.core.primal import evaluate
from sosbands.core.problem import BandProblem
from sosbands.core.solvers.base import Solver
from sosbands.core.solvers.solution import Certificate, Solution, Status
from sosbands.types import Array

# A demand below this fraction of the root mean square of the residuals is none.
_NOISE = 1e-4


@dataclass(frozen=True, eq=False)
class NestedSolution:
    """Solved bands of several levels, from the inside out.

    Attributes
    ----------
    stages : tuple of Solution
        A joint mean is that of the first.
    centre : KernelExpansion or None
        What their centre differs by from the given mean.
    """

    stages: tuple[Solution, ...]
    centre: KernelExpansion | None = None

    @property
    def problem(self) -> BandProblem:
        """The innermost problem."""
        return self.stages[0].problem

    @property
    def certificate(self) -> Certificate:
        """That of all levels: the largest gap, and sums of values, steps, ranks and times."""
        if len(self.stages) == 1:
            return self.stages[0].certificate
        proofs = [stage.certificate for stage in self.stages]
        worst = max(proofs, key=lambda proof: (not proof.status.optimal, proof.gap))
        status, rank = worst.status, sum(proof.rank for proof in proofs)
        if status is Status.ZERO_SCALE and rank:  # one level has no width beyond those inside it
            status = Status.CONVERGED
        phases = dict.fromkeys(phase for proof in proofs for phase in proof.seconds)
        return Certificate(
            status=status,
            dual_value=sum(proof.dual_value for proof in proofs),
            primal_value=sum(proof.primal_value for proof in proofs),
            gap=worst.gap,
            violation=max(proof.violation for proof in proofs),
            iterations=sum(proof.iterations for proof in proofs),
            active_rows=max(proof.active_rows for proof in proofs),
            rank=rank,
            trace_residual=worst.trace_residual,
            seconds={name: sum(p.seconds.get(name, 0.0) for p in proofs) for name in phases},
        )

    @property
    def functions(self) -> BandFunctions:
        """The bands as functions of new points."""
        parts = [stage.functions for stage in self.stages]
        levels = tuple(level for part in parts for level in part.levels)
        return BandFunctions(levels, parts[0].mean if self.centre is None else self.centre)

    def widths(self, X: Array) -> Array:
        """Distances of the ends from the centre, (low, up), of shape (n, levels, 2)."""
        return self.functions.widths(checked_array("X", X, ndim=2))


def solve_nested(
    problem: BandProblem,
    levels: Sequence[float],
    solver: Solver,
    *,
    centre_penalty: float | None = None,
) -> NestedSolution:
    """Solve a two-sided problem for the lowest level, and others around it for the other levels.

    A joint mean is learned with the lowest level.

    Parameters
    ----------
    problem : BandProblem
        Its own training coverage does not count.
    levels : sequence of float
        τ of each band, increasing.
    solver : Solver
    centre_penalty : float, optional
        λ of a centre beside a given mean (`sosbands.core.centre`). None: bands go around the mean.
    """
    lowest, *others = checked_coverages(levels)
    centre = None if centre_penalty is None else Centre.of(problem, centre_penalty)
    problem = problem.variant(training_coverage=lowest)
    if centre is not None:
        moved = problem.y - problem.residuals + centre.values
        problem = replace(problem, mean_values=moved, mean_function=None)
    stages = [solver.solve(problem)]
    reached = None
    for level in others:
        outer, reached = _around(stages[-1], reached, level)
        stages.append(solver.solve(outer))
    return NestedSolution(tuple(stages), None if centre is None else centre.function)


def _around(inner: Solution, reached: Array | None, level: float) -> tuple[BandProblem, Array]:
    """The problem of the next level, and the widths that the levels inside have."""
    problem, fit = inner.problem, evaluate(inner.problem, inner.point)
    weights = 1.0 if problem.row_weights is None else problem.row_weights
    r = fit.residuals / weights
    widths = fit.scales / weights + (0.0 if reached is None else reached)
    # What a level misses by less than it is accurate is no demand of the next one.
    missed, noise = np.stack([-r, r]) - widths, _NOISE * float(np.sqrt(np.mean(r**2)))
    widths = np.where((missed > 0) & (missed < noise), widths + missed, widths)
    outer = replace(
        problem,
        mean_kernel=None,
        mean_values=problem.y - r,
        mean_function=None,
        mean_weight=0.0,
        training_coverage=level,
        inner=widths,
        shared_basis=Basis(None, problem.plain_basis.scales),
    )
    return outer, widths
