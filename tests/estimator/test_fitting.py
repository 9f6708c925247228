import io
import re
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, Ridge

from sosbands import BandRegressor, KernelMean, Newton
from tests.estimator.models import LEVELS, MODES, band, wave
from tests.regressors import regressor


def test_an_interval_holds_the_mean_and_the_scale_is_positive():
    X, y = wave()
    model = band().fit(X, y)
    mean, scale = model.predict(X, return_std=True)
    assert_array_equal(mean, model.predict(X))
    assert_array_equal(scale, model.predict_scale(X))
    assert scale.shape == (80,)
    intervals = model.predict_interval(X)
    assert_allclose(intervals.mean(axis=1), mean, rtol=1e-9, atol=1e-9)
    assert np.all(scale > 0)


def test_the_scale_follows_the_noise():
    X, y = wave(200)
    model = band().fit(X, y)
    narrow, wide = model.predict_scale([[0.1], [0.9]])
    assert wide > 2 * narrow


@pytest.mark.parametrize("joint_mean", [False, True])
@pytest.mark.parametrize("symmetric", [True, False])
def test_a_fit_is_certified_and_says_what_it_chose(symmetric, joint_mean):
    X, y = wave()
    model = band(symmetric=symmetric, joint_mean=joint_mean, tol=1e-5).fit(X, y)
    assert model.certificate_.gap <= 1e-5
    assert model.symmetric_ is symmetric
    assert np.ravel(model.lengthscale_)[0] == 1.0
    assert model.width_weight_ == 10.0
    assert model.tuning_ is None
    assert isinstance(model.estimator_, KernelMean)
    assert model.n_outliers_ == 0
    shape = (80,) if symmetric else (80, 2)
    assert model.predict_scale(X).shape == shape


def test_default_settings_tune_and_cover():
    X, y = wave(150)
    model = BandRegressor(None, random_state=0).fit(X, y)
    assert model.tuning_.chosen in model.tuning_.trials
    new, outputs = wave(2000, seed=5)
    low, high = model.predict_interval(new).T
    assert 0.8 < np.mean((low <= outputs) & (outputs <= high)) < 0.99


@pytest.mark.parametrize("solver", ["newton", "accelerated", "sdp", Newton(tol=1e-6)])
def test_every_solver_finds_the_same_band(solver):
    X, y = wave(20)
    expected = band(calibration=None, tol=1e-6).fit(X, y)
    model = band(calibration=None, solver=solver, tol=1e-6).fit(X, y)
    assert_allclose(model.predict_scale(X), expected.predict_scale(X), rtol=0.02)


def test_an_unsolved_problem_is_reported_with_advice():
    X, y = wave()
    with pytest.warns(ConvergenceWarning, match="the band problem .*raise max_iter") as caught:
        model = band(solver=Newton(max_iter=1)).fit(X, y)
    assert len(caught) == 1
    assert np.all(np.isfinite(model.predict_interval(X, 0.5)))


def test_progress_goes_to_standard_error_and_only_if_asked_for(capfd):
    X, y = wave(30)
    loud = BandRegressor(None, verbose=1, random_state=0).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert "tuning" in err
    assert err.endswith("\n")
    silent = BandRegressor(None, random_state=0).fit(X, y)
    assert capfd.readouterr() == ("", "")
    assert_array_equal(silent.predict_interval(X, 0.5), loud.predict_interval(X, 0.5))


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("parameters", "phases"),
    [
        ({"estimator": None}, ["mean", "tuning", "band", "calibration"]),
        ({"estimator": Ridge()}, ["mean", "difficulty", "tuning", "band", "calibration"]),
        ({"estimator": Ridge(), "calibration": "cv+"}, ["means", "fold 1/5: tuning", "band"]),
    ],
)
def test_every_phase_of_a_fit_has_its_line(parameters, phases, monkeypatch):
    X, y = wave(180)
    monkeypatch.setattr(sys, "stderr", Terminal())
    BandRegressor(verbose=1, random_state=0, **parameters).fit(X, y)
    lines = sys.stderr.getvalue().strip("\n").split("\n")
    shown = [line.split("\r")[1].split("  ")[0] for line in lines]
    assert [name for name in shown if name in phases] == phases
    for line in lines:
        counted = re.search(r" (\d+)/(\d+)(  \d+ s)?$", line)
        assert counted is None or 0 < int(counted[1]) <= int(counted[2])
        assert counted is not None or "calibration" in line


class Interrupted(Ridge):
    """Is stopped by the user in the middle of a fit."""

    def fit(self, X, y, sample_weight=None):
        if len(X) > 60:
            raise KeyboardInterrupt
        return super().fit(X, y)


def test_an_interrupted_fit_leaves_the_earlier_one_whole():
    X, y = wave(80)
    model = band(Interrupted()).fit(X, y)
    before = model.predict_interval(X, 0.5)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*wave(200))
    assert_array_equal(model.predict_interval(X, 0.5), before)
    fresh = band(Interrupted())
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(*wave(200))
    assert not hasattr(fresh, "band_")


