import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge

from tests.estimator.models import band, wave
from tests.regressors import regressor


def test_one_lengthscale_for_each_input_may_be_given():
    X, y = wave(60, columns=2)
    assert band(lengthscale=[0.5, 2.0]).fit(X, y).lengthscale_ == (0.5, 2.0)
    around = band(Ridge(), lengthscale=np.array([0.5, 2.0]), prediction_weight=1.0).fit(X, y)
    assert around.lengthscale_ == (0.5, 2.0, 1.0)
    without = band(Ridge(), lengthscale=np.array([0.5, 2.0]), prediction_weight=0.0).fit(X, y)
    assert without.lengthscale_ == (0.5, 2.0)


def test_an_array_of_lengthscales_of_the_mean():
    X, y = wave(60, seed=2)
    by_array, by_list = (
        band(mean_lengthscale=values).fit(X, y) for values in (np.array([0.5]), [0.5])
    )
    assert_array_equal(by_array.predict(X), by_list.predict(X))


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


@pytest.mark.parametrize("estimator", [None, LinearRegression()])
@pytest.mark.parametrize(("columns", "caution"), [(1, 0.0), (2, 1.0)])
def test_caution_that_nothing_was_tuned_for_is_that_of_the_number_of_inputs(
    columns, caution, estimator
):
    X = np.random.default_rng(0).standard_normal((40, columns))
    model = regressor(estimator, lengthscale=1.0, width_weight=10.0).fit(X, X[:, 0] ** 2)
    assert model.band_.caution == caution


def test_caution_is_found_by_how_wrong_the_mean_is_where_rows_are_rare():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(250, 2)) * 0.3, rng.normal(size=(50, 2)) * 3])
    found = {}
    for name, size in (("larger", np.repeat([0.1, 2.0], [250, 50])), ("alike", np.ones(300))):
        y = size * rng.standard_normal(300)
        mean = DummyRegressor(strategy="constant", constant=0.0)
        # A scale that is the same everywhere.
        model = regressor(mean, lengthscale=100.0, difficulty=None, calibration=None).fit(X, y)
        assert model.band_.caution == model.tuning_.caution
        found[name] = model.band_.caution
    assert found["larger"] > 2
    assert found["alike"] < 0.6


@pytest.mark.parametrize(("rows", "symmetric"), [(99, True), (100, False)])
def test_few_rows_around_a_model_get_a_symmetric_band(rows, symmetric):
    X = np.random.default_rng(0).standard_normal((rows, 1))
    model = regressor(LinearRegression(), lengthscale=1.0, width_weight=10.0, calibration=None).fit(
        X, X[:, 0] ** 2
    )
    assert model.symmetric_ is symmetric
