import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sosbands.conformal import NestedFamily, SignedCalibration

INF = np.inf
OUTPUTS = st.floats(-1e6, 1e6) | st.floats(-1e-3, 1e-3) | st.sampled_from([0.0, 1.0, -0.5, 3.0])
WIDTHS = st.lists(st.tuples(*[st.floats(0, 1e3) | st.just(0.0)] * 2), min_size=1, max_size=4)


def one_row(centre=0.0, widths=((1.0, 2.0), (2.0, 6.0)), step=1.0):
    return NestedFamily(np.array([centre]), np.array([widths]), np.array([step]))


def test_intervals_go_from_the_centre_through_every_level_and_beyond():
    found = one_row(centre=10.0).intervals(np.array([0, 0.5, 1, 1.5, 2, 5, INF]))[0]
    assert_allclose(found[0], [10, 9.5, 9, 8.5, 8, 5, -INF], rtol=1e-8)
    assert_allclose(found[1], [10, 11, 12, 14, 16, 19, INF], rtol=1e-8)


def test_scores_say_which_interval_holds_an_output_first():
    band, y = one_row(), np.array([0.0, 1.0, 2.0, 4.0, 6.0, 9.0, -0.5, -1.5, -4.0])
    scores = np.concatenate([band.scores(y[[i]]) for i in range(len(y))])
    assert_allclose(scores, [0, 0.5, 1, 1.5, 2, 5, 0.5, 1.5, 4], rtol=1e-15)
    signed = np.concatenate([band.signed_scores(y[[i]]) for i in range(len(y))])
    assert_allclose(signed, scores * np.where(y < 0, -1, 1), rtol=1e-15)


@given(OUTPUTS, OUTPUTS, WIDTHS, st.floats(1e-3, 1e3))
@example(-3.6e-248, 1.0, [(1.0, 0.0), (0.0, 0.0)], 1.0)  # a hair beyond two equal levels
@example(0.0, 5.5e-221, [(0.0, 0.0)], 1.0)  # a hair beyond a level without width
@settings(deadline=None)
def test_the_score_is_the_smallest_interval_that_holds_the_output(y, centre, added, step):
    band = one_row(centre, np.cumsum(added, axis=0), step)
    t = band.scores(np.array([y]))
    lower, upper = band.intervals(t)[0, :, 0]
    assert lower <= y <= upper  # rounding never leaves it outside
    nearest = upper if y > centre else lower
    assert abs(nearest - y) <= 1e-8 * (1 + abs(y) + abs(centre) + step)  # no larger one is needed


@given(OUTPUTS, WIDTHS, st.lists(st.floats(0, 10), min_size=2, max_size=6))
@settings(deadline=None)
def test_intervals_are_nested(centre, added, t):
    ends = one_row(centre, np.cumsum(added, axis=0)).intervals(np.sort(t))[0]
    assert np.all(np.diff(ends[0]) <= 0)
    assert np.all(np.diff(ends[1]) >= 0)


def test_a_level_without_width_is_passed_at_once():
    band = one_row(widths=((0.0, 0.0), (0.0, 1.0)))
    assert_array_equal(band.scores(np.zeros(1)), [0])
    assert_array_equal(band.scores(np.array([0.5])), [1.5])
    assert_array_equal(band.scores(np.array([-3.0])), [5])  # beyond the last level, step by step


@pytest.mark.parametrize(("power", "steps"), [(0, [3, 3]), (0.5, [3, 6]), (1, [3, 12])])
def test_steps_beyond_the_last_level_follow_a_power_of_its_width(power, steps):
    widths = np.array([[[1.0, 5.0]], [[4.0, 20.0]]])
    band = NestedFamily.of(np.zeros(2), widths, power=power, typical=3.0)
    assert_allclose(band.step, steps)
    narrow = NestedFamily.of(np.zeros(1), np.zeros((1, 1, 2)), power=1.0, typical=10.0)
    assert_allclose(narrow.step, [0.01])  # lest one row gets an infinite score


def test_points_are_where_their_signed_scores_say():
    band = NestedFamily(np.array([0.0, 5.0]), np.ones((2, 1, 2)), np.array([1.0, 2.0]))
    y = np.array([[-2.0, -0.25, 0.5, 3.0], [1.0, 4.5, 5.0, 9.0]])
    q = np.stack([band[[i]].signed_scores(np.array([v])) for i in range(2) for v in y[i]])
    assert_allclose(band.points(q.reshape(2, 4)), y)


@given(
    st.lists(st.sampled_from([0.1, 0.3, 0.7]), min_size=20, max_size=60),
    st.floats(-1, 1),
    st.sampled_from([0.05, 0.1, 0.25]),
)
def test_outputs_that_share_a_score_stay_between_its_quantiles(outputs, centre, p):
    y = np.array(outputs)
    widths = np.where(y > 0.2, 0.37, 0.11)[:, None, None] * np.array([[1.0, 1.3], [1.7, 2.9]])
    band = NestedFamily(np.full(len(y), centre), widths, np.full(len(y), 0.21))
    q = SignedCalibration(band.signed_scores(y)).quantiles([p, 1 - p])
    low, high = band.quantiles([p, 1 - p], q).T
    assert np.mean((low <= y) & (y <= high)) >= 1 - 2 * p


def test_infinite_scores_have_infinite_quantiles():
    q = np.array([-INF, INF])
    assert_array_equal(one_row().quantiles([0.1, 0.9], q), [[-INF, INF]])
    assert_array_equal(one_row(centre=-1e308).scores(np.array([1e308])), [INF])


@pytest.mark.parametrize(
    ("centre", "widths", "step", "message"),
    [
        ([np.nan], [[[1.0, 1.0]]], [1.0], "finite centres"),
        ([0.0], [[1.0, 1.0]], [1.0], "finite centres"),
        ([0.0], [[[1.0, 1.0]]], [1.0, 2.0], "finite centres"),
        ([0.0], [[[-1.0, 1.0]]], [1.0], "do not decrease"),
        ([0.0], [[[1.0, 2.0], [1.0, 1.0]]], [1.0], "do not decrease"),
        ([0.0], [[[1.0, 1.0]]], [0.0], "steps > 0"),
    ],
)
def test_impossible_intervals_are_refused(centre, widths, step, message):
    with pytest.raises(ValueError, match=message):
        NestedFamily(np.array(centre), np.array(widths), np.array(step))
