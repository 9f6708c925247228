import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import kstest, norm

from sosbands import metrics

INF = np.inf
LEVELS = np.arange(1, 20) / 20
NUMBERS = st.floats(-1e3, 1e3)


def slow_pinball(y, quantile, level):
    """The loss of one row."""
    return level * (y - quantile) if y >= quantile else (1 - level) * (quantile - y)


@given(
    st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=8),
    st.lists(st.floats(0.01, 0.99), min_size=2, max_size=2),
)
def test_the_pinball_loss_equals_the_loop_over_rows_and_levels(rows, levels):
    y, Q = np.array(rows)[:, 0], np.array(rows)[:, 1:]
    slow = [
        np.mean([slow_pinball(y[i], Q[i, j], levels[j]) for i in range(len(y))]) for j in (0, 1)
    ]
    assert_allclose(metrics.pinball_loss(y, Q, levels), slow, rtol=1e-12)
    assert metrics.pinball_loss(y, Q[:, 0], levels[0]) == pytest.approx(slow[0], rel=1e-12)


def test_the_pinball_loss_may_be_weighted_and_infinite():
    y, Q = [0.0, 1.0, 4.0], np.array([1.0, 1.0, 2.0])
    assert metrics.pinball_loss(y, Q, 0.75, sample_weight=[2, 1, 1]) == (2 * 0.25 + 0 + 1.5) / 4
    assert isinstance(metrics.pinball_loss(y, Q, 0.75), float)
    assert metrics.pinball_loss(y, [1.0, -INF, 2.0], 0.75) == INF
    assert metrics.pinball_loss(y, [INF, 1.0, 2.0], 0.75) == INF


def test_two_pinball_losses_make_the_interval_score():
    rng = np.random.default_rng(0)
    y, C = rng.standard_normal(50), np.sort(rng.standard_normal((50, 2)), axis=1)
    both = metrics.pinball_loss(y, C, [0.1, 0.9])
    assert 2 / 0.2 * both.sum() == pytest.approx(metrics.interval_score(y, C, 0.8))


def test_crps_is_twice_the_mean_pinball_loss():
    rng = np.random.default_rng(1)
    y, Q = rng.standard_normal(20), np.sort(rng.standard_normal((20, 19)), axis=1)
    slow = 2 * np.mean(
        [slow_pinball(y[i], Q[i, j], LEVELS[j]) for i in range(20) for j in range(19)]
    )
    assert metrics.crps(y, Q) == pytest.approx(slow)
    assert metrics.crps(y, Q[:, [4]], [0.25]) == 2 * metrics.pinball_loss(y, Q[:, 4], 0.25)
    weights = rng.uniform(size=20)
    rows = [metrics.crps(y[[i]], Q[[i]]) for i in range(20)]
    assert metrics.crps(y, Q, sample_weight=weights) == pytest.approx(
        np.average(rows, weights=weights)
    )


@pytest.mark.parametrize("y", [-0.3, 0.0, 1.7])
def test_crps_of_many_levels_is_the_integral_over_the_distribution_function(y):
    levels = (np.arange(4000) + 0.5) / 4000
    found = metrics.crps([y], norm.ppf(levels)[None], levels)
    exact = quad(lambda t: norm.cdf(t) ** 2, -12, y)[0] + quad(lambda t: norm.sf(t) ** 2, y, 12)[0]
    assert found == pytest.approx(exact, abs=1e-3)


def test_pit_is_the_value_itself_or_a_draw_between_its_bounds():
    F = np.array([0.0, 0.4, 1.0])
    assert_array_equal(metrics.pit(F), F)
    lower, upper = np.array([0.0, 0.4, 0.9]), np.array([0.1, 0.4, 1.0])
    drawn = metrics.pit(lower, upper, random_state=0)
    assert np.all((lower <= drawn) & (drawn <= upper))
    assert drawn[1] == 0.4
    assert_array_equal(metrics.pit(lower, upper, random_state=0), drawn)
    assert metrics.pit(lower, upper, random_state=1)[0] != drawn[0]


def test_the_randomised_pit_of_exchangeable_rows_is_uniform_and_the_plain_one_is_not():
    m, rng = 4, np.random.default_rng(2)
    scores = rng.standard_normal((4000, m + 1))  # the last column is the new row's
    k = (scores[:, :m] <= scores[:, [m]]).sum(axis=1)
    randomised = metrics.pit(k / (m + 1), (k + 1) / (m + 1), random_state=3)
    assert kstest(randomised, "uniform").pvalue > 1e-3
    assert kstest(metrics.pit(k / m), "uniform").pvalue < 1e-9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.pinball_loss([0.0], [[0.0, 1.0]], 0.5), r"levels must hold one .* \(2,\)"),
        (lambda: metrics.pinball_loss([0.0], [0.0], 50), r"level must be in \(0, 1\)"),
        (lambda: metrics.pinball_loss([0.0], [np.nan], 0.5), "quantiles must be numbers"),
        (
            lambda: metrics.pinball_loss([0.0], 0.0, 0.5),
            r"shape \(n,\) or \(n, k\), got shape \(\)",
        ),
        (lambda: metrics.pinball_loss([0.0, 1.0], [0.0], 0.5), "y must hold one finite number"),
        (lambda: metrics.crps([0.0], [0.0]), r"quantiles must have shape \(n, k\)"),
        (lambda: metrics.crps([0.0], [[0.0, 1.0]]), "name the levels"),
        (lambda: metrics.pit([[0.5]]), "flat arrays"),
        (lambda: metrics.pit([0.5], [0.6, 0.7]), r"got shapes \(1,\) and \(2,\)"),
        (lambda: metrics.pit([1.5]), "probabilities with cdf ≤ upper"),
        (lambda: metrics.pit([np.nan]), "probabilities with cdf ≤ upper"),
        (lambda: metrics.pit([0.5], [0.4]), "probabilities with cdf ≤ upper"),
    ],
)
def test_what_is_no_distribution_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_has_no_weight_may_be_infinite():
    ends, weights = [[-1, 1], [-1, 1], [-np.inf, np.inf]], [1, 1, 0]
    assert metrics.interval_score([0, 0, 0], ends, 0.9, sample_weight=weights) == 2
    q = [1, 1, np.inf]
    loss = metrics.pinball_loss([0, 0, 0], q, 0.9, sample_weight=weights)
    assert loss == pytest.approx(0.1)
    Q = np.reshape(q, (3, 1))
    assert metrics.crps([0, 0, 0], Q, [0.9], sample_weight=weights) == pytest.approx(0.2)


def test_no_row_has_no_transform():
    with pytest.raises(ValueError, match=r"one number for each row, got shapes \(0,\)"):
        metrics.pit([])
