"""Units of the data must not matter: bands move with them, and still certify."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sosbands import BandProblem, Gaussian, Linear, Matern, Newton, Status
from sosbands.datasets import case

KINDS = pytest.mark.parametrize(
    ("symmetric", "coverage"), [(True, 1.0), (True, 0.8), (False, 1.0), (False, 0.8)]
)


def in_units(t, symmetric, coverage, n=80):
    X, y = case(1).sample(n, random_state=1)
    sided = t if symmetric else 1.0
    return BandProblem.from_data(
        X,
        t * y,
        mean_kernel=Gaussian(0.2),
        mean_bound=5.0 * t**2,
        scale_kernel=Gaussian(0.3),
        mean_weight=0.5 * sided / t,
        width_weight=10.0,
        ridge_penalty=1.0 / (t * sided),
        training_coverage=coverage,
        symmetric=symmetric,
    )


@KINDS
@pytest.mark.parametrize("t", [1e-8, 1e8])
def test_bands_scale_with_the_outputs(t, symmetric, coverage):
    plain = Newton().solve(in_units(1.0, symmetric, coverage))
    scaled = Newton().solve(in_units(t, symmetric, coverage))
    assert plain.status is scaled.status is Status.CONVERGED
    x = np.linspace(-1, 1, 101)
    assert_allclose(scaled.mean(x) / t, plain.mean(x), rtol=1e-8, atol=1e-8)
    assert_allclose(scaled.scale(x) / t, plain.scale(x), rtol=1e-8)


def test_inputs_and_lengthscales_may_change_units_together():
    X, y = case(4, beta=(1.0, 0.5)).sample(150, random_state=0)
    units = np.array([1e6, 1e-6])
    plain = BandProblem.from_data(
        X, y, mean=np.full(150, y.mean()), scale_kernel=Matern((0.5, 2.0))
    )
    moved = BandProblem.from_data(
        X * units,
        y,
        mean=np.full(150, y.mean()),
        scale_kernel=Matern(tuple(np.array([0.5, 2.0]) * units)),
    )
    first, second = Newton().solve(plain), Newton().solve(moved)
    assert_allclose(first.primal_value, second.primal_value, rtol=1e-6)


@pytest.mark.parametrize("kernel", [Linear(1.0), Linear(1.0, offset=1.0), Gaussian(1.0)])
@pytest.mark.parametrize("coverage", [1.0, 0.9])
def test_features_in_wild_units_still_certify(kernel, coverage):
    X, y = case(4, beta=(1.0, 0.5, 0.1)).sample(200, random_state=0)
    problem = BandProblem.from_data(
        X * [1e6, 1.0, 1e-6],
        y,
        mean=np.full(200, y.mean()),
        scale_kernel=kernel,
        training_coverage=coverage,
    )
    assert Newton().solve(problem).status.optimal


@KINDS
def test_outliers_still_certify(symmetric, coverage):
    X, y = case(1).sample(300, random_state=2)
    y[[3, 77]] = 1e6, -1e6
    problem = BandProblem.from_data(
        X,
        y,
        mean_kernel=Gaussian(0.2),
        mean_bound=5.0,
        mean_weight=1.0,
        scale_kernel=Gaussian(0.3),
        training_coverage=coverage,
        symmetric=symmetric,
    )
    assert Newton().solve(problem).status is Status.CONVERGED


def test_inputs_with_outliers_still_certify():
    X, y = case(2, dimension=3).sample(300, random_state=2)
    X[5], X[6] = 1e6, -1e6
    problem = BandProblem.from_data(
        X, y, mean=np.zeros(300), scale_kernel=Gaussian(1.0, offset=1.0)
    )
    assert Newton().solve(problem).status is Status.CONVERGED
