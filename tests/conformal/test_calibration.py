from fractions import Fraction
from math import ceil, floor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sosbands.conformal import (
    ClusteredCalibration,
    GroupCalibration,
    IntervalFamily,
    LocalizedCalibration,
    PlusCalibration,
    SignedCalibration,
    SplitCalibration,
    WeightedCalibration,
)

INF = np.inf
LEVELS = (0.5, 0.8, 0.9, 0.95)
# Few values, so that ties are frequent.
SCORES = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 7.5, INF])
SIGNED = st.one_of(SCORES, st.floats(-3, 3))


# --- split


def test_the_split_quantile_is_the_adjusted_order_statistic():
    calibration = SplitCalibration([9.0, 3, 7, 1, 5, 2, 8, 4, 6])
    assert_array_equal(calibration.quantiles((0.5, 0.9, 0.81, 0.95)), [5, 9, 9, INF])
    assert calibration.shortage((0.5, 0.9)) is None
    assert calibration.shortage((0.5, 0.95)) == 19


def test_infinite_scores_count_as_the_largest():
    assert_array_equal(SplitCalibration([INF, 1, 2]).quantiles((0.5, 0.75)), [2, INF])


# --- clustered


def slow_clustered_quantile(scores, clusters, level):
    """The definition in fractions: a cluster has mass one, spread evenly over its rows."""
    share = {c: Fraction(1, clusters.count(c)) for c in clusters}
    needed = Fraction(str(level)) * (len(share) + 1)
    for t in sorted(set(scores)):
        if sum(share[c] for s, c in zip(scores, clusters, strict=True) if s <= t) >= needed:
            return t
    return INF


@given(st.lists(st.tuples(SCORES, st.integers(0, 6)), min_size=1, max_size=40))
def test_clustered_quantiles_equal_the_definition(rows):
    scores, clusters = (list(part) for part in zip(*rows, strict=True))
    calibration = ClusteredCalibration(scores, clusters)
    expected = [slow_clustered_quantile(scores, clusters, level) for level in LEVELS]
    assert_array_equal(calibration.quantiles(LEVELS), expected)
    assert calibration.size == len(set(clusters))


@given(st.lists(SCORES, min_size=1, max_size=30))
def test_clusters_of_one_row_are_a_split(scores):
    calibration = ClusteredCalibration(scores, range(len(scores)))
    assert_array_equal(calibration.quantiles(LEVELS), SplitCalibration(scores).quantiles(LEVELS))
    assert calibration.shortage(LEVELS) == SplitCalibration(scores).shortage(LEVELS)


# --- signed


def test_signed_quantiles_round_away_from_the_median():
    calibration = SignedCalibration([-2.0, -1, 0, 1])
    assert_array_equal(
        calibration.quantiles((0.1, 0.2, 0.45, 0.5, 0.55, 0.8, 0.81)), [-INF, -2, -1, 0, 0, 1, INF]
    )
    assert calibration.shortage((0.2, 0.8)) is None
    assert calibration.shortage((0.1,)) == calibration.shortage((0.9,)) == 9


@given(st.lists(SIGNED, min_size=1, max_size=30))
def test_signed_quantiles_equal_the_exact_ranks(scores):
    m, ordered, hundredths = len(scores), [-INF, *sorted(scores), INF], range(1, 100)
    exact = [Fraction(i, 100) * (m + 1) for i in hundredths]
    ranks = [
        floor(r) if i < 50 else min(ceil(r), m + 1) for i, r in zip(hundredths, exact, strict=True)
    ]
    q = SignedCalibration(scores).quantiles([i / 100 for i in hundredths])
    assert_array_equal(q, [ordered[rank] for rank in ranks])


# --- groups


def test_each_group_has_its_own_quantile():
    calibration = GroupCalibration([1.0, 10, 2, 20, 3, 99], ["a", 7, "a", 7, "a", (1, 2)])
    groups = [7, "a", "7", (1, 2), 7.0]
    q = calibration.quantiles((0.5, 0.7), groups)
    assert_array_equal(q, [[20, INF], [2, 3], [INF, INF], [99, INF], [20, INF]])
    assert calibration.shortage((0.5,)) is None
    assert calibration.shortage((0.5, 0.7)) == 3


def test_groups_may_be_numbers_in_an_array():
    groups = np.array([2, 1, 2, 1, 2])
    calibration = GroupCalibration([5.0, 1, 3, 2, 4], groups).extended([6.0], np.array([3]))
    q = calibration.quantiles((0.5,), np.array([1, 2, 3, 4]))
    assert_array_equal(q[:, 0], [2, 4, 6, INF])


def test_groups_keep_their_names_when_rows_are_added():
    calibration = GroupCalibration([1.0], ["a"]).extended([2.0, 3.0, 4.0], ["b", 7, (1, 2)])
    q = calibration.quantiles((0.5,), [7, "7", (1, 2), "a", "b"])
    assert_array_equal(q[:, 0], [3, INF, 4, 1, 2])


# --- weighted


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


# --- all of them


