from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from sosbands import conformal
from sosbands.conformal import (
    GroupCalibration,
    IntervalFamily,
    LocalizedCalibration,
    PlusCalibration,
    SignedCalibration,
    SplitCalibration,
    WeightedCalibration,
    checked_levels,
    effective_bandwidth,
    guarantee,
    normals_at,
    order_rank,
    rows_needed,
)

INF = np.inf
LEVELS = (0.5, 0.8, 0.9, 0.95)
# Few values, so that ties are frequent.
SCORES = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 7.5, INF])
SIGNED = st.one_of(SCORES, st.floats(-3, 3))
# A chance of 10⁻³ that any of the fifteen bounds on coverage fails.
FALSE_ALARM = 1e-3 / 15


def assert_covers(hits, at_least, at_most=1.0):
    """The number of independent hits is compatible with a probability in this range."""
    count, n = int(np.sum(hits)), len(hits)
    assert binom.cdf(count, n, at_least) > FALSE_ALARM
    assert at_most == 1 or binom.sf(count - 1, n, at_most) > FALSE_ALARM


# --- levels and ranks


def test_ranks_are_exact_for_all_levels_in_thousandths():
    for i in range(1, 1000):
        for m in range(301):
            assert order_rank(i / 1000, m) == -(-i * (m + 1) // 1000)


def test_a_level_is_read_as_the_decimal_it_prints_as():
    assert order_rank(0.9, 9) == 9
    assert order_rank(np.float64(0.9), 9) == order_rank(np.float32(0.9), 9) == 9
    assert order_rank(0.07, 99) == 7  # 0.07·100 = 7.000000000000001
    assert checked_levels(np.float32(0.9)) == ((0.9,), True)
    assert checked_levels(np.array(0.9, dtype=np.float32)) == ((0.9,), True)
    assert checked_levels(np.array([0.8, 0.9], dtype=np.float32)) == ((0.8, 0.9), False)
    assert checked_levels([np.float32(0.1), Fraction(1, 2)]) == ((0.1, 0.5), False)


def test_rows_needed_is_the_smallest_number_with_a_finite_quantile():
    assert [rows_needed(p) for p in (0.5, 0.8, 0.9, 0.95, 0.99)] == [1, 4, 9, 19, 99]
    for i in range(1, 1000):
        m = rows_needed(i / 1000)
        assert order_rank(i / 1000, m) <= m
        assert m == 0 or order_rank(i / 1000, m - 1) == m


@pytest.mark.parametrize(
    ("level", "message"),
    [
        (90, "got 90: write 0.9"),
        (np.float64(90), "got 90.0: write 0.9"),
        (99.5, "write 0.995"),
        (1.0, r"must be in \(0, 1\), got 1.0"),
        (0, "got 0"),
        (True, "got True"),
        (np.nan, "got nan"),
        ("0.9", "got '0.9'"),
        (None, "got None"),
        ([], "got none"),
        ([0.9, 95], "got 95: write 0.95"),
        ([[0.9]], r"got \[0.9\]"),
    ],
)
def test_what_is_no_level_is_refused_with_advice(level, message):
    with pytest.raises(ValueError, match=message):
        checked_levels(level)


# --- interval families


def test_the_scores_of_a_symmetric_band_are_residuals_in_units_of_the_scale():
    band = IntervalFamily.around(np.array([1.0, 1, 1, 1, 1]), np.array([2.0, 2, 0, 0, 0.5]))
    y = np.array([4.0, -3, 1, 2, 1])
    assert_array_equal(band.scores(y), [1.5, 2, 0, INF, 0])
    assert_array_equal(band.signed_scores(y), [1.5, -2, 0, INF, 0])
    assert_array_equal(band.signed_scores(-y)[3:], [-INF, -4])


def test_the_scores_of_a_two_sided_band_are_negative_inside():
    band = IntervalFamily.between(np.zeros(4), np.array([[1.0, 2.0]] * 4))
    assert_array_equal(band.scores(np.array([0.0, 1.5, 3.0, -3.0])), [-1, -0.5, 1, 2])
    with pytest.raises(ValueError, match="symmetric"):
        band.signed_scores(np.zeros(4))


def test_intervals_have_one_column_per_quantile():
    band = IntervalFamily.around(np.array([1.0, 5.0]), np.array([2.0, 0.0]))
    expected = [[[1, -1, -INF], [1, 3, INF]], [[5, 5, -INF], [5, 5, INF]]]
    assert_array_equal(band.intervals(np.array([0, 1, INF])), expected)
    by_row = band.intervals(np.array([[1.0], [INF]]))
    assert_array_equal(by_row, [[[-1], [3]], [[-INF], [INF]]])


def test_bounds_that_would_cross_meet_at_the_midpoint():
    band = IntervalFamily.between(np.zeros(1), np.array([[1.0, 2.0]]))
    assert_array_equal(
        band.intervals(np.array([-1.0, -1.5, -9.0])), [[[0, 0.5, 0.5], [1, 0.5, 0.5]]]
    )


SIZES = st.floats(-1e6, 1e6) | st.floats(-1e-3, 1e-3)


@given(SIZES, SIZES, st.floats(0, 1e3), st.booleans())
def test_rounding_never_leaves_an_output_outside_its_own_interval(y, mean, scale, symmetric):
    m, w = np.array([mean]), np.array([scale])
    two_sided = np.array([[scale, 0.1]])
    band = IntervalFamily.around(m, w) if symmetric else IntervalFamily.between(m, two_sided)
    q = band.scores(np.array([y]))
    lower, upper = band.intervals(q)[0, :, 0]
    assert lower <= y <= upper
    if 0 < q[0] < INF and band.width[0] > 1e-3:
        lower, upper = band.intervals(q * (1 - 1e-14) - 1e-300)[0, :, 0]
        assert not lower < y < upper


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


# --- split


def test_the_split_quantile_is_the_adjusted_order_statistic():
    calibration = SplitCalibration([9.0, 3, 7, 1, 5, 2, 8, 4, 6])
    assert_array_equal(calibration.quantiles((0.5, 0.9, 0.81, 0.95)), [5, 9, 9, INF])
    assert calibration.shortage((0.5, 0.9)) is None
    assert calibration.shortage((0.5, 0.95)) == 19


def test_infinite_scores_count_as_the_largest():
    assert_array_equal(SplitCalibration([INF, 1, 2]).quantiles((0.5, 0.75)), [2, INF])


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


# --- localized


def slow_localized_quantiles(calibration, X, first):
    scores, inputs, h = calibration.scores, calibration.inputs, calibration.bandwidth
    answers = []
    for i, x in enumerate(X):
        drawn = x + h * normals_at(first + i, (1, len(x)), calibration.seed)[0]
        weights = [np.exp(-np.sum((z - drawn) ** 2) / (2 * h**2)) for z in inputs]
        own = np.exp(-np.sum((x - drawn) ** 2) / (2 * h**2))
        answers.append([slow_weighted_quantile(scores, weights, own, p) for p in LEVELS])
    return np.array(answers)


@pytest.mark.parametrize(("m", "d", "h"), [(1, 1, 1.0), (30, 1, 0.2), (40, 3, 1.0), (25, 5, 9.0)])
def test_localized_quantiles_equal_the_slow_twin(m, d, h):
    rng = np.random.default_rng(m)
    scores, inputs, X = rng.random(m), rng.normal(size=(m, d)), rng.normal(size=(15, d))
    scores[0] = INF
    calibration = LocalizedCalibration(scores, inputs, h, 5)
    q = calibration.quantiles(LEVELS, X, first_position=3)
    assert_array_equal(q, slow_localized_quantiles(calibration, X, first=3))


def test_rows_predicted_in_pieces_get_the_same_answers(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    calibration = LocalizedCalibration(rng.random(100), rng.normal(size=(100, 3)), 0.7, 1)
    whole = calibration.quantiles(LEVELS, X)
    pieces = [
        calibration.quantiles(LEVELS, X[a:b], first_position=a)
        for a, b in [(0, 1), (1, 18), (18, 50)]
    ]
    assert_array_equal(np.concatenate(pieces), whole)
    monkeypatch.setattr(conformal, "_BLOCK_ENTRIES", 700)
    assert_array_equal(calibration.quantiles(LEVELS, X), whole)
    other = LocalizedCalibration(calibration.scores, calibration.inputs, 0.7, 2)
    assert not np.array_equal(other.quantiles(LEVELS, X), whole)


def test_the_draws_of_a_row_depend_on_its_position_alone():
    whole = normals_at(0, (100, 3), 8)
    for position in (0, 1, 2, 3, 4, 17, 96):
        assert_array_equal(normals_at(position, (4, 3), 8), whole[position : position + 4])
    far = normals_at(10**15, (1000, 50), 8)
    assert abs(far.mean()) < 5 / np.sqrt(far.size)
    assert abs(far.var() - 1) < 5 * np.sqrt(2 / far.size)


def test_a_row_far_from_all_others_gets_an_infinite_quantile():
    calibration = LocalizedCalibration(np.ones(50), np.zeros((50, 2)), 1e-3, 0)
    q = calibration.quantiles((0.9,), np.array([[1e6, 0.0], [1e-5, 0.0]]))
    assert_array_equal(q, [[INF], [1.0]])


@pytest.mark.parametrize("d", [1, 50])
def test_the_bandwidth_reaches_its_target_in_the_median(d):
    rng = np.random.default_rng(d)
    inputs, X, m = rng.normal(size=(600, d)), rng.normal(size=(300, d)), 600
    h = effective_bandwidth(rng.normal(size=(600, d)), m, target=80)
    drawn = X + h * normals_at(0, X.shape, 1)
    effective = []
    for x, z in zip(X, drawn, strict=True):
        log_w = -np.sum((np.vstack([inputs, x]) - z) ** 2, axis=1) / (2 * h**2)
        w = np.exp(log_w - log_w.max())
        effective.append(w.sum() ** 2 / np.sum(w**2))
    assert np.median(effective) == pytest.approx(80, rel=0.2)


def test_the_bandwidth_grows_with_its_target():
    X = np.random.default_rng(0).normal(size=(200, 2))
    targets = (20, 50, 1000 ** (2 / 3), None, 300)
    small, fifty, power, default, large = (effective_bandwidth(X, 1000, target=t) for t in targets)
    assert small < fifty < power < large
    assert default == power
    assert effective_bandwidth(X, 200) == effective_bandwidth(X, 200, target=50)


def test_a_sample_stands_for_many_pre_training_rows():
    X = np.random.default_rng(0).normal(size=(3000, 1))
    assert effective_bandwidth(X, 500) == pytest.approx(effective_bandwidth(X[:900], 500), rel=0.2)


def test_a_bandwidth_for_too_few_rows_gives_the_split_quantiles():
    rng = np.random.default_rng(0)
    scores, inputs, X = rng.random(19), rng.normal(size=(19, 3)), rng.normal(size=(200, 3))
    h = effective_bandwidth(rng.normal(size=(60, 3)), 19)
    q = LocalizedCalibration(scores, inputs, h, 0).quantiles(LEVELS, X)
    assert_array_equal(q, np.tile(SplitCalibration(scores).quantiles(LEVELS), (200, 1)))


def test_constant_inputs_have_a_bandwidth():
    assert effective_bandwidth(np.ones((20, 2)), 100) == 1.0


# --- CV+


def slow_plus(folds, families, levels, centre):
    m, intervals = sum(map(len, folds)), np.empty((len(centre), 2, len(levels)))
    for i, c in enumerate(centre):
        low, high = [], []
        for scores, band in zip(folds, families, strict=True):
            for s in scores:
                step = INF if s == INF else s * band.width[i]
                high.append(band.upper[i] + step)
                low.append(-band.lower[i] + step)
        for j, level in enumerate(levels):
            rank = order_rank(level, m)
            ends = [np.sort(v)[rank - 1] if rank <= m else INF for v in (low, high)]
            intervals[i, :, j] = min(-ends[0], c), max(ends[1], c)
    return intervals


def test_plus_intervals_by_hand():
    folds = [[1.0, 3.0], [2.0]]
    families = [
        IntervalFamily.around(np.array([0.0]), np.array([1.0])),
        IntervalFamily.around(np.array([10.0]), np.array([0.5])),
    ]
    # Upper ends 1, 3, 11; lower ends −3, −1, 9.
    intervals = PlusCalibration(folds).intervals(families, (0.25, 0.5, 0.75, 0.8), np.array([5.0]))
    assert_array_equal(intervals, [[[5, -1, -3, -INF], [5, 5, 11, INF]]])
    assert PlusCalibration(folds).shortage((0.75,)) is None
    assert PlusCalibration(folds).shortage((0.8,)) == 4


@st.composite
def plus_problems(draw):
    K, n = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    values = st.sampled_from([-1.0, 0.0, 0.1, 0.3]) | st.floats(-5, 5)
    widths = st.sampled_from([0.0, 0.1, 1.0]) | st.floats(0, 5)
    column = lambda elements: np.array(draw(st.lists(elements, min_size=n, max_size=n)))  # noqa: E731
    folds = [draw(st.lists(SIGNED, max_size=9)) for _ in range(K)]
    families = [IntervalFamily(column(values), column(values), column(widths)) for _ in range(K)]
    return folds, families, column(values)


@settings(deadline=None)
@given(plus_problems())
def test_plus_intervals_equal_the_slow_twin(problem):
    folds, families, centre = problem
    levels = (0.05, 0.3, 0.5, 0.9)
    fast = PlusCalibration(folds).intervals(families, levels, centre)
    assert_array_equal(fast, slow_plus(folds, families, levels, centre))


@pytest.mark.parametrize("spread", [0.0, 0.1, 30.0])
def test_plus_intervals_of_many_rows_equal_the_sorted_matrix(spread, monkeypatch):
    monkeypatch.setattr(conformal, "_SELECTION_ENTRIES", 500)
    rng = np.random.default_rng(0)
    folds = [rng.exponential(size=size).round(2) for size in (100, 7, 300, 0, 150)]
    means = rng.normal(size=(5, 80)) * spread
    families = [IntervalFamily.around(mean, rng.random(80)) for mean in means]
    centre = means.mean(axis=0)
    fast = PlusCalibration(folds).intervals(families, LEVELS, centre)
    assert_array_equal(fast, slow_plus(folds, families, LEVELS, centre))


def test_the_plus_guarantee_by_hand():
    # 1 − 2·0.1 − min{2·0.9/11, 0.9/11}.
    assert guarantee(0.9, 100, 10) == pytest.approx(0.8 - 0.9 / 11)
    assert guarantee(0.9, 50, 50) == pytest.approx(0.8)  # jackknife+
    assert guarantee(0.9, 1000, 5) == pytest.approx(0.8 - 2 * 0.8 / 201)
    assert guarantee(0.4, 10, 5) == 0.0


# --- for all of them


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
        (lambda: PlusCalibration([[1.0], [np.nan]]), "got NaN"),
        (lambda: PlusCalibration([[1.0]]).intervals([], (0.5,), np.zeros(1)), "1 folds, got 0"),
        (lambda: GroupCalibration([1.0, 2.0], ["a"]), "each of the 2 scores, got 1"),
        (lambda: GroupCalibration([1.0], [np.nan]), "got NaN"),
        (lambda: GroupCalibration([1.0], [[0]]), "hashable"),
        (lambda: WeightedCalibration([1.0, 2.0], [1.0, -1.0]), "finite and ≥ 0.*got -1.0"),
        (lambda: WeightedCalibration([1.0], [[1.0]]), r"got shape \(1, 1\)"),
        (lambda: WeightedCalibration([1.0], [0.0]), "must not all be zero"),
        (lambda: WeightedCalibration([1.0], [1.0]).quantiles((0.5,), [INF]), "got inf"),
        (lambda: LocalizedCalibration([1.0], [[1.0]], 0.0, 0), "positive and finite, got 0.0"),
        (lambda: LocalizedCalibration([1.0], [1.0], 1.0, 0), r"\(n, d\), got shape \(1,\)"),
        (
            lambda: LocalizedCalibration([1.0], [[1.0]], 1.0, 0).quantiles((0.5,), [[1.0, 2.0]]),
            r"shape \(n, 1\), got shape \(1, 2\)",
        ),
    ],
)
def test_what_cannot_calibrate_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- coverage


