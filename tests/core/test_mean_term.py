import numpy as np
import pytest
from numpy.testing import assert_allclose

from sosbands.core.mean_term import GivenMean, JointMean
from sosbands.core.spectrum import matrix_root

SIDES = pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "two-sided"])


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
