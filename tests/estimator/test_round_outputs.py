"""Outputs in round numbers, which are meant to be on an end: rounding must not decide."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from sosbands import BandRegressor
from sosbands.conformal.ranks import quantile_rank

LEVELS = np.arange(2, 19) / 20


def counts(n, seed):
    """Counts that depend on an input of four values, so that many rows share their score."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (n, 1)).astype(float)
    return x, 0.1 * rng.poisson(1 + 1.5 * x[:, 0])


@pytest.mark.parametrize("estimator", ["auto", None, DecisionTreeRegressor(random_state=0)])
@pytest.mark.parametrize("calibration", ["split", "cv+"])
def test_a_row_has_the_same_outputs_inside_whether_it_comes_alone_or_not(estimator, calibration):
    model = BandRegressor(estimator, calibration=calibration, random_state=0).fit(*counts(150, 0))
    X, y = counts(60, 1)
    alone = [X[[i]] for i in range(len(X))]

    def held(C):
        return (C[:, 0] <= y[:, None]) & (y[:, None] <= C[:, 1])

    together = held(model.predict_interval(X, LEVELS))
    single = held(np.concatenate([model.predict_interval(row, LEVELS) for row in alone]))
    assert np.array_equal(together, single)
    below = y[:, None] <= model.predict_quantiles(X, LEVELS)
    single = np.concatenate([model.predict_quantiles(row, LEVELS) for row in alone])
    assert np.array_equal(below, y[:, None] <= single)
    shares = np.concatenate([model.predict_cdf(row, [v]) for row, v in zip(alone, y, strict=True)])
    assert np.array_equal(model.predict_cdf(X, y), shares)
    assert np.array_equal(model.predict_cdf(X, y + 1e-9), shares)


@pytest.mark.parametrize("estimator", [None, DecisionTreeRegressor(random_state=0)])
@pytest.mark.parametrize("calibration", ["split", "cv+"])
def test_a_quantile_has_as_many_rows_below_whether_it_comes_alone_or_not(estimator, calibration):
    """And none decides by rounding whether it counts."""
    model = BandRegressor(estimator, calibration=calibration, random_state=0)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (150, 2))
    model.fit(X, X[:, 0] + (1.5 + X[:, 1]) * rng.standard_normal(150))
    X = rng.uniform(-1, 1, (60, 2))
    size = model.calibration_.distribution.size
    for p in (0.1, 0.3, 0.5, 0.9):
        q = model.predict_quantiles(X, p)
        counts = model.predict_cdf(X, q) * size
        alone = [model.predict_cdf(X[[i]], q[[i]])[0] * size for i in range(len(X))]
        assert np.array_equal(counts, alone)
        if calibration == "split":
            assert np.allclose(counts, quantile_rank(p, size))


def test_outputs_that_tie_with_the_calibrated_score_are_covered():
    """As many as asked and more, with the same few numbers everywhere."""
    held = []
    for seed in range(30):
        model = BandRegressor(None, random_state=seed).fit(*counts(150, 2 * seed))
        X, y = counts(400, 2 * seed + 1)
        C = model.predict_interval(X, [0.5, 0.7])
        held.append(((C[:, 0] <= y[:, None]) & (y[:, None] <= C[:, 1])).mean(axis=0))
    # Three standard errors of split calibration by 45 rows, over thirty fits.
    assert np.all(np.mean(held, axis=0) > [0.5 - 0.041, 0.7 - 0.037])
