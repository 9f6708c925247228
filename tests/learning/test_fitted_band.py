from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import FunctionTransformer

from sosbands.core.solvers import Solution
from sosbands.learning import tables
from sosbands.learning.encoding import BandInputs, Encoded
from sosbands.learning.fitted_band import FittedBand
from sosbands.learning.likelihood_search import LikelihoodSearch
from tests.regressors import regressor

FIXED = {"lengthscale": 1.0, "width_weight": 10.0, "random_state": 0}


def wave(n=60, columns=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, columns))
    return X, 3 + np.sin(6 * X[:, 0]) + (0.1 + X[:, 0]) * rng.normal(size=n)


@pytest.fixture
def encoded(monkeypatch):
    """The numbers of rows of every call of an encoding."""
    calls, new, learned = [], BandInputs.encoded, BandInputs.learn

    def counted(self, X):
        calls.append(X.shape[0])
        return new(self, X)

    def counted_in_fit(X, *others):
        calls.append(X.shape[0])
        return learned(X, *others)

    monkeypatch.setattr(BandInputs, "encoded", counted)
    monkeypatch.setattr(BandInputs, "learn", counted_in_fit)
    return calls


# The way of a row


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_the_way_of_a_row_step_by_step(estimator, symmetric):
    X, y = wave(150)
    model = regressor(estimator, symmetric=symmetric, caution=0.7, calibration=None, **FIXED)
    band = model.fit(X, y).band_
    new, _ = wave(20, seed=1)
    encoded = band.encoding.encoded(new)
    mean = band.mean_model(new, encoded.B)
    base = mean if estimator is None or symmetric else band.blend(mean, band.inputs(encoded.B))
    seen = band.scale_inputs(encoded, base)
    spread = band.functions.spread(seen.Z)
    if band.second_opinion is not None:
        spread = band.second_opinion.averaged(seen.guess, spread)
    distance = band.extrapolation.distance(encoded.B)
    wider = 1 + 0.7 * 2 * ((1 + distance**2) ** 0.25 - 1)
    expected = (spread.T * wider).T * band.unit * band.outputs.scale
    assert_array_equal(band.mean(new), mean)
    assert_array_equal(band.mean_and_scale(new)[0], mean)
    assert_allclose(band.mean_and_scale(new)[1], expected if symmetric else expected[:, -1])
    if not symmetric:
        family = band.at(new).family
        assert_allclose(family.widths, expected)
        centre = base + band.residual_size * band.functions.mean.sums(seen.Z)
        assert_allclose(family.centre, centre)
    assert band.symmetric is symmetric
    assert (band.second_opinion is None) is (estimator is None)


@pytest.mark.parametrize("prediction_weight", [0.0, 1.0])
def test_a_joint_mean_is_that_of_the_solved_band_in_the_units_of_the_output(prediction_weight):
    X, y = wave()
    weights = {"joint_mean": True, "prediction_weight": prediction_weight}
    band = regressor(calibration=None, **weights, **FIXED).fit(X, y).band_
    new, _ = wave(20, seed=1)
    preliminary = band.mean_model(new, new)
    seen = band.scale_inputs(Encoded.of(new), preliminary)
    assert seen.Z.shape[1] == 2 + (prediction_weight > 0)
    expected = band.outputs.undo(band.functions.mean.sums(seen.Z))
    assert_allclose(band.mean(new), expected)
    assert_array_equal(band.mean_and_scale(new)[0], band.mean(new))
    assert np.any(band.mean(new) != preliminary)


def test_a_family_comes_with_inputs_in_units_in_which_one_bandwidth_suits_all():
    X, y = wave()
    X[:, 1] *= 1000
    band = regressor(calibration=None, **FIXED).fit(X, y).band_
    inputs = band.at(X).local_inputs
    assert_allclose(inputs.std(axis=0), 1)
    assert_array_equal(band.at(X).family.lower, band.mean(X))
    assert_allclose(np.sort(band.typical_inputs, axis=0), np.sort(inputs, axis=0))


# Once each


