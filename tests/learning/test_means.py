import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsRegressor

from sosbands import BandRegressor
from sosbands.learning.gaussian_process import fit_gaussian_process
from sosbands.learning.means import (
    Affine,
    checked_prediction,
    cross_fitted,
    frozen,
    gaussian_process,
)
from sosbands.learning.settings import BandSettings


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, 5 + 3 * X[:, 0] + rng.normal(size=n)


def settings(**changes):
    return BandSettings.of(BandRegressor(**changes))


def test_units_have_mean_zero_and_variance_one():
    X, _ = rows()
    units = Affine.of(X)
    Z = units(X)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    assert_allclose(Z.std(axis=0), 1)
    assert_allclose(units.undo(Z), X)
    assert_array_equal(Affine.of(X, active=False)(X), X)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1 / 3, 1e17, -1e-300])
def test_constants_become_zero_and_keep_their_unit(constant):
    units = Affine.of(np.full((7, 1), constant))
    assert_allclose(units(np.full((7, 1), constant)), 0, atol=1e-12 * max(1, abs(constant)))
    assert_array_equal(units.undo(units(np.full((7, 1), constant))), constant)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
def test_units_neither_overflow_nor_underflow(size):
    Z = Affine.of(size * np.arange(5.0))(size * np.arange(5.0))
    assert_allclose(Z, (np.arange(5) - 2) / np.sqrt(2), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("standardize", [True, False])
def test_a_kernel_mean_is_that_of_the_process_in_units_of_the_output(standardize):
    X, y = rows()
    found = gaussian_process(
        X, y, settings(mean_lengthscale=0.8, standardize=standardize), folds=None, seed=0
    )
    inputs, outputs = (Affine.of(v, active=standardize) for v in (X, y))
    process = fit_gaussian_process(inputs(X), outputs(y), lengthscale=0.8, random_state=0)
    assert found.process.kernel.lengthscale == 0.8
    assert_allclose(found.mean.values(None, X), outputs.undo(process.mean(inputs(X))))
    assert_allclose(found.predictions, outputs.undo(process.leave_one_out))


def test_lengthscales_of_the_mean_are_one_for_each_input_or_common():
    X, y = rows()
    sizes = {}
    for kind in ("gp", "gp-isotropic"):
        process = gaussian_process(
            X, y, settings(mean_lengthscale=kind), folds=None, seed=0
        ).process
        sizes[kind] = np.size(process.kernel.lengthscale)
    assert sizes == {"gp": 2, "gp-isotropic": 1}


def test_leave_one_out_predictions_do_not_see_their_row():
    X, y = rows()
    fixed = settings(mean_lengthscale=0.8)
    before = gaussian_process(X, y, fixed, folds=None, seed=0)
    assert np.all(np.abs(y - before.predictions) >= np.abs(y - before.mean.values(None, X)))


def test_cross_fitted_predictions_come_from_the_other_folds():
    X, y = rows()
    folds = list(KFold(4).split(X))
    found = cross_fitted(LinearRegression(), X, y, folds, None)
    for train, test in folds:
        expected = LinearRegression().fit(X[train], y[train]).predict(X[test])
        assert_allclose(found.predictions[test], expected)
    assert_allclose(found.mean.values(X, X), LinearRegression().fit(X, y).predict(X))
    assert found.process is None


def test_rows_that_no_fold_holds_out_have_no_prediction():
    X, y = rows()
    folds = list(TimeSeriesSplit(3).split(X))
    predictions = cross_fitted(KNeighborsRegressor(1), X, y, folds, None).predictions
    assert_array_equal(np.isnan(predictions), np.arange(40) < 10)


def test_a_frozen_model_predicts_what_it_does():
    X, y = rows()
    model = LinearRegression().fit(X[:5], y[:5])
    found = frozen(FrozenEstimator(model), X)
    assert_array_equal(found.predictions, model.predict(X))
    assert_array_equal(found.mean.values(X, X), model.predict(X))


def test_predictions_of_lists_and_columns_are_vectors():
    class Column:
        def predict(self, X):
            return [[float(len(row))] for row in X]

    assert_array_equal(checked_prediction(Column(), [[1, 2], [3, 4]]), [2.0, 2.0])


def test_with_folds_a_kernel_mean_does_not_see_the_fold_of_a_row():
    X, y = np.linspace(-1, 1, 40)[:, None], np.sin(3 * np.linspace(-1, 1, 40))
    fixed = settings(mean_lengthscale=0.5, standardize=False)
    parts = [np.arange(20), np.arange(20, 40)]
    folds = [(parts[1], parts[0]), (parts[0], parts[1])]
    before = gaussian_process(X, y, fixed, folds=folds, seed=0).predictions
    changed = y.copy()
    changed[:20] += 5.0
    after = gaussian_process(X, changed, fixed, folds=folds, seed=0).predictions
    assert_allclose(after[:20], before[:20])
    assert not np.allclose(after[20:], before[20:])
