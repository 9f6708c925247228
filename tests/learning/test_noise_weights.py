import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import ExtraTreesRegressor

from sosbands.learning.fit_parameters import FitParameters
from sosbands.learning.noise_weights import noise_weights

NOTHING = FitParameters()


@pytest.fixture
def rows():
    """Errors that are five times as large where x > 0.5."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(400, 1))
    folds = [
        (np.flatnonzero(np.arange(400) % 4 != k), np.flatnonzero(np.arange(400) % 4 == k))
        for k in range(4)
    ]
    return x, np.where(x[:, 0] > 0.5, 5.0, 1.0) * rng.normal(size=400), folds


def test_rows_count_less_where_errors_are_large(rows):
    x, errors, folds = rows
    weights = noise_weights(x, errors, folds, NOTHING).weights
    ratio = np.median(weights[x[:, 0] < 0.45]) / np.median(weights[x[:, 0] > 0.55])
    assert 3 < ratio < 7


def test_weights_are_one_by_the_guess_of_trees_without_the_fold(rows):
    x, errors, folds = rows
    sizes = np.empty(len(x))
    for train, test in folds:
        trees = ExtraTreesRegressor(40, min_samples_leaf=10, random_state=0)
        trees.fit(x[train], np.abs(errors[train]) ** 0.5)
        sizes[test] = trees.predict(x[test]) ** 2
    found = noise_weights(x, errors, folds, NOTHING).weights
    wanted = np.median(sizes) / np.maximum(sizes, 0.2 * np.median(sizes))
    assert_allclose(found, wanted, atol=2.0**-11)


def test_the_error_of_a_row_does_not_change_its_own_weight(rows):
    x, errors, folds = rows
    wild = np.where(np.arange(400) == 7, 1e3, errors)
    told = [noise_weights(x, e, folds, NOTHING).weights for e in (errors, wild)]
    medians = [np.median(w) for w in told]
    # But for the unit: one by the median guess.
    assert told[1][7] / medians[1] == pytest.approx(told[0][7] / medians[0], rel=0.1)


def test_the_unit_of_errors_does_not_matter(rows):
    x, errors, folds = rows
    told = [noise_weights(x, unit * errors, folds, NOTHING).weights for unit in (1.0, 2.0**30)]
    assert_array_equal(*told)


def test_no_row_is_left_out_however_noisy_and_none_counts_for_many(rows):
    x, errors, folds = rows
    wild = np.where(x[:, 0] > 0.8, 1e9, errors)
    weights = noise_weights(x, wild, folds, NOTHING).weights
    assert weights.min() > 0
    assert weights.max() <= 5


def test_weights_that_rows_have_are_multiplied(rows):
    x, errors, folds = rows
    given = FitParameters.of_weights(np.full(400, 2.0))
    told = noise_weights(x, errors, folds, given)
    assert_array_equal(told.weights, 2 * noise_weights(x, errors, folds, NOTHING).weights)
    assert_array_equal(told.passed["sample_weight"], told.weights)


def test_exact_predictions_leave_weights_as_they_are(rows):
    x, errors, folds = rows
    assert noise_weights(x, 0 * errors, folds, NOTHING) is NOTHING


def test_a_row_that_no_fold_holds_out_counts_as_a_typical_one(rows):
    x, errors, folds = rows
    weights = noise_weights(x, errors, folds[1:], NOTHING).weights
    assert_array_equal(weights[folds[0][1]], 1)