def test_an_extended_calibration_equals_one_of_all_rows():
    rng = np.random.default_rng(0)
    s, w, X = rng.random(40), rng.random(40), rng.random((40, 2))
    g = np.array(["a", "b"], dtype=object)[rng.integers(2, size=40)]
    pairs = [
        (SplitCalibration(s), SplitCalibration(s[:9]).extended(s[9:]), ()),
        (SignedCalibration(s), SignedCalibration(s[:9]).extended(s[9:]), ()),
        (GroupCalibration(s, g), GroupCalibration(s[:9], g[:9]).extended(s[9:], g[9:]), (g,)),
        (
            WeightedCalibration(s, w),
            WeightedCalibration(s[:9], w[:9]).extended(s[9:], w[9:]),
            (w,),
        ),
        (
            LocalizedCalibration(s, X, 0.5, 3),
            LocalizedCalibration(s[:9], X[:9], 0.5, 3).extended(s[9:], X[9:]),
            (X,),
        ),
    ]
    for whole, extended, new_rows in pairs:
        assert type(whole) is type(extended)
        assert_array_equal(
            whole.quantiles(LEVELS, *new_rows), extended.quantiles(LEVELS, *new_rows)
        )


@given(st.lists(SIGNED, min_size=1, max_size=25), st.integers(0, 99))
@settings(deadline=None)
def test_larger_levels_give_larger_quantiles_and_nested_intervals(scores, seed):
    rng, m = np.random.default_rng(seed), len(scores)
    levels = tuple(np.sort(rng.uniform(0.01, 0.99, 6)).tolist())
    X, groups = rng.normal(size=(m, 2)), rng.integers(2, size=m)
    band = IntervalFamily.between(X[:, 0], rng.random((m, 2)))
    for q in (
        SplitCalibration(scores).quantiles(levels)[None],
        SignedCalibration(scores).quantiles(levels)[None],
        GroupCalibration(scores, groups).quantiles(levels, groups),
        WeightedCalibration(scores, rng.random(m)).quantiles(levels, rng.random(m)),
        LocalizedCalibration(scores, X, 0.5, seed).quantiles(levels, X),
    ):
        assert np.all(q[:, 1:] >= q[:, :-1])
        assert_nested(band.intervals(q[0]))
    halves = [scores[::2], scores[1::2]]
    assert_nested(PlusCalibration(halves).intervals([band, band], levels, X[:, 1]))


def assert_nested(intervals):
    assert np.all(intervals[:, 0] <= intervals[:, 1])
    assert np.all(intervals[:, 0, 1:] <= intervals[:, 0, :-1])
    assert np.all(intervals[:, 1, 1:] >= intervals[:, 1, :-1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SplitCalibration([1.0, np.nan]), "got NaN"),
        (lambda: SplitCalibration([-INF]), "-inf"),
        (lambda: SplitCalibration([]), "must not be empty"),
        (lambda: SplitCalibration([[1.0]]), r"shape \(m,\), got \(1, 1\)"),
        (lambda: SignedCalibration([np.nan]), "got NaN"),
        (lambda: GroupCalibration([1.0, 2.0], ["a"]), "each of the 2 scores, got 1"),
        (lambda: GroupCalibration([1.0], [np.nan]), "got NaN"),
        (lambda: GroupCalibration([1.0], np.float32([np.nan])), "got NaN"),
        (lambda: GroupCalibration([1.0], [np.datetime64("NaT")]), "got NaN"),
        (lambda: GroupCalibration([1.0], [pd.NA]), "got NaN"),
        (lambda: GroupCalibration([1.0], [[0]]), "hashable"),
        (lambda: WeightedCalibration([1.0, 2.0], [1.0, -1.0]), "finite and ≥ 0.*got -1.0"),
        (lambda: WeightedCalibration([1.0], [[1.0]]), r"got shape \(1, 1\)"),
        (lambda: WeightedCalibration([1.0], [0.0]), "must not all be zero"),
        (lambda: WeightedCalibration([1.0], [1.0]).quantiles((0.5,), [INF]), "got inf"),
    ],
)
def test_what_cannot_calibrate_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("level", [1e300, 0.0, 1.0, -INF, np.nan, "high"])
@pytest.mark.parametrize(
    "quantiles",
    [
        lambda level: SplitCalibration([1.0, 2.0]).quantiles([level]),
        lambda level: SignedCalibration([1.0, 2.0]).quantiles([level]),
        lambda level: GroupCalibration([1.0], ["a"]).quantiles([level], ["a"]),
        lambda level: ClusteredCalibration([1.0, 2.0], [0, 1]).quantiles([level]),
        lambda level: WeightedCalibration([1.0], [1.0]).quantiles([level], [1.0]),
        lambda level: LocalizedCalibration([1.0], [[1.0]], 1.0, 0).quantiles([level], [[1.0]]),
    ],
)
def test_levels_that_are_none_are_refused(quantiles, level):
    with pytest.raises(ValueError, match=r"levels must be in \(0, 1\), got .*: write 0.9"):
        quantiles(level)
