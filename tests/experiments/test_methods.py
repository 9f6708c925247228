"""Every method keeps what the interface promises, and covers."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import methods
from experiments.methods import _scores
from sosbands import StackedMean
from sosbands.datasets import case
from sosbands.metrics import coverage, crps

LEVELS = (0.5, 0.8, 0.9)
DISTRIBUTIONS = (
    *("catboost_cqr", "catboost_uncertainty", "ngboost_scale", "quantile_forest_cqr"),
    "sosbands_kernel_mean",
)
SLOW = ("sosbands_published", "sosbands_cv_plus")
# Around our mean, one that is given the mean and one that is given its predictions out of fold.
AROUND_AUTO = ("boosted_quantiles_around_auto", "mondrian_around_auto")
NAMES = [name for name in methods.names() if not name.endswith(methods.AROUND_AUTO)]


def marked(name):
    return pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name


@pytest.fixture(scope="module")
def rows():
    X, y = case(2, dimension=2).sample(720, random_state=3)
    return np.column_stack([X, np.ones(len(X))]), y  # an input that does not vary harms nobody


@pytest.mark.parametrize("name", [*map(marked, NAMES), *AROUND_AUTO])
def test_intervals_are_ordered_nested_and_cover(name, rows):
    X, y = rows
    method = methods.load(name)
    fitted = method.fit(X[:60], y[:60], X[60:220], y[60:220], levels=LEVELS, seed=0)
    C = fitted.intervals(X[220:])
    assert C.shape == (500, 2, 3)
    assert np.all(C[:, 0] <= C[:, 1])
    # Five standard deviations of the coverage that 160 calibration and 500 test rows leave.
    spread = [np.sqrt(p * (1 - p) * (1 / 160 + 1 / 500)) for p in LEVELS]
    assert np.all(np.abs(coverage(y[220:], C) - LEVELS) < 5 * np.array(spread) + 1 / 160)
    for part in (fitted.mean, fitted.scale):
        assert part is None or part(X[:7]).shape == (7,)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_quantiles_are_sorted_and_better_than_those_of_all_outputs(name):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(280, 1))
    y = 2 * X[:, 0] + rng.normal(0, 0.2, 280)
    fitted = methods.load(name).fit(X[:40], y[:40], X[40:80], y[40:80], levels=[0.9], seed=0)
    Q = fitted.quantiles(X[80:])
    assert Q.shape == (200, len(methods.QUANTILES))
    assert np.all(np.diff(Q, axis=1) >= 0)
    same = np.tile(np.quantile(y[:40], methods.QUANTILES), (200, 1))
    assert crps(y[80:], Q) < 0.9 * crps(y[80:], same)


def test_a_method_is_named_after_its_file_and_stays_short():
    for name in methods.names():
        method = methods.load(name)
        assert method.name == name
        assert method.file.stem == name.removesuffix(methods.AROUND_AUTO)
        assert len(method.file.read_text().splitlines()) <= 60, name


def test_one_entry_of_ours_takes_part():
    ours = [name for name in methods.names() if name.startswith("sosbands")]
    assert [name for name in ours if methods.load(name).ranked] == ["sosbands"]


def test_a_variant_belongs_to_a_method_that_takes_part():
    for name in methods.names():
        method = methods.load(name)
        assert method.ranked or methods.load(method.variant_of).ranked
        assert (method.variant_of is not None) == (
            name.startswith("sosbands_") or name.endswith(methods.AROUND_AUTO)
        )


def test_a_method_that_takes_a_mean_also_goes_around_the_default_one(rows):
    X, y = (part[:100] for part in rows)
    auto = StackedMean(random_state=0).fit(X[:60], y[:60])
    method = methods.load("boosted_split" + methods.AROUND_AUTO)
    fitted = method.fit(X[:60], y[:60], X[60:], y[60:], levels=[0.5], seed=0)
    np.testing.assert_allclose(fitted.mean(X[60:]), auto.predict(X[60:]))
    C = fitted.intervals(X[60:])[..., 0]
    np.testing.assert_allclose(C.mean(axis=1), auto.predict(X[60:]))


def test_an_unknown_method_is_refused_with_the_names_there_are():
    with pytest.raises(ValueError, match=r"no method 'cqr': choose from boosted_cqr, "):
        methods.load("cqr")


def test_a_method_applies_up_to_its_limits():
    method = methods.load("heteroscedastic_gp")
    assert method.applies(1000, 20)
    assert not method.applies(1001, 1)
    assert not method.applies(10, 21)
    assert methods.load("boosted_cqr").applies(10**7, 1000)


def test_too_few_scores_calibrate_with_infinity():
    scores = np.arange(9.0)
    assert _scores.calibrated(scores, [0.5, 0.9, 0.95]).tolist() == [4.0, 8.0, np.inf]


def test_bounds_that_cross_become_a_point():
    C = _scores.bounds(np.array([[2.0, 0.0]]), np.array([[1.0, 3.0]]))
    assert C.tolist() == [[[1.5, 0.0], [1.5, 3.0]]]
