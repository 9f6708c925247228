import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import kstest

from sosbands.conformal import (
    LocalizedCalibration,
    SplitCalibration,
    WeightedCalibration,
    effective_bandwidth,
    localized,
    normals_of,
)

INF = np.inf
LEVELS = (0.5, 0.8, 0.9, 0.95)


def slow_localized_quantiles(calibration, X):
    """Row by row the weighted quantiles, which have a slow twin of their own."""
    scores, inputs, h = calibration.scores, calibration.inputs, calibration.bandwidth
    answers = []
    for x in X:
        drawn = x + h * normals_of(x[None], calibration.seed)[0]
        weights = [np.exp(-np.sum((z - drawn) ** 2) / (2 * h**2)) for z in inputs]
        own = np.exp(-np.sum((x - drawn) ** 2) / (2 * h**2))
        answers.append(WeightedCalibration(scores, weights).quantiles(LEVELS, [own])[0])
    return np.array(answers)


@pytest.mark.parametrize(("m", "d", "h"), [(1, 1, 1.0), (30, 1, 0.2), (40, 3, 1.0), (25, 5, 9.0)])
def test_localized_quantiles_equal_the_slow_twin(m, d, h):
    rng = np.random.default_rng(m)
    scores, inputs, X = rng.random(m), rng.normal(size=(m, d)), rng.normal(size=(15, d))
    scores[0] = INF
    calibration = LocalizedCalibration(scores, inputs, h, 5)
    q = calibration.quantiles(LEVELS, X)
    assert_array_equal(q, slow_localized_quantiles(calibration, X))


def test_rows_predicted_in_pieces_get_the_same_answers(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    calibration = LocalizedCalibration(rng.random(100), rng.normal(size=(100, 3)), 0.7, 1)
    whole = calibration.quantiles(LEVELS, X)
    pieces = [calibration.quantiles(LEVELS, X[a:b]) for a, b in [(0, 1), (1, 18), (18, 50)]]
    assert_array_equal(np.concatenate(pieces), whole)
    monkeypatch.setattr(localized, "_BLOCK_ENTRIES", 700)
    assert_array_equal(calibration.quantiles(LEVELS, X), whole)
    other = LocalizedCalibration(calibration.scores, calibration.inputs, 0.7, 2)
    assert not np.array_equal(other.quantiles(LEVELS, X), whole)


def test_the_draws_of_a_row_depend_on_the_row_and_the_seed_alone():
    rows = np.random.default_rng(0).integers(-3, 4, size=(100, 3)) / 4
    g = normals_of(rows, 8)
    assert_array_equal(normals_of(rows[::-1], 8), g[::-1])
    assert_array_equal(normals_of(rows + 1e-12, 8), g)
    assert_array_equal(normals_of(-rows * 0.0, 8), normals_of(rows * 0.0, 8))
    assert not np.any(normals_of(rows, 9) == g)
    assert len(np.unique(g, axis=0)) == len(np.unique(rows, axis=0))


@pytest.mark.parametrize("rows", ["grid", "counts", "normals"])
def test_draws_are_standard_normal_and_independent(rows):
    n, d = 20_000, 4
    X = {
        "grid": np.linspace(0, 1, n)[:, None] * np.ones(d),
        "counts": np.arange(n * d, dtype=float).reshape(n, d),
        "normals": np.random.default_rng(0).normal(size=(n, d)),
    }[rows]
    g = normals_of(X, 3)
    assert kstest(g.ravel(), "norm").pvalue > 1e-3
    together = np.corrcoef(np.hstack([g[1:], g[:-1], normals_of(X, 4)[1:]]).T)
    assert np.abs(together - np.eye(3 * d)).max() < 5 / np.sqrt(n)


def test_rows_served_one_by_one_are_covered_as_in_one_table():
    rng = np.random.default_rng(0)

    def draw(n):
        x = rng.uniform(size=(n, 1))
        return x, np.abs(rng.normal(size=n)) * (0.1 + x[:, 0])

    inputs, scores = draw(200)
    X, s = draw(800)
    h = effective_bandwidth(draw(400)[0], 200)
    calibration = LocalizedCalibration(scores, inputs, h, 1)
    alone = np.array([calibration.quantiles((0.9,), x[None])[0, 0] for x in X])
    assert_array_equal(alone, calibration.quantiles((0.9,), X)[:, 0])
    # Calibration and new rows both vary: four standard errors of their sum.
    assert abs(np.mean(s <= alone) - 0.9) < 4 * np.sqrt(0.09 / 200 + 0.09 / 800)


def test_equal_rows_share_a_draw_so_that_few_of_them_do_not_average_out():
    rng = np.random.default_rng(0)

    def draw(n):
        x = rng.choice(np.linspace(-1.5, 1.5, 5), (n, 1))
        return x, np.abs(rng.normal(size=n)) * (2 + x[:, 0])

    (inputs, scores), (X, s) = draw(200), draw(2000)
    h = effective_bandwidth(draw(400)[0], 200)
    q = LocalizedCalibration(scores, inputs, h, 0).quantiles((0.9,), X)[:, 0]
    assert len(np.unique(np.column_stack([X[:, 0], q]), axis=0)) == len(np.unique(X))

    def spread(X):
        made = [LocalizedCalibration(scores, inputs, h, seed) for seed in range(40)]
        return np.std([np.mean(s <= one.quantiles((0.9,), X)[:, 0]) for one in made])

    assert spread(X) > 3 * spread(X + 1e-4 * rng.normal(size=X.shape))


def test_a_row_far_from_all_others_gets_an_infinite_quantile():
    calibration = LocalizedCalibration(np.ones(50), np.zeros((50, 2)), 1e-3, 0)
    q = calibration.quantiles((0.9,), np.array([[1e6, 0.0], [1e-5, 0.0]]))
    assert_array_equal(q, [[INF], [1.0]])


@pytest.mark.parametrize("d", [1, 50])
def test_the_bandwidth_reaches_its_target_in_the_median(d):
    rng = np.random.default_rng(d)
    inputs, X, m = rng.normal(size=(600, d)), rng.normal(size=(200, d)), 600
    h = effective_bandwidth(rng.normal(size=(400, d)), m, target=80)
    drawn = X + h * normals_of(X, 1)
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


def test_a_sample_stands_for_many_pre_training_rows(monkeypatch):
    X = np.random.default_rng(0).normal(size=(600, 1))
    every = effective_bandwidth(X, 500)
    monkeypatch.setattr(localized, "_BANDWIDTH_ROWS", 300)
    some = effective_bandwidth(X, 500)
    assert some != every
    assert some == pytest.approx(every, rel=0.2)


def test_a_bandwidth_for_too_few_rows_gives_the_split_quantiles():
    rng = np.random.default_rng(0)
    scores, inputs, X = rng.random(19), rng.normal(size=(19, 3)), rng.normal(size=(200, 3))
    h = effective_bandwidth(rng.normal(size=(60, 3)), 19)
    q = LocalizedCalibration(scores, inputs, h, 0).quantiles(LEVELS, X)
    assert_array_equal(q, np.tile(SplitCalibration(scores).quantiles(LEVELS), (200, 1)))


def test_constant_inputs_have_a_bandwidth():
    assert effective_bandwidth(np.ones((20, 2)), 100) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
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
