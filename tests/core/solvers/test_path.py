import numpy as np
import pytest
from numpy.testing import assert_allclose

from sosbands.core.solvers import path


@pytest.mark.parametrize("spread", [0, 4, 9])
def test_the_low_rank_direction_agrees_with_a_dense_solve(spread):
    rng = np.random.default_rng(0)
    F, gradient = rng.standard_normal((1_000, 12)), rng.standard_normal(1_000)
    diagonal = 10.0 ** rng.uniform(-1, spread, 1_000)
    direction = path._low_rank_direction(F, diagonal, gradient)
    dense = np.linalg.solve(F @ F.T + np.diag(diagonal), -gradient)
    assert_allclose(direction, dense, rtol=1e-6, atol=1e-9 * np.abs(dense).max())


def test_rows_with_hardly_any_barrier_keep_their_digits():
    rng = np.random.default_rng(1)
    F, gradient = rng.standard_normal((1_000, 12)), rng.standard_normal(1_000)
    diagonal = np.full(1_000, 1e3)
    diagonal[:8] = 1e-12  # fewer than columns, so that the system stays regular without them
    direction = path._low_rank_direction(F, diagonal, gradient)
    left = F @ (F.T @ direction) + diagonal * direction + gradient
    assert np.abs(left).max() < 1e-8


def test_a_direction_without_stiff_rows_agrees_with_a_dense_solve():
    rng = np.random.default_rng(2)
    F, gradient = rng.standard_normal((1_000, 12)), rng.standard_normal(1_000)
    diagonal = np.full(1_000, 1e6)
    direction = path._low_rank_direction(F, diagonal, gradient)
    assert_allclose(direction, np.linalg.solve(F @ F.T + np.diag(diagonal), -gradient), rtol=1e-6)


def test_a_matrix_that_rounding_makes_indefinite_is_solved_with_a_little_more_diagonal():
    """Of ones, whose Cholesky factor does not exist; the half that the failure leaves counts."""
    H, right = np.ones((4, 4)), np.ones(4)
    found = path._solve(H.copy(), right)
    assert_allclose(H @ found, right, rtol=1e-3)
    assert path._solve(-np.eye(3), np.ones(3)) is None


def test_a_solve_leaves_the_right_side_as_it_is():
    rng = np.random.default_rng(0)
    F, right = rng.normal(size=(6, 9)), rng.normal(size=6)
    H, kept = F @ F.T, right.copy()
    assert_allclose(path._solve(H.copy(), right), np.linalg.solve(H, right), rtol=1e-10)
    assert np.array_equal(right, kept)
