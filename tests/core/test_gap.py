import numpy as np
import pytest
from numpy.testing import assert_allclose

from sosbands import SDP, BandProblem, Gaussian, Newton, Status
from sosbands.core.gap import Gaps, _quadratic
from sosbands.core.primal import Point, evaluate, relative_gap, repair
from sosbands.datasets import case

SIDES = pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "two-sided"])
COVERAGE = pytest.mark.parametrize("coverage", [1.0, 0.8], ids=["hard", "soft"])
WEIGHTS = pytest.mark.parametrize("a", [0.0, 1.0, 1e3, 1e6, 1e9])


def problem_with(n=25, seed=0, **changes):
    X, y = case(1).sample(n, random_state=seed)
    joint = {"mean_kernel": Gaussian(0.3), "mean_bound": 2.0}
    return BandProblem.from_data(X, y, **({"scale_kernel": Gaussian(0.4)} | joint | changes))


def long(values):
    return np.asarray(values, dtype=np.longdouble)


def solved(H, right):
    """Hz = right by Gaussian elimination in extended precision."""
    H, right = long(H).copy(), long(right).copy()
    for k in range(len(H)):
        below = H[k + 1 :, k] / H[k, k]
        H[k + 1 :] -= below[:, None] * H[k]
        right[k + 1 :] -= below * right[k]
    z = np.zeros_like(right)
    for k in reversed(range(len(H))):
        z[k] = (right[k] - H[k, k + 1 :] @ z[k + 1 :]) / H[k, k]
    return z


def slow_difference(problem, point, multipliers, theta):
    """p − d from their definitions, the mean's part in extended precision."""
    L, y, a = long(point.basis.mean.rows), long(problem.targets), long(problem.mean_weight)
    gamma, theta, a = long(multipliers), long(theta), a / problem.n
    delta = long(0.0) if problem.symmetric else gamma[1] - gamma[0]
    w = a + (gamma[0] if problem.symmetric else 0.0) + np.zeros_like(y)
    z = solved((L.T * w) @ L + theta * np.eye(L.shape[1]), L.T @ (w * y + delta / 2))
    r, own = y - L @ z, y - L @ long(point.z)
    best = w @ r**2 + delta @ r if not problem.symmetric else w @ r**2
    best += theta * (z @ z - long(problem.mean_bound))
    fit = evaluate(problem, point)
    value = repair(problem, fit).value
    slow = a * (own @ own) - best + long(value.band)
    for part, gamma in zip(point.basis.scales, multipliers, strict=True):
        weights = gamma - problem.width_weight / problem.n
        M = (part.rows.T * weights) @ part.rows - problem.trace_penalty * np.eye(part.rows.shape[1])
        positive = np.maximum(np.linalg.eigvalsh(M), 0.0)
        slow += long(np.sum(positive**2) / (4 * problem.ridge_penalty))
    return float(slow)


@SIDES
@COVERAGE
@WEIGHTS
def test_the_gap_of_any_pair_is_the_difference_of_their_values(dual_value, symmetric, coverage, a):
    problem = problem_with(symmetric=symmetric, training_coverage=coverage, mean_weight=a)
    rng = np.random.default_rng(0)
    basis = problem.basis
    z = 0.3 * rng.standard_normal(basis.mean.rows.shape[1])
    factors = tuple(rng.standard_normal((side.rows.shape[1], 3)) for side in basis.scales)
    feasible = repair(problem, evaluate(problem, Point(basis, z, factors)))
    multipliers = rng.uniform(0, 1, (problem.sides, problem.n))
    multipliers = np.minimum(multipliers, problem.multiplier_bound)
    found = Gaps(problem).between(feasible, multipliers, 0.3)
    lower = dual_value(problem, basis, multipliers, 0.3)
    assert_allclose(found, feasible.value.total - lower, rtol=1e-9)
    assert_allclose(found, slow_difference(problem, feasible.point, multipliers, 0.3), rtol=1e-9)


def true_gap(problem, solution):
    difference = slow_difference(problem, solution.point, solution.multipliers, solution.theta)
    value = repair(problem, evaluate(problem, solution.point)).value
    return relative_gap(problem, value, difference)


@SIDES
@COVERAGE
@WEIGHTS
@pytest.mark.parametrize("bound", [0.1, 50.0])
def test_the_certified_gap_is_the_true_one_however_large_the_fit(symmetric, coverage, a, bound):
    problem = problem_with(
        symmetric=symmetric, training_coverage=coverage, mean_weight=a, mean_bound=bound
    )
    solution = Newton().solve(problem)
    assert solution.status is Status.CONVERGED
    assert_allclose(solution.gap, true_gap(problem, solution), rtol=0.01, atol=1e-9)


@SIDES
@COVERAGE
def test_a_solver_without_the_precision_says_so(symmetric, coverage):
    problem = problem_with(symmetric=symmetric, training_coverage=coverage, mean_weight=1e9)
    solution = SDP().solve(problem)  # whose backend stops at absolute tolerances
    assert solution.status is Status.STALLED
    assert solution.gap > 1e-6
    assert_allclose(solution.gap, true_gap(problem, solution), rtol=0.01)


def test_multipliers_that_bound_nothing_have_an_infinite_gap():
    problem = problem_with(ridge_penalty=0.0)
    basis = problem.basis
    factors = tuple(np.eye(side.rows.shape[1]) for side in basis.scales)
    point = Point(basis, np.zeros(basis.mean.rows.shape[1]), factors)
    feasible = repair(problem, evaluate(problem, point))
    gaps = Gaps(problem)
    assert gaps.between(feasible, np.full((1, 25), 1e3), 1.0) == np.inf  # M has no sign
    assert gaps.between(feasible, np.zeros((1, 25)), 0.0) == feasible.value.band
    two_sided = problem_with(symmetric=False)
    basis = two_sided.basis
    factors = tuple(np.eye(side.rows.shape[1]) for side in basis.scales)
    point = Point(basis, np.zeros(basis.mean.rows.shape[1]), factors)
    feasible = repair(two_sided, evaluate(two_sided, point))
    slope = np.stack([np.zeros(25), np.full(25, 1e-3)])
    assert Gaps(two_sided).between(feasible, slope, 0.0) == np.inf  # linear in z
    assert np.isfinite(Gaps(two_sided).between(feasible, slope, 1e-3))


def test_without_a_ball_flat_directions_of_the_mean_cost_nothing():
    # Two equal columns: H is singular, and the slope vanishes where it is.
    rows = np.random.default_rng(0).standard_normal((9, 1)) * np.ones(2)
    h = rows.T @ np.ones(9)
    found = _quadratic(rows, h, 0.0, 1e-12)
    assert_allclose(found, h @ np.linalg.pinv(rows.T @ rows) @ h)
    assert _quadratic(rows, h + np.array([1, -1]), 0.0, 1e-12) == np.inf
