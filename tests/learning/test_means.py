import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsRegressor

from sosbands import KernelMean
from sosbands.learning.means import checked_prediction, given_mean, kernel_mean


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, 5 + 3 * X[:, 0] + rng.normal(size=n)


def test_a_kernel_mean_comes_with_its_process_and_predicts_what_the_band_sees():
    X, y = rows()
    found = kernel_mean(KernelMean(lengthscale=0.8), X, y, folds=None, seed=0)
    alone = KernelMean(lengthscale=0.8, random_state=0).fit(X, y)
    assert_array_equal(found.mean(None, X), alone.predict(X))
    assert_array_equal(found.predictions, alone.held_out(X, y, None))
    assert found.process is found.mean.model.process_


def test_the_seed_is_that_of_the_band_unless_the_kernel_mean_has_one():
    X, y = rows()
    for given, seed in ((None, 3), (7, 7)):
        model = KernelMean(random_state=given)
        found = kernel_mean(model, X, y, folds=None, seed=3)
        assert found.mean.model.random_state == seed
        assert model.random_state is given
        assert not hasattr(model, "process_")


def test_cross_fitted_predictions_come_from_the_other_folds():
    X, y = rows()
    folds = list(KFold(4).split(X))
    found = given_mean(LinearRegression(), X, y, folds=folds, n_jobs=None)
    for train, test in folds:
        expected = LinearRegression().fit(X[train], y[train]).predict(X[test])
        assert_allclose(found.predictions[test], expected)
    assert_allclose(found.mean(X, X), LinearRegression().fit(X, y).predict(X))
    assert found.process is None


def test_a_given_mean_sees_the_rows_of_the_user_and_not_what_the_band_sees():
    X, y = rows()
    folds = list(KFold(2).split(X))
    found = given_mean(LinearRegression(), X, y, folds=folds, n_jobs=None)
    assert_array_equal(found.mean(X, np.zeros((40, 1))), found.mean.model.predict(X))


def test_rows_that_no_fold_holds_out_have_no_prediction():
    X, y = rows()
    folds = list(TimeSeriesSplit(3).split(X))
    model = KNeighborsRegressor(1)
    predictions = given_mean(model, X, y, folds=folds, n_jobs=None).predictions
    assert_array_equal(np.isnan(predictions), np.arange(40) < 10)
    own = kernel_mean(KernelMean(lengthscale=0.8), X, y, folds=folds, seed=0).predictions
    assert_array_equal(np.isnan(own), np.arange(40) < 10)


def test_a_frozen_model_predicts_what_it_does():
    X, y = rows()
    model = LinearRegression().fit(X[:5], y[:5])
    found = given_mean(FrozenEstimator(model), X, y, folds=[], n_jobs=None)
    assert_array_equal(found.predictions, model.predict(X))
    assert_array_equal(found.mean(X, X), model.predict(X))


def test_predictions_of_lists_and_columns_are_vectors():
    class Column:
        def predict(self, X):
            return [[float(len(row))] for row in X]

    assert_array_equal(checked_prediction(Column(), [[1, 2], [3, 4]]), [2.0, 2.0])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (np.zeros((3, 2)), r"Told predicted an array of shape \(3, 2\) for 3 rows"),
        ([1.0, np.nan, np.inf], "Told predicted NaN or infinity for 2 of 3 rows"),
        (["a", "b", "c"], "the prediction of Told is not numeric"),
    ],
)
def test_what_is_no_prediction_is_refused(made, message):
    class Told:
        def predict(self, X):
            return made

    with pytest.raises(ValueError, match=message):
        checked_prediction(Told(), np.zeros((3, 1)))
