import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor

from tests.estimator.models import MODES, Spy, band, wave


@pytest.mark.counts_looks
def test_residuals_are_out_of_fold_and_calibration_rows_train_nothing():
    X, y = wave(50)
    Spy.diary.clear()
    band(Spy(), cv=5, calibration_size=20).fit(X, y)
    assert all(trained.isdisjoint(predicted) for trained, predicted in Spy.diary)
    learned = set.union(*(trained for trained, _ in Spy.diary))
    assert len(learned) == 30
    *folds, (trained, predicted) = Spy.diary
    assert len(folds) == 5
    assert set.union(*(predicted for _, predicted in folds)) == learned == trained
    assert predicted == set(X[:, 0]) - learned


def test_a_mean_that_interpolates_does_not_get_a_band_of_no_width():
    X, y = wave()
    model = band(KNeighborsRegressor(1)).fit(X, y)
    assert np.mean(model.predict_scale(X)) > 0.3 * np.std(y)


@pytest.mark.parametrize("calibration", MODES)
def test_the_prediction_is_that_of_the_estimator_on_all_pre_training_rows(calibration):
    X, y = wave()
    model = band(Ridge(alpha=0.1), calibration=calibration, cv=3).fit(X, y)
    assert_array_equal(model.predict(X), model.estimator_.predict(X))
    assert model.estimator_ is not model.estimator
    if calibration == "cv+":
        assert_allclose(model.predict(X), Ridge(alpha=0.1).fit(X, y).predict(X))


def test_predictions_of_one_column_count_as_a_vector():
    X, y = wave()

    class Column(LinearRegression):
        def predict(self, X):
            return super().predict(X)[:, None]

    assert_array_equal(
        band(Column()).fit(X, y).predict_interval(X),
        band(LinearRegression()).fit(X, y).predict_interval(X),
    )


def test_a_frozen_model_is_not_fitted_again_and_comes_with_a_warning():
    X, y = wave()
    inner = Ridge().fit(*wave(30, seed=9))
    coefficients = inner.coef_.copy()
    with pytest.warns(UserWarning, match="frozen: the rows that trained it must not") as caught:
        model = band(FrozenEstimator(inner)).fit(X, y)
    assert len(caught) == 1
    assert_array_equal(inner.coef_, coefficients)
    assert_array_equal(model.predict(X), inner.predict(X))


def test_the_scale_sees_the_prediction_unless_it_weighs_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    signal = X.sum(axis=1)
    y = signal + np.exp(signal / 2) * rng.normal(size=200)
    # Of the inputs alone the scale would be as good as constant.
    settings = {"lengthscale": [1e3] * 3, "difficulty": None, "calibration": None}
    blind = band(LinearRegression(), prediction_weight=0.0, **settings).fit(X, y)
    seeing = band(LinearRegression(), prediction_weight=1.0, **settings).fit(X, y)
    scales = blind.predict_scale(X), seeing.predict_scale(X)
    assert np.ptp(scales[0]) < 0.1 * scales[0].mean()
    assert np.corrcoef(scales[1], np.exp(signal / 2))[0, 1] > 0.7
