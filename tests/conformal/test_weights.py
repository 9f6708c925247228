import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sosbands.conformal import SplitCalibration, WeightedCalibration

INF = np.inf
LEVELS = (0.5, 0.8, 0.9, 0.95)
# Few values, so that ties are frequent.
SCORES = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 7.5, INF])


def slow_weighted_quantile(scores, weights, own, level):
    for t in sorted(set(scores)):
        reached = sum(w for s, w in zip(scores, weights, strict=True) if s <= t)
        if reached >= level * (sum(weights) + own) * (1 - 1e-12):
            return t
    return INF


def test_weighted_quantiles_by_hand():
    calibration = WeightedCalibration([3.0, 1, 2], [2.0, 1, 1])
    # Sums 1, 2, 4 at the scores 1, 2, 3, of 4 + w.
    q = calibration.quantiles((0.2, 0.5, 0.8), np.array([0.0, 1, 6]))
    assert_array_equal(q, [[1, 2, 3], [1, 3, 3], [2, INF, INF]])
    assert calibration.shortage((0.8,)) == 4


@settings(deadline=None)
@given(
    st.lists(st.tuples(SCORES, st.integers(0, 5)), min_size=1, max_size=20),
    st.lists(st.integers(0, 5), min_size=1, max_size=4),
)
def test_weighted_quantiles_equal_the_slow_twin(rows, own):
    scores, weights = (list(column) for column in zip(*rows, strict=True))
    weights[0] += 1
    q = WeightedCalibration(scores, weights).quantiles(LEVELS, own)
    slow = [[slow_weighted_quantile(scores, weights, w, p) for p in LEVELS] for w in own]
    assert_array_equal(q, slow)


@given(st.lists(SCORES, min_size=1, max_size=50), st.floats(1e-300, 1e300), st.integers(1, 999))
def test_equal_weights_give_the_split_quantiles(scores, weight, i):
    weighted = WeightedCalibration(scores, np.full(len(scores), weight))
    q = weighted.quantiles((i / 1000,), np.full(2, weight))
    assert_array_equal(q, np.tile(SplitCalibration(scores).quantiles((i / 1000,)), (2, 1)))


def test_equal_weights_give_the_split_quantiles_for_many_sizes_and_levels():
    levels = tuple(i / 200 for i in range(1, 200))
    for m in (*range(1, 120), 999, 123_456):
        scores = np.arange(m, dtype=float)
        q = WeightedCalibration(scores, np.full(m, 0.1)).quantiles(levels, np.array([0.1]))
        assert_array_equal(q[0], SplitCalibration(scores).quantiles(levels))
