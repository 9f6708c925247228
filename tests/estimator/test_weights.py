"""Weights of rows, and parameters that `fit` passes on, with metadata routing and without."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit, cross_validate
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sosbands import KernelMean, interval_scorer, load, save
from sosbands.learning.folds import calibration_split
from tests.regressors import regressor

CHEAP = {"symmetric": True, "lengthscale": 1.0, "width_weight": 10.0, "random_state": 0}


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def two_kinds(n=120, seed=0):
    """Rows of two lines, of which the second is noisy and has little weight."""
    rng = np.random.default_rng(seed)
    X, second = rng.uniform(size=(n, 1)), np.arange(n) % 2 == 1
    noise = rng.normal(size=n)
    y = np.where(second, 3 - 3 * X[:, 0] + 2 * noise, 2 * X[:, 0] + 0.1 * noise)
    return X, y, np.where(second, 0.01, 1.0)


@pytest.mark.parametrize("mean", [None, Ridge(), HistGradientBoostingRegressor(max_iter=5)])
@pytest.mark.parametrize("calibration", ["split", "cv+", None])
def test_weights_count_in_the_mean_and_in_the_band(mean, calibration):
    X, y, w = two_kinds()
    model = regressor(mean, calibration=calibration, cv=3, **CHEAP)
    plain, weighted = clone(model).fit(X, y), clone(model).fit(X, y, sample_weight=w)
    first = w == 1
    assert np.mean((y - weighted.predict(X))[first] ** 2) < 0.5 * np.mean(
        (y - plain.predict(X))[first] ** 2
    )
    assert weighted.predict_scale(X).mean() < 0.7 * plain.predict_scale(X).mean()


def test_the_calibration_does_not_see_the_weights():
    X, y, w = two_kinds(400)
    model = regressor(Ridge(), calibration_size=0.5, **CHEAP).fit(X, y, sample_weight=w)
    covered = model.predict_interval(X, 0.8)
    inside = (covered[:, 0] <= y) & (y <= covered[:, 1])
    assert abs(inside.mean() - 0.8) < 0.06


@pytest.mark.parametrize("mean", [None, Ridge()])
def test_weights_of_rows_that_are_held_back_do_not_matter(mean):
    X, y, w = two_kinds()
    model = regressor(mean, **CHEAP).fit(X, y, sample_weight=w)
    _, held_back = calibration_split(len(y), 0.3, cv=5, groups=None, seed=model._seed)
    other = w.copy()
    other[held_back] = np.linspace(0, 1, len(held_back))
    again = clone(model).fit(X, y, sample_weight=other)
    assert_allclose(again.predict_interval(X, 0.8), model.predict_interval(X, 0.8), atol=1e-5)


@pytest.mark.parametrize("mean", [None, LinearRegression()])
def test_equal_weights_change_nothing(mean):
    X, y, _ = two_kinds()
    model = regressor(mean, random_state=0)
    plain = clone(model).fit(X, y).predict_interval(X)
    weighted = clone(model).fit(X, y, sample_weight=np.full(len(y), 3.0)).predict_interval(X)
    assert_allclose(weighted, plain, atol=1e-8)


@pytest.mark.parametrize("mean", [None, LinearRegression()])
def test_the_unit_of_weights_and_the_order_of_rows_do_not_matter(mean):
    X, y, _ = two_kinds(90)
    w = np.random.default_rng(1).uniform(0.1, 3.0, size=90)
    folds, order = np.arange(90) % 3, np.random.default_rng(2).permutation(90)

    def fitted(rows, unit):
        cv = PredefinedSplit(folds[rows])
        model = regressor(mean, calibration=None, cv=cv, random_state=0)
        return model.fit(X[rows], y[rows], sample_weight=unit * w[rows]).predict_scale(X)

    expected = fitted(np.arange(90), 1.0)
    assert_allclose(fitted(order, 100.0), expected, atol=1e-6 * expected.mean())


@pytest.mark.parametrize("mean", [None, Ridge()])
def test_rows_of_weight_zero_are_not_learned_from(mean):
    X, y, w = two_kinds()
    w = np.where(w == 1, np.linspace(1, 2, len(w)), 0.0)
    folds, kept = np.arange(len(y)) // 2 % 3, w > 0

    def fitted(rows):
        model = regressor(mean, calibration=None, cv=PredefinedSplit(folds[rows]), **CHEAP)
        return model.fit(X[rows], y[rows], sample_weight=w[rows])

    everything, part = fitted(np.arange(len(y))), fitted(np.flatnonzero(kept))
    assert_allclose(everything.predict(X), part.predict(X), atol=1e-8)
    assert_allclose(everything.predict_scale(X), part.predict_scale(X), rtol=1e-5)
    by_folds = regressor(mean, calibration="cv+", cv=3, **CHEAP).fit(X, y, sample_weight=w)
    assert by_folds.n_train_ == len(y)


def test_too_few_rows_that_count_are_refused():
    X, y, _ = two_kinds()
    w = np.zeros(len(y))
    w[:4] = 1, 2, 3, 4
    with pytest.raises(ValueError, match=r"sample_weight is 0 for all but . of 84 rows"):
        regressor(Ridge(), **CHEAP).fit(X, y, sample_weight=w)


def test_the_tuning_is_weighted():
    X, y, w = two_kinds(300)
    options = {"lengthscale": "hsic", "symmetric": True, "calibration": None, "random_state": 0}
    plain = regressor(Ridge(), **options).fit(X, y).tuning_
    weighted = regressor(Ridge(), **options).fit(X, y, sample_weight=w).tuning_
    assert weighted.chosen.interval_score < 0.8 * plain.chosen.interval_score


class NeverFitted(RegressorMixin, BaseEstimator):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError("nothing is to be fitted")


def test_an_estimator_without_weights_is_named_before_anything_is_fitted():
    X, y, w = two_kinds()
    with pytest.raises(ValueError, match="the fit of KNeighborsRegressor takes no sample_weight"):
        regressor(KNeighborsRegressor(), **CHEAP).fit(X, y, sample_weight=w)
    model = regressor(NeverFitted(), difficulty=KNeighborsRegressor(), **CHEAP)
    with pytest.raises(ValueError, match="the fit of KNeighborsRegressor takes no sample_weight"):
        model.fit(X, y, sample_weight=w)


def test_a_frozen_estimator_does_not_mind_weights():
    X, y, w = two_kinds()
    frozen = FrozenEstimator(KNeighborsRegressor().fit(X, y))
    with pytest.warns(UserWarning, match="frozen"):
        model = regressor(frozen, **CHEAP).fit(X, y, sample_weight=w)
    assert_array_equal(model.predict(X), frozen.predict(X))


def test_what_cannot_be_weighted_is_refused():
    X, y, w = two_kinds()
    model = regressor(Ridge(), criterion="mutual_information", random_state=0)
    with pytest.raises(ValueError, match=r"mutual_information.* takes no sample_weight"):
        model.fit(X, y, sample_weight=w)
    model = regressor(joint_mean=True, symmetric=False, lengthscale=1.0, random_state=0)
    with pytest.raises(ValueError, match="a joint mean of a two-sided band takes no sample_weight"):
        model.fit(X, y, sample_weight=w)


def test_a_pipeline_is_told_how_to_pass_weights_on():
    X, y, w = two_kinds()
    model = regressor(make_pipeline(StandardScaler(), Ridge()), calibration=None, **CHEAP)
    with pytest.raises(ValueError, match="or pass ridge__sample_weight as well"):
        model.fit(X, y, sample_weight=w)
    model.fit(X, y, sample_weight=w, ridge__sample_weight=w)
    expected = regressor(Ridge(), calibration=None, **CHEAP).fit(
        StandardScaler().fit_transform(X), y, sample_weight=w
    )
    assert_allclose(model.predict(X), expected.predict(StandardScaler().fit_transform(X)))


class Told(RegressorMixin, BaseEstimator):
    """Remembers what its fit was told."""

    def fit(self, X, y, sample_weight=None, marks=None, mode="none"):
        self.told_ = marks, mode
        assert marks is None or np.array_equal(marks, X[:, 0])
        assert sample_weight is None or len(sample_weight) == len(y)
        self.mean_ = float(np.average(y, weights=sample_weight))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


@pytest.mark.parametrize("calibration", ["split", "cv+"])
def test_parameters_of_the_estimator_are_split_with_the_rows(calibration):
    X, y, w = two_kinds()
    model = regressor(Told(), calibration=calibration, cv=3, **CHEAP)
    model.fit(X, y, marks=X[:, 0], mode="some", sample_weight=w)
    marks, mode = model.estimator_.told_
    assert mode == "some"
    assert len(marks) == model.n_train_
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        model.fit(X, y, other=1)
    with pytest.raises(TypeError, match=r"unexpected parameters \['marks'\]"):
        regressor(**CHEAP).fit(X, y, marks=X[:, 0])


def test_routing_passes_on_what_was_requested(routing):
    X, y, w = two_kinds()
    inner = Told().set_fit_request(marks=True, mode=True, sample_weight=True)
    model = regressor(inner, **CHEAP).fit(X, y, marks=X[:, 0], mode="some", sample_weight=w)
    assert model.estimator_.told_[1] == "some"
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        regressor(Told(), **CHEAP).fit(X, y, sample_weight=w)
    declined = regressor(Ridge().set_fit_request(sample_weight=False), **CHEAP)
    plain = regressor(Ridge(), **CHEAP).fit(X, y)
    declined.fit(X, y, sample_weight=w)
    assert_array_equal(declined.predict(X), plain.predict(X))
    assert declined.predict_scale(X).mean() < plain.predict_scale(X).mean()
    with pytest.raises(TypeError, match="other"):
        regressor(inner, **CHEAP).fit(X, y, other=1)
    with pytest.raises(ValueError, match="the fit of KNeighborsRegressor takes no sample_weight"):
        regressor(KNeighborsRegressor(), **CHEAP).fit(X, y, sample_weight=w)
    with pytest.raises(ValueError, match=r"set_fit_request\(sample_weight=True\) of its last step"):
        regressor(make_pipeline(KNeighborsRegressor()), **CHEAP).fit(X, y, sample_weight=w)


@pytest.mark.parametrize(
    "last", [LinearRegression(), Ridge(), HistGradientBoostingRegressor(max_iter=5)]
)
def test_routing_reaches_the_last_step_of_a_pipeline(routing, last):
    X, y, w = two_kinds()
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    inner = make_pipeline(scaler, clone(last).set_fit_request(sample_weight=True))
    model = regressor(inner, calibration=None, **CHEAP).fit(X, y, sample_weight=w)
    expected = clone(last).fit(StandardScaler().fit_transform(X), y, sample_weight=w)
    assert_allclose(model.predict(X), expected.predict(StandardScaler().fit_transform(X)))


def test_kernel_means_and_frozen_models_need_no_request(routing):
    X, y, w = two_kinds()
    expected = regressor(calibration=None, **CHEAP).fit(X, y, sample_weight=w).predict(X)
    own = regressor(KernelMean(), calibration=None, **CHEAP).fit(X, y, sample_weight=w)
    assert_array_equal(own.predict(X), expected)
    frozen = FrozenEstimator(Ridge().fit(X, y))
    with pytest.warns(UserWarning, match="frozen"):
        regressor(frozen, **CHEAP).fit(X, y, sample_weight=w, groups=np.arange(len(y)) % 20)


def test_cross_validation_and_searches_route_weights_and_groups(routing):
    X, y, w = two_kinds()
    groups = np.arange(len(y)) // 2
    inner = Ridge().set_fit_request(sample_weight=True)
    model = regressor(inner, **CHEAP).set_fit_request(sample_weight=True, groups=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    params, folds = {"sample_weight": w, "groups": groups}, KFold(3)
    found = cross_validate(
        pipeline, X, y, scoring=interval_scorer(0.8), cv=folds, params=params, return_estimator=True
    )
    for (train, test), fitted in zip(folds.split(X), found["estimator"], strict=True):
        Z = StandardScaler().fit(X[train])
        own = clone(model).fit(
            Z.transform(X[train]), y[train], sample_weight=w[train], groups=groups[train]
        )
        assert_array_equal(
            fitted[-1].predict_interval(Z.transform(X[test])),
            own.predict_interval(Z.transform(X[test])),
        )
    search = GridSearchCV(model, {"estimator__alpha": [0.1, 1e6]}, scoring=interval_scorer(0.8))
    search.fit(X, y, **params)
    again = clone(model).set_params(**search.best_params_).fit(X, y, **params)
    assert_array_equal(search.best_estimator_.predict_interval(X), again.predict_interval(X))


def test_without_routing_searches_pass_weights_on():
    X, y, w = two_kinds()
    model = regressor(Ridge(), **CHEAP)
    search = GridSearchCV(model, {"estimator__alpha": [0.1, 1e6]}, scoring=interval_scorer(0.8))
    search.fit(X, y, sample_weight=w)
    again = clone(model).set_params(**search.best_params_).fit(X, y, sample_weight=w)
    assert_array_equal(search.best_estimator_.predict_interval(X), again.predict_interval(X))


def test_a_model_with_requests_is_saved(routing, tmp_path):
    X, y, w = two_kinds()
    inner = Ridge().set_fit_request(sample_weight=True)
    model = regressor(inner, **CHEAP).set_fit_request(sample_weight=True)
    model.fit(X, y, sample_weight=w)
    save(model, tmp_path / "band.skops")
    again = load(tmp_path / "band.skops")
    assert_array_equal(again.predict_interval(X), model.predict_interval(X))
