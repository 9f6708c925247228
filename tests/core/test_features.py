import numpy as np
import pytest
from numpy.testing import assert_allclose

from sosbands.core import expansions
from sosbands.core import features as module
from sosbands.core.features import (
    factorize,
    full_features,
    landmark_features,
    principal_features,
)
from sosbands.core.kernels import Gaussian, Linear, Matern


def inputs(n, d=1, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, d))


@pytest.mark.parametrize(
    ("kernel", "n", "d"),
    [
        (Gaussian(0.3), 200, 1),
        (Gaussian(0.3, offset=2.0), 200, 1),
        (Gaussian((0.5, 2.0)), 300, 2),
        (Matern(1.0, nu=0.5), 60, 2),
        (Linear(1.0), 50, 3),
        (Linear(1.0, offset=1.0), 50, 3),
    ],
    ids=repr,
)
def test_features_reproduce_the_gram_matrix(kernel, n, d):
    X = inputs(n, d)
    made = factorize(kernel, X)
    assert_allclose(made.rows @ made.rows.T, kernel(X, X), atol=1e-8 * kernel.diagonal(X).max())
    assert_allclose(made.features.rows_and_norms(X)[0], made.rows, atol=1e-7)
    assert_allclose(made.squared_norms, (made.rows**2).sum(axis=1))
    assert 0 <= made.trace_residual < 1e-9


def test_new_points_have_the_inner_products_of_the_kernel():
    X, new = inputs(300), inputs(40, seed=1)
    made = factorize(Gaussian(0.3), X)
    gram = made.features.rows_and_norms(new)[0] @ made.rows.T
    assert_allclose(gram, Gaussian(0.3)(new, X), atol=1e-4)


def test_a_smooth_kernel_has_a_rank_that_does_not_grow_with_n():
    ranks = [factorize(Gaussian(0.3), inputs(n)).features.rank for n in (500, 5_000, 50_000)]
    assert max(ranks) <= 24
    assert min(ranks) >= 18


def test_a_linear_kernel_has_the_rank_of_its_inputs():
    assert factorize(Linear(1.0), inputs(40, 3)).features.rank == 3
    assert factorize(Linear(1.0, offset=1.0), inputs(40, 3)).features.rank == 4


def test_rows_outside_the_sample_are_found():
    X = inputs(20_000)
    X[17_001] = 25.0  # alone and far away: hardly ever in a sample of the rows
    made = factorize(Gaussian(0.3), X)
    assert_allclose(made.squared_norms, 1.0, atol=1e-7)
    assert 25.0 in made.features.landmarks


def test_a_capped_rank_reports_what_is_left_out():
    X = inputs(400, 3)
    made = factorize(Gaussian(0.3), X, max_rank=50)
    assert made.features.rank == 50
    left = 1 - np.sum(made.rows**2) / 400
    assert_allclose(made.trace_residual, left)
    assert 0.1 < made.trace_residual < 1


def test_forms_of_new_points_need_no_features(monkeypatch):
    X, rng = inputs(1_000), np.random.default_rng(4)
    features = factorize(Gaussian(0.3), X).features
    factor = np.linalg.cholesky(features.kernel(features.landmarks, features.landmarks))
    phi = features.kernel(X, features.landmarks) @ np.linalg.inv(factor).T
    z, R = rng.standard_normal(features.rank), rng.standard_normal((features.rank, 3))
    monkeypatch.setattr(expansions, "_BLOCK_ENTRIES", 64 * 21)  # many blocks
    assert_allclose(features.rows_and_norms(X)[0], phi, atol=1e-9)
    assert_allclose(features.expansion(z).sums(X), phi @ z, atol=1e-8)
    squares = np.sum((phi @ R) ** 2, axis=1)
    assert_allclose(features.expansion(R).squares(X), squares, rtol=1e-7)


def test_few_features_are_the_principal_directions_of_those_of_more_landmarks():
    X, K = inputs(120, 2), Gaussian(0.5)
    made = principal_features(K, X, rank=12)
    assert made.features.rank == 12
    assert_allclose(made.features.rows_and_norms(X)[0], made.rows, atol=1e-9)
    values = np.linalg.eigvalsh(K(X, X))[::-1]
    # No twelve directions leave out less than the eigenvectors of K; these come near it.
    assert values[12:].sum() / 120 <= made.trace_residual + 1e-12
    assert made.trace_residual < 1.05 * values[12:].sum() / 120
    assert made.trace_residual < factorize(K, X, max_rank=12).trace_residual


def test_few_features_hardly_depend_on_the_order_of_the_rows():
    X, K = inputs(300, 2), Gaussian(0.5)
    one = principal_features(K, X, rank=15).rows
    other = principal_features(K, X[::-1], rank=15).rows[::-1]
    assert_allclose(other @ other.T, one @ one.T, atol=1e-3)


def test_as_many_features_as_a_kernel_needs_are_not_rotated():
    X = inputs(50)
    assert_allclose(
        principal_features(Gaussian(2.0), X, rank=40).rows, factorize(Gaussian(2.0), X).rows
    )


def test_the_default_rank_keeps_memory_bounded():
    assert module._rank_cap(1_000_000, None) * 1_000_000 * 8 <= 2e9
    assert module._rank_cap(1_000, None) == 1_000


def test_landmarks_span_the_features():
    X, landmarks = inputs(100), np.array([[-0.5], [0.0], [0.0], [0.5]])
    made = landmark_features(Gaussian(0.3), X, landmarks)
    assert made.features.rank == 3  # one is there twice
    K, P = Gaussian(0.3), landmarks[[0, 1, 3]]
    nystrom = K(X, P) @ np.linalg.solve(K(P, P), K(P, X))
    assert_allclose(made.rows @ made.rows.T, nystrom, atol=1e-10)


def test_the_full_factor_is_square_and_needs_little_jitter():
    X = inputs(80)
    made = full_features(Gaussian(0.3), X)
    assert made.rows.shape == (80, 80)
    assert_allclose(made.rows @ made.rows.T, Gaussian(0.3)(X, X), atol=1e-6)
    assert made.trace_residual <= 1e-10


@pytest.mark.parametrize("X", [np.zeros((30, 2)), np.repeat(inputs(5), 20, axis=0)])
def test_equal_rows_share_their_features(X):
    made = factorize(Gaussian(0.3), X)
    assert made.features.rank == len(np.unique(X, axis=0))
    assert_allclose(made.rows @ made.rows.T, Gaussian(0.3)(X, X), atol=1e-9)


def test_a_kernel_that_vanishes_gives_a_zero_feature():
    made = factorize(Linear(1.0), np.zeros((5, 2)))
    assert made.rows.shape == (5, 1)
    assert not made.rows.any()


def test_a_rank_cap_below_one_is_refused():
    with pytest.raises(ValueError, match="max_rank must be at least 1, got 0"):
        factorize(Gaussian(1.0), inputs(5), max_rank=0)
