import math
import subprocess
import sys
import tracemalloc
import warnings
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pandas as pd
import polars
import pytest
from crepes import WrapRegressor
from crepes.extras import DifficultyEstimator
from mapie.regression import SplitConformalRegressor
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from sosbands import BandProblem, BandRegressor, Gaussian, KernelMean, Newton
from sosbands.conformal import ClusteredCalibration, SplitCalibration
from sosbands.learning import encoding
from sosbands.learning.gaussian_process import fit_gaussian_process
from tests.regressors import regressor

INF = np.inf
LEVELS = (0.5, 0.8, 0.9)
MODES = ("split", "cv+", "localized")


def wave(n=80, seed=0, columns=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, columns))
    return X, np.sin(6 * X[:, 0]) + (0.1 + X[:, 0]) * rng.normal(size=n)


def band(estimator=None, **changes):
    cheap = {"symmetric": True, "lengthscale": 1.0, "width_weight": 10.0, "random_state": 0}
    return regressor(estimator, **(cheap | changes))


def fitted(estimator=None, **changes):
    """A band around 60 rows that waits for its calibration."""
    return band(estimator, calibration=None, **changes).fit(*wave(60, seed=1))


def ranked(scores, level):
    """The ⌈level·(m + 1)⌉-th smallest score, with the level as the decimal it prints as."""
    rank = math.ceil(Fraction(str(level)) * (len(scores) + 1))
    return np.sort(scores)[rank - 1] if rank <= len(scores) else INF


def quiet(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return call()


# What fit learns


def test_an_interval_holds_the_mean_and_the_scale_is_positive():
    X, y = wave()
    model = band().fit(X, y)
    mean, scale = model.predict(X, return_std=True)
    assert_array_equal(mean, model.predict(X))
    assert_array_equal(scale, model.predict_scale(X))
    assert scale.shape == (80,)
    intervals = model.predict_interval(X)
    assert_allclose(intervals.mean(axis=1), mean, rtol=1e-9, atol=1e-9)
    assert np.all(scale > 0)


def test_the_scale_follows_the_noise():
    X, y = wave(200)
    model = band().fit(X, y)
    narrow, wide = model.predict_scale([[0.1], [0.9]])
    assert wide > 2 * narrow


@pytest.mark.parametrize("joint_mean", [False, True])
@pytest.mark.parametrize("symmetric", [True, False])
def test_a_fit_is_certified_and_says_what_it_chose(symmetric, joint_mean):
    X, y = wave()
    model = band(symmetric=symmetric, joint_mean=joint_mean, tol=1e-5).fit(X, y)
    assert model.certificate_.gap <= 1e-5
    assert model.symmetric_ is symmetric
    assert np.ravel(model.lengthscale_)[0] == 1.0
    assert model.width_weight_ == 10.0
    assert model.tuning_ is None
    assert isinstance(model.estimator_, KernelMean)
    assert model.n_outliers_ == 0
    shape = (80,) if symmetric else (80, 2)
    assert model.predict_scale(X).shape == shape


def test_default_settings_tune_and_cover():
    X, y = wave(150)
    model = BandRegressor(random_state=0).fit(X, y)
    assert model.tuning_.chosen in model.tuning_.trials
    new, outputs = wave(2000, seed=5)
    low, high = model.predict_interval(new).T
    assert 0.8 < np.mean((low <= outputs) & (outputs <= high)) < 0.99


def test_one_lengthscale_for_each_input_may_be_given():
    X, y = wave(60, columns=2)
    assert band(lengthscale=[0.5, 2.0]).fit(X, y).lengthscale_ == (0.5, 2.0)
    around = band(Ridge(), lengthscale=np.array([0.5, 2.0]), prediction_weight=1.0).fit(X, y)
    assert around.lengthscale_ == (0.5, 2.0, 1.0)
    without = band(Ridge(), lengthscale=np.array([0.5, 2.0]), prediction_weight=0.0).fit(X, y)
    assert without.lengthscale_ == (0.5, 2.0)


@pytest.mark.parametrize("solver", ["newton", "accelerated", "sdp", Newton(tol=1e-6)])
def test_every_solver_finds_the_same_band(solver):
    X, y = wave(20)
    expected = band(calibration=None, tol=1e-6).fit(X, y)
    model = band(calibration=None, solver=solver, tol=1e-6).fit(X, y)
    assert_allclose(model.predict_scale(X), expected.predict_scale(X), rtol=0.02)


def test_an_unsolved_problem_is_reported_with_advice():
    X, y = wave()
    with pytest.warns(ConvergenceWarning, match="the band problem .*raise max_iter") as caught:
        model = band(solver=Newton(max_iter=1)).fit(X, y)
    assert len(caught) == 1
    assert np.all(np.isfinite(model.predict_interval(X, 0.5)))


def test_progress_goes_to_standard_error_and_only_if_asked_for(capfd):
    X, y = wave(30)
    loud = BandRegressor(verbose=1, random_state=0).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert "tuning" in err
    assert err.endswith("\n")
    silent = BandRegressor(random_state=0).fit(X, y)
    assert capfd.readouterr() == ("", "")
    assert_array_equal(silent.predict_interval(X, 0.5), loud.predict_interval(X, 0.5))


@pytest.mark.parametrize("calibration", MODES)
def test_ten_rows_are_enough_and_silent(calibration, capfd):
    for seed in range(2):
        X, y = wave(10, seed=seed)
        model = BandRegressor(calibration=calibration, random_state=seed).fit(X, y)
        assert np.all(np.isfinite(model.predict(X)))
        assert np.all(model.predict_scale(X) >= 0)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("estimator", [None, Ridge()])
@pytest.mark.parametrize("calibration", MODES)
def test_the_random_state_decides_everything(calibration, estimator):
    X, y = wave()
    settings = {"calibration": calibration, "cv": 3}
    first, again, other = (
        band(estimator, **settings, random_state=state).fit(X, y).predict_interval(X, LEVELS)
        for state in (3, np.random.RandomState(3), 4)
    )
    assert_array_equal(first, again)
    assert np.any(first != other)


@pytest.mark.parametrize("joint_mean", [False, True])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("factor", "shift"), [(1e6, 0.0), (1e-6, 0.0), (1.0, 1000.0), (-2.0, 3.0)])
def test_intervals_follow_the_units_of_the_output(factor, shift, symmetric, joint_mean):
    X, y = wave(50)
    model = band(symmetric=symmetric, joint_mean=joint_mean, tol=1e-8)
    expected = shift + factor * model.fit(X, y).predict_interval(X, LEVELS)
    seen = model.fit(X, shift + factor * y).predict_interval(X, LEVELS)
    assert_allclose(seen, np.sort(expected, axis=1), rtol=1e-4, atol=1e-4 * abs(factor))


