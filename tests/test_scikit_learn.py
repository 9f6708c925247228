"""What scikit-learn asks of every estimator, and what its tools do with this one."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sosbands import BandRegressor, KernelBand
from tests.regressors import regressor

CHEAP = {"symmetric": True, "lengthscale": 1.0, "width_weight": 10.0, "random_state": 0}


def wave(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    return X, np.sin(6 * X[:, 0]) + X[:, 0] * rng.normal(size=n)


@parametrize_with_checks(
    [
        BandRegressor(),
        BandRegressor(None),
        regressor(Ridge(), lengthscale=1.0, symmetric=True, width_weight=10.0),
        regressor(symmetric=False, lengthscale=1.0, width_weight=10.0),
        regressor(calibration="localized", lengthscale=1.0, symmetric=True, width_weight=10.0),
        regressor(
            calibration="cv+",
            cv=3,
            lengthscale=1.0,
            mean_lengthscale=1.0,
            symmetric=True,
            width_weight=10.0,
        ),
        BandRegressor.as_published(band__lengthscale=1.0),
    ],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "rows that are held back at random "
        "calibrate without weights: a repeated row can be on both sides, a weighted one cannot"
    },
)
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


def test_a_clone_has_the_parameters_but_not_what_was_learned():
    X, y = wave()
    model = regressor(Ridge(alpha=3.0), y_min=-50.0, **CHEAP).fit(X, y)
    copy = clone(model)
    parameters, copied = model.get_params(deep=False), copy.get_params(deep=False)
    assert isinstance(copied.pop("estimator"), Ridge)
    band = copied.pop("band")
    assert band is not parameters["band"]
    assert band.get_params() == parameters.pop("band").get_params()
    parameters.pop("estimator")
    assert copied == parameters
    assert not [name for name in vars(copy) if name.endswith("_") or name.startswith("_")]
    assert_array_equal(copy.fit(X, y).predict_interval(X), model.predict_interval(X))


def test_parameters_are_stored_untouched_and_set_by_name():
    band, inner = KernelBand(lengthscale=[1.0, 2.0]), Ridge()
    model = BandRegressor(inner, band=band)
    assert model.band is band
    assert model.estimator is inner
    model.set_params(band__lengthscale=3.0)
    assert model.get_params()["band__lengthscale"] == band.lengthscale == 3.0
    model.set_params(estimator__alpha=7.0, calibration="cv+")
    assert model.get_params()["estimator__alpha"] == inner.alpha == 7.0
    assert model.calibration == "cv+"
    with pytest.raises(ValueError, match="Invalid parameter 'confidence'"):
        model.set_params(confidence=0.9)


def test_fit_leaves_the_parameters_and_the_data_alone():
    X, y = wave()
    X.flags.writeable = y.flags.writeable = False
    inner = Ridge()
    model = regressor(inner, **CHEAP)
    before = model.get_params()
    assert model.fit(X, y) is model
    assert model.get_params() == before
    assert not hasattr(inner, "coef_")


def test_a_grid_search_reaches_the_parameters_of_the_mean():
    X, y = wave()
    search = GridSearchCV(
        regressor(make_pipeline(PolynomialFeatures(5), Ridge()), **CHEAP),
        {"estimator__ridge__alpha": [1e-3, 1e6]},
        cv=3,
    ).fit(X, y)
    assert search.best_params_ == {"estimator__ridge__alpha": 1e-3}
    best = search.best_estimator_
    assert best.estimator_[-1].alpha == 1e-3
    assert best.predict_interval(X).shape == (80, 2)


def test_a_band_is_the_last_step_of_a_pipeline():
    X, y = wave()
    pipeline = make_pipeline(StandardScaler(), regressor(**CHEAP)).fit(X, y)
    assert pipeline.score(X, y) > 0.3
    mean, std = pipeline.predict(X, return_std=True)
    intervals = pipeline[-1].predict_interval(pipeline[:-1].transform(X))
    assert np.all((intervals[:, 0] <= mean) & (mean <= intervals[:, 1]))
    assert np.all(std >= 0)


def test_a_pipeline_that_makes_frames_keeps_their_names():
    X, y = wave()
    pipeline = make_pipeline(StandardScaler(), regressor(Ridge(), **CHEAP))
    pipeline.set_output(transform="pandas").fit(pd.DataFrame(X, columns=["time"]), y)
    assert_array_equal(pipeline[-1].feature_names_in_, ["time"])


def test_cross_validation_and_target_transformers_accept_a_band():
    X, y = wave()
    model = regressor(**CHEAP)
    assert is_regressor(model)
    assert cross_val_score(model, X, y, cv=3).shape == (3,)
    assert np.all(np.isfinite(cross_val_predict(model, X, y, cv=3)))
    wrapped = TransformedTargetRegressor(model, transformer=StandardScaler()).fit(X, y)
    assert wrapped.score(X, y) > 0.3


@pytest.mark.parametrize("calibration", ["split", "cv+", "localized"])
def test_a_pickled_model_predicts_the_same(calibration):
    X, y = wave()
    model = regressor(calibration=calibration, cv=3, **CHEAP).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_interval(X, [0.5, 0.9]), model.predict_interval(X, [0.5, 0.9]))


def test_the_score_is_that_of_the_mean():
    X, y = wave()
    model = regressor(**CHEAP).fit(X, y)
    residual = y - model.predict(X)
    assert_allclose(model.score(X, y), 1 - np.sum(residual**2) / np.sum((y - y.mean()) ** 2))
