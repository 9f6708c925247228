import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import expon, norm

from sosbands import datasets, metrics
from sosbands.slabs import worst_slab

INF = np.inf
ONE = [[0.0, 1.0]]


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
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