@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_intervals_do_not_depend_on_the_units_of_the_inputs(estimator):
    X, y = wave(50, columns=2)
    model = band(estimator, tol=1e-8)
    expected = model.fit(X, y).predict_interval(X, LEVELS)
    moved = 10.0 + X * [0.1, 100.0]
    assert_allclose(model.fit(moved, y).predict_interval(moved, LEVELS), expected, atol=1e-3)


@pytest.mark.parametrize("calibration", MODES)
def test_fitting_again_forgets_the_past(calibration):
    X, y = wave()
    wide, other = wave(70, seed=3, columns=2)
    model = band(calibration=calibration, cv=3)
    expected = model.fit(X, y).predict_interval(X, 0.5)
    model.fit(pd.DataFrame(wide, columns=["a", "b"]), other)
    model.conformalize(pd.DataFrame(wide, columns=["a", "b"]), other, groups=[1] * 70)
    assert model.n_features_in_ == 2
    assert_array_equal(model.fit(X, y).predict_interval(X, 0.5), expected)
    assert not hasattr(model, "feature_names_in_")
    model.conformalize(X, y, weights=lambda X: X[:, 0])
    assert_array_equal(model.fit(X, y).predict_interval(X, 0.5), expected)
    model.set_params(calibration=None).fit(X, y)
    assert model.calibration_ is None


# Means that are given


class Spy(RegressorMixin, BaseEstimator):
    """The mean of y, and a diary of which rows were seen by which fit."""

    diary: ClassVar = []

    def fit(self, X, y):
        self.rows_, self.mean_ = set(X[:, 0]), np.mean(y)
        return self

    def predict(self, X):
        self.diary.append((self.rows_, set(X[:, 0])))
        return np.full(len(X), self.mean_)


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


def test_outliers_are_left_out_of_the_band_counted_and_still_calibrate():
    X, tame = wave(120)
    y = tame.copy()
    y[:4] += 1e4
    mean = DummyRegressor(strategy="median")
    model = band(mean, remove_outliers=50.0, calibration=None).fit(X, y)
    assert model.n_outliers_ == 4
    without = band(mean, calibration=None).fit(X[4:], y[4:])
    assert_allclose(model.predict_scale(X).mean(), without.predict_scale(X).mean(), rtol=0.1)
    model.conformalize(X, y)
    assert np.sum(model.calibration_.scores > 100) == 4
    assert band(mean, calibration=None).fit(X, tame).n_outliers_ == 0


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_soft_band_does_not_see_how_wild_an_outlier_is(symmetric):
    X, tame = wave(120)
    scales = []
    for wild in (0.0, 1e4, 1e9):
        y = tame.copy()
        y[5] += wild
        mean = DummyRegressor(strategy="median")
        model = band(mean, symmetric=symmetric, calibration=None).fit(X, y)
        scales.append(model.predict_scale(X).mean())
    assert 0.5 < scales[1] / scales[0] < 1.5
    assert scales[2] == pytest.approx(scales[1], rel=1e-3)


# Frames and mixed columns


def as_polars(frame):
    return polars.DataFrame(frame.to_dict("list"))


FRAMES = [pytest.param(lambda frame: frame, id="pandas"), pytest.param(as_polars, id="polars")]


@pytest.mark.parametrize("estimator", [None, Ridge()])
@pytest.mark.parametrize("make", FRAMES)
def test_names_of_columns_are_kept_and_checked(make, estimator):
    X, y = wave(60, columns=2)
    frame = make(pd.DataFrame(X, columns=["a", "b"]))
    model = band(estimator).fit(frame, y)
    assert_array_equal(model.feature_names_in_, ["a", "b"])
    expected = band(estimator).fit(X, y).predict_interval(X, LEVELS)
    assert_allclose(model.predict_interval(frame, LEVELS), expected, rtol=1e-8)
    for call in (model.predict, model.predict_scale, model.predict_interval, model.extrapolation):
        with pytest.raises(ValueError, match="must be in the same order"):
            call(frame[["b", "a"]])
        with pytest.raises(ValueError, match="seen at fit time, yet now missing"):
            call(frame[["a"]])
    with pytest.raises(ValueError, match="must be in the same order"):
        model.conformalize(frame[["b", "a"]], y)


