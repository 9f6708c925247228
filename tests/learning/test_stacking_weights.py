import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from sosbands.learning.stacking_weights import stacking_weights


def predictions(n=200, seed=0):
    """Of three regressors with errors that have something in common, and of one that is useless."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    errors = 0.3 * rng.standard_t(2, size=(n, 1)) + rng.standard_t(2, size=(n, 3)) * [0.4, 0.5, 0.6]
    return np.column_stack([y[:, None] + errors, rng.normal(size=n)]), y


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_are_those_of_a_general_solver(seed, weighted):
    P, y = predictions(seed=seed)
    counts = np.random.default_rng(seed).integers(1, 4, len(y)) if weighted else np.ones(len(y))
    repeated = np.repeat(np.abs(P - y[:, None]), counts.astype(int), axis=0)
    delta = 3 * np.quantile(repeated, 0.5, axis=0, method="inverted_cdf").min()

    def loss(w):
        return np.sum(counts * np.sqrt((P @ w - y) ** 2 + delta**2)) / counts.sum()

    w = stacking_weights(P, y, counts.astype(float) if weighted else None)
    whole = {"type": "eq", "fun": lambda w: w.sum() - 1}
    twin = minimize(
        loss,
        np.full(4, 0.25),
        method="SLSQP",
        bounds=[(0, 1)] * 4,
        constraints=[whole],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert w.min() >= 0
    assert_allclose(w.sum(), 1)
    assert loss(w) <= twin.fun * (1 + 1e-8)
    assert_allclose(w, twin.x, atol=1e-3)


def test_a_wild_row_does_not_decide():
    P, y = predictions()
    expected = stacking_weights(P, y)
    y[0] = 1e9
    assert_allclose(stacking_weights(P, y), expected, atol=0.02)


def test_regressors_that_predict_the_same_share_their_weight():
    P, y = predictions()
    w = stacking_weights(P[:, [0, 1, 0]], y)
    assert_allclose(w[0], w[2], atol=1e-6)
    assert_allclose(w[0] + w[2], stacking_weights(P[:, :2], y)[0], atol=1e-6)


def test_regressors_without_an_error_get_all_the_weight():
    P, y = predictions()
    P[:, 2] = y
    assert_allclose(stacking_weights(P, y), [0, 0, 1, 0], atol=1e-8)
    assert_allclose(stacking_weights(np.column_stack([y, y]), y), [0.5, 0.5])


def test_weights_depend_neither_on_units_nor_on_the_order_of_rows():
    P, y = predictions()
    expected, order = stacking_weights(P, y), np.random.default_rng(0).permutation(len(y))
    assert_allclose(stacking_weights(P[order], y[order]), expected, atol=1e-9)
    assert_allclose(stacking_weights(1e6 * P, 1e6 * y), expected, atol=1e-9)


def test_a_row_that_counts_n_times_is_as_n_rows():
    P, y = predictions()
    counts = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    expected = stacking_weights(P[rows], y[rows])
    assert_allclose(stacking_weights(P, y, counts.astype(float)), expected, atol=1e-9)
    P[counts == 0] = 1e12
    assert_allclose(stacking_weights(P, y, counts.astype(float)), expected, atol=1e-9)
