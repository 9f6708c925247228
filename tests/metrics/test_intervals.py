import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sosbands import datasets, metrics

INF = np.inf
Y = np.array([0.0, 1.0, 2.0, 5.0])
INTERVALS = np.array([[-1.0, 1.0], [1.0, 3.0], [3.0, 4.0], [0.0, 4.0]])
UNBOUNDED = np.array([[-INF, INF], [1.0, 3.0], [3.0, INF], [-INF, 4.0]])
BOTH = np.stack([INTERVALS, UNBOUNDED], axis=2)
ONE = [[0.0, 1.0]]


def test_coverage_counts_the_bounds_as_inside():
    assert metrics.coverage(Y, INTERVALS) == 0.5  # 0 and 1 are in, 2 and 5 are out
    assert_array_equal(metrics.coverage(Y, BOTH), [0.5, 0.5])
    assert isinstance(metrics.coverage(Y, INTERVALS), float)


def test_mean_width_is_infinite_if_one_interval_is():
    assert metrics.mean_width(INTERVALS) == (2 + 2 + 1 + 4) / 4
    assert_array_equal(metrics.mean_width(BOTH), [2.25, INF])


def test_interval_score_adds_two_over_alpha_times_the_misses():
    # Widths 2, 2, 1, 4; y = 2 is 1 below its interval, y = 5 is 1 above: 2/0.2 = 10 each.
    assert metrics.interval_score(Y, INTERVALS, 0.8) == pytest.approx((9 + 20) / 4)
    assert_allclose(metrics.interval_score(Y, BOTH, [0.8, 0.5]), [7.25, INF])
    twice = np.stack([INTERVALS, INTERVALS], axis=2)
    assert_allclose(metrics.interval_score(Y, twice, [0.8, 0.5]), [7.25, (9 + 8) / 4])
    assert_allclose(metrics.interval_score(Y, twice, 0.8), [7.25, 7.25])


def test_the_oracle_has_the_smallest_interval_score():
    case = datasets.case(1)
    X, y = case.sample(20_000, random_state=0)
    oracle = case.interval(X, 0.9)
    middle, half = oracle.mean(axis=1), np.ptp(oracle, axis=1) / 2
    best = metrics.interval_score(y, oracle, 0.9)
    for factor in (0.7, 1.4):
        other = np.stack([middle - factor * half, middle + factor * half], axis=1)
        assert metrics.interval_score(y, other, 0.9) > best
    constant = np.stack([middle - half.mean(), middle + half.mean()], axis=1)
    assert metrics.interval_score(y, constant, 0.9) > best


def around(mean, half):
    return np.stack([mean - half, mean + half], axis=1)


def test_r2_sqi_regresses_the_median_width_on_the_residual_quantile():
    # Three bins of two rows, half widths 1, 2, 3; errors 1, 1 | 2, 2 | 4, 4. With w = 2, 4, 6 and
    # q = 1, 2, 4: c = 34/21, residuals (8, 16, −10)/21, Σ(w − w̄)² = 8.
    mean, half = np.zeros(6), np.array([1.0, 1, 2, 2, 3, 3])
    y = np.array([1.0, -1, 2, -2, 4, -4])
    expected = 1 - (8**2 + 16**2 + 10**2) / 21**2 / 8
    value = metrics.r2_sqi(y, mean, around(mean, half), n_bins=3, level=0.9)
    assert value == pytest.approx(expected)


def test_r2_sqi_is_one_for_proportional_widths_and_very_negative_for_constant_ones():
    rng = np.random.default_rng(0)
    error = rng.uniform(1, 2, 1000)
    mean = rng.standard_normal(1000)
    y = mean + error
    proportional = around(mean, 3 * np.floor(error * 10) / 10)
    y_steps = mean + np.floor(error * 10) / 10
    assert metrics.r2_sqi(y_steps, mean, proportional, n_bins=10, level=0.9) == pytest.approx(1)
    nearly_constant = around(mean, 1 + 1e-3 * rng.uniform(size=1000))
    assert metrics.r2_sqi(y, mean, nearly_constant, level=0.9) < -100
    # Bounds that make the widths equal to the last bit.
    constant = np.tile([0.0, 2.0], (1000, 1))
    assert metrics.r2_sqi(y, mean, constant, level=0.9) == -INF
    unbounded = np.tile([-INF, INF], (1000, 1))
    several = np.stack([proportional, unbounded], axis=2)
    values = metrics.r2_sqi(y_steps, mean, several, n_bins=10, level=[0.9, 0.95])
    assert_allclose(values, [1.0, np.nan])


