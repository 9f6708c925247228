import numpy as np
import pytest
from numpy.testing import assert_allclose

from sosbands.core.solvers.subspace import Cost, orthonormal, positive_eigenpairs


def cost_of(size, *, weight=0.05, seed=0):
    features = np.random.default_rng(seed).standard_normal((300, size))
    return Cost(2.0, weight * features.T @ features if weight else None, size)


def dense(cost):
    """N = λ₁I + (b/n)ΦᵀΦ."""
    return cost.trace * np.eye(cost.size) + (0.0 if cost.gram is None else cost.gram)


@pytest.mark.parametrize("weight", [0.0, 0.05])
def test_products_and_solutions_are_those_of_the_dense_matrix(weight):
    cost, V = cost_of(20, weight=weight), np.random.default_rng(1).standard_normal((20, 3))
    N = dense(cost)
    assert_allclose(cost.matrix(), N)
    assert_allclose(cost.apply(V), N @ V, rtol=1e-12)
    for shift in (0.0, 5.0, 0.0):  # the last from the factor that was kept
        assert_allclose(cost.solve(V, shift), np.linalg.solve(N + shift * np.eye(20), V))
    assert_allclose(cost.matrix(), N)


@pytest.mark.parametrize("weight", [0.0, 0.05])
def test_a_subspace_holds_the_positive_eigenvectors(weight):
    rng = np.random.default_rng(2)
    cost, rows, gamma = cost_of(120, weight=weight), rng.standard_normal((8, 120)), np.full(8, 1.5)
    values, vectors = np.linalg.eigh(rows.T @ np.diag(gamma) @ rows - dense(cost))
    wanted = vectors[:, values > 0]
    Q = cost.compress(rows, float(values[-1]), None)
    assert Q.shape[1] <= 16
    assert wanted.shape[1] > 3
    assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-12)
    left_out = wanted - Q @ (Q.T @ wanted)
    assert np.linalg.norm(left_out, axis=0).max() < (0.05 if weight else 1e-12)
    better = cost.compress(rows, float(values[-1]), wanted)
    assert weight == 0 or np.abs(wanted - better @ (better.T @ wanted)).max() < 1e-4


def test_the_davidson_iteration_finds_all_positive_eigenvalues():
    rng = np.random.default_rng(0)
    cost, rows, gamma = cost_of(120), rng.standard_normal((25, 120)), rng.uniform(0, 2, 25)
    M = rows.T @ np.diag(gamma) @ rows - dense(cost)
    expected = np.linalg.eigvalsh(M)
    values, vectors = positive_eigenpairs(cost, rows, gamma, rows.T[:, :3], shift=5.0)
    assert_allclose(np.sort(values), expected[expected > 0], rtol=1e-7)
    assert_allclose(M @ vectors, vectors * values, atol=1e-5)
    assert np.all(np.sort(values) >= expected[expected > 0] - 1e-9)


def test_a_negative_matrix_has_no_positive_eigenvalues():
    rows = np.random.default_rng(0).standard_normal((5, 20))
    values, vectors = positive_eigenpairs(
        cost_of(20), rows, np.full(5, 1e-6), rows.T[:, :0], shift=1.0
    )
    assert values.shape == (0,)
    assert vectors.shape == (20, 0)


def test_dependent_columns_are_dropped_from_a_basis():
    V = np.random.default_rng(0).standard_normal((20, 4))
    Q = orthonormal(np.hstack([V, V @ np.ones((4, 2)), np.zeros((20, 1))]))
    assert Q.shape == (20, 4)
    assert_allclose(Q.T @ Q, np.eye(4), atol=1e-12)
    assert_allclose(Q @ (Q.T @ V), V, atol=1e-10)
