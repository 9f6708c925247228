import numpy as np
import pytest
from numpy.testing import assert_allclose

from sosbands.core.scale_term import ScaleTerm, cauchy_factor


def scale_term(rows=12, features=7, seed=0):
    rng = np.random.default_rng(seed)
    return ScaleTerm(rng.standard_normal((rows, features)), -np.eye(features), ridge=0.7)


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


def test_a_curvature_of_several_blocks_of_rows_is_that_of_all_at_once(monkeypatch):
    term, gamma = scale_term(40, 30), np.random.default_rng(1).uniform(0, 1, 40)
    whole = term.at(gamma, 1e-2)._hadamard_curvature()
    monkeypatch.setattr("sosbands.core.scale_term._BLOCK", 15)
    blocks = term.at(gamma, 1e-2)._hadamard_curvature()
    assert_allclose(blocks, whole, rtol=1e-10, atol=1e-12 * np.diag(whole).max())
    assert_allclose(blocks, blocks.T, rtol=1e-10, atol=1e-12 * np.diag(whole).max())


def test_a_curvature_without_pairs_close_to_none_is_the_same_by_both_ways():
    term, gamma = scale_term(40, 30), np.random.default_rng(1).uniform(0, 1, 40)
    state = term.at(gamma, 1e-4)
    fast, slow = state._hadamard_curvature(0.1, tol=1e-10), state.curvature(0.1)
    assert 0 < np.sum(4 * term.ridge * state.weights <= 0.1 * state.roots) < 30
    assert_allclose(fast, slow, rtol=0, atol=0.02 * np.diag(slow).max())


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