@pytest.mark.counts_looks
@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_rows_are_encoded_once_in_a_fit(estimator, encoded):
    X, y = wave(60)
    regressor(estimator, calibration=None, **FIXED).fit(X, y)
    assert encoded == [60]


@pytest.mark.counts_looks
@pytest.mark.parametrize("calibration", ["split", "localized"])
@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_calibration_rows_are_encoded_once(estimator, calibration, encoded):
    X, y = wave(60)
    model = regressor(estimator, calibration=calibration, calibration_size=20, **FIXED).fit(X, y)
    assert encoded == [40, 20]
    encoded.clear()
    model.conformalize(X, y)
    model.partial_conformalize(X[:15], y[:15])
    assert encoded == [60, 15]


@pytest.mark.parametrize("calibration", ["split", "localized"])
def test_every_block_of_a_prediction_is_encoded_once(calibration, encoded, monkeypatch):
    X, y = wave(80)
    model = regressor(calibration=calibration, **FIXED).fit(X, y)
    monkeypatch.setattr(tables, "_BLOCK_ROWS", 30)
    encoded.clear()
    model.predict_interval(X, [0.5, 0.8])
    assert encoded == [30, 30, 20]
    encoded.clear()
    model.extrapolation(X)
    assert encoded == [30, 30, 20]


@pytest.mark.parametrize("method", ["predict", "predict_scale"])
def test_a_prediction_is_encoded_once(method, encoded):
    X, y = wave()
    model = regressor(**FIXED).fit(X, y)
    encoded.clear()
    getattr(model, method)(X)
    assert encoded == [60]


def test_a_given_model_is_asked_once_for_a_band_that_sees_its_prediction():
    class Counting(LinearRegression):
        calls = 0

        def predict(self, X):
            Counting.calls += 1
            return super().predict(X)

    X, y = wave()
    model = regressor(Counting(), prediction_weight=1.0, **FIXED).fit(X, y)
    Counting.calls = 0
    model.predict_interval(X, [0.5, 0.8])
    assert Counting.calls == 1


@pytest.mark.counts_looks
def test_a_transformer_is_fitted_once_and_makes_new_rows_once():
    made = []

    def double(X):
        made.append(len(X))
        return 2 * np.asarray(X)

    X, y = wave()
    model = regressor(
        band_transformer=FunctionTransformer(double), calibration="localized", **FIXED
    )
    model.fit(X, y)
    assert sorted(made) == [18, 42]
    made.clear()
    model.predict_interval(X, 0.5)
    assert made == [60]


def test_the_likelihood_of_the_mean_is_maximised_once_in_a_fit(monkeypatch):
    fits, original = [], LikelihoodSearch.run

    def counted(search, *settings):
        fits.append((len(search.y), search.spread))
        return original(search, *settings)

    monkeypatch.setattr(LikelihoodSearch, "run", counted)
    X, y = wave(60)
    regressor(calibration=None, random_state=0).fit(X, y)
    assert fits == [(60, 1.0), (60, 0.7)]  # of the mean, and of the shape of the scale


def test_nothing_of_training_stays_that_prediction_does_not_need():
    X, y = wave()
    band = regressor(calibration=None, random_state=0).fit(X, y).band_
    assert isinstance(band, FittedBand)
    assert [field.name for field in fields(band)] == [
        "encoding",
        "mean_model",
        "scale_inputs",
        "functions",
        "joint",
        "second_opinion",
        "outputs",
        "unit",
        "extrapolation",
        "inputs",
        "caution",
        "shift_power",
        "blend",
        "limits",
        "evenness",
    ]

    def parts(value, seen):
        if id(value) in seen or isinstance(value, type | str | int | float | np.ndarray):
            return
        seen[id(value)] = value
        inner = vars(value).values() if hasattr(value, "__dict__") else ()
        for part in (*inner, *(value if isinstance(value, tuple | list) else ())):
            parts(part, seen)

    seen = {}
    parts(band, seen)
    assert not [part for part in seen.values() if isinstance(part, Solution)]
