"""Bad input: one clear sentence each, or scikit-learn's own convention."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from sosbands import BandRegressor, KernelBand, KernelMean, Newton
from sosbands.metrics import coverage
from tests.regressors import regressor

MODES = ("split", "cv+", "localized")
MEANS = [None, LinearRegression()]


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, X[:, 0] + X[:, 1] * rng.normal(size=n)


def frame(n=40):
    X, _ = rows(n)
    return pd.DataFrame(X, columns=["a", "b"])


def band(estimator=None, **changes):
    cheap = {
        "symmetric": True,
        "lengthscale": 1.0,
        "mean_lengthscale": 1.0,
        "width_weight": 10.0,
        "random_state": 0,
    }
    return regressor(estimator, **(cheap | changes))


# Rows


@pytest.mark.parametrize("make", [list, np.array, pd.Series, lambda y: np.array(y, dtype=object)])
def test_a_text_among_the_outputs_is_named(make):
    X, _ = rows()
    message = "y holds the text 'compact': intervals are for numbers, so name another column"
    with pytest.raises(ValueError, match=message):
        band().fit(X, make(["12.5"] * 20 + ["compact"] * 20))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("estimator", MEANS)
def test_infinite_inputs_and_missing_outputs_are_refused(estimator, value):
    X, y = rows()
    bad_X, bad_y = X.copy(), y.copy()
    bad_X[3, 1], bad_y[3] = np.copysign(np.inf, value), value
    message = "contains NaN" if np.isnan(value) else "contains infinity"
    model = band(estimator)
    with pytest.raises(ValueError, match="Input X contains infinity"):
        model.fit(bad_X, y)
    with pytest.raises(ValueError, match=f"Input y {message}"):
        model.fit(X, bad_y)
    model.fit(X, y)
    for call in (model.predict, model.predict_scale, model.predict_interval, model.extrapolation):
        with pytest.raises(ValueError, match="Input X contains infinity"):
            call(bad_X)
    with pytest.raises(ValueError, match=f"Input y {message}"):
        model.conformalize(X, bad_y)


@pytest.mark.parametrize("make", [np.asarray, lambda table: table])
def test_missing_inputs_are_refused_by_an_estimator_that_does_not_take_them(make):
    (_, y), table = rows(), frame()
    table.loc[3, "b"] = np.nan
    with pytest.raises(ValueError, match="Ridge does not accept missing values"):
        band(Ridge()).fit(make(table), y)
    with pytest.raises(ValueError, match="Ridge does not accept missing values"):
        band(Ridge()).fit(make(frame()), y).predict_interval(make(table))
    assert np.all(np.isfinite(band().fit(make(table), y).predict_interval(make(table))))


def test_all_faulty_columns_of_a_frame_are_named_at_once():
    table, (_, y) = frame(), rows()
    table.loc[3, "b"] = np.inf
    table = table.assign(empty=None, lists=[[1]] * 40, mixed=[1, "u"] * 20)
    message = (
        r"X cannot be read: column 'b' holds 1 infinite values; column 'empty' has no value in "
        r"these rows; "
        r"column 'lists' holds objects of the type list,.*column 'mixed' holds objects of the "
        "types int, "
        "str, .*correct or leave out these columns"
    )
    for estimator in MEANS:
        with pytest.raises(ValueError, match=message):
            band(estimator).fit(table, y)
    with pytest.raises(
        ValueError, match=r"column 1 has no value in these rows: correct or leave out this"
    ):
        band().fit(np.where([True, False], frame(), np.nan), y)


def test_columns_that_changed_their_kind_are_named_at_once():
    _, y = rows()
    table = frame().assign(kind=["u", "v"] * 20, day=pd.Timestamp("2020-01-01"))
    model = band().fit(table, y)
    message = (
        "column 'a' held numbers in fit and now holds text or categories; column 'kind' held text "
        "or categories in fit and now holds numbers; column 'day' held dates in fit and now holds"
    )
    with pytest.raises(ValueError, match=message):
        model.predict(table.assign(a="1", kind=1, day="2020-01-01"))
    with pytest.raises(ValueError, match="'kind' held text or categories"):
        model.predict_interval(table.assign(kind=1))
    missing = table.assign(a=np.nan, kind=None, day=pd.NaT)
    assert np.all(np.isfinite(model.predict_interval(missing)))


def test_what_a_transformer_makes_must_be_finite():
    X, y = rows()
    spoil = FunctionTransformer(lambda X: np.where(X > 0.5, np.nan, X))
    with pytest.raises(ValueError, match="what band_transformer makes of X hold"):
        band(Ridge(), band_transformer=spoil).fit(X, y)


@pytest.mark.parametrize("estimator", MEANS)
def test_sparse_inputs_are_refused(estimator):
    X, y = rows()
    sparse = scipy.sparse.csr_array(X)
    with pytest.raises(TypeError, match="Sparse data was passed for X, but dense"):
        band(estimator).fit(sparse, y)
    with pytest.raises(TypeError, match="Sparse data was passed for X, but dense"):
        band(estimator).fit(X, y).predict_interval(sparse)


def test_strings_are_refused_where_numbers_are_needed():
    X, y = rows()
    with pytest.raises(ValueError, match=r"an array that holds text, such as '.*x': pass a Data"):
        band().fit(X.astype(str).astype(object) + "x", y)
    for estimator in MEANS:
        with pytest.raises(ValueError, match="y holds the text 'red'"):
            band(estimator).fit(X, ["red"] * 40)


@pytest.mark.parametrize("calibration", [*MODES, None])
def test_fewer_than_ten_rows_are_refused(calibration):
    X, y = rows(9)
    with pytest.raises(ValueError, match=r"9 sample\(s\).*minimum of 10"):
        band(calibration=calibration).fit(X, y)
    with pytest.raises(ValueError, match="10 rows are needed, got 9"):
        band(Ridge(), calibration=calibration).fit(frame(9), y)


@pytest.mark.parametrize("table", [rows()[0], frame()])
@pytest.mark.parametrize("estimator", MEANS)
def test_outputs_of_the_wrong_shape_are_refused(estimator, table):
    _, y = rows()
    with pytest.raises(ValueError, match="y should be a 1d array"):
        band(estimator).fit(table, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        band(estimator).fit(table, y[:-1])
    with pytest.raises(ValueError, match=r"y to be passed|y is None|y cannot be None"):
        band(estimator).fit(table, None)
    with pytest.warns(DataConversionWarning):
        band(estimator, calibration=None).fit(table, y[:, None])


def test_the_number_of_columns_is_checked():
    X, y = rows()
    model = band().fit(X, y)
    for call in (model.predict, model.predict_interval, model.extrapolation):
        with pytest.raises(ValueError, match="X has 1 features, but BandRegressor is expecting 2"):
            call(X[:, :1])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model.predict_interval(X[0])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.predict_interval(X[:0])


@pytest.mark.parametrize("constant", [0.0, 0.1, 1 / 3, -7.0, 1e17, 1e-300])
@pytest.mark.parametrize("calibration", MODES)
@pytest.mark.parametrize("estimator", MEANS)
def test_a_constant_output_has_intervals_of_no_width(estimator, calibration, constant):
    X, _ = rows()
    model = band(estimator, calibration=calibration, cv=3).fit(X, np.full(40, constant))
    intervals = model.predict_interval(X, [0.5, 0.9])
    assert_allclose(intervals, constant, rtol=1e-9, atol=0)


def test_a_constant_output_is_silent_with_default_settings():
    X, _ = rows()
    model = BandRegressor(None, random_state=0).fit(X, np.full(40, 2.5))
    assert_allclose(model.predict_interval(X), 2.5, rtol=1e-14)
    assert_array_equal(model.predict_scale(X), 0)


@pytest.mark.parametrize("constant", [3.7, 7.3, 1e6 + 0.1])
@pytest.mark.parametrize("calibration", ["split", "cv+"])
@pytest.mark.parametrize("estimator", [LinearRegression(), HistGradientBoostingRegressor()])
def test_predictions_that_are_off_by_rounding_have_intervals_of_no_width(
    estimator, calibration, constant
):
    X = np.random.default_rng(0).uniform(size=(25, 2))
    y = np.full(25, constant)
    model = BandRegressor(estimator, calibration=calibration, random_state=0).fit(X, y)
    intervals = model.predict_interval(X, 0.5)
    assert_allclose(intervals, constant, rtol=1e-13)
    assert coverage(y, intervals) == 1


@pytest.mark.parametrize("estimator", MEANS)
@pytest.mark.parametrize("calibration", MODES)
def test_a_constant_column_changes_nothing(calibration, estimator):
    X, y = rows()
    # At a third of nothing representable: its mean may differ from it by rounding.
    wider = np.column_stack([np.full(40, 1 / 3), X])
    model = band(estimator, calibration=calibration, cv=3, prediction_weight=0.0)
    expected = model.fit(X, y).predict_interval(X, [0.5, 0.8])
    assert_allclose(model.fit(wider, y).predict_interval(wider, [0.5, 0.8]), expected, rtol=1e-6)


@pytest.mark.parametrize("calibration", MODES)
@pytest.mark.parametrize("estimator", MEANS)
def test_inputs_that_are_all_alike_give_one_interval(estimator, calibration):
    _, y = rows(60)
    X = np.full((60, 2), 0.1)
    model = band(estimator, calibration=calibration, cv=3).fit(X, y)
    low, high = model.predict_interval(X).T
    assert np.ptp(low) < 1e-9
    assert np.mean((low <= y) & (y <= high)) > 0.7
    assert_allclose(model.extrapolation(X), 0, atol=1e-12)


@pytest.mark.parametrize(
    "model", [BandRegressor(None, band=KernelBand()), BandRegressor.as_published()]
)
def test_duplicated_rows_with_different_outputs_are_no_trouble(model):
    X, y = rows(60)
    X = np.repeat(X[:20], 3, axis=0)
    model.set_params(band__lengthscale=0.5, random_state=0).fit(X, y)
    intervals = model.predict_interval(X, 0.8)
    assert np.all(np.isfinite(intervals))
    assert np.mean((intervals[:, 0] <= y) & (y <= intervals[:, 1])) > 0.6


@pytest.mark.parametrize("calibration", MODES)
@pytest.mark.parametrize("symmetric", [True, False])
def test_ties_in_the_output_are_no_trouble(symmetric, calibration):
    X, y = rows(60)
    model = band(symmetric=symmetric, calibration=calibration, cv=3).fit(X, np.round(y))
    low, high = model.predict_interval(X, 0.8).T
    assert np.all(low <= high)
    assert np.mean((low <= np.round(y)) & (np.round(y) <= high)) > 0.6


def test_whole_numbers_and_small_floats_are_numbers():
    X, y = rows()
    expected = band().fit(np.round(9 * X), np.round(9 * y)).predict_interval(np.round(9 * X))
    counts, sums = np.round(9 * X).astype(np.int16), np.round(9 * y).astype(int)
    assert_array_equal(band().fit(counts, sums).predict_interval(counts), expected)
    small = X.astype(np.float32)
    assert band().fit(small, y.astype(np.float32)).predict_interval(small).dtype == np.float64


@pytest.mark.parametrize("size", [1e100, 1e-100, 1e200, 1e-200])
def test_extreme_units_are_either_fine_or_refused_in_a_sentence(size):
    X, y = rows()
    expected = band().fit(X, y).predict_interval(X, 0.5)
    try:
        seen = band().fit(X, size * y).predict_interval(X, 0.5)
    except ValueError as error:
        assert "rescale" in str(error)  # noqa: PT017 (either outcome will do)
    else:
        assert_allclose(seen / size, expected, rtol=1e-3, atol=1e-3)


# Levels, and what comes before what


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, 90, np.nan, np.inf, "0.9", None, [0.5, 1.0]])
def test_levels_outside_zero_and_one_are_refused(level):
    X, y = rows()
    model = band().fit(X, y)
    with pytest.raises(ValueError, match=r"confidence_level must be in \(0, 1\), got"):
        model.predict_interval(X, level)


def test_levels_in_percent_are_explained_and_an_empty_list_is_refused():
    X, y = rows()
    model = band().fit(X, y)
    with pytest.raises(ValueError, match=r"got 95: write 0\.95"):
        model.predict_interval(X, 95)
    with pytest.raises(ValueError, match="must hold a level, got none"):
        model.predict_interval(X, [])
    with pytest.raises(ValueError, match=r"quantiles must be in \(0, 1\), got 1.0"):
        model.predict_quantiles(X, [0.5, 1.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda model, X, y: model.conformalize(X, y),
        lambda model, X, y: model.partial_conformalize(X, y),
        lambda model, X, y: model.predict(X),
        lambda model, X, y: model.predict_scale(X),
        lambda model, X, y: model.predict_interval(X),
        lambda model, X, y: model.predict_quantiles(X, 0.5),
        lambda model, X, y: model.extrapolation(X),
    ],
)
def test_everything_needs_a_fit_first(call):
    with pytest.raises(NotFittedError, match="This BandRegressor instance is not fitted yet"):
        call(band(), *rows())


@pytest.mark.parametrize(
    "call", [lambda m, X: m.predict_interval(X), lambda m, X: m.predict_quantiles(X, 0.5)]
)
def test_intervals_and_quantiles_need_a_calibration_first(call):
    X, y = rows()
    model = band(calibration=None).fit(X, y)
    assert model.predict(X).shape == (40,)
    with pytest.raises(NotFittedError, match=r"call conformalize\(X_cal, y_cal\) first"):
        call(model, X)


# Calibration


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X, y: m.conformalize(X, y[:-1]), "inconsistent numbers of samples"),
        (lambda m, X, y: m.conformalize(X[:0], y[:0]), r"0 sample\(s\)"),
        (lambda m, X, y: m.conformalize(X, y, groups=y, weights=y), "groups or weights.*not both"),
        (lambda m, X, y: m.conformalize(X, y, groups=y[:3]), "groups must .* 40 .*got 3"),
        (lambda m, X, y: m.conformalize(X, y, groups=[np.nan] * 40), "groups must be known"),
        (lambda m, X, y: m.conformalize(X, y, weights=X[:3, 0]), "weights must .* 40 .*got 3"),
        (lambda m, X, y: m.conformalize(X, y, weights=-X[:, 0]), "finite and ≥ 0"),
        (lambda m, X, y: m.conformalize(X, y, weights=0 * y), "weights must not all be zero"),
        (lambda m, X, y: m.conformalize(X, y, weights=lambda X: X), "one per row"),
    ],
)
def test_what_cannot_calibrate_is_refused(call, message):
    X, y = rows()
    model = band(calibration=None).fit(X, y)
    with pytest.raises(ValueError, match=message):
        call(model, X, y)


def test_a_refused_calibration_leaves_the_one_before():
    X, y = rows()
    model = band().fit(X, y)
    expected = model.predict_interval(X), model.predict_quantiles(X, 0.5)
    for bad in ({"groups": [np.nan] * 40}, {"weights": -(y**2)}, {"weights": lambda X: X}):
        with pytest.raises(ValueError, match="must"):
            model.conformalize(X, y, **bad)
    assert_array_equal(model.predict_interval(X), expected[0])
    assert_array_equal(model.predict_quantiles(X, 0.5), expected[1])


def constant_length(X):
    return np.ones(40)


@pytest.mark.parametrize(
    ("given", "asked", "message"),
    [
        ({"groups": [1] * 40}, {}, "conformalize had groups: pass the groups of these rows"),
        ({"weights": [1] * 40}, {}, "conformalize had weights: pass the weights of these rows"),
        ({}, {"groups": [1] * 40}, "groups are of no use here"),
        ({}, {"weights": [1] * 40}, "weights are of no use here"),
        ({"groups": [1] * 40}, {"weights": [1] * 40}, "weights are of no use|had groups"),
        ({"groups": [1] * 40}, {"groups": [1] * 7}, "groups must have one entry.*40 rows, got .*7"),
        ({"weights": [1] * 40}, {"weights": [1] * 7}, "weights must have one.*40 rows, got .*7"),
        ({"weights": [1] * 40}, {"weights": [-1] * 40}, "weights must be finite and ≥ 0"),
    ],
)
def test_new_rows_come_with_what_their_calibration_needs(given, asked, message):
    X, y = rows()
    model = band(calibration=None).fit(X, y).conformalize(X, y, **given)
    with pytest.raises(ValueError, match=message):
        model.predict_interval(X, 0.5, **asked)


@pytest.mark.parametrize("n", [30, 50])
def test_a_function_of_weights_must_give_one_for_each_row(n):
    X, y = rows()
    model = band(calibration=None).fit(X, y).conformalize(X, y, weights=constant_length)
    with pytest.raises(ValueError, match=f"weights must.* {n} rows, got .*40"):
        model.predict_interval(rows(n)[0], 0.5)


# Means that misbehave


class Broken(LinearRegression):
    def predict(self, X):
        return self.spoiled(super().predict(X))


class NaNs(Broken):
    def spoiled(self, prediction):
        return np.where(np.arange(len(prediction)) == 0, np.nan, prediction)


class Wide(Broken):
    def spoiled(self, prediction):
        return np.column_stack([prediction, prediction])


class Short(Broken):
    def spoiled(self, prediction):
        return prediction[:-1]


class Words(Broken):
    def spoiled(self, prediction):
        return np.full(len(prediction), "high")


class Silent(Broken):
    def spoiled(self, prediction):
        return None


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (NaNs(), "NaNs predicted NaN or infinity for 1 of"),
        (Wide(), r"Wide predicted an array of shape \(\d+, 2\) for \d+ rows"),
        (Short(), r"Short predicted an array of shape \(\d+,\) for \d+ rows"),
        (Words(), "the prediction of Words is not numeric"),
        (Silent(), "Silent predicted|prediction of Silent"),
    ],
)
@pytest.mark.parametrize("calibration", [*MODES, None])
def test_a_mean_must_predict_one_number_for_each_row(calibration, estimator, message):
    with pytest.raises(ValueError, match=message):
        band(estimator, calibration=calibration, cv=3).fit(*rows())


def test_a_mean_that_breaks_later_is_refused_when_it_does():
    X, y = rows()
    model = band(Ridge()).fit(X, y)
    model.estimator_.coef_[:] = np.nan
    with pytest.raises(ValueError, match="Ridge predicted NaN or infinity for 40 of 40 rows"):
        model.predict_interval(X)


@pytest.mark.filterwarnings("ignore:the estimator is frozen")
def test_errors_of_the_mean_itself_come_through():
    X, y = rows()
    with pytest.raises(NotFittedError, match="This Ridge instance is not fitted yet"):
        band(FrozenEstimator(Ridge())).fit(X, y)
    narrow = FrozenEstimator(Ridge().fit(X[:, :1], y))
    with pytest.raises(ValueError, match=r"^X has 2 features, but Ridge is expecting 1"):
        band(narrow).fit(X, y)
    with pytest.raises(TypeError, match="instead of a class"):
        band(Ridge).fit(X, y)


def test_a_frame_without_numbers_is_enough():
    _, y = rows()
    table = pd.DataFrame({"kind": ["u", "v"] * 20})
    model = band(make_pipeline(OneHotEncoder(), Ridge()))
    assert np.all(np.isfinite(model.fit(table, y).predict_interval(table)))
    table["kind"] = [f"row {i}" for i in range(40)]
    with pytest.raises(ValueError, match=r"X has no column that can be used among 'kind'"):
        band().fit(table, y)


@pytest.mark.parametrize("estimator", [None, KernelMean(), KernelMean(lengthscale=1.0)])
def test_a_kernel_mean_sees_a_frame_as_it_sees_an_array(estimator):
    X, y = rows()
    table = pd.DataFrame(X, columns=["a", "b"])
    model = BandRegressor(estimator, band=KernelBand(lengthscale=1.0), random_state=0)
    assert_array_equal(
        model.fit(table, y).predict_interval(table), model.fit(X, y).predict_interval(X)
    )


# Parameters


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"symmetric": "yes"}, "symmetric must be one of True, False, \"auto\", got 'yes'"),
        ({"lengthscale": "gp"}, "lengthscale must be one of .*hsic.* got 'gp'"),
        ({"lengthscale": 0.0}, "lengthscale must be .*got 0.0"),
        ({"lengthscale": -1}, "lengthscale must be .*got -1"),
        ({"lengthscale": np.nan}, "lengthscale must be .*got nan"),
        ({"lengthscale": None}, "lengthscale must be .*got None"),
        ({"lengthscale": [1.0, np.inf]}, "lengthscale must be"),
        ({"lengthscale": [1.0, 2.0, 3.0]}, "lengthscale .*3 .*2"),
        ({"mean_lengthscale": "hsic"}, "lengthscale must be one of .*likelihood.* got 'hsic'"),
        ({"mean_lengthscale": [1.0, 2.0, 3.0]}, "lengthscale .*3 .*2"),
        ({"anisotropy": "gp"}, "anisotropy must be one of"),
        ({"criterion": "pearson"}, "criterion must be one of"),
        ({"joint_mean": "forest"}, "joint_mean must be one of True, False, got 'forest'"),
        ({"residual_power": 3}, r"residual_power must be one of \(1, 2\), got 3"),
        ({"mean_weight": -1.0}, 'mean_weight must be "auto" or a number >= 0, got -1.0'),
        ({"width_weight": "wide"}, "width_weight must be \"auto\" or a number >= 0, got 'wide'"),
        ({"prediction_weight": np.nan}, "prediction_weight must be"),
        ({"caution": -1}, 'caution must be "auto" or a number >= 0, got -1'),
        ({"shift_power": -1}, "shift_power must be a number >= 0, got -1"),
        ({"shift_power": 2}, "shift_power must be from 0 to 1, got 2"),
        ({"trace_penalty": -1}, "trace_penalty must be a number >= 0, got -1"),
        ({"ridge_penalty": 0}, "ridge_penalty must be > 0, got 0"),
        ({"ridge_penalty": None}, "ridge_penalty must be"),
        ({"offset": -0.5}, "offset must be a number >= 0, got -0.5"),
        ({"training_coverage": 0}, "training_coverage must be .*got 0"),
        ({"training_coverage": 90}, "training_coverage must be .*got 90"),
        ({"training_coverage": "all"}, "training_coverage must be"),
        ({"training_coverage": None}, r"training_coverage must be .* in \(0, 1\].*got None: write"),
        ({"training_coverage": np.array([0.5, 0.9])}, r"write 0\.9 for 90 %, or \(0\.5, 0\.9\)"),
        ({"calibration": "jackknife"}, "calibration must be one of .*got 'jackknife'"),
        ({"calibration_size": 0.0}, "calibration_size must be a share .*got 0.0"),
        ({"calibration_size": 1.0}, "calibration_size must be a share .*got 1.0"),
        ({"calibration_size": True}, "calibration_size must be a share .*got True"),
        ({"calibration_size": 36}, "calibration_size=36 leaves 4 of 40 rows"),
        ({"calibration_size": 0.95}, "calibration_size=0.95 leaves 2 of 40 rows"),
        ({"cv": 1}, "cv must be at least 2 or a splitter, got 1"),
        ({"cv": 2.5}, "cv must be a number of folds or a splitter .*got 2.5"),
        ({"cv": "5"}, "cv must be a number of folds or a splitter .*got '5'"),
        ({"cv": None}, "cv must be a number of folds or a splitter .*got None"),
        ({"calibration": "cv+", "cv": TimeSeriesSplit(3)}, "holds out every row exactly once"),
        ({"calibration": "cv+", "cv": ShuffleSplit(3)}, "holds out every row exactly once"),
        ({"cv": KFold(100)}, "number of splits|n_splits=100"),
        ({"remove_outliers": 0}, "remove_outliers must be a number > 0, got 0"),
        ({"remove_outliers": 1e-9}, "remove_outliers"),
        ({"y_min": 5.0}, "y goes from .* beyond y_min=5.0"),
        ({"y_max": 0.0}, "y goes from .* and y_max=0.0"),
        ({"y_min": 9.0, "y_max": 3.0}, "y_min must be below y_max, got 9.0 and 3.0"),
        ({"y_min": np.nan}, "y_min must"),
        ({"y_max": "high"}, "y_max must"),
        ({"solver": "simplex"}, "solver must be a Solver or one of .*got 'simplex'"),
        ({"solver": Newton}, "solver must be a Solver or one of"),
        ({"solver": []}, "solver must be a Solver or one of"),
        ({"tol": 0}, "tol must be .*got 0"),
        ({"tol": "tight"}, "tol must be"),
        ({"max_rank": 0}, "max_rank must be a whole number >= 1 or None, got 0"),
        ({"max_rank": 2.5}, "max_rank must be a whole number >= 1 or None, got 2.5"),
        ({"random_state": "luck"}, "'luck' cannot be used to seed"),
    ],
)
def test_parameters_that_mean_nothing_are_refused_by_fit(parameters, message):
    model = band(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(*rows())


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1] * 39, "groups must name all 40 rows, got 39"),
        ([1] * 40, "groups must name at least"),
        ([1] * 20 + [2] * 20, "groups leave 1 group .* at least 2 are needed: give rows of more"),
        ([np.nan] * 40, "NaN"),
    ],
)
def test_groups_that_cannot_be_split_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        band(Ridge()).fit(*rows(), groups=groups)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-1.0, "sample_weight must be ≥ 0, got -1"),
        (0.0, "sample_weight is zero for every row"),
        (np.nan, "sample_weight holds .* NaN"),
        (np.inf, "sample_weight holds .* infinite"),
        ("heavy", "sample_weight must be an array of real numbers"),
        ([1.0, 2.0], "sample_weight must have 1 dimensions"),
    ],
)
def test_weights_of_rows_must_be_numbers_from_zero_on(weights, message):
    X, y = rows()
    with pytest.raises(ValueError, match=message):
        band().fit(X, y, sample_weight=[weights] * len(y))
    with pytest.raises(ValueError, match=r"sample_weight must have shape"):
        band().fit(X, y, sample_weight=y[1:] ** 2)


def test_fit_works_after_a_fit_that_failed():
    X, y = rows()
    model = band(lengthscale=-1.0)
    with pytest.raises(ValueError, match="lengthscale"):
        model.fit(X, y)
    model.set_params(band__lengthscale=1.0)
    assert_array_equal(model.fit(X, y).predict_interval(X), band().fit(X, y).predict_interval(X))


@pytest.mark.parametrize("kind", ["datetime64[ns]", "timedelta64[ns]"])
def test_dates_and_durations_are_no_outputs(kind):
    X, y = rows()
    with pytest.raises(ValueError, match=r"^y holds dates or durations .*give y in days or hours"):
        band(Ridge()).fit(X, np.arange(len(y)).astype(kind))


def test_columns_of_one_name_are_refused():
    X, y = rows()
    frame = pd.DataFrame(np.column_stack([X[:, 0], X[:, 0]]), columns=["a", "a"])
    with pytest.raises(ValueError, match=r"^X has several columns named 'a': give each its own"):
        band(Ridge()).fit(frame, y)


def test_no_two_columns_of_predictions_have_one_name():
    X, y = rows()
    model = band(Ridge()).fit(pd.DataFrame(X), y)
    with pytest.raises(ValueError, match=r"^confidence_level names 0\.5 twice"):
        model.predict_table(pd.DataFrame(X), [0.5, 0.6, 0.5])
    table = model.predict_table(pd.DataFrame(X), [0.5, 0.50000001])
    assert list(table)[-2:] == ["lower_0.50000001", "upper_0.50000001"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"verbose": "a"}, "verbose must be a whole number, got 'a'"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0, got 0: -1 uses all"),
        ({"n_jobs": "2"}, "n_jobs must be None or a whole number other than 0, got '2'"),
    ],
)
def test_how_the_work_is_done_is_checked_before_it(settings, message):
    X, y = np.arange(40.0)[:, None], np.arange(40.0)
    with pytest.raises(ValueError, match=message):
        BandRegressor(None, **settings).fit(X, y)


def test_tables_that_tell_nothing_are_refused_for_the_right_reason():
    y = np.random.default_rng(0).normal(size=60)
    with pytest.raises(ValueError, match="X has no column, at least one is needed"):
        BandRegressor(None).fit(pd.DataFrame(index=range(60)), y)
    # The only value is of a row that calibrates.
    values = pd.DataFrame({"a": [np.nan] * 59 + [1.0]})
    with pytest.raises(ValueError, match="a column without a value among the rows to learn"):
        BandRegressor(None, cv=TimeSeriesSplit(3)).fit(values, y)