@pytest.mark.parametrize("estimator", [None, Ridge()])
def test_an_array_after_a_frame_is_taken_with_a_warning(estimator):
    X, y = wave(60, columns=2)
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = band(estimator).fit(frame, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        intervals = model.predict_interval(X)
    # A model that is given the frame may sum its columns in another order.
    assert_allclose(intervals, model.predict_interval(frame), rtol=1e-12)


def mixed_frame(n=80):
    X, y = wave(n)
    kinds = np.array(["red", "green"])[np.arange(n) % 2]
    columns = {"kind": kinds, "x": X[:, 0], "flag": np.arange(n) % 3 == 0, "count": np.arange(n)}
    return pd.DataFrame(columns), y + 2.0 * (kinds == "red")


def mixed_pipeline():
    return make_pipeline(
        make_column_transformer((OneHotEncoder(), ["kind"]), ("passthrough", ["x"])), Ridge()
    )


@pytest.mark.parametrize("make", FRAMES)
def test_the_band_sees_the_numeric_columns_of_a_mixed_frame(make):
    frame, y = mixed_frame()
    frame = make(frame)
    model = band(mixed_pipeline(), prediction_weight=0.0, lengthscale=[1.0, 2.0, 3.0])
    model.fit(frame, y)
    assert model.lengthscale_ == (1.0, 2.0, 3.0)
    assert_array_equal(model.predict(frame), model.estimator_.predict(frame))
    assert model.predict_interval(frame, LEVELS).shape == (80, 2, 3)


@pytest.mark.parametrize("calibration", MODES)
@pytest.mark.parametrize("make", FRAMES)
def test_a_transformer_decides_what_the_band_sees(make, calibration):
    frame, y = mixed_frame()
    frame = make(frame)
    sees = make_column_transformer((OneHotEncoder(drop="first"), ["kind"]), ("passthrough", ["x"]))
    model = band(mixed_pipeline(), band_transformer=sees, calibration=calibration, cv=3)
    model.set_params(band__prediction_weight=0.0, band__lengthscale=[1.0, 2.0]).fit(frame, y)
    assert model.lengthscale_ == (1.0, 2.0)
    assert np.all(np.isfinite(model.predict_interval(frame, 0.5)))
    assert np.all(np.isfinite(model.extrapolation(frame)))
    assert not hasattr(sees, "transformers_")


def test_a_transformer_serves_the_kernel_mean_as_well():
    X, y = wave()
    half = FunctionTransformer(lambda X: np.asarray(X)[:, :1])
    noisy = np.column_stack([X, np.random.default_rng(0).normal(size=80)])
    model = band(band_transformer=half).fit(noisy, y)
    assert_array_equal(model.predict_interval(noisy), band().fit(X, y).predict_interval(X))


def test_lists_are_rows_with_and_without_a_transformer():
    X, y = wave()
    for transformer in (None, FunctionTransformer()):
        model = band(band_transformer=transformer).fit(X.tolist(), y.tolist())
        assert_array_equal(model.predict_interval(X.tolist()), model.predict_interval(X))
        assert_array_equal(model.extrapolation(X.tolist()), model.extrapolation(X))


# Calibration by one split


@pytest.mark.parametrize("m", [9, 19, 20, 99, 100])
@pytest.mark.parametrize("estimator", [None, Ridge()])
def test_intervals_are_the_mean_and_the_ranked_score_times_the_scale(estimator, m):
    X, y = wave(m, seed=2)
    model = fitted(estimator).conformalize(X, y)
    mean, scale = model.predict(X, return_std=True)
    scores = np.abs(y - mean) / scale
    new, _ = wave(5, seed=3)
    mean, scale = model.predict(new, return_std=True)
    for level in LEVELS:
        q = ranked(scores, level)
        expected = np.column_stack([mean - q * scale, mean + q * scale])
        assert_allclose(model.predict_interval(new, level), expected, rtol=1e-12)


@pytest.mark.parametrize("given", [0.0, 0.5, 1.0, "auto"])
def test_a_two_sided_band_is_calibrated_by_a_shift_that_follows_its_width(given):
    X, y = wave(40, seed=2)
    model = fitted(symmetric=False, shift_power=given).conformalize(X, y)
    power = model.n_train_ / (model.n_train_ + 200) if given == "auto" else given
    mean, (low, up) = model.predict(X), model.predict_scale(X).T
    scores = np.maximum(mean - low - y, y - mean - up) / ((low + up) / 2) ** power
    new, _ = wave(5, seed=3)
    mean, (low, up) = model.predict(new), model.predict_scale(new).T
    assert_allclose(model.predict(new, return_std=True)[1], (low + up) / 2)
    for level in (0.9, 0.95):
        shift = ranked(scores, level) * ((low + up) / 2) ** power
        expected = np.column_stack([mean - low - shift, mean + up + shift])
        assert_allclose(model.predict_interval(new, level), expected, rtol=1e-12)


def test_ends_that_would_cross_become_the_midpoint():
    X, _ = wave(60, seed=1)
    model = fitted(symmetric=False)
    mean, (low, up) = model.predict(X), model.predict_scale(X).T
    middle, half = mean + (up - low) / 2, (low + up) / 2
    widest = np.argmax(half)
    model.conformalize(X[[widest]], middle[[widest]])
    assert_allclose(model.predict_interval(X, 0.5), np.column_stack([middle, middle]), rtol=1e-12)
    model.conformalize(X, middle)
    low, high = model.predict_interval(X, 0.5).T
    assert np.all(low <= high)


def test_a_residual_where_the_band_has_no_width_scores_infinity():
    X, _ = wave(20)
    model = band(calibration=None).fit(X, np.full(20, 3.0))
    assert_array_equal(model.predict_scale(X), 0)
    model.conformalize(X[:4], [3.0, 3.0, 3.0, 3.5])
    intervals = model.predict_interval(X[:2], [0.6, 0.8])
    assert_allclose(intervals, [[[3, -INF], [3, INF]]] * 2, rtol=1e-14)


@pytest.mark.parametrize(("level", "needed"), [(0.5, 1), (0.9, 9), (0.95, 19), (0.99, 99)])
def test_too_few_rows_give_infinite_intervals_and_one_warning_with_their_number(level, needed):
    X, y = wave(needed, seed=2)
    model = fitted().conformalize(X, y)
    assert np.all(np.isfinite(model.predict_interval(X, level)))
    if needed > 1:
        model.conformalize(X[1:], y[1:])
        message = f"a level of {level} needs at least {needed} calibration rows"
        with pytest.warns(UserWarning, match=message) as caught:
            intervals = model.predict_interval(X, [0.4, level])
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert_array_equal(intervals[:, :, 1], [[-INF, INF]] * needed)
        assert np.all(np.isfinite(intervals[:, :, 0]))


@pytest.mark.parametrize("calibration", MODES)
@pytest.mark.parametrize("symmetric", [True, False])
def test_levels_may_come_in_any_form_and_are_nested(symmetric, calibration):
    X, y = wave()
    model = band(symmetric=symmetric, calibration=calibration, cv=3).fit(X, y)
    levels = [0.9, 0.05, 0.5, 0.95]
    together = quiet(lambda: model.predict_interval(X, levels))
    assert together.shape == (80, 2, 4)
    for j, level in enumerate(levels):
        assert_array_equal(
            quiet(lambda level=level: model.predict_interval(X, level)), together[:, :, j]
        )
    assert model.predict_interval(X, [0.5]).shape == (80, 2, 1)
    for same in (np.array(0.5), np.float64(0.5), np.float32(0.5)):
        assert_array_equal(model.predict_interval(X, same), together[:, :, 2])
    assert_array_equal(model.predict_interval(X, (0.5,)), together[:, :, [2]])
    low, high = np.moveaxis(together[:, :, np.argsort(levels)], 1, 0)
    assert np.all(np.diff(low, axis=1) <= 0)
    assert np.all(np.diff(high, axis=1) >= 0)
    assert np.all(low <= high)


def test_calibrating_again_forgets_the_rows_before_and_learns_nothing():
    model = fitted()
    learned = model.band_
    X, y = wave(30, seed=2)
    expected = model.conformalize(X, y).predict_interval(X)
    model.conformalize(X, 5 * y)
    assert np.any(model.predict_interval(X) != expected)
    assert_array_equal(model.conformalize(X, y).predict_interval(X), expected)
    assert model.band_ is learned


def companions(kind, X):
    groups = np.where(X[:, 0] < 0.5, "low", "high")
    return {
        "split": {},
        "localized": {},
        "groups": {"groups": groups},
        "weights": {"weights": 0.1 + X[:, 0]},
        "function": {"weights": lambda X: 0.1 + X[:, 0]},
    }[kind]


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("kind", ["split", "localized", "groups", "weights", "function"])
def test_rows_that_are_added_count_like_those_before(kind, symmetric):
    X, y = wave(90, seed=2)
    new, _ = wave(10, seed=3)
    asked = {} if kind == "function" else companions(kind, new)
    mode = "localized" if kind == "localized" else "split"
    model = fitted(symmetric=symmetric).set_params(calibration=mode)
    at_once = model.conformalize(X, y, **companions(kind, X)).predict_interval(new, LEVELS, **asked)
    model.conformalize(X[:50], y[:50], **companions(kind, X[:50]))
    for rows in (slice(50, 60), slice(60, 90)):
        added = {} if kind == "function" else companions(kind, X[rows])
        model.partial_conformalize(X[rows], y[rows], **added)
    assert_allclose(model.predict_interval(new, LEVELS, **asked), at_once, rtol=1e-10)


def test_adding_rows_to_none_is_calibrating():
    X, y = wave(30, seed=2)
    expected = fitted().conformalize(X, y).predict_interval(X)
    assert_array_equal(fitted().partial_conformalize(X, y).predict_interval(X), expected)


def test_added_rows_count_in_the_quantiles_too():
    X, y = wave(30, seed=2)
    expected = fitted().conformalize(X, y).predict_quantiles(X, LEVELS)
    model = fitted().conformalize(X[:10], y[:10]).partial_conformalize(X[10:], y[10:])
    assert_allclose(model.predict_quantiles(X, LEVELS), expected, rtol=1e-10)


def test_every_group_has_its_own_quantile_and_strangers_have_none():
    X, y = wave(45, seed=2)
    groups = np.array(["a"] * 19 + ["b"] * 20 + [3] * 6, dtype=object)
    model = fitted().conformalize(X, y, groups=groups)
    mean, scale = model.predict(X, return_std=True)
    scores = np.abs(y - mean) / scale
    asked = ["b", "a", 3, "c", "3"]
    mean, scale = mean[:5], scale[:5]
    with (
        pytest.warns(UserWarning, match="needs at least 9 calibration rows in every group"),
        pytest.warns(UserWarning, match=r"2 of 5 rows are of groups .* such as 'c' \(those .* 'a'"),
    ):
        intervals = model.predict_interval(X[:5], 0.9, groups=asked)
    for i, name in enumerate(["b", "a"]):
        q = ranked(scores[groups == name], 0.9)
        expected = mean[i] - q * scale[i], mean[i] + q * scale[i]
        assert_allclose(intervals[i], expected, rtol=1e-12)
    assert_array_equal(intervals[2:], [[-INF, INF]] * 3)


def test_groups_may_be_named_by_tuples_and_series():
    X, y = wave(40, seed=2)
    names = [("site", i % 2) for i in range(40)]
    by_tuple = fitted().conformalize(X, y, groups=names).predict_interval(X, groups=names)
    series = pd.Series([i % 2 for i in range(40)], index=np.arange(40) + 7)
    by_number = fitted().conformalize(X, y, groups=series).predict_interval(X, groups=series)
    assert_array_equal(by_tuple, by_number)


def test_weights_make_the_quantile_of_tibshirani_and_others():
    X, y = wave(30, seed=2)
    weights = np.exp(3 * X[:, 0])
    model = fitted().conformalize(X, y, weights=weights)
    mean, scale = model.predict(X, return_std=True)
    scores = np.abs(y - mean) / scale
    own = np.array([0.3, 2.0, 30.0, 500.0])
    intervals = model.predict_interval(X[:4], 0.8, weights=own)
    order = np.argsort(scores)
    for i, w in enumerate(own):
        reached = np.cumsum(weights[order]) >= 0.8 * (weights.sum() + w)
        q = scores[order][np.argmax(reached)] if reached.any() else INF
        expected = mean[i] - q * scale[i], mean[i] + q * scale[i]
        assert_allclose(intervals[i], expected, rtol=1e-12)
    assert np.all(np.isinf(intervals[3]))


def test_equal_weights_are_no_weights_and_functions_are_arrays():
    X, y = wave(39, seed=2)
    plain = fitted().conformalize(X, y).predict_interval(X, LEVELS)
    equal = fitted().conformalize(X, y, weights=np.full(39, 0.3))
    assert_array_equal(equal.predict_interval(X, LEVELS, weights=np.full(39, 0.3)), plain)
    by_array = fitted().conformalize(X, y, weights=X[:, 0])
    by_call = fitted().conformalize(X, y, weights=lambda X: X[:, 0])
    expected = by_array.predict_interval(X, LEVELS, weights=X[:, 0])
    assert_array_equal(by_call.predict_interval(X, LEVELS), expected)
    assert_array_equal(by_call.predict_interval(X, LEVELS, weights=X[:, 0]), expected)
    assert_array_equal(by_array.predict_interval(X, LEVELS, weights=lambda X: X[:, 0]), expected)


def test_a_function_of_weights_gets_the_frame_that_was_given():
    X, y = wave(60, seed=1)
    frame = pd.DataFrame(X, columns=["x"])
    expected = fitted().conformalize(X, y, weights=lambda X: X[:, 0]).predict_interval(X)
    model = band(calibration=None).fit(frame, y).conformalize(frame, y, weights=lambda X: X["x"])
    assert_array_equal(model.predict_interval(frame), expected)


# Localized calibration


def test_a_localized_draw_depends_on_the_position_alone():
    X, y = wave(400)
    model = band(calibration="localized", calibration_size=200).fit(X, y)
    new = np.full((50, 1), 0.7)
    intervals = model.predict_interval(new, LEVELS)
    assert len(np.unique(intervals[:, 0, 0])) > 1
    assert_array_equal(model.predict_interval(new, LEVELS), intervals)
    assert_array_equal(model.predict_interval(new[:20], LEVELS), intervals[:20])
    changed = new.copy()
    changed[:20] = 0.1
    assert_array_equal(model.predict_interval(changed, LEVELS)[20:], intervals[20:])


def test_a_localized_threshold_varies_with_the_input():
    X, y = wave(600)
    constant = {"lengthscale": 1e3, "difficulty": None}
    model = band(DummyRegressor(), calibration="localized", **constant).fit(X, y)
    split = band(DummyRegressor(), **constant).fit(X, y)
    new = np.repeat([[0.05], [0.95]], 100, axis=0)
    widths = np.diff(model.predict_interval(new, 0.8)).reshape(2, 100)
    same = np.diff(split.predict_interval(new, 0.8)).reshape(2, 100)
    spread = np.median(widths, axis=1)
    assert abs(np.log(spread[1] / spread[0])) > 3 * abs(np.log(same[1, 0] / same[0, 0]))


@pytest.mark.parametrize("calibration", MODES)
def test_tables_in_pieces_get_the_same_answers(calibration, monkeypatch):
    X, y = wave()
    model = band(calibration=calibration, cv=3).fit(X, y)
    new = np.linspace(-1, 2, 50)[:, None]
    at_once, far = model.predict_interval(new, LEVELS), model.extrapolation(new)
    monkeypatch.setattr(encoding, "_BLOCK_ROWS", 7)
    assert_allclose(model.predict_interval(new, LEVELS), at_once, rtol=1e-10)
    assert_allclose(model.extrapolation(new), far, rtol=1e-10)


# CV+


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_plus_intervals_come_from_bands_that_never_saw_the_fold(estimator, symmetric):
    X, y = wave(45)
    settings = {"cv": KFold(3), "symmetric": symmetric, "random_state": 5}
    model = band(estimator, calibration="cv+", **settings).fit(X, y)
    new, _ = wave(10, seed=3)
    lower, upper = [], []
    for train, test in KFold(3).split(X):
        part = band(estimator, calibration=None, **settings).fit(X[train], y[train])
        mean, scale = part.predict(X[test]), part.predict_scale(X[test])
        centre, wing = part.predict(new), part.predict_scale(new)
        for i, outcome in enumerate(y[test]):
            if symmetric:
                q = np.abs(outcome - mean[i]) / scale[i]
                lower.append(centre - q * wing)
                upper.append(centre + q * wing)
            else:
                excess = max(mean[i] - scale[i, 0] - outcome, outcome - mean[i] - scale[i, 1])
                power = len(train) / (len(train) + 200)
                q = excess * (wing.mean(axis=1) / scale[i].mean()) ** power
                lower.append(centre - wing[:, 0] - q)
                upper.append(centre + wing[:, 1] + q)
    centre, wing = model.predict(new), model.predict_scale(new)
    if not symmetric:
        centre = centre + (wing[:, 1] - wing[:, 0]) / 2
    for level in (0.3, 0.9):
        low = -np.array([ranked(-column, level) for column in np.transpose(lower)])
        high = np.array([ranked(column, level) for column in np.transpose(upper)])
        expected = np.minimum(low, centre), np.maximum(high, centre)
        assert_allclose(model.predict_interval(new, level), np.transpose(expected), rtol=1e-9)


def test_tuning_and_scaling_of_a_plus_fold_do_not_see_the_fold():
    X, y = wave(30)
    model = BandRegressor(calibration="cv+", cv=KFold(2), random_state=0)
    X[3], y[3] = 50.0, 1e3  # in the first fold, with the largest score
    before = model.fit(X, y).calibration_.scores_by_fold[0]
    X[3], y[3] = 70.0, 9e3
    after = model.fit(X, y).calibration_.scores_by_fold[0]
    assert_allclose(after[:-1], before[:-1], rtol=1e-9)
    assert after[-1] > 2 * before[-1]


def test_every_row_trains_and_calibrates_a_plus_model():
    X, y = wave(50)
    model = band(calibration="cv+", cv=4).fit(X, y)
    assert sum(map(len, model.calibration_.scores_by_fold)) == 50
    intervals = model.predict_interval(X, [0.02, 0.5, 0.9])
    mean = model.predict(X)[:, None]
    assert np.all((intervals[:, 0] <= mean) & (mean <= intervals[:, 1]))
    whole = band(calibration=None, cv=4).fit(X, y)
    assert_array_equal(model.predict(X), whole.predict(X))
    with pytest.warns(UserWarning, match="needs at least 99 calibration rows"):
        assert np.all(np.isinf(model.predict_interval(X, 0.99)))


def test_plus_folds_keep_groups_together():
    X, y = wave(60)
    groups = np.repeat(np.arange(6), [4, 6, 10, 20, 15, 5])
    model = band(calibration="cv+", cv=6).fit(X, y, groups=groups)
    assert sorted(map(len, model.calibration_.scores_by_fold)) == [4, 5, 6, 10, 15, 20]


def test_a_plus_model_may_be_calibrated_like_any_other():
    X, y = wave(60, seed=1)
    new, outputs = wave(40, seed=2)
    model = band(calibration="cv+", cv=3).fit(X, y)
    with pytest.raises(ValueError, match=r'"cv\+" has no rows to add to'):
        model.partial_conformalize(new, outputs)
    expected = fitted(cv=3).conformalize(new, outputs).predict_interval(new)
    assert_array_equal(model.conformalize(new, outputs).predict_interval(new), expected)


# Splits


def test_ordered_rows_are_calibrated_by_the_last_of_them():
    X, y = wave(60)
    settings = {"cv": TimeSeriesSplit(3)}
    model = band(Ridge(), **settings, calibration_size=25).fit(X, y)
    by_hand = band(Ridge(), **settings, calibration=None).fit(X[:35], y[:35])
    by_hand.conformalize(X[35:], y[35:])
    assert_array_equal(model.predict_interval(X, LEVELS), by_hand.predict_interval(X, LEVELS))


def test_groups_of_rows_are_either_learned_from_or_calibrated_with():
    X, y = wave(60)
    X[:, 0] = np.arange(60)
    Spy.diary.clear()
    band(Spy(), cv=3).fit(X, y, groups=[f"site {i // 6}" for i in range(60)])
    for trained, predicted in Spy.diary:
        assert {row // 6 for row in trained}.isdisjoint({row // 6 for row in predicted})


@pytest.mark.parametrize(("size", "rows"), [(0.25, 20), (17, 17), (1, 1)])
def test_the_calibration_size_is_a_share_or_a_number(size, rows):
    X, y = wave()
    assert len(band(calibration_size=size).fit(X, y).calibration_.scores) == rows


# Quantiles, extrapolation, limits


def test_quantiles_are_ranked_signed_scores():
    X, y = wave(29, seed=2)
    model = fitted().conformalize(X, y)
    mean, scale = model.predict(X, return_std=True)
    scores = np.sort((y - mean) / scale)
    # 0.1·30 = 3, 0.42·30 = 12.6 (down), 0.5·30 = 15, 0.58·30 = 17.4 (up), 0.9·30 = 27.
    places = [2, 11, 14, 17, 26]
    quantiles = model.predict_quantiles(X, [0.1, 0.42, 0.5, 0.58, 0.9])
    assert_allclose(quantiles, mean[:, None] + scale[:, None] * scores[places], rtol=1e-12)
    assert_array_equal(model.predict_quantiles(X, 0.9), quantiles[:, 4])
    assert np.all(np.diff(quantiles, axis=1) >= 0)


def test_quantiles_beyond_the_rows_are_infinite():
    X, y = wave(9, seed=2)
    model = fitted().conformalize(X, y)
    assert_array_equal(quiet(lambda: model.predict_quantiles(X[:1], [0.05, 0.95])), [[-INF, INF]])


@pytest.mark.parametrize(
    "make",
    [
        lambda X, y: band(symmetric=False).fit(X, y),
        lambda X, y: band(calibration="cv+", cv=3).fit(X, y),
        lambda X, y: band(calibration="localized").fit(X, y),
        lambda X, y: band().fit(X, y).conformalize(X, y, groups=[0] * len(y)),
        lambda X, y: band().fit(X, y).conformalize(X, y, weights=[1] * len(y)),
    ],
)
def test_quantiles_need_a_symmetric_band_and_one_split(make):
    X, y = wave(40)
    with pytest.raises(ValueError, match="needs a symmetric band and a plain split"):
        make(X, y).predict_quantiles(X, 0.5)


@pytest.mark.parametrize("estimator", [None, Ridge()])
@pytest.mark.parametrize("columns", [1, 3])
def test_extrapolation_is_zero_on_training_rows_and_near_one_far_away(columns, estimator):
    X, y = wave(60, columns=columns)
    model = band(estimator, calibration=None).fit(X, y)
    assert_allclose(model.extrapolation(X), 0, atol=1e-12)
    values = model.extrapolation(np.linspace(1, 4, 30)[:, None] * np.ones(columns))
    assert np.all((values >= 0) & (values <= 1))
    assert np.all(np.diff(values) >= 0)
    assert values[-1] > 0.99
    assert model.extrapolation(np.full((1, columns), 1e200)) == 1
    inside = wave(200, seed=8, columns=columns)[0]
    assert np.median(model.extrapolation(inside)) < 0.3


def test_extrapolation_does_not_depend_on_units_and_bears_duplicates():
    X, y = wave(60, columns=2)
    moved = 5 + X * [1e-3, 1e4]
    assert_allclose(
        band(calibration=None).fit(X, y).extrapolation(2 * X),
        band(calibration=None).fit(moved, y).extrapolation(5 + 2 * X * [1e-3, 1e4]),
        atol=1e-8,
    )
    doubled = np.repeat(X[:30], 2, axis=0)
    values = band(calibration=None).fit(doubled, y).extrapolation(np.vstack([X, 50 + X]))
    assert np.all((values >= 0) & (values <= 1))
    assert values[60:].min() > 0.99


@pytest.mark.parametrize("calibration", MODES)
def test_intervals_are_cut_to_what_is_possible(calibration):
    X, y = wave()
    settings = {"calibration": calibration, "cv": 3}
    free = quiet(lambda: band(**settings).fit(X, y).predict_interval(X, [0.5, 0.99]))
    low, high = y.min(), y.max()
    for limits in ({"y_min": low}, {"y_max": high}, {"y_min": low, "y_max": high}):
        model = band(**settings, **limits).fit(X, y)
        cut = quiet(lambda model=model: model.predict_interval(X, [0.5, 0.99]))
        expected = np.clip(free, limits.get("y_min", -INF), limits.get("y_max", INF))
        assert_array_equal(cut, expected)
    quantiles = band(y_min=low, y_max=high).fit(X, y)
    q = quiet(lambda: quantiles.predict_quantiles(X, [0.001, 0.999]))
    assert_array_equal(q, [[low, high]] * 80)


@pytest.mark.parametrize("calibration", MODES)
@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_memory_does_not_grow_with_the_table(calibration, estimator):
    X, y = wave(300)
    model = band(estimator, calibration=calibration, cv=3).fit(X, y)
    if calibration != "cv+":
        model.conformalize(X, y)
    new = np.random.default_rng(0).uniform(size=(200_000, 1))  # times 300 rows: 480 MB
    tracemalloc.start()
    intervals = model.predict_interval(new)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert intervals.shape == (200_000, 2)
    assert peak - intervals.nbytes < 128e6


# The paper's form


def test_the_published_form_has_the_published_parameters():
    published = {
        "band__symmetric": True,
        "band__kernel": "gaussian",
        "band__lengthscale": "hsic",
        "band__anisotropy": "hsic",
        "band__residual_power": 2,
        "band__joint_mean": True,
        "band__mean_weight": 0.0,
        "band__width_weight": 10.0,
        "band__trace_penalty": 1.0,
        "band__ridge_penalty": 1.0,
        "band__training_coverage": 1.0,
        "band__prediction_weight": 0.0,
        "band__difficulty": None,
        "band__caution": 0.0,
        "band__offset": 0.0,
        "band__standardize": False,
        "estimator__lengthscale": "likelihood",
        "estimator__isotropic": False,
        "estimator__standardize": False,
        "calibration": "split",
        "remove_outliers": None,
    }
    model = BandRegressor.as_published()
    assert isinstance(model.estimator, KernelMean)
    parameters = model.get_params()
    assert {name: parameters[name] for name in published} == published
    changed = BandRegressor.as_published(band__width_weight=3.0, n_jobs=2).get_params()
    nested = ("estimator", "band")  # other objects with the parameters that are compared
    assert {n: v for n, v in changed.items() if n not in nested} == {
        n: v for n, v in parameters.items() if n not in nested
    } | {"band__width_weight": 3.0, "n_jobs": 2}
    assert BandRegressor.as_published(band=None).band is None


@pytest.mark.parametrize("columns", [1, 2])
def test_the_published_form_solves_the_problem_of_the_paper(columns):
    X, y = wave(60, columns=columns)
    model = BandRegressor.as_published(band__lengthscale=0.4, band__tol=1e-8, calibration=None).fit(
        X, y
    )
    process = fit_gaussian_process(X, y, random_state=0)
    problem = BandProblem.from_data(
        X,
        y,
        mean_kernel=process.kernel,
        mean_bound=process.squared_norm,
        scale_kernel=Gaussian(0.4),
        mean_weight=0.0,
        width_weight=10.0,
        trace_penalty=1.0,
        ridge_penalty=1.0,
        training_coverage=1.0,
    )
    solution = Newton(tol=1e-8).solve(problem)
    new, _ = wave(30, seed=3, columns=columns)
    assert_allclose(model.certificate_.primal_value, solution.primal_value, rtol=1e-6)
    assert_allclose(model.predict(new), solution.mean(new), atol=1e-3)
    assert_allclose(model.predict_scale(new), solution.scale(new), rtol=1e-2)
    # A hard band: every training row is inside.
    assert np.all(np.abs(y - model.predict(X)) <= model.predict_scale(X) * (1 + 1e-6))


def test_the_published_form_tunes_one_lengthscale_for_each_input():
    X, y = wave(40, columns=2)
    model = BandRegressor.as_published(random_state=0).fit(X, y)
    assert len(model.lengthscale_) == 2
    assert model.lengthscale_ == model.tuning_.chosen.lengthscale
    assert model.tuning_.criterion == "hsic"
    assert {trial.width_weight for trial in model.tuning_.trials} == {10.0}
    assert model.tuning_.chosen.criterion == max(t.criterion for t in model.tuning_.trials)


# With other packages


def test_mapie_calibrates_a_band_by_its_standard_deviation():
    X, y = wave(99, seed=2)  # level·(m + 1) is whole
    model = fitted(HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5))
    wrapped = SplitConformalRegressor(
        model, confidence_level=0.9, conformity_score="std_normalized", prefit=True
    )
    points, intervals = wrapped.conformalize(X, y).predict_interval(X)
    assert_array_equal(points, model.predict(X))
    expected = model.conformalize(X, y).predict_interval(X)
    assert_allclose(intervals[:, :, 0], expected, rtol=1e-6)


def test_crepes_takes_the_scale_as_its_difficulty():
    X, y = wave(99, seed=2)
    model = fitted()
    difficulty = DifficultyEstimator()
    difficulty.fit(f=lambda X: model.predict(X, return_std=True)[1], beta=0.0)
    wrapped = WrapRegressor(model).calibrate(X, y, de=difficulty)
    # 1 − 0.75 is exact in binary; crepes would take 0.1·100 for 9.
    expected = model.conformalize(X, y).predict_interval(X, 0.75)
    assert_allclose(wrapped.predict_int(X, confidence=0.75), expected, rtol=1e-9)


def test_a_joint_two_sided_band_is_tuned_with_the_weight_it_is_solved_with(monkeypatch):
    seen = set()
    original = Newton.solve
    monkeypatch.setattr(
        Newton,
        "solve",
        lambda solver, problem: (
            seen.add((problem.n, problem.mean_weight)) or original(solver, problem)
        ),
    )
    X, y = wave(30)
    regressor(
        symmetric=False, joint_mean=True, mean_weight=7.0, calibration=None, random_state=0
    ).fit(X, y)
    assert seen == {(24, 7.0), (30, 7.0)}
    seen.clear()
    regressor(symmetric=False, joint_mean=True, calibration=None, random_state=0).fit(X, y)
    assert seen == {(24, 1000.0), (30, 1000.0)}


def test_intervals_widen_away_from_the_data_unless_caution_is_off():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 2))
    y = X[:, 0] + 0.3 * rng.standard_normal(120)
    here, far = np.zeros((1, 2)), np.full((1, 2), 50.0)
    fixed = {"lengthscale": 1.0, "width_weight": 10.0, "random_state": 0}
    models = {c: regressor(caution=c, **fixed).fit(X, y) for c in (0, 3.0)}
    ratio = {
        c: float((model.predict_scale(far) / model.predict_scale(here))[0])
        for c, model in models.items()
    }
    # extrapolation = 1 − exp(−d²/2), but for rounding: far away it is one
    distance = {
        "here": np.sqrt(-2 * np.log1p(-models[3.0].extrapolation(here)[0])),
        "far": models[3.0].band_.extrapolation.distance(far)[0],
    }
    wider = {at: 1 + 3.0 * 2 * ((1 + d**2) ** 0.25 - 1) for at, d in distance.items()}
    assert wider["far"] > 10
    assert ratio[3.0] == pytest.approx(ratio[0] * wider["far"] / wider["here"], rel=1e-6)
    assert_allclose(models[0].predict(far), models[3.0].predict(far))


