import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV

from sosbands import BandRegressor, KernelBand, KernelMean, Newton
from tests.regressors import regressor

FIXED = {"symmetric": True, "lengthscale": 1.0, "width_weight": 10.0}


def wave(n=80, columns=1):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, columns))
    return X, np.sin(6 * X[:, 0]) + (0.1 + X[:, 0]) * rng.normal(size=n)


# A part of an estimator


def test_parameters_are_stored_untouched():
    given = {name: object() for name in inspect.signature(KernelBand).parameters}
    band = KernelBand(**given)
    assert all(getattr(band, name) is value for name, value in given.items())


def test_a_clone_has_the_same_parameters_and_its_own_regressor():
    band = KernelBand(lengthscale=[0.5, 2.0], difficulty=Ridge(alpha=3.0), solver=Newton(tol=0.1))
    copy = clone(band)
    assert copy.lengthscale == [0.5, 2.0]
    assert copy.difficulty is not band.difficulty
    assert copy.difficulty.alpha == 3.0
    assert copy.solver == band.solver
    assert clone(BandRegressor(None, band=band)).band is not band


def test_no_band_means_the_default_band():
    X, y = wave()
    expected = BandRegressor(None, band=KernelBand(), random_state=0).fit(X, y).predict_interval(X)
    model = BandRegressor(None, random_state=0).fit(X, y)
    assert_array_equal(model.predict_interval(X), expected)
    assert model.band is None


def test_no_estimator_means_the_default_kernel_mean():
    X, y = wave()
    expected = BandRegressor(KernelMean(), random_state=0).fit(X, y).predict_interval(X)
    model = BandRegressor(None, random_state=0).fit(X, y)
    assert_array_equal(model.predict_interval(X), expected)
    assert model.estimator is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("band__symmetric", r"parameter of band, which is None: pass band=KernelBand\(\)"),
        ("estimator__alpha", r"parameter of estimator, .* pass estimator=KernelMean\(\)"),
    ],
)
def test_parameters_of_a_part_that_is_none_are_refused_in_one_sentence(name, message):
    with pytest.raises(ValueError, match=message) as caught:
        BandRegressor(None).set_params(**{name: True})
    assert "\n" not in str(caught.value)


def test_a_part_and_its_parameters_may_be_set_at_once():
    model = BandRegressor(None).set_params(band=KernelBand(), band__symmetric=True)
    assert model.band.symmetric is True
    model.set_params(band__lengthscale=2.0, estimator=Ridge(), estimator__alpha=3.0)
    assert (model.band.lengthscale, model.estimator.alpha) == (2.0, 3.0)
    with pytest.raises(ValueError, match="Invalid parameter 'width'"):
        model.set_params(band__width=1.0)


def test_a_band_is_not_changed_by_a_fit():
    X, y = wave()
    band = KernelBand(**FIXED)
    before = dict(vars(band))
    BandRegressor(None, band=band, random_state=0).fit(X, y)
    assert vars(band) == before


def test_one_band_may_serve_several_models():
    X, y = wave()
    band = KernelBand(**FIXED)
    models = [BandRegressor(mean, band=band, random_state=0) for mean in (None, LinearRegression())]
    together = [model.fit(X, y).predict_interval(X) for model in models]
    alone = [clone(model).fit(X, y).predict_interval(X) for model in models]
    for seen, expected in zip(together, alone, strict=True):
        assert_array_equal(seen, expected)


def test_a_grid_search_reaches_the_parameters_of_the_band_and_of_the_mean():
    X, y = wave(120)

    def interval_score(model, X, y):
        from sosbands.metrics import interval_score

        return -interval_score(y, model.predict_interval(X, 0.8), 0.8)

    grid = {"band__lengthscale": [0.5, 100.0], "estimator__lengthscale": [0.01, 0.5]}
    model = BandRegressor(KernelMean(), band=KernelBand(**FIXED), random_state=0)
    search = GridSearchCV(model, grid, cv=3, scoring=interval_score).fit(X, y)
    assert search.best_params_ == {"band__lengthscale": 0.5, "estimator__lengthscale": 0.5}
    assert search.best_estimator_.lengthscale_ == (0.5,)


# What the parameters do


def test_a_matern_kernel_makes_another_and_rougher_band():
    X, y = wave(150)
    new = np.linspace(0, 1, 200)[:, None]
    scales = {
        kernel: regressor(kernel=kernel, calibration=None, random_state=0, **FIXED)
        .fit(X, y)
        .predict_scale(new)
        for kernel in ("gaussian", "matern")
    }
    assert np.abs(scales["matern"] / scales["gaussian"] - 1).max() > 0.01
    # Second differences: the curvature of a band with the same lengthscale.
    rough = {kernel: np.abs(np.diff(np.log(scale), 2)).mean() for kernel, scale in scales.items()}
    assert rough["matern"] > rough["gaussian"]


def test_a_matern_kernel_is_tuned_and_calibrated_like_any_other():
    X, y = wave(80)
    model = regressor(kernel="matern", random_state=0).fit(X, y)
    assert model.tuning_.chosen.lengthscale == model.lengthscale_
    assert model.certificate_.gap <= 1e-4
    assert np.all(np.isfinite(model.predict_interval(X)))
    assert "Matern" in repr(model.band_.functions.levels[0][0].kernel)


