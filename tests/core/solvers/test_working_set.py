"""Who joins and who leaves the working set, compared with the rules written as loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sosbands import BandProblem, Gaussian, Newton
from sosbands.core.primal import evaluate, repair
from sosbands.core.solvers import working_set
from sosbands.core.solvers.path import follow
from sosbands.core.solvers.reduction import Reduction, RowRoles
from sosbands.core.solvers.units import Normalised
from sosbands.core.solvers.working_set import WorkingSet
from sosbands.datasets import case

SIDES = pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "two-sided"])
SOFTNESS = pytest.mark.parametrize("coverage", [1.0, 0.8], ids=["hard", "soft"])


def problem_with(n=60, **changes):
    X, y = case(1).sample(n, random_state=0)
    settings = {"scale_kernel": Gaussian(0.3), "mean": np.zeros(n)}
    return BandProblem.from_data(X, y, **(settings | changes))


def roles_are_disjoint(working, n):
    for free, capped in zip(working.rows.free, working.rows.capped, strict=True):
        together = np.concatenate([free, capped])
        assert len(np.unique(together)) == len(together)
        assert np.all((together >= 0) & (together < n))


def test_multipliers_are_put_where_their_rows_are():
    problem = problem_with(n=8, symmetric=False, training_coverage=0.5)
    units = Normalised.of(problem)
    rows = RowRoles((np.array([3, 1]), np.array([7])), (np.array([0]), np.array([2, 5])))
    working = WorkingSet(units, rows, np.array([0.1, 0.2, 0.3]), 1.0, 1.0)
    C = problem.multiplier_bound
    expected = [[C, 0.2, 0, 0.1, 0, 0, 0, 0], [0, 0, C, 0, 0, C, 0, 0.3]]
    assert_array_equal(working.multipliers(working.gamma), expected)


@SIDES
@SOFTNESS
def test_all_rows_start_inside_the_box(symmetric, coverage):
    problem = problem_with(symmetric=symmetric, training_coverage=coverage)
    units = Normalised.of(problem)
    working = WorkingSet.all_rows(units, Reduction(units))
    wanted = [problem.targets != 0] if symmetric else [problem.targets < 0, problem.targets > 0]
    for free, capped, demanding in zip(working.rows.free, working.rows.capped, wanted, strict=True):
        assert_array_equal(free, np.flatnonzero(demanding))
        assert len(capped) == 0
    assert np.all((working.gamma > 0) & (working.gamma < units.upper))
    assert working.theta > 0
    assert working.mu > 0


def test_a_side_that_nothing_demands_keeps_one_row():
    problem = problem_with(symmetric=False, mean=np.full(60, -100.0))
    units = Normalised.of(problem)
    free = WorkingSet.all_rows(units, Reduction(units)).rows.free
    assert [len(rows) for rows in free] == [1, 60]


def test_a_band_around_others_starts_as_the_multiple_of_them_that_misses_its_share():
    inner = 0.1 + 0.2 * np.random.default_rng(0).uniform(size=(2, 400))
    problem = problem_with(n=400, symmetric=False, training_coverage=0.6, inner=inner)
    units = Normalised.of(problem)
    working = WorkingSet.around_inner(units, problem.reached)
    roles_are_disjoint(working, 400)
    assert np.all((working.gamma > 0) & (working.gamma < units.upper))
    demands = problem.requirements(problem.targets)
    for side, ratio in enumerate(demands / inner):
        free, capped = working.rows.free[side], working.rows.capped[side]
        beyond = ratio > np.quantile(ratio, 0.8)  # each side misses half of what is missed
        assert len(free) == 100
        assert_array_equal(capped, np.setdiff1d(np.flatnonzero(beyond), free))


@SIDES
@SOFTNESS
def test_a_coarse_solution_starts_from_its_own_rows_and_those_it_treats_wrongly(
    symmetric, coverage
):
    problem = problem_with(n=400, symmetric=symmetric, training_coverage=coverage)
    sample = np.arange(0, 400, 8)
    coarse = Newton(tol=1e-3).solve(problem.subset(sample))
    fit = evaluate(problem, type(coarse.point)(problem.basis, None, coarse.point.factors))
    units = Normalised.of(problem)
    working = WorkingSet.from_coarse(units, sample, coarse, fit)
    roles_are_disjoint(working, 400)
    assert np.all((working.gamma > 0) & (working.gamma < units.upper))
    short = fit.requirements > fit.scales
    for side in range(problem.sides):
        free, capped = working.rows.free[side], working.rows.capped[side]
        if coverage == 1:
            active = sample[coarse.multipliers[side] > 1e-3 * coarse.multipliers[side].max()]
            assert set(active) <= set(free)
            assert len(capped) == 0
        else:  # who is neither free nor capped is inside the band, and who is capped is not
            rest = np.setdiff1d(np.arange(400), np.concatenate([free, capped]))
            assert not short[side][rest].any()
            assert short[side][capped].all()


@SIDES
@SOFTNESS
def test_the_worst_rows_join_until_none_is_wrong(symmetric, coverage):
    problem = problem_with(n=300, symmetric=symmetric, training_coverage=coverage)
    units = Normalised.of(problem)
    reduction, few = Reduction(units), np.arange(0, 300, 10)
    none = np.arange(0)
    rows = RowRoles((few,) * problem.sides, (none,) * problem.sides)
    gamma = np.full(len(few) * problem.sides, 0.4 * min(units.upper, 1.0))
    working = WorkingSet(units, rows, gamma, 1.0, 1e-2)
    for _ in range(30):
        restricted = reduction.restrict(working.rows, working.gamma, 0.0)
        end = follow(restricted.restriction, working.iterate(), tol=1e-6, floor=1e-9, max_steps=300)
        fit, before = restricted.fit(end.state), working.rows
        feasible, multipliers = repair(problem, fit), working.multipliers(end.state.gamma)
        gap = restricted.gap(end.state, feasible, multipliers, restricted.penalty(end.state))
        joined = working.update(end, fit, feasible.value.band / units.value, gap)
        roles_are_disjoint(working, 300)
        for side in range(problem.sides):
            outside = np.setdiff1d(np.arange(300), before.free[side])
            capped = np.isin(outside, before.capped[side])
            surplus = (fit.scales - fit.requirements)[side][outside]
            wrong = outside[np.where(capped, surplus > 0, surplus < 0)]
            fresh = np.setdiff1d(working.rows.free[side], before.free[side])
            assert set(fresh) <= set(wrong)
            assert not len(wrong) or len(fresh)
        if not (joined or end.stalled):
            break
    assert not joined
    assert not end.stalled
    full = Newton(tol=1e-6).solve(problem)
    value = units.value * end.state.dual_value
    assert_allclose(value, full.dual_value, rtol=1e-4)


def slow_settled(gamma, gain, upper):
    """Rows of a soft band that may leave, one after the other while the others can make up."""
    rest = [min(g, upper - g) for g in gamma]
    near = [
        i
        for i in range(len(gamma))
        if rest[i] < 0.1 * upper and (gain[i] < 0 if gamma[i] > 0.5 * upper else gain[i] > 0)
    ]
    settled, spent = np.zeros(len(gamma), dtype=bool), 0.0
    for i in sorted(near, key=lambda i: rest[i]):
        spent += rest[i]
        if spent <= 0.25 * sum(rest):
            settled[i] = True
    return settled


@pytest.mark.parametrize("seed", range(5))
def test_settled_rows_are_those_of_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    gamma, gain = 2.0 * rng.beta(0.2, 0.2, 200), rng.standard_normal(200)
    settled, high = working_set._settled(gamma, gain, 2.0)
    assert_array_equal(settled, slow_settled(gamma, gain, 2.0))
    assert_array_equal(high, gamma > 1.0)
    assert 0 < settled.sum() < 200


@pytest.mark.parametrize("count", [1, 7, 60, 500])
def test_the_largest_scores_are_those_of_a_sort(count):
    score = np.random.default_rng(0).standard_normal(100)
    expected = [i for i in np.argsort(-score) if score[i] > 0][:count]
    assert_array_equal(np.sort(working_set._largest(score, count)), np.sort(expected))


def test_different_rows_are_chosen_one_by_one_each_weighing_down_its_neighbours():
    rng = np.random.default_rng(0)
    score, rows = rng.uniform(-1, 1, 90), rng.standard_normal((90, 5))
    left, expected = np.maximum(score, 0.0), []
    for _ in range(10):
        best = int(np.argmax(left))
        expected.append(best)
        for i in range(90):
            cosine = rows[i] @ rows[best] / np.linalg.norm(rows[i]) / np.linalg.norm(rows[best])
            left[i] *= 1 - 0.999 * min(cosine**2, 1.0)
        left[best] = 0.0
    assert_array_equal(working_set._different(score, rows, 10), expected)


def started(problem, solution):
    fit = evaluate(solution.problem, solution.point)
    return WorkingSet.from_coarse(Normalised.of(problem), np.arange(problem.n), solution, fit)


def test_a_solution_of_the_same_rows_hands_on_its_multipliers():
    problem = problem_with(n=400, training_coverage=0.8, width_weight=100.0)
    start = Newton().solve(problem.variant(width_weight=30.0))
    working = started(problem, start)
    shares = working.multipliers(working.gamma) / problem.multiplier_bound
    known = start.multipliers / start.problem.multiplier_bound
    assert_allclose(shares, known, atol=0.1 + 1e-6)


def test_rows_that_join_a_soft_band_change_little_of_the_multipliers():
    problem = problem_with(n=400, training_coverage=0.8, width_weight=30.0)
    working = started(problem, Newton().solve(problem))
    before, size = working.multipliers(working.gamma), len(working.gamma)
    on_wrong_side = np.full((1, 400), -1.0)
    on_wrong_side[0, working.rows.capped[0]] = 1.0
    joined = working._admit(on_wrong_side, np.ones((1, 400)))
    change = np.abs(working.multipliers(working.gamma) - before)
    assert joined == len(working.gamma) - size >= 50
    assert 0 < change.sum() <= 0.1 * before.sum() * (1 + 1e-9)
    assert change.max() <= 0.1 * problem.multiplier_bound * (1 + 1e-9)
