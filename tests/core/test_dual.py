import numpy as np
import pytest
from numpy.testing import assert_allclose

from sosbands.core.dual import (
    GivenMean,
    JointMean,
    ScaleTerm,
    cauchy_factor,
    dual_value,
    matrix_root,
    spectrum,
)
from sosbands.core.kernels import Gaussian
from sosbands.core.problem import BandProblem
from sosbands.datasets import case

SIDES = pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "two-sided"])


def scale_term(rows=12, features=7, seed=0):
    rng = np.random.default_rng(seed)
    return ScaleTerm(rng.standard_normal((rows, features)), -np.eye(features), ridge=0.7)


def joint_mean(symmetric, rows=9, p=4, seed=0):
    rng = np.random.default_rng(seed)
    L, y = rng.standard_normal((rows, p)), rng.standard_normal(rows)
    gram, linear, value = 0.3 * L.T @ L, 0.3 * L.T @ y, 0.3 * float(y @ y)
    signs = None if symmetric else np.where(np.arange(rows) % 2, 1.0, -1.0)
    root = matrix_root(gram)
    return JointMean(L, y, signs, root, linear, value, 2.0, 1e-3, gram, linear, value)


def numerical_gradient(function, x, step=1e-6):
    shifts = step * np.eye(len(x))
    return np.array([(function(x + e) - function(x - e)) / (2 * step) for e in shifts])


def smoothed_penalty(term, gamma, mu):
    """max over A of ⟨M, A⟩ − λ₂‖A‖² + μ log det A, up to a constant, eigenvalue by eigenvalue."""
    state = term.at(gamma, mu)
    alpha = state.weights
    return float(np.sum(alpha * state.eigenvalues - term.ridge * alpha**2 + mu * np.log(alpha)))


@pytest.mark.parametrize("mu", [1e-2, 1.0])
def test_scale_values_are_the_gradient_of_the_smoothed_penalty(mu):
    term, gamma = scale_term(), np.random.default_rng(1).uniform(0, 1, 12)
    slope = numerical_gradient(lambda g: smoothed_penalty(term, g, mu), gamma)
    assert_allclose(term.at(gamma, mu).values, slope, rtol=1e-6)


def test_without_smoothing_a_is_the_positive_part_of_m():
    term, gamma = scale_term(), np.random.default_rng(1).uniform(0, 1, 12)
    M = term.rows.T @ np.diag(gamma) @ term.rows + term.base
    values, vectors = np.linalg.eigh(M)
    A = vectors @ np.diag(np.maximum(values, 0)) @ vectors.T / (2 * term.ridge)
    state = term.at(gamma)
    assert_allclose(state.factor @ state.factor.T, A, atol=1e-12)
    assert_allclose(state.values, np.diag(term.rows @ A @ term.rows.T), atol=1e-12)
    assert_allclose(state.penalty, np.sum(np.maximum(values, 0) ** 2) / (4 * term.ridge))


