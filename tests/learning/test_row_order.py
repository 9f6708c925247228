import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import BaseCrossValidator

from sosbands.learning.row_order import graded, row_order
from tests.regressors import regressor


def table(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    Z = np.round(rng.normal(size=(n, d)), 1)
    return Z, np.round(rng.normal(size=n), 1), rng.normal(size=n), rng.integers(0, 5, n)


def ordered(Z, y, predictions, folds):
    order = row_order(Z, y, predictions, folds)
    return Z[order], y[order], predictions[order], folds[order]


def test_rows_that_are_shuffled_come_into_the_same_order():
    rows = table()
    expected = ordered(*rows)
    for seed in range(5):
        mixed = np.random.default_rng(seed).permutation(60)
        for found, part in zip(ordered(*(v[mixed] for v in rows)), expected, strict=True):
            assert_array_equal(found, part)


def test_every_row_is_there_once_and_outputs_ascend():
    Z, y, predictions, folds = table()
    order = row_order(Z, y, predictions, folds)
    assert_array_equal(np.sort(order), np.arange(60))
    assert np.all(np.diff(y[order]) >= 0)


def test_neither_the_order_of_columns_nor_rounding_matters():
    Z, y, predictions, folds = table()
    expected = row_order(Z, y, predictions, folds)
    assert_array_equal(row_order(Z[:, [2, 0, 1]], y, predictions, folds), expected)
    rng = np.random.default_rng(1)
    jittered = Z * (1 + 1e-15 * rng.normal(size=Z.shape)), y * (1 + 1e-15 * rng.normal(size=60))
    assert_array_equal(row_order(*jittered, predictions, folds), expected)


def test_missing_predictions_come_last_among_equals():
    Z, y = np.zeros((4, 1)), np.zeros(4)
    order = row_order(Z, y, np.array([np.nan, 2.0, 1.0, np.nan]), np.array([1, 0, 0, 0]))
    assert_array_equal(order, [2, 1, 3, 0])


@pytest.mark.parametrize(
    ("values", "ranks"),
    [
        ([3.0, 1.0, 2.0, 1.0], [2, 0, 1, 0]),
        ([1.0, 1.0 + 1e-14, 5.0], [0, 0, 1]),
        ([np.nan, 0.0, 7.0], [2, 0, 1]),
        ([np.nan, np.nan], [0, 0]),
        ([4.0], [0]),
    ],
)
def test_ranks_are_among_distinct_values(values, ranks):
    assert_array_equal(graded(np.array(values)), ranks)


class ByInput(BaseCrossValidator):
    """Folds that follow from what the rows hold, not from where they are."""

    def get_n_splits(self, X=None, y=None, groups=None):
        return 3

    def _iter_test_masks(self, X=None, y=None, groups=None):
        part = np.floor(1e6 * np.asarray(X)[:, 0]).astype(int) % 3
        return (part == fold for fold in range(3))


@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_a_band_does_not_depend_on_the_order_of_its_rows(estimator):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(150, 2))
    y = X[:, 0] + (0.1 + X[:, 1]) * rng.normal(size=150)
    model = regressor(estimator, calibration=None, cv=ByInput(), random_state=0)
    expected = model.fit(X, y).predict_scale(X)
    mixed = rng.permutation(150)
    assert_allclose(model.fit(X[mixed], y[mixed]).predict_scale(X), expected, rtol=1e-6)
