import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sosbands.conformal import IntervalFamily, PlusCalibration, guarantee, order_rank, plus

INF = np.inf
LEVELS = (0.5, 0.8, 0.9, 0.95)
ROUNDING = {"rtol": 1e-13, "atol": 1e-13}


def slow_plus(folds, families, levels, centre):
    m, intervals = sum(map(len, folds)), np.empty((len(centre), 2, len(levels)))
    for i, c in enumerate(centre):
        low, high = [], []
        for scores, band in zip(folds, families, strict=True):
            for s in scores:
                step = INF if s == INF else s * band.width[i]
                size = max(abs(band.lower[i]), abs(band.upper[i]))
                finite = 0.0 if s == INF else abs(step)
                outward = 16 * np.finfo(float).eps * size + 1e-9 * (band.width[i] + finite)
                high.append(band.upper[i] + (step + outward))
                low.append(step + outward - band.lower[i])
        low.sort()
        high.sort()
        for j, level in enumerate(levels):
            rank = order_rank(level, m)
            ends = [v[rank - 1] if rank <= m else INF for v in (low, high)]
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
    assert_allclose(intervals, [[[5, -1, -3, -INF], [5, 5, 11, INF]]], rtol=1e-8)
    assert PlusCalibration(folds).shortage((0.75,)) is None
    assert PlusCalibration(folds).shortage((0.8,)) == 4


@st.composite
def plus_problems(draw):
    K, n = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    values = st.sampled_from([-1.0, 0.0, 0.1, 0.3]) | st.floats(-5, 5)
    widths = st.sampled_from([0.0, 0.1, 1.0]) | st.floats(0, 5)
    column = lambda elements: np.array(draw(st.lists(elements, min_size=n, max_size=n)))  # noqa: E731
    folds = [draw(st.lists(values | st.just(INF), max_size=9)) for _ in range(K)]
    families = [IntervalFamily(column(values), column(values), column(widths)) for _ in range(K)]
    return folds, families, column(values)


@settings(deadline=None)
@given(plus_problems())
def test_plus_intervals_equal_the_slow_twin(problem):
    folds, families, centre = problem
    levels = (0.05, 0.3, 0.5, 0.9)
    fast = PlusCalibration(folds).intervals(families, levels, centre)
    assert_allclose(fast, slow_plus(folds, families, levels, centre), **ROUNDING)


@pytest.mark.parametrize("spread", [0.0, 0.1, 30.0])
def test_plus_intervals_of_many_rows_equal_the_sorted_matrix(spread, monkeypatch):
    monkeypatch.setattr(plus, "_SELECTION_ENTRIES", 500)
    rng = np.random.default_rng(0)
    folds = [rng.exponential(size=size).round(2) for size in (100, 7, 300, 0, 150)]
    means = rng.normal(size=(5, 80)) * spread
    families = [IntervalFamily.around(mean, rng.random(80)) for mean in means]
    centre = means.mean(axis=0)
    fast = PlusCalibration(folds).intervals(families, LEVELS, centre)
    assert_allclose(fast, slow_plus(folds, families, LEVELS, centre), **ROUNDING)


def test_the_plus_guarantee_by_hand():
    # 1 − 2·0.1 − min{2·0.9/11, 0.9/11}.
    assert guarantee(0.9, 100, 10) == pytest.approx(0.8 - 0.9 / 11)
    assert guarantee(0.9, 50, 50) == pytest.approx(0.8)  # jackknife+
    assert guarantee(0.9, 1000, 5) == pytest.approx(0.8 - 2 * 0.8 / 201)
    assert guarantee(0.4, 10, 5) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PlusCalibration([[1.0], [np.nan]]), "got NaN"),
        (lambda: PlusCalibration([[1.0]]).intervals([], (0.5,), np.zeros(1)), "1 folds, got 0"),
    ],
)
def test_what_cannot_calibrate_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