@pytest.mark.parametrize("mu", [1e-3, 1.0])
def test_scale_curvature_is_the_derivative_of_the_values(mu):
    term, gamma = scale_term(), np.random.default_rng(1).uniform(0, 1, 12)
    slope = numerical_gradient(lambda g: term.at(g, mu).values, gamma)
    assert_allclose(term.at(gamma, mu).curvature(), slope, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mu", [1e-6, 1e-2, 10.0])
def test_the_hadamard_curvature_agrees_with_the_pairwise_one(mu):
    term, gamma = scale_term(40, 30), np.random.default_rng(1).uniform(0, 1, 40)
    state = term.at(gamma, mu)
    factor = state.curvature_factor()
    assert factor.shape == (40, state.pairs)
    slow = factor @ factor.T
    fast = state._hadamard_curvature(tol=1e-10)
    assert_allclose(fast, slow, rtol=1e-6, atol=1e-8 * np.diag(slow).max())
    assert_allclose(state._hadamard_curvature(), slow, rtol=0.1, atol=0.02 * np.diag(slow).max())


def test_the_cauchy_factor_has_few_columns():
    s = np.geomspace(1e-6, 1e3, 300)
    E = cauchy_factor(s, 1e-8)
    assert E.shape[1] < 60
    assert_allclose((E @ E.T) * np.add.outer(s, s), 1.0, atol=1e-3)


def test_suboptimality_is_the_primal_dual_difference_of_the_scale():
    term, gamma = scale_term(), np.random.default_rng(1).uniform(0, 1, 12)
    state = term.at(gamma, 0.1)
    M = term.rows.T @ np.diag(gamma) @ term.rows + term.base
    A = state.factor @ state.factor.T
    difference = term.ridge * np.sum(A**2) - np.sum(M * A) + state.penalty
    assert_allclose(state.suboptimality, difference, rtol=1e-10)


@SIDES
def test_the_mean_minimises_its_lagrangian(symmetric):
    term, theta = joint_mean(symmetric), 0.6
    gamma = np.random.default_rng(2).uniform(0, 1, 9)
    state = term.at(gamma, theta)

    def lagrangian(z):
        r = term.targets - term.rows @ z
        needed = r**2 if symmetric else term.signs * r
        fit = 0.3 * float((term.targets - term.rows @ z) @ (term.targets - term.rows @ z))
        return fit + gamma @ needed + (theta + 1e-3) * (z @ z - term.bound)

    assert_allclose(state.value, lagrangian(state.z), rtol=1e-10)
    assert_allclose(numerical_gradient(lagrangian, state.z), 0, atol=1e-7)
    assert_allclose(state.fit, 0.3 * np.sum((term.targets - term.rows @ state.z) ** 2))


@SIDES
def test_the_gradient_of_the_mean_part_is_requirement_and_ball(symmetric):
    term = joint_mean(symmetric)
    point = np.append(np.random.default_rng(2).uniform(0.1, 1, 9), 0.6)
    state = term.at(point[:9], point[9])
    slope = numerical_gradient(lambda u: term.at(u[:9], u[9]).value, point)
    assert_allclose(slope[:9], state.requirements, rtol=1e-6, atol=1e-8)
    assert_allclose(slope[9], -state.slack, rtol=1e-6)


@SIDES
def test_the_curvature_of_the_mean_part_matches_differences(symmetric):
    term = joint_mean(symmetric)
    point = np.append(np.random.default_rng(2).uniform(0.1, 1, 9), 0.6)

    def gradient(u):
        state = term.at(u[:9], u[9])
        return np.append(state.requirements, -state.slack)

    factor = term.at(point[:9], point[9]).curvature_factor()
    assert_allclose(factor @ factor.T, -numerical_gradient(gradient, point), rtol=1e-5, atol=1e-8)


def test_a_given_mean_is_linear():
    term = GivenMean(np.array([1.0, 4.0]), base_value=0.5, fit=0.5)
    assert_allclose(term.at(np.array([2.0, 1.0]), 0.0).value, 6.5)
    assert term.at(np.ones(2), 0.0).curvature_factor() is None


@SIDES
@pytest.mark.parametrize("joint", [True, False], ids=["joint", "given"])
def test_the_dual_value_is_below_the_lagrangian_at_any_point(symmetric, joint):
    X, y = case(1).sample(25, random_state=0)
    mean = {"mean_kernel": Gaussian(0.3), "mean_bound": 2.0} if joint else {"mean": np.sin(X[:, 0])}
    problem = BandProblem.from_data(
        X, y, scale_kernel=Gaussian(0.4), mean_weight=0.5, symmetric=symmetric, **mean
    )
    rng = np.random.default_rng(3)
    multipliers, theta = rng.uniform(0, 0.2, (problem.sides, 25)), 0.3 if joint else 0.0
    lower = dual_value(problem, problem.basis, multipliers, theta)
    for _ in range(20):
        r = problem.targets
        ball = 0.0
        if joint:
            z = 0.3 * rng.standard_normal(problem.basis.mean.rows.shape[1])
            r, ball = r - problem.basis.mean.rows @ z, theta * (z @ z - 2.0)
        needed = [r**2] if symmetric else [-r, r]
        total = 0.5 / 25 * (r @ r) + ball
        for part, requirement, gamma in zip(problem.basis.scales, needed, multipliers, strict=True):
            R = 0.3 * rng.standard_normal((part.rows.shape[1], 3))
            f, A = np.sum((part.rows @ R) ** 2, axis=1), R @ R.T
            total += 10.0 / 25 * f.sum() + np.trace(A) + np.sum(A**2)
            total += gamma @ (requirement - f)
        assert lower <= total


def test_a_matrix_that_defeats_divide_and_conquer_is_decomposed_all_the_same(monkeypatch):
    def defeated(_):
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    M = np.random.default_rng(0).standard_normal((6, 6))
    M = M + M.T
    monkeypatch.setattr(np.linalg, "eigh", defeated)
    values, vectors = spectrum(M)
    assert_allclose((vectors * values) @ vectors.T, M, atol=1e-12)
