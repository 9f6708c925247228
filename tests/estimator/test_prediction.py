import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge

from sosbands.learning import tables
from tests.estimator.models import INF, LEVELS, MODES, band, fitted, quiet, wave


@pytest.mark.parametrize("calibration", MODES)
@pytest.mark.parametrize("symmetric", [True, False])
def test_levels_may_come_in_any_form_and_are_nested(symmetric, calibration):
    X, y = wave()
    model = band(symmetric=symmetric, calibration=calibration, cv=3).fit(X, y)
    levels = [0.9, 0.05, 0.5, 0.95]
    together = quiet(lambda: model.predict_interval(X, levels))
    assert together.shape == (80, 2, 4)
    for j, level in enumerate(levels):
        assert_array_equal(
            quiet(lambda level=level: model.predict_interval(X, level)), together[:, :, j]
        )
    assert model.predict_interval(X, [0.5]).shape == (80, 2, 1)
    for same in (np.array(0.5), np.float64(0.5), np.float32(0.5)):
        assert_array_equal(model.predict_interval(X, same), together[:, :, 2])
    assert_array_equal(model.predict_interval(X, (0.5,)), together[:, :, [2]])
    low, high = np.moveaxis(together[:, :, np.argsort(levels)], 1, 0)
    assert np.all(np.diff(low, axis=1) <= 0)
    assert np.all(np.diff(high, axis=1) >= 0)
    assert np.all(low <= high)


class Counting(LinearRegression):
    """Counts the rows that it predicts."""

    rows = 0

    def predict(self, X):
        Counting.rows += len(X)
        return super().predict(X)


@pytest.mark.parametrize("calibration", MODES)
@pytest.mark.parametrize("symmetric", [True, False])
def test_a_table_holds_means_and_intervals(calibration, symmetric):
    X, y = wave(60)
    model = band(Ridge(), symmetric=symmetric, calibration=calibration).fit(X, y)
    table = model.predict_table(X, 0.8)
    assert_array_equal(table[:, 0], model.predict(X))
    assert_array_equal(table[:, 1:], model.predict_interval(X, 0.8))
    several = model.predict_table(X, [0.5, 0.8])
    assert_array_equal(several[:, [0, 3, 4]], table)
    assert_array_equal(several[:, 1:3], model.predict_interval(X, 0.5))


def test_a_table_is_a_frame_like_that_of_the_inputs():
    X, y = wave(60, columns=2)
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(60) + 100)
    model = band(Ridge()).fit(frame, y)
    expected = model.predict_table(frame[["a", "b"]], [0.5, 0.8])
    assert list(expected.columns) == ["mean", "lower_0.5", "upper_0.5", "lower_0.8", "upper_0.8"]
    assert_array_equal(expected.index, frame.index)
    assert list(model.predict_table(frame).columns) == ["mean", "lower", "upper"]
    other = model.predict_table(pl.from_pandas(frame), [0.5, 0.8])
    assert isinstance(other, pl.DataFrame)
    assert_allclose(other.to_numpy(), expected.to_numpy(), rtol=1e-12)


def test_a_table_asks_the_mean_once_for_each_row():
    X, y = wave(60)
    model = band(Counting()).fit(X, y)
    Counting.rows = 0
    model.predict_table(X, [0.5, 0.9])
    assert Counting.rows == 60


def test_a_table_needs_calibration_rows():
    with pytest.raises(NotFittedError, match="predict_table needs calibration rows"):
        fitted().predict_table(wave(5)[0])


def test_quantiles_are_ranked_signed_scores():
    X, y = wave(29, seed=2)
    model = fitted().conformalize(X, y)
    mean, scale = model.predict(X, return_std=True)
    scores = np.sort((y - mean) / scale)
    # 0.1·30 = 3, 0.42·30 = 12.6 (down), 0.5·30 = 15, 0.58·30 = 17.4 (up), 0.9·30 = 27.
    places = [2, 11, 14, 17, 26]
    quantiles = model.predict_quantiles(X, [0.1, 0.42, 0.5, 0.58, 0.9])
    assert_allclose(
        quantiles, mean[:, None] + scale[:, None] * scores[places], rtol=1e-8, atol=1e-8
    )
    assert_array_equal(model.predict_quantiles(X, 0.9), quantiles[:, 4])
    assert np.all(np.diff(quantiles, axis=1) >= 0)


def test_quantiles_beyond_the_rows_are_infinite():
    X, y = wave(9, seed=2)
    model = fitted().conformalize(X, y)
    assert_array_equal(quiet(lambda: model.predict_quantiles(X[:1], [0.05, 0.95])), [[-INF, INF]])


@pytest.mark.parametrize(
    "make",
    [
        lambda X, y: band(calibration="localized").fit(X, y),
        lambda X, y: band().fit(X, y).conformalize(X, y, groups=[0] * len(y)),
        lambda X, y: band().fit(X, y).conformalize(X, y, weights=[1] * len(y)),
    ],
)
def test_a_distribution_needs_one_threshold_for_all_rows(make):
    X, y = wave(40)
    model = make(X, y)
    for call in (lambda: model.predict_quantiles(X, 0.5), lambda: model.predict_cdf(X, y)):
        with pytest.raises(ValueError, match="needs a predictive distribution, which"):
            call()
    with pytest.raises(ValueError, match="sample needs a predictive distribution"):
        model.sample(X)


