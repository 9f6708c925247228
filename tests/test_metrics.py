import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import expon, norm

from sosbands import datasets, metrics
from sosbands.slabs import worst_slab

INF = np.inf
Y = np.array([0.0, 1.0, 2.0, 5.0])
INTERVALS = np.array([[-1.0, 1.0], [1.0, 3.0], [3.0, 4.0], [0.0, 4.0]])
UNBOUNDED = np.array([[-INF, INF], [1.0, 3.0], [3.0, INF], [-INF, 4.0]])
BOTH = np.stack([INTERVALS, UNBOUNDED], axis=2)


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


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_the_oracle_has_exactly_its_level_everywhere(number):
    case = datasets.case(number)
    X = case.sample_inputs(50, random_state=0)
    intervals = np.stack([case.interval(X, p) for p in (0.5, 0.9)], axis=2)
    exact = metrics.exact_local_coverage(case, intervals, X)
    assert_allclose(exact, np.broadcast_to([0.5, 0.9], (50, 2)), rtol=1e-12)
    assert metrics.exact_local_coverage(case, intervals[..., 0], X).shape == (50,)


def test_exact_local_coverage_equals_the_values_by_hand():
    normal, X = datasets.case(2), [[np.pi / 2], [np.pi / 2], [0.0], [0.0]]
    m = np.pi / 4  # σ = 1 in the first two rows, 0 in the others, where m = 0
    intervals = [[m - 1, m + 2], [-INF, m], [-1, 0], [0.5, 1]]
    expected = [norm.cdf(2) - norm.cdf(-1), 0.5, 1.0, 0.0]
    assert_allclose(metrics.exact_local_coverage(normal, intervals, X), expected)
    skewed, X = datasets.case(5), [[0.25], [-0.75], [-0.75]]
    σ, m = np.array([1.0, -1.0, -1.0]), np.sin([0.5, -1.5, -1.5])
    assert_allclose(skewed.scale(X), σ)
    # With σ = −1, Y lies below m: the interval [m − 2, m − 1] holds 1 ≤ ε ≤ 2.
    intervals = m[:, None] + [[-3, 1], [-2, -1], [0, INF]]
    expected = [expon.cdf(1), expon.cdf(2) - expon.cdf(1), 0.0]
    assert_allclose(metrics.exact_local_coverage(skewed, intervals, X), expected, atol=1e-15)


def test_an_unknown_law_has_no_exact_local_coverage():
    class Uniform(type(datasets.case(1))):
        noise = datasets.Noise(0.5, np.random.Generator.random, lambda p: p, lambda p: 1 - p)

    with pytest.raises(ValueError, match="normal or exponential"):
        metrics.exact_local_coverage(Uniform(), [[0.0, 1.0]], [[0.0]])


@pytest.mark.parametrize("number", [1, 5])
def test_sampled_local_coverage_agrees_with_the_exact_one(number):
    case = datasets.case(number)
    X = case.sample_inputs(40, random_state=0)

    def predict_interval(X):
        return np.stack([case.interval(X, 0.6) - 0.3, case.interval(X, 0.9) + 0.1], axis=2)

    exact = metrics.exact_local_coverage(case, predict_interval(X), X)
    sampled = metrics.local_coverage(case, predict_interval, X, random_state=1)
    assert sampled.shape == (40, 2)
    assert_allclose(sampled, exact, atol=5 * np.sqrt(0.25 / 1000))
    as_function = metrics.local_coverage(case.sample_outputs, predict_interval, X, random_state=1)
    assert_array_equal(as_function, sampled)


def test_size_stratified_coverage_is_the_smallest_over_bins_of_width():
    y = np.array([0.0, 0, 0, 0, 9, 0, 9, 9])
    half = np.array([1.0, 1, 2, 2, 3, 3, INF, INF])
    assert metrics.size_stratified_coverage(y, around(np.zeros(8), half), n_bins=4) == 0.5
    equal = around(np.zeros(8), np.ones(8))  # one bin: the marginal coverage
    assert metrics.size_stratified_coverage(y, equal, n_bins=4) == 5 / 8
    both = np.stack([around(np.zeros(8), half), equal], axis=2)
    assert_array_equal(metrics.size_stratified_coverage(y, both, n_bins=4), [0.5, 5 / 8])


def slowest_slab(t, hit, least):
    """All pairs of bounds among the values of t."""
    values = np.unique(t)
    rows = [(a <= t) & (t <= b) for a in values for b in values if a <= b]
    return min(hit[inside].mean() for inside in rows if inside.sum() >= least)


@given(
    st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=25),
    st.floats(0.01, 1.0),
)
def test_the_worst_slab_equals_the_exhaustive_search(rows, mass):
    t, hit = np.array([r[0] for r in rows], dtype=float), np.array([r[1] for r in rows])
    least = int(np.ceil(mass * len(t)))
    value, low, high = worst_slab(t, hit, least)
    inside = (low <= t) & (t <= high)
    assert value == pytest.approx(slowest_slab(t, hit, least))
    assert value == pytest.approx(hit[inside].mean())
    assert inside.sum() >= least