@pytest.mark.parametrize("estimator", [None, LinearRegression()])
@pytest.mark.parametrize("columns", [1, 2])
def test_what_was_chosen_reproduces_the_band_if_it_is_given_back(columns, estimator):
    X, y = wave(120, columns)
    fixed = {"difficulty": None, "calibration": None, "random_state": 0}
    model = regressor(estimator, **fixed).fit(X, y)
    given = regressor(
        estimator,
        **fixed,
        lengthscale=model.lengthscale_,
        width_weight=model.width_weight_,
        symmetric=model.symmetric_,
    ).fit(X, y)
    assert given.tuning_ is None
    assert_allclose(np.ravel(given.lengthscale_), np.ravel(model.lengthscale_))
    assert_allclose(given.predict_scale(X), model.predict_scale(X), rtol=1e-6)


def test_likeness_brings_the_sides_together():
    X, y = wave(150)
    y = y + np.random.default_rng(1).exponential(size=len(y))
    differences = []
    for likeness in (0.0, 0.9, 1.0):
        settings = {**FIXED, "symmetric": False, "difficulty": None, "caution": 0.0}
        model = regressor(LinearRegression(), likeness=likeness, calibration=None, **settings)
        low, up = model.fit(X, y).predict_scale(X).T
        differences.append(np.abs(up - low).mean())
    assert differences[0] > differences[1] > differences[2]
    assert_allclose(differences[2], 0, atol=1e-12)


def test_likeness_says_nothing_of_a_symmetric_band():
    X, y = wave(80)  # too few rows for two sides
    scales = [regressor(likeness=k, random_state=0).fit(X, y).predict_scale(X) for k in (0.0, 0.9)]
    assert_array_equal(*scales)


def test_the_published_band_takes_changes():
    band = KernelBand.as_published(training_coverage=0.8)
    assert (band.training_coverage, band.width_weight, band.joint_mean) == (0.8, 10.0, True)


# What means nothing


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"symmetric": "yes"}, "symmetric must be one of True, False, \"auto\", got 'yes'"),
        ({"symmetric": 1}, 'symmetric must be one of True, False, "auto", got 1'),
        ({"likeness": "auto"}, "likeness must be a number >= 0, got 'auto'"),
        ({"likeness": 1.1}, "likeness must be from 0 to 1, got 1.1"),
        ({"likeness": 0.5, "symmetric": True}, "likeness=0.5 is that of two sides around a given"),
        ({"likeness": 0.5, "joint_mean": True}, "set symmetric=False and joint_mean=False"),
        ({"lengthscale": "likelihood"}, "lengthscale must be one of .*hsic.*got 'likelihood'"),
        ({"lengthscale": [[1.0]]}, "lengthscale must be .*one per input, got"),
        ({"anisotropy": True}, "anisotropy must be one of .*got True"),
        ({"criterion": "r2"}, "criterion must be one of .*got 'r2'"),
        ({"residual_power": 1.5}, "residual_power must be one of .*got 1.5"),
        ({"residual_power": True}, "residual_power must be one of .*got True"),
        ({"joint_mean": None}, "joint_mean must be one of True, False, got None"),
        ({"mean_weight": "big"}, 'mean_weight must be "auto" or a number >= 0'),
        ({"width_weight": -1}, 'width_weight must be "auto" or a number >= 0, got -1'),
        ({"trace_penalty": "auto"}, "trace_penalty must be a number >= 0, got 'auto'"),
        ({"ridge_penalty": np.inf}, "ridge_penalty must be a number >= 0, got inf"),
        ({"training_coverage": True}, 'training_coverage must be "auto", in .*got True'),
        ({"offset": -1.0}, "offset must be a number >= 0, got -1.0"),
        ({"prediction_weight": None}, "prediction_weight must be .*got None"),
        ({"difficulty": "trees"}, "difficulty must be \"auto\", None or a regressor, got 'trees'"),
        ({"caution": np.nan}, "caution must be .*got nan"),
        ({"shift_power": 1.1}, "shift_power must be from 0 to 1, got 1.1"),
        ({"standardize": "no"}, "standardize must be one of True, False, got 'no'"),
        ({"max_rank": 0.5}, "max_rank must be a whole number >= 1 or None, got 0.5"),
        ({"tol": 0.0}, "tol must be a number > 0, got 0.0"),
    ],
)
def test_parameters_that_mean_nothing_are_refused_in_one_sentence(parameters, message):
    band = KernelBand(**parameters)  # constructors check nothing
    with pytest.raises(ValueError, match=message) as caught:
        band.check()
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=message):
        BandRegressor(None, band=band).fit(*wave())


@pytest.mark.parametrize(
    "parameters",
    [
        {"residual_power": np.int64(2)},
        {"symmetric": np.True_},
        {"lengthscale": np.float32(0.5)},
        {"max_rank": np.int32(5)},
        {"width_weight": np.float64(3)},
    ],
)
def test_numbers_of_numpy_are_numbers(parameters):
    KernelBand(**parameters).check()


@pytest.mark.parametrize("band", ["hard", Ridge(), KernelBand, {"symmetric": True}])
def test_what_is_no_band_is_refused(band):
    with pytest.raises(ValueError, match="band must be a KernelBand or None, got"):
        BandRegressor(None, band=band).fit(*wave())


def test_a_joint_mean_around_a_model_is_refused():
    with pytest.raises(ValueError, match="joint_mean=True learns a kernel mean"):
        regressor(Ridge(), joint_mean=True).fit(*wave())


@pytest.mark.parametrize("standardize", [True, False])
def test_a_joint_mean_has_the_units_of_its_band(standardize):
    mean, band = KernelMean(standardize=not standardize), KernelBand(standardize=standardize)
    model = BandRegressor(mean, band=band, random_state=0)
    with pytest.raises(
        ValueError, match=r"needs a mean in the units of the band, .* set both alike"
    ):
        model.set_params(band__joint_mean=True).fit(*wave())
    model.set_params(band__joint_mean=False, band__lengthscale=1.0).fit(*wave())
