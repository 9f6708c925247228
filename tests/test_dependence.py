import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.feature_selection import mutual_info_regression

from sosbands import dependence
from sosbands.dependence import distance_correlation, hsic, mutual_information


def by_definition(u, v):
    """tr(KHLH)/n² with the energy kernel, as it is written."""
    n = len(u)
    H = np.eye(n) - np.ones((n, n)) / n
    K, L = (np.abs(x)[:, None] + np.abs(x) - np.abs(x[:, None] - x) for x in (u, v))
    return np.trace(K @ H @ L @ H) / n**2


def dependent_pair(n, seed=0):
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(n)
    return u, u * rng.standard_normal(n)


def pairwise(u, v):
    return dependence.pairwise_hsic(u, v, np.abs, np.abs)


def test_two_rows_give_a_quarter_of_the_product_of_their_distances():
    # Every entry of HAH is ±d/2, with the signs of HBH: the sum of 4 products (1/2)(2/2), over n².
    assert hsic([0.0, 1.0], [0.0, 2.0]) == pytest.approx(0.5)


@pytest.mark.parametrize("n", [2, 3, 64, 65, 251, 600])
@pytest.mark.parametrize("decimals", [0, 1, 15])
def test_the_sorted_and_the_pairwise_form_equal_the_definition(n, decimals):
    u, v = (x.round(decimals) for x in dependent_pair(n))
    expected = by_definition(u, v)
    for form in (hsic, pairwise, dependence.sorted_hsic):
        assert_allclose(form(u, v), expected, rtol=1e-11, atol=1e-14)


values = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3).map(lambda x: round(x, 6)))


@given(st.lists(st.tuples(values, values), min_size=2, max_size=40))
def test_the_sorted_form_equals_its_pairwise_twin(pairs):
    u, v = np.array(pairs).T
    scale = max(np.ptp(u) * np.ptp(v), 1e-12)
    slow, fast = pairwise(u, v), dependence.sorted_hsic(u, v)
    assert_allclose(fast / scale, slow / scale, atol=1e-13)
    assert_allclose(hsic(u, v) / scale, slow / scale, atol=1e-13)
    assert fast >= 0
    assert slow >= 0


@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("kernel", ["energy", "gaussian"])
def test_a_constant_depends_on_nothing(n, kernel):
    u, _ = dependent_pair(n)
    assert hsic(u, np.full(n, 0.1), kernel=kernel) == 0
    assert hsic(np.full(n, 0.1), u, kernel=kernel) == 0
    assert distance_correlation(u, np.full(n, 0.1)) == 0
    assert mutual_information(u, np.full(n, 0.1)) == 0
    assert mutual_information(np.full((n, 2), 0.1), u) == 0


@pytest.mark.parametrize("n", [100, 1000])
def test_both_measures_are_symmetric_and_blind_to_row_order(n):
    u, v = dependent_pair(n)
    p = np.random.default_rng(1).permutation(n)
    for kernel in ("energy", "gaussian"):
        assert hsic(u, v, kernel=kernel) == pytest.approx(hsic(v, u, kernel=kernel), rel=1e-10)
        assert hsic(u, v, kernel=kernel) == pytest.approx(
            hsic(u[p], v[p], kernel=kernel), rel=1e-10
        )
    assert distance_correlation(u, v) == pytest.approx(distance_correlation(v, u), rel=1e-10)


@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("factor", [1e-150, -3.0, 1e150])
def test_hsic_is_homogeneous_and_distance_correlation_scale_free(n, factor):
    u, v = dependent_pair(n)
    assert hsic(factor * u, v) == pytest.approx(abs(factor) * hsic(u, v), rel=1e-9)
    assert hsic(u, v + 5.0) == pytest.approx(hsic(u, v), rel=1e-9)
    expected = distance_correlation(u, v)
    assert distance_correlation(factor * u, v) == pytest.approx(expected, rel=1e-9)
    assert distance_correlation(u, factor * v) == pytest.approx(expected, rel=1e-9)
    assert hsic(factor * u, v, kernel="gaussian") == pytest.approx(
        hsic(u, v, kernel="gaussian"), rel=1e-9
    )


def test_an_affine_function_has_distance_correlation_one():
    u, v = dependent_pair(700)
    assert distance_correlation(u, 3 - 2 * u) == pytest.approx(1.0, abs=1e-9)
    assert 0 < distance_correlation(u, v) < 1


def test_the_gaussian_form_equals_the_definition_with_the_median_distance():
    u, v = dependent_pair(300)
    n = len(u)
    H = np.eye(n) - 1 / n
    grams = []
    for x in (u, v):
        D = np.abs(x[:, None] - x)
        grams.append(np.exp(-((D / np.median(D[np.triu_indices(n, 1)])) ** 2) / 2))
    expected = np.trace(grams[0] @ H @ grams[1] @ H) / n**2
    assert hsic(u, v, kernel="gaussian") == pytest.approx(expected, rel=1e-10)
    assert 0 < expected < 1