@pytest.mark.parametrize(
    ("columns", "estimator", "caution"),
    [(1, None, 0.0), (2, None, 2.0), (1, LinearRegression(), 0.0), (2, LinearRegression(), 1.0)],
)
def test_caution_is_chosen_by_the_number_of_inputs_and_the_mean(columns, estimator, caution):
    X = np.random.default_rng(0).standard_normal((40, columns))
    model = regressor(estimator, lengthscale=1.0, width_weight=10.0).fit(X, X[:, 0] ** 2)
    assert model.band_.caution == caution


@pytest.mark.parametrize(("rows", "symmetric"), [(99, True), (100, False)])
def test_few_rows_around_a_model_get_a_symmetric_band(rows, symmetric):
    X = np.random.default_rng(0).standard_normal((rows, 1))
    model = regressor(LinearRegression(), lengthscale=1.0, width_weight=10.0, calibration=None).fit(
        X, X[:, 0] ** 2
    )
    assert model.symmetric_ is symmetric


def test_a_band_with_a_width_weight_of_zero_can_be_tuned():
    X, y = wave(60)
    model = BandRegressor.as_published(band__width_weight=0, random_state=0).fit(X, y)
    assert model.width_weight_ == 0
    assert len(model.tuning_.trials) > 1


def test_outputs_beyond_the_limits_do_not_calibrate():
    X, y = wave(60, seed=2)
    model = band(y_max=float(y.max())).fit(X, y)
    for calibrate in (model.conformalize, model.partial_conformalize):
        with pytest.raises(ValueError, match=r"y goes from .* and y_max="):
            calibrate(X, y + 1.0)


