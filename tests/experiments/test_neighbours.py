"""The paper's neighbours solve the problems that they are named after."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.methods import _score_boosting, m_rlcp, minimal_mean_width, nuclear_norm_band
from experiments.paper import neighbours, outlier_filter, several_inputs, tuned_scores
from sosbands import SDP, BandProblem, Gaussian, Newton
from sosbands.conformal import LocalizedCalibration, normals_of
from sosbands.datasets import case


@pytest.fixture(scope="module")
def residuals():
    """Standardised inputs and residuals of a few rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 1))
    return X, rng.normal(size=15) * (1 + np.abs(X[:, 0]))


def solved(rows, solver, **weights):
    return solver.solve(BandProblem.from_data(*rows, scale_kernel=Gaussian(0.7), **weights))


def test_a_small_ridge_gives_the_band_of_the_least_nuclear_norm(residuals):
    exact = {**nuclear_norm_band.WEIGHTS, "ridge_penalty": 0.0}
    slow = solved(residuals, SDP(), **exact)
    fast = solved(residuals, Newton(tol=1e-6), **nuclear_norm_band.WEIGHTS)
    x = np.linspace(-2, 2, 41)[:, None]
    assert np.allclose(fast.scale(x), slow.scale(x), rtol=1e-3, atol=1e-3)


def test_small_penalties_give_nearly_the_least_mean_of_f(residuals):
    X, r = residuals
    means = [
        np.mean(solved(residuals, Newton(tol=1e-5), **weights).scale(X) ** 2)
        for weights in (
            minimal_mean_width.WEIGHTS,
            nuclear_norm_band.WEIGHTS,
            {**minimal_mean_width.WEIGHTS, "trace_penalty": 1e-3, "ridge_penalty": 1e-3},
        )
    ]
    assert np.mean(r**2) <= means[0] * (1 + 1e-6)
    assert means[0] < means[2] < means[1]


def test_averaged_draws_average_p_values():
    rng = np.random.default_rng(1)
    Z_cal, scores, Z = rng.normal(size=(40, 2)), rng.exponential(size=40), rng.normal(size=(5, 2))
    h, level, seed = 0.8, 0.8, 3
    found = m_rlcp.quantiles(Z, Z_cal, scores, h=h, levels=[level], seed=seed)[:, 0]
    tried = np.sort(scores)
    for row, x in enumerate(Z):
        p = np.zeros(len(tried))
        for draw in range(m_rlcp.DRAWS):
            drawn = x + h * normals_of(Z, seed * m_rlcp.DRAWS + draw)[row]
            w = np.exp(-np.sum((Z_cal - drawn) ** 2, axis=1) / (2 * h**2))
            own = np.exp(-np.sum((x - drawn) ** 2) / (2 * h**2))
            p += [(w[scores >= t].sum() + own) / (w.sum() + own) / m_rlcp.DRAWS for t in tried]
        kept = tried[p > 1 - level]
        # Of scores beyond the largest the atom alone is left.
        assert found[row] == kept[-1] if len(kept) < len(tried) else found[row] >= kept[-1]


def test_one_draw_is_the_calibration_of_the_package(monkeypatch):
    monkeypatch.setattr(m_rlcp, "DRAWS", 1)
    rng = np.random.default_rng(2)
    Z_cal, scores, Z = rng.normal(size=(60, 2)), rng.exponential(size=60), rng.normal(size=(9, 2))
    found = m_rlcp.quantiles(Z, Z_cal, scores, h=0.7, levels=[0.5, 0.9], seed=4)
    expected = LocalizedCalibration(scores, Z_cal, 0.7, 4).quantiles([0.5, 0.9], Z)
    assert np.array_equal(found, expected)


def test_rows_count_by_how_near_their_score_is_to_the_quantile():
    rng = np.random.default_rng(3)
    logs, residual = rng.normal(0, 0.3, 50), rng.normal(size=50)
    near = _score_boosting.nearness(np.log(np.abs(residual)) - logs, 0.9)
    assert near.sum() == pytest.approx(1)
    assert np.argmax(near) == np.argsort(np.log(np.abs(residual)) - logs)[44]


def test_wider_everywhere_by_the_same_changes_no_calibrated_length():
    rng = np.random.default_rng(3)
    logs, residual = rng.normal(0, 0.3, 50), rng.normal(size=50)
    length = _score_boosting.log_length(residual, logs, 0.9)
    assert _score_boosting.log_length(residual, logs + 0.7, 0.9) == pytest.approx(length)


def test_boosting_the_score_makes_intervals_shorter():
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, 400)
    residual = rng.normal(size=400) * np.exp(1.5 * x)
    made = _score_boosting.boosted_score(x[:, None], residual, np.zeros(400), 0.9, 0)
    new = rng.uniform(-1, 1, 2000)
    r_new = rng.normal(size=2000) * np.exp(1.5 * new)
    shift, widening = made.moves(new[:, None])
    before = _score_boosting.log_length(r_new, np.zeros(2000), 0.9)
    assert _score_boosting.log_length(r_new - shift, widening, 0.9) < before - 0.1


def test_without_rounds_a_score_stays_as_it_is():
    X = np.zeros((12, 1))
    made = _score_boosting.grow(X, np.ones(12), np.zeros(12), 0.9, rounds=0, seed=0)
    assert np.all(np.array(made.moves(X)) == 0)


def test_a_twentieth_of_the_outputs_is_moved():
    y = case(1).sample(100, random_state=0)[1]
    moved = outlier_filter.with_outliers(y, 0)
    assert np.sum(moved != y) == 5
    assert np.allclose(np.abs(moved - y)[moved != y], 5 * y.std())


def test_a_wide_bandwidth_gives_one_scale_and_a_narrow_one_the_nearest_residual():
    X, y = case(1).sample(30, random_state=0)
    model = tuned_scores.LocalScale(bandwidth=1e3).fit(X, y)
    mean, scale = model.predict(X, return_std=True)
    assert np.allclose(scale, np.abs(y - mean).mean(), rtol=1e-3)
    narrow = model.set_params(bandwidth=1e-6).predict(X, return_std=True)[1]
    assert np.allclose(narrow, np.abs(y - mean))


METRICS = {
    neighbours: ("width", "oracle_width", "coverage", "local_error", "infinite", "seconds"),
    outlier_filter: ("left_out", "width", "coverage", "local_error"),
    several_inputs: (
        *("variation", "oracle_variation", "correlation"),
        *("relative_width", "local_error"),
    ),
}


@pytest.mark.parametrize("module", METRICS, ids=lambda module: module.EXPERIMENT.name)
def test_any_results_can_be_drawn_and_summarised(module):
    rng = np.random.default_rng(0)
    keys = pd.DataFrame(module.EXPERIMENT.units(full=False))
    drawn = pd.DataFrame(rng.uniform(1, 2, (len(keys), len(METRICS[module]))))
    results = keys.join(drawn.set_axis(METRICS[module], axis=1))
    drawing = module.EXPERIMENT.figure(results)
    assert all(axes.get_xlabel() for axes in drawing.axes)
    assert not module.EXPERIMENT.summary(results).isna().any(axis=None)


@pytest.mark.parametrize(
    ("module", "key"),
    [
        (neighbours, {"case": 2, "method": "m_rlcp"}),
        (several_inputs, {"case": 3, "d": 2, "method": "homoscedastic_gp"}),
    ],
    ids=["neighbours", "several_inputs"],
)
def test_a_unit_measures_every_column(module, key):
    found = module.measure(seed=0, **key)
    assert tuple(found) == METRICS[module]
    assert all(np.isfinite(value) for value in found.values())