def test_the_gaussian_width_survives_a_sample_that_is_mostly_tied():
    u = np.array([0.0] * 90 + [1.0] * 10)
    assert 0 < hsic(u, u, kernel="gaussian") < 1


def test_two_hundred_thousand_rows_need_no_square_array():
    u, v = dependent_pair(200_000)
    tracemalloc.start()
    value = hsic(u, v)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 400 * len(u)  # bytes; the square array has 8 n²
    # The V-statistic is within a few standard errors, about n^(−1/2), of that of a subsample.
    assert value == pytest.approx(hsic(u[:20_000], v[:20_000]), rel=0.1)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_mutual_information_of_gaussians_is_close_to_its_closed_form(rho):
    z = np.random.default_rng(2).standard_normal((4000, 2))
    s = rho * z[:, 0] + np.sqrt(1 - rho**2) * z[:, 1]
    # The standard deviation of the estimate with k = 3 is about 1.2/√n = 0.02.
    expected = -0.5 * np.log(1 - rho**2)
    assert mutual_information(z[:, 0], s, random_state=0) == pytest.approx(expected, abs=0.06)


def test_mutual_information_sees_several_inputs_jointly():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4000, 3))
    s = X.sum(axis=1) + np.sqrt(3) * rng.standard_normal(4000)
    assert mutual_information(X, s, random_state=0) == pytest.approx(0.5 * np.log(2), abs=0.06)
    assert mutual_information(X * [1e-6, 1.0, 1e6], s, random_state=0) == pytest.approx(
        mutual_information(X, s, random_state=0), abs=1e-6
    )


def test_mutual_information_of_one_input_equals_scikit_learn():
    u, v = dependent_pair(500)
    expected = mutual_info_regression(u[:, None], v, n_neighbors=4, random_state=0)[0]
    assert mutual_information(u, v, n_neighbors=4, random_state=0) == pytest.approx(
        expected, abs=1e-6
    )
    assert mutual_information(u[:, None], v, n_neighbors=4, random_state=5) == pytest.approx(
        expected, abs=1e-6
    )


def test_mutual_information_repeats_itself_with_ties_and_a_seed():
    u, v = (x.round() for x in dependent_pair(400))
    first = mutual_information(u, v, random_state=7)
    assert mutual_information(u, v, random_state=7) == first
    assert mutual_information(u, v, random_state=np.random.default_rng(7)) == first
    assert first >= 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hsic([1.0], [1.0]), r"u must have shape \(n,\) with n ≥ 2, got \(1,\)"),
        (lambda: hsic([[1.0, 2.0]], [1.0, 2.0]), "u must have shape"),
        (lambda: hsic([1.0, 2.0], [1.0, np.nan]), "v must be finite"),
        (lambda: hsic([1.0, 2.0], [1.0, 2.0, 3.0]), "equally long, got 2 and 3"),
        (lambda: hsic([1.0, 2.0], [1.0, 2.0], kernel="cubic"), "got 'cubic'"),
        (lambda: distance_correlation([1.0, np.inf], [1.0, 2.0]), "u must be finite"),
        (lambda: mutual_information([1.0, 2.0, 3.0], [1.0, 2.0]), "x must hold finite"),
        (lambda: mutual_information(np.ones((2, 1, 1)), [1.0, 2.0]), "x must hold finite"),
        (lambda: mutual_information([1.0, np.nan], [1.0, 2.0]), "x must hold finite"),
        (lambda: mutual_information([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), "from 1 to 2, got 3"),
    ],
)
def test_what_cannot_be_measured_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("n", [20, 300])
@pytest.mark.parametrize("decimals", [1, 15])
def test_a_pair_of_weight_three_counts_as_three_pairs(n, decimals):
    u, v = (x.round(decimals) for x in dependent_pair(n))
    w = np.random.default_rng(1).integers(0, 4, size=n)
    w[[u.argmin(), u.argmax(), v.argmin(), v.argmax()]] = 1  # the same ranges
    again = np.repeat(u, w), np.repeat(v, w)
    for form in (hsic, distance_correlation):
        assert_allclose(form(u, v, sample_weight=5.0 * w), form(*again), rtol=1e-9)
    shares = w / w.sum()
    slow = dependence.pairwise_hsic(u, v, np.abs, np.abs, shares)
    assert_allclose(dependence.sorted_hsic(u, v, shares), slow, rtol=1e-9)


def test_weights_that_are_none_are_refused():
    for weights in ([1.0], [1.0, -1.0, 1.0], [0.0, 0.0, 0.0]):
        with pytest.raises(ValueError, match="sample_weight"):
            hsic([0.0, 1.0, 2.0], [0.0, 2.0, 1.0], sample_weight=weights)
