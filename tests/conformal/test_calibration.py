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
    widths = rng.random((m, 2))
    band = IntervalFamily(X[:, 0] - widths[:, 0], X[:, 0] + widths[:, 1], np.ones(m))
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
        (lambda: GroupCalibration([1.0], [np.datetime64("NaT", "s")]), "got NaN"),
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