@pytest.mark.parametrize("estimator", [None, Ridge()])
def test_the_band_is_learned_from_some_rows_and_the_mean_from_all(estimator):
    X, y = wave(300, columns=2)
    model = band(estimator, calibration=None, band_rows=100)
    learned = [model.set_params(random_state=seed).fit(X, y) for seed in (0, 0)]
    assert_array_equal(learned[0].predict_scale(X), learned[1].predict_scale(X))
    whole = band(estimator, calibration=None, band_rows=None).fit(X, y)
    assert_allclose(model.predict(X), whole.predict(X), rtol=1e-9)
    assert model.band_.extrapolation.rows.shape == (100, 2)
    assert whole.band_.extrapolation.rows.shape == (300, 2)
    assert np.any(model.predict_scale(X) != whole.predict_scale(X))
    assert model.n_train_ == 300
    many = band(estimator, calibration=None, band_rows=300).fit(X, y)
    assert_array_equal(many.predict_scale(X), whole.predict_scale(X))


def test_a_joint_mean_is_learned_from_all_rows():
    X, y = wave(60)
    few = band(calibration=None, joint_mean=True, band_rows=20).fit(X, y)
    all_rows = band(calibration=None, joint_mean=True, band_rows=None).fit(X, y)
    assert_array_equal(few.predict_scale(X), all_rows.predict_scale(X))
    assert BandRegressor.as_published().band.band_rows is None


@pytest.mark.parametrize("calibration", MODES)
def test_ten_rows_are_enough_and_silent(calibration, capfd):
    for seed in range(2):
        X, y = wave(10, seed=seed)
        model = BandRegressor(None, calibration=calibration, random_state=seed).fit(X, y)
        assert np.all(np.isfinite(model.predict(X)))
        assert np.all(model.predict_scale(X) >= 0)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("estimator", [None, Ridge()])
@pytest.mark.parametrize("calibration", MODES)
def test_the_random_state_decides_everything(calibration, estimator):
    X, y = wave()
    settings = {"calibration": calibration, "cv": 3}
    first, again, other = (
        band(estimator, **settings, random_state=state).fit(X, y).predict_interval(X, LEVELS)
        for state in (3, np.random.RandomState(3), 4)
    )
    assert_array_equal(first, again)
    assert np.any(first != other)


@pytest.mark.parametrize("joint_mean", [False, True])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("factor", "shift"), [(1e6, 0.0), (1e-6, 0.0), (1.0, 1000.0), (-2.0, 3.0)])
def test_intervals_follow_the_units_of_the_output(factor, shift, symmetric, joint_mean):
    X, y = wave(50)
    model = band(symmetric=symmetric, joint_mean=joint_mean, tol=1e-8)
    expected = shift + factor * model.fit(X, y).predict_interval(X, LEVELS)
    seen = model.fit(X, shift + factor * y).predict_interval(X, LEVELS)
    assert_allclose(seen, np.sort(expected, axis=1), rtol=1e-4, atol=1e-4 * abs(factor))


@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_intervals_do_not_depend_on_the_units_of_the_inputs(estimator):
    X, y = wave(50, columns=2)
    model = band(estimator, tol=1e-8)
    expected = model.fit(X, y).predict_interval(X, LEVELS)
    moved = 10.0 + X * [0.1, 100.0]
    assert_allclose(model.fit(moved, y).predict_interval(moved, LEVELS), expected, atol=1e-3)


def test_a_joint_two_sided_band_is_tuned_with_the_weight_it_is_solved_with(monkeypatch):
    seen = set()
    original = Newton.solve
    monkeypatch.setattr(
        Newton,
        "solve",
        lambda solver, problem: (
            seen.add((problem.n, problem.mean_weight)) or original(solver, problem)
        ),
    )
    X, y = wave(30)
    regressor(
        symmetric=False, joint_mean=True, mean_weight=7.0, calibration=None, random_state=0
    ).fit(X, y)
    assert seen == {(24, 7.0), (30, 7.0), (30, 0.0)}  # outer levels go around the joint mean
    seen.clear()
    regressor(symmetric=False, joint_mean=True, calibration=None, random_state=0).fit(X, y)
    assert seen == {(24, 1000.0), (30, 1000.0), (30, 0.0)}


def test_outliers_are_left_out_of_the_band_counted_and_still_calibrate():
    X, tame = wave(120)
    y = tame.copy()
    y[:4] += 1e4
    mean = DummyRegressor(strategy="median")
    model = band(mean, remove_outliers=50.0, calibration=None).fit(X, y)
    assert model.n_outliers_ == 4
    without = band(mean, calibration=None).fit(X[4:], y[4:])
    assert_allclose(model.predict_scale(X).mean(), without.predict_scale(X).mean(), rtol=0.1)
    model.conformalize(X, y)
    assert np.sum(model.calibration_.scores > 100) == 4
    assert band(mean, calibration=None).fit(X, tame).n_outliers_ == 0


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_soft_band_does_not_see_how_wild_an_outlier_is(symmetric):
    X, tame = wave(120)
    scales = []
    for wild in (0.0, 1e4, 1e9):
        y = tame.copy()
        y[5] += wild
        mean = DummyRegressor(strategy="median")
        model = band(mean, symmetric=symmetric, calibration=None).fit(X, y)
        scales.append(model.predict_scale(X).mean())
    assert 0.5 < scales[1] / scales[0] < 1.5
    assert scales[2] == pytest.approx(scales[1], rel=1e-3)