def test_an_array_of_lengthscales_of_the_mean():
    X, y = wave(60, seed=2)
    by_array, by_list = (
        band(mean_lengthscale=values).fit(X, y) for values in (np.array([0.5]), [0.5])
    )
    assert_array_equal(by_array.predict(X), by_list.predict(X))


def test_groups_of_rows_calibrate_as_a_whole():
    X, y = wave(120, seed=2)
    groups = np.arange(120) // 3
    model = band(calibration_size=0.5).fit(X, y, groups=groups)
    assert isinstance(model.calibration_, ClusteredCalibration)
    assert model.calibration_.size == 20
    assert len(model.calibration_.scores) == 60
    assert np.isfinite(model.predict_interval(X, 0.9)).all()
    with pytest.warns(UserWarning, match="0.99 needs at least 99 calibration groups, got 20"):
        assert np.isinf(model.predict_interval(X, 0.99)).all()
    with pytest.raises(ValueError, match="fit had groups"):
        model.partial_conformalize(X, y)
    assert isinstance(model.conformalize(X, y).calibration_, SplitCalibration)


def broken_calibration(*_, **__):
    raise FloatingPointError("no calibration")


def test_a_fit_whose_calibration_fails_is_no_fit(monkeypatch):
    monkeypatch.setattr(SplitCalibration, "of", broken_calibration)
    model = band()
    with pytest.raises(FloatingPointError):
        model.fit(*wave())
    with pytest.raises(NotFittedError):
        model.predict(wave()[0])
    assert not hasattr(model, "n_features_in_")


