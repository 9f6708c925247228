"""Problems in the units of the solver are the same problems, as loops and dense matrices say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sosbands import BandProblem, Gaussian, Linear
from sosbands.core.primal import evaluate, primal_value
from sosbands.core.solvers.units import Normalised
from sosbands.datasets import case

KINDS = pytest.mark.parametrize("joint", [True, False], ids=["joint", "given"])
SIDES = pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "two-sided"])


def problem_with(*, symmetric=True, joint=True, scale_kernel=None, **changes):
    X, y = case(1).sample(30, random_state=0)
    settings = {
        "scale_kernel": scale_kernel or Gaussian(0.4),
        "mean_weight": 0.7,
        "width_weight": 3.0,
        "trace_penalty": 0.5,
        "ridge_penalty": 0.2,
        "symmetric": symmetric,
    }
    if joint:
        settings |= {"mean_kernel": Gaussian(0.3), "mean_bound": 250.0}
    return BandProblem.from_data(X, 40 * y, **(settings | changes))


def random_coefficients(units, seed=0):
    rng = np.random.default_rng(seed)
    z = None if units.mean_rows is None else rng.standard_normal(units.mean_rows.shape[1])
    return z, [rng.standard_normal((side.rows.shape[1], 2)) for side in units.scales]


def objective(units, z, factors):
    """The objective as the module's docstring states it, row by row."""
    r = units.targets if z is None else units.targets - units.mean_rows @ z
    total = units.fit_weight * sum(ri**2 for ri in r)
    for side, sign, R in zip(units.scales, units.problem.signs, factors, strict=True):
        A = R @ R.T
        total += side.trace * np.trace(A) + side.ridge * np.sum(A**2)
        for row, ri in zip(side.rows, r, strict=True):
            f, needed = row @ A @ row, sign * ri if sign else ri**2
            total += units.width_weight * f
            total += units.upper * max(needed - f, 0.0) if units.problem.soft else 0.0
    return total


@SIDES
@KINDS
@pytest.mark.parametrize("coverage", [1.0, 0.8])
@pytest.mark.parametrize("kernel", [Gaussian(0.4), Linear(1e-3, offset=50.0)], ids=["", "large"])
def test_the_objective_is_that_of_the_problem_in_other_units(symmetric, joint, coverage, kernel):
    problem = problem_with(
        symmetric=symmetric, joint=joint, training_coverage=coverage, scale_kernel=kernel
    )
    units = Normalised.of(problem)
    z, factors = random_coefficients(units)
    raw = primal_value(problem, evaluate(problem, units.point(z, factors))).total
    assert_allclose(units.value * objective(units, z, factors), raw, rtol=1e-10)


@SIDES
@KINDS
def test_fewer_rows_than_features_are_rotated_into_their_span(symmetric, joint):
    problem = problem_with(symmetric=symmetric, joint=joint, scale_kernel=Gaussian(0.05))
    part = problem.subset(np.arange(0, 30, 4))
    units = Normalised.of(part)
    for side, own in zip(units.scales, part.basis.scales, strict=True):
        assert own.rows.shape[1] > side.rows.shape[1] == part.n
        assert_allclose(side.rows @ side.rows.T, own.rows @ own.rows.T, atol=1e-12)
    z, factors = random_coefficients(units)
    raw = primal_value(part, evaluate(part, units.point(z, factors))).total
    assert_allclose(units.value * objective(units, z, factors), raw, rtol=1e-10)


@SIDES
def test_residuals_and_scales_come_back_as_at_the_point(symmetric):
    problem = problem_with(symmetric=symmetric)
    units = Normalised.of(problem)
    z, factors = random_coefficients(units)
    parts = zip(units.scales, factors, strict=True)
    scales = [np.diag(side.rows @ R @ R.T @ side.rows.T) for side, R in parts]
    residuals = units.targets - units.mean_rows @ z
    back = units.fit(units.point(z, factors), residuals, np.stack(scales))
    fit = evaluate(problem, units.point(z, factors))
    assert_allclose(back.residuals, fit.residuals, rtol=1e-10)
    assert_allclose(back.scales, fit.scales, rtol=1e-10)


@SIDES
def test_the_ball_and_its_multiplier_change_units_together(symmetric):
    problem = problem_with(symmetric=symmetric, mean_kernel=Linear(1e-3))
    units = Normalised.of(problem)
    assert units.mean_back.kappa > 10
    z, factors = random_coefficients(units)
    raw = units.point(z, factors).z
    assert_allclose(z @ z / units.bound, raw @ raw / problem.mean_bound, rtol=1e-12)
    # θ(‖z‖² − s) is part of the Lagrangian, and so in units of the objective.
    paid = units.value * 0.3 * (z @ z - units.bound)
    assert_allclose(units.theta(0.3) * (raw @ raw - problem.mean_bound), paid, rtol=1e-12)
    assert_allclose(units.own_theta(units.theta(0.3)), 0.3, rtol=1e-14)


def test_features_and_outputs_have_size_one():
    units = Normalised.of(problem_with(scale_kernel=Linear(1e-3), mean_kernel=Linear(1e3)))
    assert_allclose(np.mean(units.targets**2), 1.0)
    for rows in (units.mean_rows, units.scales[0].rows):
        assert_allclose(np.mean(np.sum(rows**2, axis=1)), 1.0)


def test_a_ridge_that_rounding_would_lose_is_raised():
    problem = problem_with(ridge_penalty=1e-15)
    assert not Normalised.of(problem).perturbed
    units = Normalised.of(problem, least_ridge=1e-8)
    assert units.perturbed
    assert_allclose(units.scales[0].ridge, 1e-8 * (units.scales[0].trace + 3.0))
    assert not Normalised.of(problem_with(), least_ridge=1e-8).perturbed


def test_outputs_of_zero_keep_their_unit():
    problem = BandProblem.from_data(np.arange(5.0), np.zeros(5), scale_kernel=Gaussian())
    assert Normalised.of(problem).t == 1.0
