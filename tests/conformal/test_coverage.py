import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from sosbands.conformal import (
    ClusteredCalibration,
    GroupCalibration,
    IntervalFamily,
    LocalizedCalibration,
    PlusCalibration,
    SignedCalibration,
    SplitCalibration,
    WeightedCalibration,
    effective_bandwidth,
    guarantee,
    order_rank,
)

# A chance of 10⁻³ that any of the fifteen bounds on coverage fails.
FALSE_ALARM = 1e-3 / 15


def assert_covers(hits, at_least, at_most=1.0):
    """The number of independent hits is compatible with a probability in this range."""
    count, n = int(np.sum(hits)), len(hits)
    assert binom.cdf(count, n, at_least) > FALSE_ALARM
    assert at_most == 1 or binom.sf(count - 1, n, at_most) > FALSE_ALARM


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
    S = rng.exponential(size=(2000, 60)) * (1 + 9 * groups)
    new = rng.exponential(size=(2000, 3)) * (1 + 9 * np.arange(3))
    q = np.array([GroupCalibration(s, groups).quantiles((0.8,), range(3))[:, 0] for s in S])
    for g in range(3):
        assert_covers(new[:, g] <= q[:, g], 17 / 21, 17 / 21)


def test_weights_restore_the_coverage_that_a_shift_takes():
    # Inputs are uniform on (0, 1) in calibration, of density 4x³ later; scores grow with x.
    rng = np.random.default_rng(2)
    X, new = rng.random((2000, 60)), rng.random(2000) ** 0.25
    S, s = X**2 * rng.exponential(size=X.shape), new**2 * rng.exponential(size=2000)
    own = 4 * new**3
    weighted = [
        s[i] <= WeightedCalibration(S[i], 4 * X[i] ** 3).quantiles((0.8,), own[i : i + 1])[0, 0]
        for i in range(2000)
    ]
    split = [s[i] <= SplitCalibration(S[i]).quantiles((0.8,))[0] for i in range(2000)]
    assert_covers(weighted, 0.8)
    assert np.mean(split) < 0.65


def test_rows_of_new_clusters_are_covered_however_alike_those_of_one_are():
    # Twelve clusters of one to twenty rows, which are alike, and less so those of small ones.
    rng, clustered, split = np.random.default_rng(7), [], []
    for _ in range(2000):
        rows = rng.integers(1, 21, size=13)
        cluster = np.repeat(np.arange(13), rows)
        size = rng.normal(size=13)[cluster] / np.log1p(rows[cluster])
        s = np.abs(size + 0.1 * rng.normal(size=len(cluster)))
        old, new = cluster < 12, s[cluster == 12][0]
        clustered.append(new <= ClusteredCalibration(s[old], cluster[old]).quantiles((0.8,))[0])
        split.append(new <= SplitCalibration(s[old]).quantiles((0.8,))[0])
    assert_covers(clustered, 0.8)
    assert np.mean(split) < 0.77


def test_localized_intervals_cover_marginally():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 61, 2))
    S = np.exp(X[:, :, 0]) * rng.exponential(size=(2000, 61))
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
    h = effective_bandwidth(rng.uniform(-1, 1, (500, 1)), 2000)
    localized = s <= LocalizedCalibration(S, X, h, 0).quantiles((0.8,), new)[:, 0]
    split = s <= SplitCalibration(S).quantiles((0.8,))
    steepest = new[:, 0] > 0.8
    assert split[steepest].mean() < 0.6
    assert localized[steepest].mean() == pytest.approx(0.8, abs=0.08)


def test_plus_intervals_of_a_mean_cover():
    rng, K, hits = np.random.default_rng(5), 5, []
    for y in rng.standard_t(3, size=(500, 31)):
        train, folds = y[:-1], np.array_split(np.arange(30), K)
        means = [np.delete(train, fold).mean() for fold in folds]
        scores = [np.abs(train[f] - μ) for f, μ in zip(folds, means, strict=True)]
        bands = [IntervalFamily.around(np.array([μ]), np.ones(1)) for μ in means]
        low, high = PlusCalibration(scores).intervals(bands, (0.9,), train.mean(keepdims=True))[0]
        hits.append(low[0] <= y[-1] <= high[0])
    assert_covers(hits, guarantee(0.9, 30, K))
    assert np.mean(hits) > 0.87
    assert_allclose(guarantee(0.9, 30, K), 0.8 - 5 / 6 / 6)
