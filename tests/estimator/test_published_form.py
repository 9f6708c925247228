import numpy as np
import pytest
from numpy.testing import assert_allclose

from sosbands import BandProblem, BandRegressor, Gaussian, KernelMean, Newton
from sosbands.learning.gaussian_process import fit_gaussian_process
from tests.estimator.models import wave


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


def test_a_band_with_a_width_weight_of_zero_can_be_tuned():
    X, y = wave(60)
    model = BandRegressor.as_published(band__width_weight=0, random_state=0).fit(X, y)
    assert model.width_weight_ == 0
    assert len(model.tuning_.trials) > 1
