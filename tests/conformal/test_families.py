import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sosbands.conformal import IntervalFamily, SignedCalibration

INF = np.inf


def between(mean, widths):
    return IntervalFamily(mean - widths[:, 0], mean + widths[:, 1], np.ones(len(mean)))


SIZES = st.floats(-1e6, 1e6) | st.floats(-1e-3, 1e-3)


def test_the_scores_of_a_symmetric_band_are_residuals_in_units_of_the_scale():
    band = IntervalFamily.around(np.array([1.0, 1, 1, 1, 1]), np.array([2.0, 2, 0, 0, 0.5]))
    y = np.array([4.0, -3, 1, 2, 1])
    assert_array_equal(band.scores(y), [1.5, 2, 0, INF, 0])
    assert_array_equal(band.signed_scores(y), [1.5, -2, 0, INF, 0])
    assert_array_equal(band.signed_scores(-y)[3:], [-INF, -4])


def test_scores_of_intervals_between_two_numbers_are_negative_inside():
    band = between(np.zeros(4), np.array([[1.0, 2.0]] * 4))
    assert_array_equal(band.scores(np.array([0.0, 1.5, 3.0, -3.0])), [-1, -0.5, 1, 2])
    with pytest.raises(ValueError, match="around one number"):
        band.signed_scores(np.zeros(4))


def test_intervals_have_one_column_per_quantile():
    band = IntervalFamily.around(np.array([1.0, 5.0]), np.array([2.0, 0.0]))
    expected = [[[1, -1, -INF], [1, 3, INF]], [[5, 5, -INF], [5, 5, INF]]]
    assert_allclose(band.intervals(np.array([0, 1, INF])), expected, rtol=1e-8)
    by_row = band.intervals(np.array([[1.0], [INF]]))
    assert_allclose(by_row, [[[-1], [3]], [[-INF], [INF]]], rtol=1e-8)


def test_without_a_width_outputs_are_equal_to_the_mean_up_to_rounding():
    mean = np.full(3, 3.7)
    band, y = IntervalFamily.around(mean, np.zeros(3)), mean + np.array([9e-16, -9e-16, 1e-9])
    assert_array_equal(band.scores(y), [0, 0, INF])
    assert_array_equal(band.signed_scores(y), [0, 0, INF])
    lower, upper = band.intervals(np.zeros(1))[:, :, 0].T
    assert np.all((lower <= y) & (y <= upper) == [True, True, False])


@given(
    st.lists(st.sampled_from([0.1, 0.3, 0.7]), min_size=20, max_size=60),
    st.floats(-1, 1),
    st.sampled_from([0.05, 0.1, 0.25]),
)
def test_outputs_that_share_a_score_stay_between_its_quantiles(outputs, mean, p):
    y = np.array(outputs)
    scale = np.where(y > 0.2, 0.37, 0.11)
    band = IntervalFamily.around(np.full(len(y), mean), scale)
    q = SignedCalibration(band.signed_scores(y)).quantiles([p, 1 - p])
    low, high = band.quantiles([p, 1 - p], q).T
    assert np.mean((low <= y) & (y <= high)) >= 1 - 2 * p


def test_quantiles_where_scores_are_infinite():
    band = IntervalFamily.around(np.array([3.0, 5.0]), np.array([0.0, 2.0]))
    q = np.array([INF, INF, -INF, -INF])
    assert_allclose(band.quantiles([0.1, 0.9, 0.1, 0.9], q), [[3, INF, -INF, 3], [5, INF, -INF, 5]])


def test_bounds_that_would_cross_meet_at_the_midpoint():
    band = between(np.zeros(1), np.array([[1.0, 2.0]]))
    found = band.intervals(np.array([-1.0, -1.5, -9.0]))
    assert_allclose(found, [[[0, 0.5, 0.5], [1, 0.5, 0.5]]], rtol=1e-7, atol=1e-7)


@given(SIZES, SIZES, st.floats(0, 1e3), st.booleans())
def test_an_interval_holds_the_output_of_its_score_and_hardly_more(y, mean, scale, symmetric):
    m, w = np.array([mean]), np.array([scale])
    two_sided = np.array([[scale, 0.1]])
    band = IntervalFamily.around(m, w) if symmetric else between(m, two_sided)
    q = band.scores(np.array([y]))
    lower, upper = band.intervals(q)[0, :, 0]
    assert lower <= y <= upper
    if 0 < q[0] < INF and band.width[0] > 1e-3:
        lower, upper = band.intervals(q * (1 - 1e-8))[0, :, 0]
        far = 1e-8 * (abs(y) + abs(mean) + scale + 1)
        assert not lower + far < y < upper - far


def test_enormous_ratios_are_infinite_without_a_warning():
    band = IntervalFamily.around(np.array([-1e308]), np.array([5e-324]))
    assert_array_equal(band.scores(np.array([1e308])), [INF])
    assert_array_equal(band.signed_scores(np.array([1e308])), [INF])


@pytest.mark.parametrize(
    ("lower", "width"),
    [([0.0, np.nan], [1.0, 1.0]), ([0.0, 1.0], [1.0, -1.0]), ([[0.0]], [[1.0]]), ([0.0], [INF])],
)
def test_an_impossible_band_is_refused(lower, width):
    with pytest.raises(ValueError, match="finite bounds and widths ≥ 0"):
        IntervalFamily.around(np.array(lower), np.array(width))