@pytest.mark.parametrize(("m", "level"), [(25, 0.9), (40, 0.7)])
def test_split_intervals_cover_with_the_probability_of_their_rank(m, level):
    rng = np.random.default_rng(m)
    S = rng.standard_t(2, size=(4000, m + 1))
    hits = [s[-1] <= SplitCalibration(s[:-1]).quantiles((level,))[0] for s in S]
    exact = order_rank(level, m) / (m + 1)
    assert exact >= level
    assert_covers(hits, exact, exact)


def test_signed_quantiles_cover_with_the_probability_of_their_ranks():
    S = np.random.default_rng(0).normal(size=(4000, 48))
    ends = np.array([SignedCalibration(s[:-1]).quantiles((0.1, 0.9)) for s in S])
    hits = (ends[:, 0] <= S[:, -1]) & (S[:, -1] <= ends[:, 1])
    assert_covers(hits, 40 / 48, 40 / 48)  # ranks 4 and 44


def test_every_group_is_covered():
    rng, groups = np.random.default_rng(1), np.arange(60) % 3
    S = rng.exponential(size=(3000, 60)) * (1 + 9 * groups)
    new = rng.exponential(size=(3000, 3)) * (1 + 9 * np.arange(3))
    q = np.array([GroupCalibration(s, groups).quantiles((0.8,), range(3))[:, 0] for s in S])
    for g in range(3):
        assert_covers(new[:, g] <= q[:, g], 17 / 21, 17 / 21)