def test_r2_sqi_survives_a_perfect_mean():
    half = np.array([1.0, 2.0])
    # c = 0: R² = 1 − (4 + 16)/2.
    assert metrics.r2_sqi([0, 0], [0, 0], around(np.zeros(2), half), n_bins=2, level=0.9) == -9


def test_size_stratified_coverage_is_the_smallest_over_bins_of_width():
    y = np.array([0.0, 0, 0, 0, 9, 0, 9, 9])
    half = np.array([1.0, 1, 2, 2, 3, 3, INF, INF])
    assert metrics.size_stratified_coverage(y, around(np.zeros(8), half), n_bins=4) == 0.5
    equal = around(np.zeros(8), np.ones(8))  # one bin: the marginal coverage
    assert metrics.size_stratified_coverage(y, equal, n_bins=4) == 5 / 8
    both = np.stack([around(np.zeros(8), half), equal], axis=2)
    assert_array_equal(metrics.size_stratified_coverage(y, both, n_bins=4), [0.5, 5 / 8])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.mean_width([0.0, 1.0]), r"shape \(n, 2\) or \(n, 2, k\), got \(2,\)"),
        (lambda: metrics.mean_width(np.ones((2, 3))), "intervals must have shape"),
        (lambda: metrics.mean_width(np.ones((0, 2))), "intervals must have shape"),
        (lambda: metrics.mean_width([[0.0, np.nan]]), "got NaN"),
        (lambda: metrics.mean_width([[1.0, 0.0]]), "lower ≤ upper"),
        (lambda: metrics.mean_width([[INF, INF]]), "lower ≤ upper"),
        (lambda: metrics.coverage([0.0, 1.0], ONE), r"each of the 1 rows, got shape \(2,\)"),
        (lambda: metrics.coverage([np.nan], ONE), "y must hold one finite number"),
        (lambda: metrics.interval_score([0.0], ONE, 90), r"level must be in \(0, 1\)"),
        (
            lambda: metrics.interval_score([0.0], ONE, [0.8, 0.9]),
            "must be one number for one interval or quantile of each row, got",
        ),
        (lambda: metrics.r2_sqi([0.0], [0.0, 0], ONE, level=0.9), "mean must hold one finite"),
        (lambda: metrics.r2_sqi([0.0], [0.0], ONE, level=0.9), r"n_bins must be .* \(1\), got 50"),
        (lambda: metrics.size_stratified_coverage([0.0], ONE), r"n_bins must be .* \(1\), got 5"),
    ],
)
def test_intervals_that_cannot_be_judged_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([0, 0, 0], "numbers from 0 to 0"),
        ([-1, 1, 1], "numbers from -1 to 1"),
        ([np.nan, 1, 1], "numbers from nan"),
        ([np.inf, 1, 1], "numbers from 1 to inf"),
        ([1, 1], r"must have shape \(3,\), one for each row, got \(2,\)"),
    ],
)
def test_weights_that_are_none_are_refused(weights, sentence):
    with pytest.raises(ValueError, match=f"^sample_weight .*{sentence}"):
        metrics.coverage([1, 2, 3], [[0, 2]] * 3, sample_weight=weights)


@pytest.mark.parametrize("size", [1e308, 1e-320])
def test_weights_count_by_their_ratios_however_large_they_are(size):
    weights = size * np.ones(4)
    assert metrics.coverage(Y, INTERVALS, sample_weight=weights) == 0.5
    expected = metrics.interval_score(Y, INTERVALS, 0.5)
    assert metrics.interval_score(Y, INTERVALS, 0.5, sample_weight=weights) == expected


def test_one_interval_has_one_level():
    with pytest.raises(ValueError, match=r"level must be one number for one .*got \[0\.9\]: give"):
        metrics.interval_score(Y, INTERVALS, [0.9])
