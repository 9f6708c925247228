"""What a solver says of its candidates counts for nothing: the loop computes it."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from sosbands import BandProblem, Gaussian, Newton, Solver, Status
from sosbands.core.features import Basis
from sosbands.core.primal import Point, evaluate
from sosbands.core.solvers.base import Candidate
from sosbands.datasets import case

X, Y = case(1).sample(40, random_state=0)


def problem_with(**changes):
    joint = {"mean_kernel": Gaussian(0.3), "mean_bound": 2.0}
    return BandProblem.from_data(X, Y, scale_kernel=Gaussian(0.4), **(joint | changes))


@dataclass(frozen=True)
class Saying(Solver):
    """Proposes one candidate, whatever it is, and calls it the solution."""

    candidate: Candidate
    tol: float = 1e-6
    max_iter: int = 1

    def candidates(self, problem, clock):
        yield replace(self.candidate, verdict=Status.CONVERGED)


def honest(problem):
    solution = Newton().solve(problem)
    return Candidate(solution.point, solution.multipliers, solution.theta, 1)


def judged(problem, candidate):
    return Saying(candidate).solve(problem)


@pytest.mark.parametrize("coverage", [1.0, 0.8])
@pytest.mark.parametrize("symmetric", [True, False])
def test_an_honest_candidate_keeps_its_certificate(symmetric, coverage):
    problem = problem_with(symmetric=symmetric, training_coverage=coverage)
    solution = judged(problem, honest(problem))
    assert solution.status is Status.CONVERGED
    assert solution.gap <= 1e-6


@pytest.mark.parametrize("coverage", [1.0, 0.8])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("lie", ["narrow", "wide mean", "large", "negative", "theta", "nothing"])
def test_a_lying_solver_is_not_believed(dual_value, symmetric, coverage, lie):
    problem = problem_with(symmetric=symmetric, training_coverage=coverage)
    truth = honest(problem)
    point, gamma = truth.point, truth.multipliers
    narrow = tuple(0.1 * R @ np.diag(np.arange(R.shape[1]) % 2) for R in point.factors)
    candidate = {
        "narrow": replace(truth, point=replace(point, factors=narrow)),
        "wide mean": replace(truth, point=replace(point, z=-3 * point.z)),
        "large": replace(truth, multipliers=gamma + 10.0),
        "negative": replace(truth, multipliers=gamma - 10.0),
        "theta": replace(truth, theta=-1.0),
        "nothing": replace(truth, multipliers=np.full_like(gamma, np.nan)),
    }[lie]
    solution = judged(problem, candidate)
    assert solution.status is Status.STALLED
    assert solution.gap > 1e-6
    fit = evaluate(problem, solution.point)
    if coverage == 1:
        assert np.all(fit.scales >= fit.requirements - 1e-9)
    assert solution.point.z @ solution.point.z <= problem.mean_bound * (1 + 1e-12)
    if solution.gap < np.inf:
        assert np.all(
            (solution.multipliers >= 0) & (solution.multipliers <= problem.multiplier_bound)
        )
        lower = dual_value(problem, problem.basis, solution.multipliers, solution.theta)
        assert solution.dual_value <= lower + 1e-6 * abs(lower)  # a bound all the same


def test_features_that_are_not_the_problems_are_refused():
    problem = problem_with()
    truth = honest(problem)
    own = truth.point.basis
    point = Point(Basis(own.mean, own.scales), truth.point.z, truth.point.factors)
    with pytest.raises(ValueError, match="Saying proposed a point on features that are not"):
        judged(problem, replace(truth, point=point))


def test_multipliers_of_another_shape_are_refused():
    problem = problem_with()
    truth = honest(problem)
    with pytest.raises(ValueError, match=r"shape \(40,\): this problem has \(1, 40\)"):
        judged(problem, replace(truth, multipliers=truth.multipliers[0]))