def test_weights_restore_the_coverage_that_a_shift_takes():
    # Inputs are uniform on (0, 1) in calibration, of density 4x³ later; scores grow with x.
    rng = np.random.default_rng(2)
    X, new = rng.random((3000, 60)), rng.random(3000) ** 0.25
    S, s = X**2 * rng.exponential(size=X.shape), new**2 * rng.exponential(size=3000)
    own = 4 * new**3
    weighted = [
        s[i] <= WeightedCalibration(S[i], 4 * X[i] ** 3).quantiles((0.8,), own[i : i + 1])[0, 0]
        for i in range(3000)
    ]
    split = [s[i] <= SplitCalibration(S[i]).quantiles((0.8,))[0] for i in range(3000)]
    assert_covers(weighted, 0.8)
    assert np.mean(split) < 0.65


def test_localized_intervals_cover_marginally():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 61, 2))
    S = np.exp(X[:, :, 0]) * rng.exponential(size=(3000, 61))
    hits = [
        s[-1] <= LocalizedCalibration(s[:-1], x[:-1], 0.7, i).quantiles((0.8,), x[-1:])[0, 0]
        for i, (x, s) in enumerate(zip(X, S, strict=True))
    ]
    assert_covers(hits, 0.8)


def test_localized_intervals_cover_locally_where_split_ones_do_not():
    rng = np.random.default_rng(4)
    X, new = rng.uniform(-1, 1, (2000, 1)), rng.uniform(-1, 1, (4000, 1))
    S = np.exp(3 * X[:, 0]) * rng.exponential(size=2000)
    s = np.exp(3 * new[:, 0]) * rng.exponential(size=4000)
    h = effective_bandwidth(rng.uniform(-1, 1, (1000, 1)), 2000)
    localized = s <= LocalizedCalibration(S, X, h, 0).quantiles((0.8,), new)[:, 0]
    split = s <= SplitCalibration(S).quantiles((0.8,))
    steepest = new[:, 0] > 0.8
    assert split[steepest].mean() < 0.6
    assert localized[steepest].mean() == pytest.approx(0.8, abs=0.08)


def test_plus_intervals_of_a_mean_cover():
    rng, K, hits = np.random.default_rng(5), 5, []
    for y in rng.standard_t(3, size=(1000, 31)):
        train, folds = y[:-1], np.array_split(np.arange(30), K)
        means = [np.delete(train, fold).mean() for fold in folds]
        scores = [np.abs(train[f] - μ) for f, μ in zip(folds, means, strict=True)]
        bands = [IntervalFamily.around(np.array([μ]), np.ones(1)) for μ in means]
        low, high = PlusCalibration(scores).intervals(bands, (0.9,), train.mean(keepdims=True))[0]
        hits.append(low[0] <= y[-1] <= high[0])
    assert_covers(hits, guarantee(0.9, 30, K))
    assert np.mean(hits) > 0.87
    assert_allclose(guarantee(0.9, 30, K), 0.8 - 5 / 6 / 6)
