import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from sosbands import BandProblem, Gaussian
from sosbands.core.centre import Centre, smoothed_median


def zero_inflated(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    y = np.where(rng.random(n) < 0.7, 0.0, rng.exponential(3.0, n))
    return X, y - y.mean()


@pytest.mark.parametrize("penalty", [1e-3, 0.1, 10.0])
def test_newton_finds_what_a_general_minimiser_finds(penalty):
    rng = np.random.default_rng(0)
    rows, r, shares = rng.normal(size=(80, 6)), rng.standard_t(2, 80), rng.dirichlet(np.ones(80))
    z = smoothed_median(rows, r, shares, penalty)
    ε = 0.1 * np.sqrt(shares @ r**2)

    def value(z):
        return shares @ np.sqrt(ε**2 + (r - rows @ z) ** 2) + penalty * z @ z

    reference = minimize(value, np.zeros(6), method="BFGS", options={"gtol": 1e-10})
    assert value(z) <= reference.fun + 1e-12
    assert_allclose(z, reference.x, atol=1e-5)


def test_the_centre_is_near_the_median_and_its_norm_is_bounded():
    X, r = zero_inflated()
    problem = BandProblem.from_data(X, r, scale_kernel=Gaussian(0.5, offset=1.0))
    for penalty in (1e-3, 1.0, 100.0):
        centre = Centre.of(problem, penalty)
        assert_allclose(centre.values, centre.function.sums(X), atol=1e-9)
        z = smoothed_median(problem.features.rows, r, np.full(len(r), 1 / len(r)), penalty)
        assert z @ z <= np.abs(r).mean() / penalty
    assert np.median(np.abs(Centre.of(problem, 1e-3).values - np.median(r))) < 0.1 * r.std()


def test_a_row_of_weight_two_counts_as_two_rows():
    X, r = zero_inflated(40)
    kernel = Gaussian(0.5, offset=1.0)
    twice = np.append(np.arange(40), np.arange(10))
    repeated = BandProblem.from_data(X[twice], r[twice], scale_kernel=kernel)
    weights = np.where(np.arange(40) < 10, 2.0, 1.0)
    weighted = BandProblem.from_data(X, r, scale_kernel=kernel, row_weights=weights)
    pair = [Centre.of(problem, 0.1).function.sums(X) for problem in (repeated, weighted)]
    assert_allclose(*pair, atol=1e-7)


def test_no_residuals_need_no_centre():
    problem = BandProblem.from_data(np.arange(9.0), np.zeros(9), scale_kernel=Gaussian(1.0))
    assert_array_equal(Centre.of(problem, 1.0).values, 0)