@pytest.mark.parametrize("calibration", ["split", "cv+"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_quantiles_shares_and_draws_tell_of_one_distribution(symmetric, calibration):
    X, y = wave(120)
    model = band(symmetric=symmetric, calibration=calibration, cv=3).fit(X, y)
    new, levels = X[:20], np.linspace(0.1, 0.9, 9)
    quantiles = model.predict_quantiles(new, levels)
    assert np.all(np.diff(quantiles, axis=1) >= 0)
    m = model.calibration_.distribution.size
    for k, level in enumerate(levels):
        share = model.predict_cdf(new, quantiles[:, k])
        assert_allclose(share, level, atol=2.01 / m)  # ranks are rounded away from the median
    far = np.full(20, 1e6)
    assert_array_equal(model.predict_cdf(new, far), 1)
    assert_array_equal(model.predict_cdf(new, -far), 0)
    draws = model.sample(new, 4000, random_state=0)
    assert draws.shape == (20, 4000)
    assert_allclose(np.mean(draws <= quantiles[:, [4]], axis=1), 0.5, atol=0.05)
    assert_array_equal(draws, model.sample(new, 4000, random_state=0))
    assert np.any(draws != model.sample(new, 4000, random_state=1))


@pytest.mark.parametrize("symmetric", [True, False])
def test_the_share_at_an_output_counts_the_rows_that_score_no_more(symmetric):
    X, y = wave(80)
    model = band(symmetric=symmetric).fit(X, y)
    new, outputs = wave(10, seed=4)
    signed = model.calibration_.distribution.scores
    own = model.band_.at(new).family.signed_scores(outputs)
    expected = [np.mean(signed <= score) for score in own]
    assert_array_equal(model.predict_cdf(new, outputs), expected)


def test_limits_of_the_output_are_limits_of_the_distribution():
    X, y = wave(80)
    low, high = y.min(), y.max()
    model = band(y_min=low, y_max=high).fit(X, y)
    assert_array_equal(model.predict_cdf(X[:1], [low - 1e-9]), 0)
    assert_array_equal(model.predict_cdf(X[:1], [high]), 1)
    draws = model.sample(X, 50, random_state=0)
    assert draws.min() >= low
    assert draws.max() <= high


def test_nothing_is_drawn_where_no_score_is_finite():
    X, _ = wave(20)
    model = band(calibration=None).fit(X, np.full(20, 3.0))
    model.conformalize(X[:3], [4.0, 5.0, 2.0])
    with pytest.raises(ValueError, match="no calibration row has a finite score"):
        model.sample(X)


@pytest.mark.parametrize("count", [0, -1, 1.5, None, "many"])
def test_a_number_of_draws_is_a_whole_number(count):
    X, y = wave(40)
    with pytest.raises(ValueError, match="n_samples"):
        band().fit(X, y).sample(X, count)


@pytest.mark.parametrize("estimator", [None, Ridge()])
@pytest.mark.parametrize("columns", [1, 3])
def test_extrapolation_is_zero_on_training_rows_and_near_one_far_away(columns, estimator):
    X, y = wave(60, columns=columns)
    model = band(estimator, calibration=None).fit(X, y)
    assert_allclose(model.extrapolation(X), 0, atol=1e-12)
    values = model.extrapolation(np.linspace(1, 4, 30)[:, None] * np.ones(columns))
    assert np.all((values >= 0) & (values <= 1))
    assert np.all(np.diff(values) >= 0)
    assert values[-1] > 0.99
    assert model.extrapolation(np.full((1, columns), 1e200)) == 1
    inside = wave(200, seed=8, columns=columns)[0]
    assert np.median(model.extrapolation(inside)) < 0.3


def test_extrapolation_does_not_depend_on_units_and_bears_duplicates():
    X, y = wave(60, columns=2)
    moved = 5 + X * [1e-3, 1e4]
    assert_allclose(
        band(calibration=None).fit(X, y).extrapolation(2 * X),
        band(calibration=None).fit(moved, y).extrapolation(5 + 2 * X * [1e-3, 1e4]),
        atol=1e-8,
    )
    doubled = np.repeat(X[:30], 2, axis=0)
    values = band(calibration=None).fit(doubled, y).extrapolation(np.vstack([X, 50 + X]))
    assert np.all((values >= 0) & (values <= 1))
    assert values[60:].min() > 0.99


@pytest.mark.parametrize("calibration", MODES)
def test_intervals_are_cut_to_what_is_possible(calibration):
    X, y = wave()
    settings = {"calibration": calibration, "cv": 3}
    free = quiet(lambda: band(**settings).fit(X, y).predict_interval(X, [0.5, 0.99]))
    low, high = y.min(), y.max()
    for limits in ({"y_min": low}, {"y_max": high}, {"y_min": low, "y_max": high}):
        model = band(**settings, **limits).fit(X, y)
        cut = quiet(lambda model=model: model.predict_interval(X, [0.5, 0.99]))
        expected = np.clip(free, limits.get("y_min", -INF), limits.get("y_max", INF))
        assert_array_equal(cut, expected)
    quantiles = band(y_min=low, y_max=high).fit(X, y)
    q = quiet(lambda: quantiles.predict_quantiles(X, [0.001, 0.999]))
    assert_array_equal(q, [[low, high]] * 80)


def zero_inflated(n=120, seed=0):
    X, y = wave(n, seed=seed)
    return X, np.maximum(y, 0.0)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("calibration", MODES)
def test_intervals_end_where_outputs_pile_up(calibration, symmetric):
    X, y = zero_inflated()
    settings = {"calibration": calibration, "cv": 3, "symmetric": symmetric}
    model = band(**settings).fit(X, y)
    intervals = model.predict_interval(X, [0.5, 0.9])
    assert intervals.min() == 0
    free = band(**settings, y_min=None).fit(X, y).predict_interval(X, [0.5, 0.9])
    assert free.min() < 0
    assert model.band_.limits.high is None  # the largest output is that of one row
    assert np.mean(np.diff(intervals, axis=1)) < np.mean(np.diff(free, axis=1))


def test_a_predictive_distribution_ends_where_outputs_pile_up():
    X, y = zero_inflated()
    model = band().fit(X, y)
    assert model.predict_quantiles(X, [0.1, 0.9]).min() == 0
    assert model.sample(X, 20, random_state=0).min() == 0
    assert_array_equal(model.predict_cdf(X[:3], [-0.1, -1.0, -2.0]), 0)


def test_calibration_rows_beyond_a_limit_that_is_none_are_missed():
    X, y = zero_inflated()
    model = band(calibration=None).fit(X, y)
    new, outputs = wave(40, seed=3)
    model.conformalize(new, np.where(np.arange(40) < 8, -5.0, np.maximum(outputs, 0.0)))
    intervals = model.predict_interval(new, [0.7, 0.9])
    assert intervals[:, 0, 0].min() == 0  # a fifth are missed
    assert np.all(np.isneginf(intervals[:, 0, 1]))
    assert np.all(np.isposinf(intervals[:, 1, 1]))


@pytest.mark.parametrize("calibration", MODES)
def test_tables_in_pieces_get_the_same_answers(calibration, monkeypatch):
    X, y = wave()
    model = band(calibration=calibration, cv=3).fit(X, y)
    new = np.linspace(-1, 2, 50)[:, None]
    at_once, far = model.predict_interval(new, LEVELS), model.extrapolation(new)
    monkeypatch.setattr(tables, "_BLOCK_ROWS", 7)
    assert_allclose(model.predict_interval(new, LEVELS), at_once, rtol=1e-10)
    assert_allclose(model.extrapolation(new), far, rtol=1e-10)


@pytest.mark.parametrize("calibration", MODES)
@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_memory_does_not_grow_with_the_table(calibration, estimator):
    X, y = wave(300)
    model = band(estimator, calibration=calibration, cv=3).fit(X, y)
    if calibration != "cv+":
        model.conformalize(X, y)
    new = np.random.default_rng(0).uniform(size=(200_000, 1))  # times 300 rows: 480 MB
    tracemalloc.start()
    intervals = model.predict_interval(new)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert intervals.shape == (200_000, 2)
    assert peak - intervals.nbytes < 128e6


FORKED = """
import multiprocessing, sys, warnings
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sosbands import BandRegressor, KernelBand

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 6))
y = X[:, 0] + rng.normal(size=400) * (1 + np.abs(X[:, 1]))
band = KernelBand(lengthscale=1.0, width_weight=10.0)
for mean in (Ridge(), HistGradientBoostingRegressor(max_iter=5)):
    model = BandRegressor(mean, band=band, random_state=0).fit(X, y)
    model.predict_interval(X)
    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=model.predict_interval, args=(X[:1],))
    child.start()
    child.join(60)
    if child.exitcode != 0:
        child.kill()
        sys.exit(f"{type(mean).__name__}: {child.exitcode}")
"""


def test_a_forked_process_predicts(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    ended = subprocess.run([sys.executable, "-c", FORKED], check=False)
    assert ended.returncode == 0


@pytest.mark.parametrize("later", [{"y_min": 0.5}, {"y_max": 0.5}, {"y_min": "auto"}])
def test_limits_that_are_set_after_the_fit_wait_for_the_next(later):
    X, y = wave()
    model = band().fit(X, y)
    before = model.predict_interval(X, 0.8), model.predict_cdf(X, y)
    model.set_params(**later)
    assert np.array_equal(model.predict_interval(X, 0.8), before[0])
    assert np.array_equal(model.predict_cdf(X, y), before[1])
