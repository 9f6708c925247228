import numpy as np
import pytest
from numpy.testing import assert_allclose

from sosbands.core.kernels import Gaussian, Kernel, Linear, Matern, exponents

KERNELS = [
    Gaussian(0.7),
    Gaussian((0.5, 2.0, 1.0), offset=0.3),
    Matern(0.7, nu=0.5),
    Matern((0.5, 2.0, 1.0), nu=1.5),
    Matern(0.7, nu=2.5, offset=1.0),
    Linear(2.0),
    Linear((0.5, 2.0, 1.0), offset=0.5),
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def by_hand(kernel: Kernel, x: np.ndarray, z: np.ndarray) -> float:
    u = (x - z) / np.asarray(kernel.lengthscale)
    distance = np.sqrt(np.sum(u**2))
    if isinstance(kernel, Gaussian):
        value = np.exp(-(distance**2) / 2)
    elif isinstance(kernel, Linear):
        scale = np.asarray(kernel.lengthscale)
        value = np.dot(x / scale, z / scale)
    else:
        t = np.sqrt(2 * kernel.nu) * distance
        polynomial = {0.5: 1, 1.5: 1 + t, 2.5: 1 + t + t**2 / 3}[kernel.nu]
        value = polynomial * np.exp(-t)
    return value + kernel.offset


@every_kernel
def test_gram_entries_are_what_the_formula_says(kernel):
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((6, 3)), rng.standard_normal((4, 3))
    expected = [[by_hand(kernel, x, z) for z in Z] for x in X]
    assert_allclose(kernel(X, Z), expected, rtol=1e-12, atol=1e-14)


@every_kernel
def test_the_diagonal_is_that_of_the_gram_matrix(kernel):
    X = np.random.default_rng(1).standard_normal((5, 3))
    assert_allclose(kernel.diagonal(X), np.diag(kernel(X, X)), rtol=1e-12)


@every_kernel
def test_gram_matrices_are_positive_semidefinite(kernel):
    X = np.random.default_rng(2).standard_normal((30, 3))
    assert np.linalg.eigvalsh(kernel(X, X))[0] > -1e-10


def test_close_points_far_from_the_origin_keep_their_distance():
    X = np.array([[1e9, 1.0], [1e9 + 0.5, 1.0], [0.0, 0.0]])
    assert_allclose(Gaussian(1.0)(X, X)[0, 1], np.exp(-0.125), rtol=1e-12)


@pytest.mark.parametrize("size", [0.1, 3.0, 30.0])
def test_the_product_form_of_a_gaussian_agrees_with_plain_differences(size):
    rng = np.random.default_rng(3)
    X, Z = size * rng.standard_normal((20, 4)), size * rng.standard_normal((15, 4))
    plain = np.exp(-((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=-1) / 2)
    assert_allclose(Gaussian(1.0)(X, Z), plain, rtol=1e-11, atol=1e-40)


@pytest.mark.parametrize("kernel", [Gaussian(), Matern(nu=1.5), Matern(nu=2.5)], ids=repr)
def test_a_profile_is_the_kernel_and_its_slope_by_the_exponent(kernel):
    rng = np.random.default_rng(4)
    X, Z = rng.standard_normal((20, 4)), rng.standard_normal((15, 4))
    e = exponents(X, Z)
    assert_allclose(e, -((X[:, None] - Z) ** 2).sum(axis=-1) / 2, atol=1e-13)
    values, slopes = kernel.profile(e.copy())
    assert_allclose(values, kernel(X, Z), atol=1e-13)
    up, down = (kernel.profile(e + h)[0] for h in (1e-6, -1e-6))
    assert_allclose(slopes, (up - down) / 2e-6, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kernel", [Matern(nu=1.5), Matern(nu=2.5)], ids=repr)
def test_rounding_of_a_distance_of_zero_changes_nothing(kernel):
    values, slopes = kernel.profile(np.array([1e-15, 0.0, -1e-15]))
    assert_allclose(values, 1.0, rtol=1e-13)
    assert_allclose(slopes, slopes[1], rtol=1e-6)


def test_a_kernel_with_a_kink_has_no_profile():
    with pytest.raises(ValueError, match=r"nu=0.5 has no slope at distance zero: take 1.5 or 2.5"):
        Matern(nu=0.5).profile(np.zeros((1, 1)))


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_a_matern_kernel_vanishes_far_away(nu):
    far = Matern(1.0, nu=nu)(np.array([[1e3], [1e30], [1e150]]), np.zeros((1, 1)))
    assert_allclose(far, 0.0, atol=1e-39)


def test_kernels_are_values():
    assert Gaussian([0.5, 1.0]) == Gaussian((0.5, 1.0))
    assert len({Gaussian(1), Gaussian(1.0), Matern(1.0)}) == 2


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, (1.0, -2.0), ()])
def test_a_lengthscale_must_be_positive(bad):
    with pytest.raises(ValueError, match="lengthscale must be a positive number"):
        Gaussian(bad)


@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf])
def test_an_offset_must_not_be_negative(bad):
    with pytest.raises(ValueError, match="offset must be finite and >= 0"):
        Gaussian(1.0, offset=bad)


def test_a_smoothness_needs_a_closed_form():
    with pytest.raises(ValueError, match=r"nu must be 0.5, 1.5 or 2.5, got 2"):
        Matern(1.0, nu=2)


def test_there_is_one_lengthscale_per_column():
    with pytest.raises(ValueError, match="lengthscale has 2 entries but X has 3 columns"):
        Gaussian((1.0, 2.0)).check_inputs(np.zeros((4, 3)))