def test_a_refit_that_fails_leaves_the_earlier_fit_whole(monkeypatch):
    X, y = wave(columns=2)
    table = pd.DataFrame(X, columns=["a", "b"])
    model = band().fit(table, y)
    expected, before = model.predict_interval(table), dict(vars(model))
    monkeypatch.setattr(SplitCalibration, "of", broken_calibration)
    with pytest.raises(FloatingPointError):
        model.fit(*wave(columns=3))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((20, 1), np.nan), np.zeros(20))
    assert vars(model) == before
    assert_array_equal(model.predict_interval(table), expected)
    assert list(model.feature_names_in_) == ["a", "b"]


def test_a_refit_forgets_the_names_of_columns():
    X, y = wave(columns=2)
    model = band().fit(pd.DataFrame(X, columns=["a", "b"]), y).fit(X, y)
    assert not hasattr(model, "feature_names_in_")


FORKED = """
import multiprocessing, sys, warnings
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sosbands import BandRegressor, KernelBand

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 6))
y = X[:, 0] + rng.normal(size=400) * (1 + np.abs(X[:, 1]))
band = KernelBand(lengthscale=1.0, width_weight=10.0)
for mean in (Ridge(), HistGradientBoostingRegressor(max_iter=5)):
    model = BandRegressor(mean, band=band, random_state=0).fit(X, y)
    model.predict_interval(X)
    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=model.predict_interval, args=(X[:1],))
    child.start()
    child.join(60)
    if child.exitcode != 0:
        child.kill()
        sys.exit(f"{type(mean).__name__}: {child.exitcode}")
"""


def test_a_forked_process_predicts(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    ended = subprocess.run([sys.executable, "-c", FORKED], check=False)
    assert ended.returncode == 0
