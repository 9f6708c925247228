"""The dual on some rows is the dual of the problem, as dense matrices over all rows say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sosbands import BandProblem, Gaussian, Newton
from sosbands.core.gap import Gaps
from sosbands.core.primal import evaluate, relative_gap, repair
from sosbands.core.solvers.reduction import Reduction, RowRoles
from sosbands.core.solvers.subspace import Cost
from sosbands.core.solvers.units import Normalised
from sosbands.datasets import case

KINDS = pytest.mark.parametrize("joint", [True, False], ids=["joint", "given"])
SIDES = pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "two-sided"])
WEIGHTS = pytest.mark.parametrize("mean_weight", [0.0, 0.7])
THETA = 0.4  # in the units of the solver


def problem_with(*, joint=True, n=24, lengthscale=0.4, **changes):
    X, y = case(1).sample(n, random_state=0)
    settings = {"scale_kernel": Gaussian(lengthscale), "ridge_penalty": 0.3, "mean_weight": 0.7}
    if joint:
        settings |= {"mean_kernel": Gaussian(0.3), "mean_bound": 2.0}
    return BandProblem.from_data(X, 3 * y, **(settings | changes))


def restricted_dual(problem, *, free, capped=0, seed=0):
    """Some rows move, some are at C, at random multipliers: the restriction, its state, and Γ."""
    rng, units = np.random.default_rng(seed), Normalised.of(problem)
    parts = [rng.permutation(problem.n)[: free + capped] for _ in range(problem.sides)]
    roles = RowRoles(tuple(p[:free] for p in parts), tuple(p[free:] for p in parts))
    gamma = rng.uniform(0.1, 0.9, free * problem.sides) * min(units.upper, 2.0)
    restricted = Reduction(units).restrict(roles, gamma, 0.0)
    multipliers = np.zeros((problem.sides, problem.n))
    for side in range(problem.sides):
        multipliers[side, roles.capped[side]] = problem.multiplier_bound
        multipliers[side, roles.free[side]] = gamma[side * free : (side + 1) * free]
    return restricted, restricted.restriction.at(gamma, THETA, 0.0), multipliers


def dense_scale(problem, side, gamma):
    """M = Φᵀ diag(Γ − b/n) Φ − λ₁I, Ω*(M), and A = [M]₊ / (2λ₂)."""
    rows = problem.basis.scales[side].rows
    M = rows.T @ np.diag(gamma - problem.width_weight / problem.n) @ rows
    values, vectors = np.linalg.eigh(M - problem.trace_penalty * np.eye(len(M)))
    positive = np.maximum(values, 0)
    A = vectors @ np.diag(positive) @ vectors.T / (2 * problem.ridge_penalty)
    return A, np.sum(positive**2) / (4 * problem.ridge_penalty)


def dense_mean(problem, multipliers, theta):
    """z from its normal equations."""
    L, y, a = problem.basis.mean.rows, problem.targets, problem.mean_weight / problem.n
    weights = np.full(problem.n, a)
    pull = a * y
    if problem.symmetric:
        weights, pull = weights + multipliers[0], pull + multipliers[0] * y
    else:
        pull = pull + 0.5 * (multipliers[1] - multipliers[0])
    return np.linalg.solve(L.T @ np.diag(weights) @ L + theta * np.eye(L.shape[1]), L.T @ pull)


@SIDES
@KINDS
@WEIGHTS
@pytest.mark.parametrize("capped", [0, 6])
def test_the_restricted_dual_is_the_dual_of_all_rows(
    dual_value, symmetric, joint, mean_weight, capped
):
    coverage = 0.7 if capped else 1.0
    problem = problem_with(
        symmetric=symmetric, joint=joint, mean_weight=mean_weight, training_coverage=coverage
    )
    restricted, state, multipliers = restricted_dual(problem, free=9, capped=capped)
    units = restricted.reduction.units
    theta = units.theta(THETA) if joint else 0.0
    expected = dual_value(problem, problem.basis, multipliers, theta)
    assert_allclose(units.value * state.dual_value, expected, rtol=1e-9)


@SIDES
@KINDS
@pytest.mark.parametrize("capped", [0, 6])
def test_the_band_at_all_rows_is_that_of_dense_matrices(symmetric, joint, capped):
    coverage = 0.7 if capped else 1.0
    problem = problem_with(symmetric=symmetric, joint=joint, training_coverage=coverage)
    restricted, state, multipliers = restricted_dual(problem, free=9, capped=capped)
    fit, r = restricted.fit(state), problem.targets
    if joint:
        theta = restricted.reduction.units.theta(THETA)
        r = r - problem.basis.mean.rows @ dense_mean(problem, multipliers, theta)
    assert_allclose(fit.residuals, r, atol=1e-9)
    for side, part in enumerate(problem.basis.scales):
        A, _ = dense_scale(problem, side, multipliers[side])
        f = np.diag(part.rows @ A @ part.rows.T)
        assert_allclose(fit.scales[side], f, atol=1e-9 * max(f.max(), 1.0))
    again = evaluate(problem, fit.point)
    assert_allclose(fit.residuals, again.residuals, atol=1e-10)
    assert_allclose(fit.scales, again.scales, rtol=1e-9, atol=1e-10)


@SIDES
@KINDS
def test_the_penalty_and_the_gap_are_those_on_all_features(symmetric, joint):
    problem = problem_with(symmetric=symmetric, joint=joint)
    restricted, state, multipliers = restricted_dual(problem, free=20)
    expected = sum(dense_scale(problem, side, g)[1] for side, g in enumerate(multipliers))
    penalty = restricted.penalty(state)
    assert_allclose(penalty, expected, rtol=1e-9)
    assert_allclose(restricted.certified_penalty(state), expected, rtol=1e-9)
    feasible = repair(problem, restricted.fit(state))
    theta = restricted.reduction.units.theta(THETA) if joint else 0.0
    difference = Gaps(problem).between(feasible, multipliers, theta)
    gap = restricted.gap(state, feasible, multipliers, penalty)
    assert_allclose(gap, relative_gap(problem, feasible.value, difference), rtol=1e-7)


@SIDES
@pytest.mark.parametrize(("width_weight", "capped"), [(0.0, 0), (1.0, 0), (10.0, 5)])
def test_many_features_are_compressed_and_certified_on_all_of_them(symmetric, width_weight, capped):
    problem = problem_with(
        n=60,
        joint=False,
        lengthscale=0.02,
        symmetric=symmetric,
        width_weight=width_weight,
        training_coverage=0.9 if capped else 1.0,
    )
    restricted, state, multipliers = restricted_dual(problem, free=6, capped=capped)
    for basis, side in zip(restricted.bases, problem.basis.scales, strict=True):
        assert basis.shape[1] <= 12 + 6 + capped < side.rows.shape[1]
    expected = sum(dense_scale(problem, side, g)[1] for side, g in enumerate(multipliers))
    assert expected > 0
    assert_allclose(restricted.certified_penalty(state), expected, rtol=1e-6)
    fit = restricted.fit(state)
    for side, part in enumerate(problem.basis.scales):
        A, _ = dense_scale(problem, side, multipliers[side])
        f = np.diag(part.rows @ A @ part.rows.T)
        assert_allclose(fit.scales[side], f, atol=1e-4 * f.max())


@SIDES
def test_a_soft_band_of_many_features_is_the_same_in_subspaces(symmetric, monkeypatch):
    X, y = case(4, dimension=5).sample(250, random_state=0)
    problem = BandProblem.from_data(
        X,
        y,
        scale_kernel=Gaussian(0.5),
        width_weight=100.0,
        training_coverage=0.9,
        symmetric=symmetric,
    )
    made, compress = [], Cost.compress
    monkeypatch.setattr(Cost, "compress", lambda *given: made.append(1) or compress(*given))
    monkeypatch.setattr("sosbands.core.solvers.reduction._COMPRESS", 0.5)  # it has few features
    small = Newton(tol=1e-7).solve(problem)
    assert made
    monkeypatch.setattr("sosbands.core.solvers.reduction._COMPRESS", np.inf)
    whole = Newton(tol=1e-7).solve(problem)
    assert small.certificate.status.optimal
    assert_allclose(small.primal_value, whole.primal_value, rtol=3e-7)
    assert_allclose(small.scale(X), whole.scale(X), atol=1e-3 * whole.scale(X).max())


def test_a_mean_that_fits_nothing_else_lies_in_the_span_of_the_free_rows():
    problem = problem_with(mean_kernel=Gaussian(0.02), mean_weight=0.0)
    restricted, state, multipliers = restricted_dual(problem, free=5)
    assert restricted.mean_basis.shape[1] == 5 < problem.basis.mean.rows.shape[1]
    z = dense_mean(problem, multipliers, restricted.reduction.units.theta(THETA))
    assert_allclose(restricted.fit(state).point.z, z, atol=1e-10)


def test_directions_that_only_the_barrier_keeps_alive_can_be_left_out():
    problem = problem_with(joint=False)
    restricted, state, _ = restricted_dual(problem, free=9)
    smoothed = restricted.restriction.at(state.gamma, THETA, 1e-4)
    full, slim = (restricted.fit(smoothed, positive_only=only) for only in (False, True))
    positive = int(np.sum(smoothed.scales[0].eigenvalues > 0))
    assert slim.point.factors[0].shape[1] == positive < full.point.factors[0].shape[1]
    assert np.all(slim.scales <= full.scales)


def test_subspaces_aim_at_the_largest_eigenvalue_when_it_has_moved_far():
    problem = problem_with(joint=False)
    restricted, state, _ = restricted_dual(problem, free=9)
    top, shifts = float(state.scales[0].eigenvalues[-1]), restricted.reduction.shifts
    for before, after in ((top / 5, top), (top / 3, top / 3), (3 * top, 3 * top), (5 * top, top)):
        shifts[0] = before
        restricted.tune_shifts(state)
        assert shifts[0] == after


@pytest.mark.parametrize("changed", [0, 2, 9])
def test_capped_rows_that_change_leave_the_restriction_what_it_is(changed):
    problem = problem_with(joint=False, lengthscale=2.0, training_coverage=0.6)
    units, rows = Normalised.of(problem), np.arange(problem.n)
    roles = [RowRoles((rows[:6],), (rows[start : start + 9],)) for start in (6, 6 + changed)]
    shared, gamma = Reduction(units), np.full(6, 0.5 * units.upper)
    found = [shared.restrict(role, gamma, 0.0) for role in roles][-1]
    afresh = Reduction(units).restrict(roles[-1], gamma, 0.0)
    assert found.bases == (None,)
    base, expected = (one.restriction.scales[0].base for one in (found, afresh))
    assert_allclose(base, expected, rtol=1e-12, atol=1e-12)
