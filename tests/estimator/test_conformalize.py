import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.model_selection import TimeSeriesSplit

from tests.estimator.models import INF, LEVELS, band, fitted, ranked, wave


@pytest.mark.parametrize("m", [9, 19, 20, 99, 100])
@pytest.mark.parametrize("estimator", [None, Ridge()])
def test_intervals_are_the_mean_and_the_ranked_score_times_the_scale(estimator, m):
    X, y = wave(m, seed=2)
    model = fitted(estimator).conformalize(X, y)
    mean, scale = model.predict(X, return_std=True)
    scores = np.abs(y - mean) / scale
    new, _ = wave(5, seed=3)
    mean, scale = model.predict(new, return_std=True)
    for level in LEVELS:
        q = ranked(scores, level)
        expected = np.column_stack([mean - q * scale, mean + q * scale])
        assert_allclose(model.predict_interval(new, level), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_beyond_its_band_two_sides_are_calibrated_by_steps_that_follow_the_width(power):
    X, y = wave(40, seed=2)
    settings = {"symmetric": False, "shift_power": power, "training_coverage": 0.5}
    model = fitted(**settings).conformalize(X, y)
    size = model.band_.residual_size

    def shape(X):
        mean, (low, up) = model.predict(X), model.predict_scale(X).T
        return mean, low, up, size * ((low + up) / 2 / size) ** power

    mean, low, up, step = shape(X)
    distance = np.where(y < mean, mean - y, y - mean)
    side = np.where(y < mean, low, up)
    scores = np.where(distance <= side, distance / side, 1 + (distance - side) / step)
    new, _ = wave(5, seed=3)
    mean, low, up, step = shape(new)
    assert_allclose(model.predict(new, return_std=True)[1], (low + up) / 2)
    for level in (0.2, 0.9, 0.95):
        q = ranked(scores, level)
        down, over = (part * min(q, 1) + step * max(q - 1, 0) for part in (low, up))
        expected = np.column_stack([mean - down, mean + over])
        assert_allclose(model.predict_interval(new, level), expected, rtol=1e-7, atol=1e-7)


def test_intervals_of_several_levels_go_through_the_learned_bands():
    X, _ = wave(60, seed=1)
    model = fitted(symmetric=False, training_coverage=(0.3, 0.6, 0.9))
    family = model.band_.at(X).family
    assert family.widths.shape == (60, 3, 2)
    for k in range(3):
        on_the_edge = family.centre + family.widths[:, k, 1]
        model.conformalize(X[[7]], on_the_edge[[7]])
        ends = model.predict_interval(X, 0.5)
        expected = family.centre[:, None] + family.widths[:, k] * [-1, 1]
        assert_allclose(ends, expected, rtol=1e-7, atol=1e-7)
    assert np.any(family.centre != model.predict(X))
    around = fitted(symmetric=False, centre_penalty=None)
    assert_array_equal(around.band_.at(X).family.centre, around.predict(X))


def test_a_residual_where_the_band_has_no_width_scores_infinity():
    X, _ = wave(20)
    model = band(calibration=None).fit(X, np.full(20, 3.0))
    assert_array_equal(model.predict_scale(X), 0)
    model.conformalize(X[:4], [3.0, 3.0, 3.0, 3.5])
    intervals = model.predict_interval(X[:2], [0.6, 0.8])
    assert_allclose(intervals, [[[3, -INF], [3, INF]]] * 2, rtol=1e-14)


@pytest.mark.parametrize(("level", "needed"), [(0.5, 1), (0.9, 9), (0.95, 19), (0.99, 99)])
def test_too_few_rows_give_infinite_intervals_and_one_warning_with_their_number(level, needed):
    X, y = wave(needed, seed=2)
    model = fitted().conformalize(X, y)
    assert np.all(np.isfinite(model.predict_interval(X, level)))
    if needed > 1:
        model.conformalize(X[1:], y[1:])
        message = f"a level of {level} needs at least {needed} calibration rows"
        with pytest.warns(UserWarning, match=message) as caught:
            intervals = model.predict_interval(X, [0.4, level])
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert_array_equal(intervals[:, :, 1], [[-INF, INF]] * needed)
        assert np.all(np.isfinite(intervals[:, :, 0]))


def test_calibrating_again_forgets_the_rows_before_and_learns_nothing():
    model = fitted()
    learned = model.band_
    X, y = wave(30, seed=2)
    expected = model.conformalize(X, y).predict_interval(X)
    model.conformalize(X, 5 * y)
    assert np.any(model.predict_interval(X) != expected)
    assert_array_equal(model.conformalize(X, y).predict_interval(X), expected)
    assert model.band_ is learned


def companions(kind, X):
    groups = np.where(X[:, 0] < 0.5, "low", "high")
    return {
        "split": {},
        "localized": {},
        "groups": {"groups": groups},
        "weights": {"weights": 0.1 + X[:, 0]},
        "function": {"weights": lambda X: 0.1 + X[:, 0]},
    }[kind]


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("kind", ["split", "localized", "groups", "weights", "function"])
def test_rows_that_are_added_count_like_those_before(kind, symmetric):
    X, y = wave(90, seed=2)
    new, _ = wave(10, seed=3)
    asked = {} if kind == "function" else companions(kind, new)
    mode = "localized" if kind == "localized" else "split"
    model = fitted(symmetric=symmetric).set_params(calibration=mode)
    at_once = model.conformalize(X, y, **companions(kind, X)).predict_interval(new, LEVELS, **asked)
    model.conformalize(X[:50], y[:50], **companions(kind, X[:50]))
    for rows in (slice(50, 60), slice(60, 90)):
        added = {} if kind == "function" else companions(kind, X[rows])
        model.partial_conformalize(X[rows], y[rows], **added)
    assert_allclose(model.predict_interval(new, LEVELS, **asked), at_once, rtol=1e-10)


def test_adding_rows_to_none_is_calibrating():
    X, y = wave(30, seed=2)
    expected = fitted().conformalize(X, y).predict_interval(X)
    assert_array_equal(fitted().partial_conformalize(X, y).predict_interval(X), expected)


def test_added_rows_count_in_the_quantiles_too():
    X, y = wave(30, seed=2)
    expected = fitted().conformalize(X, y).predict_quantiles(X, LEVELS)
    model = fitted().conformalize(X[:10], y[:10]).partial_conformalize(X[10:], y[10:])
    assert_allclose(model.predict_quantiles(X, LEVELS), expected, rtol=1e-10)


def test_weights_make_the_quantile_of_tibshirani_and_others():
    X, y = wave(30, seed=2)
    weights = np.exp(3 * X[:, 0])
    model = fitted().conformalize(X, y, weights=weights)
    mean, scale = model.predict(X, return_std=True)
    scores = np.abs(y - mean) / scale
    own = np.array([0.3, 2.0, 30.0, 500.0])
    intervals = model.predict_interval(X[:4], 0.8, weights=own)
    order = np.argsort(scores)
    for i, w in enumerate(own):
        reached = np.cumsum(weights[order]) >= 0.8 * (weights.sum() + w)
        q = scores[order][np.argmax(reached)] if reached.any() else INF
        expected = mean[i] - q * scale[i], mean[i] + q * scale[i]
        assert_allclose(intervals[i], expected, rtol=1e-7, atol=1e-7)
    assert np.all(np.isinf(intervals[3]))


def test_equal_weights_are_no_weights_and_functions_are_arrays():
    X, y = wave(39, seed=2)
    plain = fitted().conformalize(X, y).predict_interval(X, LEVELS)
    equal = fitted().conformalize(X, y, weights=np.full(39, 0.3))
    assert_array_equal(equal.predict_interval(X, LEVELS, weights=np.full(39, 0.3)), plain)
    by_array = fitted().conformalize(X, y, weights=X[:, 0])
    by_call = fitted().conformalize(X, y, weights=lambda X: X[:, 0])
    expected = by_array.predict_interval(X, LEVELS, weights=X[:, 0])
    assert_array_equal(by_call.predict_interval(X, LEVELS), expected)
    assert_array_equal(by_call.predict_interval(X, LEVELS, weights=X[:, 0]), expected)
    assert_array_equal(by_array.predict_interval(X, LEVELS, weights=lambda X: X[:, 0]), expected)


def test_a_function_of_weights_gets_the_frame_that_was_given():
    X, y = wave(60, seed=1)
    frame = pd.DataFrame(X, columns=["x"])
    expected = fitted().conformalize(X, y, weights=lambda X: X[:, 0]).predict_interval(X)
    model = band(calibration=None).fit(frame, y).conformalize(frame, y, weights=lambda X: X["x"])
    assert_array_equal(model.predict_interval(frame), expected)


def test_outputs_beyond_the_limits_do_not_calibrate():
    X, y = wave(60, seed=2)
    model = band(y_max=float(y.max())).fit(X, y)
    for calibrate in (model.conformalize, model.partial_conformalize):
        with pytest.raises(ValueError, match=r"y goes from .* and y_max="):
            calibrate(X, y + 1.0)


@pytest.mark.parametrize(("size", "rows"), [(0.25, 20), (17, 17), (1, 1)])
def test_the_calibration_size_is_a_share_or_a_number(size, rows):
    X, y = wave()
    assert len(band(calibration_size=size).fit(X, y).calibration_.scores) == rows


def test_ordered_rows_are_calibrated_by_the_last_of_them():
    X, y = wave(60)
    settings = {"cv": TimeSeriesSplit(3)}
    model = band(Ridge(), **settings, calibration_size=25).fit(X, y)
    by_hand = band(Ridge(), **settings, calibration=None).fit(X[:35], y[:35])
    by_hand.conformalize(X[35:], y[35:])
    assert_array_equal(model.predict_interval(X, LEVELS), by_hand.predict_interval(X, LEVELS))