@pytest.mark.parametrize("d", [1, 3])
def test_the_worst_slab_finds_where_nothing_is_covered(d):
    X = np.random.default_rng(0).uniform(-1, 1, (2000, d))
    y = np.where(X[:, 0] > 0.5, 9.0, 0.0)  # a quarter of the rows
    intervals = np.tile([-1.0, 1.0], (2000, 1))
    value = metrics.worst_slab_coverage(X, y, intervals, random_state=0)
    assert value < 0.03 if d == 1 else value < 0.35
    both = np.stack([intervals, np.full((2000, 2), [-INF, INF])], axis=2)
    assert_array_equal(metrics.worst_slab_coverage(X, y, both, random_state=0), [value, 1.0])
    assert metrics.worst_slab_coverage(X, y, intervals, min_mass=1.0) == pytest.approx(
        0.75, abs=0.1
    )


def test_a_slab_without_rows_to_judge_is_refused():
    with pytest.raises(ValueError, match="give more rows"):
        metrics.worst_slab_coverage([[0.0], [1.0]], [0.0, 0.0], [[0, 1], [0, 1]])


def test_the_coverage_gap_is_the_mean_over_clusters():
    # Two clusters with 3 of 4 and 1 of 2 rows covered: (|0.75 − 0.9| + |0.5 − 0.9|)/2.
    X = np.array([[0.0], [0.1], [0.2], [0.3], [9.0], [9.1]])
    y = np.array([0.0, 0, 0, 5, 0, 5])
    intervals = np.tile([-1.0, 1.0], (6, 1))
    gap = metrics.coverage_gap(X, y, intervals, 0.9, n_clusters=2, random_state=0)
    assert gap == pytest.approx(0.275)
    both = np.stack([intervals, np.full((6, 2), [-INF, INF])], axis=2)
    gaps = metrics.coverage_gap(X, y, both, [0.9, 0.95], n_clusters=2, random_state=0)
    assert_allclose(gaps, [0.275, 0.05])


def test_the_coverage_gap_repeats_itself_with_a_seed():
    case = datasets.case(2, dimension=2)
    X, y = case.sample(300, random_state=0)
    intervals = case.interval(X, 0.9)
    gaps = [metrics.coverage_gap(X, y, intervals, 0.9, random_state=3) for _ in range(2)]
    assert gaps[0] == gaps[1]
    # Six clusters of about 50 rows: E|p̂ − p| = √(2p(1 − p)/(50π)) = 0.034.
    assert 0 < gaps[0] < 0.1


ONE = [[0.0, 1.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.mean_width([0.0, 1.0]), r"shape \(n, 2\) or \(n, 2, k\), got \(2,\)"),
        (lambda: metrics.mean_width(np.ones((2, 3))), "intervals must have shape"),
        (lambda: metrics.mean_width(np.ones((0, 2))), "intervals must have shape"),
        (lambda: metrics.mean_width([[0.0, np.nan]]), "got NaN"),
        (lambda: metrics.mean_width([[1.0, 0.0]]), "lower ≤ upper"),
        (lambda: metrics.mean_width([[INF, INF]]), "lower ≤ upper"),
        (lambda: metrics.coverage([0.0, 1.0], ONE), r"each of the 1 intervals, got shape \(2,\)"),
        (lambda: metrics.coverage([np.nan], ONE), "y must hold one finite number"),
        (lambda: metrics.interval_score([0.0], ONE, 90), r"level must be in \(0, 1\)"),
        (lambda: metrics.interval_score([0.0], ONE, [0.8, 0.9]), "one per set of intervals"),
        (lambda: metrics.r2_sqi([0.0], [0.0, 0], ONE, level=0.9), "mean must hold one finite"),
        (lambda: metrics.r2_sqi([0.0], [0.0], ONE, level=0.9), r"n_bins must be .* \(1\), got 50"),
        (lambda: metrics.size_stratified_coverage([0.0], ONE), r"n_bins must be .* \(1\), got 5"),
        (lambda: metrics.coverage_gap([[0.0]], [0.0], ONE, 0.9), "clusters need at least 50 rows"),
        (
            lambda: metrics.coverage_gap([[0.0]], [0.0], ONE, 0.9, n_clusters=2),
            r"n_clusters must be .* got 2",
        ),
        (lambda: metrics.coverage_gap([0.0], [0.0], ONE, 0.9), r"X must have shape \(1, d\)"),
        (lambda: metrics.worst_slab_coverage([[np.nan]], [0.0], ONE), "X must be finite"),
        (lambda: metrics.worst_slab_coverage([[0.0]], [0.0], ONE), "number of halves"),
        (lambda: metrics.worst_slab_coverage([[0.0]], [0.0], ONE, min_mass=0), "min_mass"),
        (
            lambda: metrics.local_coverage(datasets.case(1), lambda X: ONE, [[0.0]], n_outputs=0),
            "n_outputs must be ≥ 1, got 0",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
