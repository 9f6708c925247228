import doctest
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from sosbands import coverage_scorer, interval_scorer
from sosbands import scoring as module
from sosbands.metrics import coverage, interval_score
from tests.regressors import regressor

CHEAP = {"symmetric": True, "lengthscale": 1.0, "width_weight": 10.0, "random_state": 0}


def wave(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    return X, np.sin(6 * X[:, 0]) + X[:, 0] * rng.normal(size=n)


def test_scores_are_those_of_the_intervals():
    X, y = wave()
    model = regressor(Ridge(), **CHEAP).fit(X[:80], y[:80])
    intervals = model.predict_interval(X[80:], 0.8)
    assert interval_scorer(0.8)(model, X[80:], y[80:]) == -interval_score(y[80:], intervals, 0.8)
    expected = -abs(coverage(y[80:], intervals) - 0.8)
    assert_allclose(coverage_scorer(0.8)(model, X[80:], y[80:]), expected)
    w = np.arange(40) % 3
    again = np.repeat(X[80:], w, axis=0), np.repeat(y[80:], w)
    for scorer in (interval_scorer(0.8), coverage_scorer(0.8)):
        assert_allclose(scorer(model, X[80:], y[80:], sample_weight=w), scorer(model, *again))


def test_pipelines_that_end_in_a_band_are_scored_through_their_steps():
    X, y = wave()
    inner = make_pipeline(PolynomialFeatures(2), regressor(Ridge(), **CHEAP))
    for pipeline in (make_pipeline(StandardScaler(), inner), make_pipeline(inner)):
        pipeline.fit(X, y)
        seen = inner[:-1].transform(pipeline[:-1].transform(X) if len(pipeline) > 1 else X)
        expected = -interval_score(y, inner[-1].predict_interval(seen, 0.8), 0.8)
        assert interval_scorer(0.8)(pipeline, X, y) == expected


def test_a_search_and_a_cross_validation_take_scorers():
    X, y = wave()
    model = make_pipeline(StandardScaler(), regressor(Ridge(), **CHEAP))
    scoring = {"score": interval_scorer(0.8), "coverage": coverage_scorer(0.8)}
    folds = KFold(3)
    found = cross_validate(model, X, y, scoring=scoring, cv=folds)
    for (train, test), score, error in zip(
        folds.split(X), found["test_score"], found["test_coverage"], strict=True
    ):
        fitted = model.fit(X[train], y[train])
        assert score == interval_scorer(0.8)(fitted, X[test], y[test])
        assert -1 <= error <= 0
    grid = {"bandregressor__estimator__alpha": [0.01, 1e6]}
    search = GridSearchCV(model, grid, scoring=interval_scorer(), cv=3).fit(X, y)
    assert search.best_params_ == {"bandregressor__estimator__alpha": 0.01}
    assert search.score(X, y) == interval_scorer(0.9)(search.best_estimator_, X, y)


def test_the_examples_of_the_docstrings_run():
    assert doctest.testmod(module) == (0, 21)


def test_scorers_can_be_sent_to_other_processes():
    scorer = pickle.loads(pickle.dumps(coverage_scorer(0.8)))
    assert scorer == coverage_scorer(0.8)
    assert scorer != interval_scorer(0.8)


def test_what_cannot_be_scored_is_named():
    X, y = wave()
    with pytest.raises(TypeError, match="Ridge has no predict_interval"):
        interval_scorer(0.8)(make_pipeline(StandardScaler(), Ridge()).fit(X, y), X, y)
    with pytest.raises(ValueError, match=r"level must be in \(0, 1\), got 90"):
        coverage_scorer(90)
