"""The diagnostics of a fitted model, against the metrics that they are made of."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import OneHotEncoder

from sosbands import BandRegressor
from sosbands.datasets import case
from sosbands.evaluation import evaluate
from sosbands.evaluation.coverage_counts import binomial_bounds, expected_coverage
from sosbands.metrics import (
    coverage,
    coverage_gap,
    ert,
    interval_score,
    mean_width,
    size_stratified_coverage,
    worst_slab_coverage,
)
from tests.regressors import regressor

QUICK = {"lengthscale": 0.5, "width_weight": 50.0, "symmetric": True, "random_state": 0}
X, Y = case(1).sample(300, random_state=0)
X_NEW, Y_NEW = case(1).sample(1000, random_state=1)
TABLE = pd.DataFrame({"dose": X[:, 0], "batch": np.where(X[:, 0] > 0, 2.0, 1.0)})


@pytest.fixture(scope="module")
def model():
    return regressor(**QUICK).fit(X, Y)


@pytest.fixture(scope="module")
def evaluation(model):
    return evaluate(model, X_NEW, Y_NEW)


def test_the_numbers_are_those_of_the_metrics(model, evaluation):
    intervals = model.predict_interval(X_NEW, 0.9)
    Z = (X_NEW - X_NEW.mean(axis=0)) / X_NEW.std(axis=0)
    assert evaluation.coverage == coverage(Y_NEW, intervals)
    assert evaluation.mean_width == mean_width(intervals)
    assert evaluation.interval_score == interval_score(Y_NEW, intervals, 0.9)
    assert evaluation.size_stratified_coverage == size_stratified_coverage(Y_NEW, intervals)
    assert evaluation.coverage_gap == pytest.approx(
        coverage_gap(Z, Y_NEW, intervals, 0.9, random_state=0)
    )
    assert evaluation.worst_slab_coverage == pytest.approx(
        worst_slab_coverage(Z, Y_NEW, intervals, random_state=0)
    )
    assert evaluation.ert == pytest.approx(ert(Z, Y_NEW, intervals, 0.9, random_state=0))
    assert evaluation.rmse == pytest.approx(np.sqrt(np.mean((model.predict(X_NEW) - Y_NEW) ** 2)))


def test_every_level_has_its_coverage(model, evaluation):
    levels = [part.level for part in evaluation.by_level]
    assert levels == [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99]
    intervals = model.predict_interval(X_NEW, levels[:-1])
    found = [part.coverage for part in evaluation.by_level[:-1]]
    np.testing.assert_array_equal(found, coverage(Y_NEW, intervals))


def test_parts_hold_every_row_once(evaluation):
    for parts in (evaluation.by_width, evaluation.by_cluster):
        assert sum(part.n_rows for part in parts) == evaluation.n_rows
        assert all(part.bounds[0] <= part.coverage <= part.bounds[1] for part in parts)
        mean = sum(part.n_rows * part.coverage for part in parts) / evaluation.n_rows
        assert mean == pytest.approx(evaluation.coverage)


def test_an_adaptive_band_beats_a_constant_one_in_the_dependence_on_the_width(evaluation):
    flat = regressor(**{**QUICK, "lengthscale": 50.0}).fit(X, Y)
    constant = evaluate(flat, X_NEW, Y_NEW)
    assert evaluation.distance_correlation > constant.distance_correlation
    assert evaluation.hsic > constant.hsic


def test_the_expected_range_holds_95_percent_of_split_calibrations():
    m, n, level = 49, 200, 0.9
    rng = np.random.default_rng(0)
    threshold = np.sort(rng.random((4000, m)), axis=1)[:, 44]  # ⌈0.9·50⌉ = 45th score
    found = rng.binomial(n, threshold) / n
    low, high = expected_coverage(level, m, n)
    assert 0.94 < np.mean((low <= found) & (found <= high)) < 0.975


def test_binomial_bounds_are_those_of_clopper_and_pearson():
    # 8 of 10, from the tables of the beta distribution.
    assert binomial_bounds(8, 10) == pytest.approx((0.4439, 0.9748), abs=1e-4)
    assert binomial_bounds(10, 10)[1] == 1.0


def test_new_rows_of_another_distribution_are_noticed(model):
    found = evaluate(model, X_NEW, 3 * Y_NEW)
    assert found.outcome == "too low"
    assert "differ from the calibration rows" in found.verdict


def test_intervals_that_cover_too_much_are_noticed(model):
    found = evaluate(model, X_NEW, model.predict(X_NEW))
    assert (found.outcome, found.coverage) == ("too high", 1.0)


def test_training_rows_are_noticed(model, evaluation):
    found = evaluate(model, X, Y)
    assert found.seen == pytest.approx(0.7)
    assert "if they trained the model" in found.verdict
    assert evaluation.seen == 0
    assert "trained" not in evaluation.verdict


def test_rows_far_from_the_training_rows_are_counted(model):
    far = np.concatenate([X_NEW[:75], X_NEW[:25] + 100])
    assert evaluate(model, far, Y_NEW[:100]).extrapolating == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(
    ("n", "missing"),
    [
        (1, 7),
        (39, 7),
        (40, 6),
        (50, 3),
        (100, 2),
        (200, 0),
    ],
)
def test_what_few_rows_cannot_tell_is_none_with_a_reason(model, n, missing):
    found = evaluate(model, X_NEW[:n], Y_NEW[:n])
    absent = {name for name, value in vars(found).items() if value is None}
    assert absent == set(found.reasons)
    assert len(absent) == missing
    frame = found.to_frame().set_index("diagnostic")
    for name, reason in found.reasons.items():
        assert np.isnan(frame.loc[name, "value"])
        assert reason in frame.loc[name, "what it means"]


def test_too_few_calibration_rows_are_said_and_become_null(model):
    found = evaluate(model, X_NEW, Y_NEW, confidence_level=0.995)
    assert (found.outcome, found.n_infinite) == ("infinite", 1000)
    assert "90 calibration rows or groups are too few for a level of 0.995" in found.verdict
    made = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert made["mean_width"] is None
    assert made["hsic"] is None
    assert [part["mean_width"] is None for part in made["by_level"]] == [False] * 6 + [True] * 2


def test_the_frame_has_one_explained_row_per_diagnostic(evaluation):
    frame = evaluation.to_frame()
    assert list(frame.columns) == ["diagnostic", "value", "what it means"]
    assert frame["diagnostic"].is_unique
    assert frame["what it means"].str.len().gt(0).all()
    assert "asked: 0.9; 95 % bounds" in frame.loc[0, "what it means"]


@pytest.mark.parametrize(
    "parameters",
    [{"calibration": "cv+", "cv": 3}, {"calibration": "localized"}, {"symmetric": False}],
    ids=str,
)
def test_every_kind_of_interval_is_judged(parameters):
    found = evaluate(regressor(**{**QUICK, **parameters}).fit(X, Y), X_NEW, Y_NEW)
    assert 0.8 < found.coverage < 1
    assert found.n_calibration == (300 if parameters.get("calibration") == "cv+" else 90)
    assert not found.reasons


def test_clusters_are_named_by_the_columns_of_a_data_frame():
    found = evaluate(regressor(**QUICK).fit(TABLE, Y), TABLE, Y)
    assert all(part.label.startswith("dose ≈ ") for part in found.by_cluster)
    assert all(", batch ≈ " in part.label for part in found.by_cluster)


def test_columns_that_a_transformer_makes_keep_its_names():
    table = TABLE.assign(batch=np.where(X[:, 0] > 0, "late", "early"))
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["batch"]))
    fitted = regressor(**QUICK, band_transformer=encoder).fit(table, Y)
    found = evaluate(fitted, table, Y)
    assert len(found.by_cluster) == 2  # as many as there are different rows
    assert "batch_early" in found.by_cluster[0].label


def test_the_result_depends_on_the_seed_alone(model, evaluation):
    assert evaluate(model, X_NEW, Y_NEW).to_dict() == evaluation.to_dict()


def test_weights_by_a_function_are_judged(model):
    weighted = regressor(**QUICK, calibration=None).fit(X[:200], Y[:200])
    weighted.conformalize(X[200:], Y[200:], weights=lambda rows: np.ones(len(rows)))
    assert evaluate(weighted, X_NEW, Y_NEW).n_calibration == 100


@pytest.mark.parametrize("companion", ["groups", "weights"])
def test_rows_without_their_groups_or_weights_are_refused(companion):
    fitted = regressor(**QUICK, calibration=None).fit(X[:200], Y[:200])
    fitted.conformalize(X[200:], Y[200:], **{companion: np.ones(100)})
    with pytest.raises(ValueError, match=f"calibrated with .*{companion}, which X and y"):
        evaluate(fitted, X_NEW, Y_NEW)


def test_a_model_without_calibration_rows_is_refused():
    with pytest.raises(NotFittedError, match="conformalize"):
        evaluate(regressor(**QUICK, calibration=None).fit(X, Y), X_NEW, Y_NEW)
    with pytest.raises(NotFittedError, match="not fitted"):
        evaluate(BandRegressor(None), X_NEW, Y_NEW)


def test_several_levels_are_refused(model):
    with pytest.raises(ValueError, match="confidence_level must be one number, got"):
        evaluate(model, X_NEW, Y_NEW, confidence_level=[0.8, 0.9])
