import numpy as np
import pandas as pd
import polars
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from tests.estimator.models import LEVELS, MODES, band, wave


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
    columns = {
        "kind": kinds,
        "x": X[:, 0],
        "flag": np.arange(n) % 3 == 0,
        "count": np.arange(n) % 7,
    }
    return pd.DataFrame(columns), y + 2.0 * (kinds == "red")


def mixed_pipeline():
    return make_pipeline(
        make_column_transformer((OneHotEncoder(), ["kind"]), ("passthrough", ["x"])), Ridge()
    )


@pytest.mark.parametrize("make", FRAMES)
def test_the_band_sees_all_columns_of_a_mixed_frame(make):
    frame, y = mixed_frame()
    frame = make(frame)
    model = band(mixed_pipeline(), prediction_weight=0.0, lengthscale=[1.0, 2.0, 3.0, 4.0])
    model.fit(frame, y)
    assert model.lengthscale_ == (1.0, 2.0, 3.0, 4.0)
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
