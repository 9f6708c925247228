"""A model is composed of a mean, a band and a calibration, and scikit-learn sees its parts."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sosbands import BandRegressor, KernelBand, KernelMean
from tests.estimator.models import LEVELS, MODES, wave

FIXED = {"lengthscale": 1.0, "width_weight": 10.0}


def composed(estimator=None, **parameters):
    mean = KernelMean(lengthscale=0.5) if estimator is None else estimator
    band = KernelBand(symmetric=True, **FIXED)
    return BandRegressor(mean, band=band, random_state=0, **parameters)


def parameters_of(model):
    """All parameters but the parts themselves, which are other objects."""
    return {
        name: value
        for name, value in model.get_params().items()
        if not hasattr(value, "get_params") and not name.endswith("__steps")
    }


# What is seen of a model


def test_parameters_of_all_parts_have_names():
    names = set(composed(make_pipeline(StandardScaler(), Ridge())).get_params())
    assert {"band", "band__lengthscale", "estimator__ridge__alpha", "calibration"} <= names
    assert not {"symmetric", "lengthscale", "kernel_mean", "mean_lengthscale"} & names


@pytest.mark.parametrize("fit", [False, True])
@pytest.mark.parametrize("estimator", [None, Ridge()])
def test_the_diagram_shows_every_part(estimator, fit):
    model = composed(estimator)
    if fit:
        model.fit(*wave())
    page = model._repr_html_()
    for part in ("BandRegressor", "KernelBand", type(model.estimator).__name__):
        assert part in page
    assert "estimator: " in page  # a block of its own; the band is among the parameters


def test_the_text_of_a_model_says_what_was_changed():
    assert repr(BandRegressor()) == "BandRegressor()"
    text = repr(BandRegressor(band=KernelBand(symmetric=True), calibration="cv+"))
    assert text == "BandRegressor(band=KernelBand(symmetric=True), calibration='cv+')"


# Copies


@pytest.mark.parametrize("estimator", [None, Ridge(alpha=3.0), make_pipeline(Ridge())])
def test_a_clone_has_parts_of_its_own_with_the_same_parameters(estimator):
    X, y = wave()
    model = composed(estimator).fit(X, y)
    twin = clone(model)
    assert twin.band is not model.band
    assert twin.estimator is not model.estimator
    assert parameters_of(twin) == parameters_of(model)
    twin.set_params(band__lengthscale=9.0)
    assert model.band.lengthscale == 1.0
    twin.set_params(band__lengthscale=1.0)
    assert_array_equal(twin.fit(X, y).predict_interval(X), model.predict_interval(X))


def test_a_clone_of_a_model_without_parts_has_none():
    twin = clone(BandRegressor(None).fit(*wave(30)))
    assert twin.estimator is None
    assert twin.band is None
    assert not hasattr(twin, "band_")


def test_a_clone_of_a_nested_guess_is_its_own():
    band = KernelBand(difficulty=HistGradientBoostingRegressor(max_iter=3), **FIXED)
    twin = clone(BandRegressor(Ridge(), band=band))
    assert twin.band.difficulty is not band.difficulty
    twin.set_params(band__difficulty__max_iter=5)
    assert band.difficulty.max_iter == 3


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("estimator", [None, Ridge(), HistGradientBoostingRegressor(max_iter=5)])
def test_a_copied_model_predicts_the_same_and_calibrates_anew(estimator, copied):
    X, y = wave(150)
    model = composed(estimator).fit(X, y)
    other = copied(model)
    assert_array_equal(other.predict_interval(X, LEVELS), model.predict_interval(X, LEVELS))
    assert_array_equal(other.extrapolation(2 * X), model.extrapolation(2 * X))
    assert parameters_of(other) == parameters_of(model)
    assert_array_equal(
        other.conformalize(X, y).predict_interval(X), model.conformalize(X, y).predict_interval(X)
    )


@pytest.mark.parametrize("calibration", MODES)
def test_a_pickled_model_is_no_larger_than_what_prediction_needs(calibration):
    X, y = wave(300)
    model = composed(Ridge(), calibration=calibration, cv=3).fit(X, y)
    kept = pickle.dumps(model)
    assert b"Solution" not in kept
    assert b"BandProblem" not in kept


# Searches


def test_a_search_may_exchange_whole_parts():
    X, y = wave(100)
    flat, adaptive = (
        KernelBand(symmetric=True, **(FIXED | {"lengthscale": l})) for l in (1e3, 0.5)
    )
    bad, good = Ridge(alpha=1e9), KernelMean(lengthscale=0.5)
    grid = {"band": [flat, adaptive], "estimator": [bad, good]}
    search = GridSearchCV(BandRegressor(None, random_state=0), grid, cv=3).fit(X, y)
    assert isinstance(search.best_params_["estimator"], KernelMean)
    assert search.best_estimator_.lengthscale_ in {(1e3,), (0.5,)}


@pytest.mark.parametrize("band", [KernelBand(**FIXED)])
def test_a_search_over_parts_changes_none_of_them(band):
    X, y = wave(60)
    before = dict(vars(band))
    model = BandRegressor(None, band=band, random_state=0)
    GridSearchCV(model, {"band__offset": [0.5, 2.0]}, cv=2).fit(X, y)
    assert vars(band) == before


# Frames of scikit-learn


def test_a_pipeline_that_makes_frames_is_a_mean():
    X, y = wave(80, columns=2)
    table = pd.DataFrame(X, columns=["a", "b"])
    piped = make_pipeline(StandardScaler(), Ridge()).set_output(transform="pandas")
    model = composed(piped).fit(table, y)
    assert_array_equal(model.estimator_[-1].feature_names_in_, ["a", "b"])
    plain = composed(make_pipeline(StandardScaler(), Ridge())).fit(X, y)
    assert_allclose(model.predict_interval(table), plain.predict_interval(X), rtol=1e-9)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_transformer_that_makes_frames_is_what_the_band_sees(library):
    X, y = wave(80, columns=2)
    table = pd.DataFrame(X, columns=["a", "b"])
    scaler = StandardScaler().set_output(transform=library)
    model = composed(Ridge(), band_transformer=scaler).fit(table, y)
    plain = composed(Ridge(), band_transformer=StandardScaler()).fit(X, y)
    assert_allclose(model.predict_interval(table), plain.predict_interval(X), rtol=1e-9)


def test_a_kernel_mean_learns_the_columns_of_a_frame_in_their_order():
    X, y = wave(80, columns=2)
    table = pd.DataFrame(X, columns=["a", "b"])
    model = composed().fit(table, y)
    assert_array_equal(model.feature_names_in_, ["a", "b"])
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(table[["b", "a"]])
    assert np.all(np.isfinite(model.predict_interval(table)))
