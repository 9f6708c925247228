import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold

from sosbands import metrics

LEVEL = 0.9
HALF = norm.ppf((1 + LEVEL) / 2)


class Oracle(ClassifierMixin, BaseEstimator):
    """Knows P(Z = 1 | x) of `uneven`."""

    def fit(self, X, z):
        return self

    def predict_proba(self, X):
        p = true_coverage(X)
        return np.column_stack([1 - p, p])


def true_coverage(X):
    return 2 * norm.cdf(HALF / deviation(X)) - 1


def deviation(X):
    return 0.5 + X[:, 0]


def uneven(n, seed=0):
    """Intervals of one width, noise that grows."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, deviation(X) * rng.standard_normal(n), np.tile([-HALF, HALF], (n, 1))


def slow_ert(X, z, *, level, loss, classifier, n_folds, seed):
    """Fold by fold, row by row, from the definition."""
    gains = np.empty(len(z))
    for train, rest in KFold(n_folds, shuffle=True, random_state=seed).split(X):
        learned = classifier.fit(X[train], z[train])
        for i in rest:
            h = learned.predict_proba(X[[i]])[0, 1]
            gains[i] = slow_loss(level, z[i], level, loss) - slow_loss(h, z[i], level, loss)
    return gains


def slow_loss(h, z, level, loss):
    if loss == "brier":
        return (h - z) ** 2
    if loss == "log":
        return -np.log(h if z else 1 - h)
    return 0.0 if h == level else (level - z if h > level else z - level)


@pytest.mark.parametrize("loss", ["l1", "brier", "log"])
def test_ert_equals_the_loop_from_its_definition(loss):
    X, y, C = uneven(103)
    z = np.abs(y) <= HALF
    seed = int(np.random.default_rng(5).integers(2**31))
    given = {"level": LEVEL, "loss": loss, "classifier": LogisticRegression(), "n_folds": 4}
    slow = slow_ert(X, z, seed=seed, **given)
    given["random_state"] = 5
    assert metrics.ert(X, y, C, **given) == pytest.approx(slow.mean())
    w = np.random.default_rng(0).uniform(size=103)
    weighted = metrics.ert(X, y, C, sample_weight=w, **given)
    assert weighted == pytest.approx(np.average(slow, weights=w))


def test_the_oracle_finds_the_miscoverage_that_there_is():
    X, y, C = uneven(20_000)
    p = true_coverage(X)
    divergence = p * np.log(p / LEVEL) + (1 - p) * np.log((1 - p) / (1 - LEVEL))
    expected = {
        "l1": np.mean(np.abs(p - LEVEL)),
        "brier": np.mean((p - LEVEL) ** 2),
        "log": np.mean(divergence),
    }
    for loss, value in expected.items():
        found = metrics.ert(X, y, C, LEVEL, loss=loss, classifier=Oracle(), random_state=0)
        assert found == pytest.approx(value, rel=0.15), loss


def test_boosted_trees_find_uneven_coverage_and_little_where_it_is_even():
    X, y, C = uneven(600)
    even = HALF * deviation(X)[:, None] * [-1, 1]
    both = np.stack([C, even], axis=2)
    found = metrics.ert(X, y, both, LEVEL, random_state=0)
    truth = np.mean(np.abs(true_coverage(X) - LEVEL))
    assert 0.5 * truth < found[0] < 1.5 * truth
    # Without any difference the gain is a mean of ±(z − p): three standard deviations.
    assert abs(found[1]) < 3 * np.sqrt(LEVEL * (1 - LEVEL) / 600)


def test_levels_are_judged_one_by_one_and_a_seed_repeats_itself():
    X, y, C = uneven(120)
    both = np.stack([C, 0.5 * C], axis=2)
    found = metrics.ert(X, y, both, [0.9, 0.5], random_state=1)
    single = [metrics.ert(X, y, c, p, random_state=1) for c, p in ((C, 0.9), (0.5 * C, 0.5))]
    assert_allclose(found, single)
    assert isinstance(single[0], float)


def test_a_constant_classifier_says_how_far_the_coverage_is_from_the_level():
    X, y, _ = uneven(100)
    nothing, all_ = np.tile([9.0, 9.0], (100, 1)), np.tile([-99.0, 99.0], (100, 1))
    both = np.stack([nothing, all_], axis=2)
    # h is 0, then 1, as nothing else was seen: |h − p|.
    assert_allclose(metrics.ert(X, y, both, 0.9, random_state=0), [0.9, 0.1])
    assert_allclose(metrics.ert(X, y, both, 0.9, loss="brier"), [0.81, 0.01])
    half = np.where(np.arange(100)[:, None] % 2 == 0, nothing, all_)
    prior = DummyClassifier(strategy="prior")
    assert metrics.ert(X, y, half, 0.9, classifier=prior) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"loss": "hinge"}, "loss must be one of l1, brier, log, got 'hinge'"),
        ({"n_folds": 1}, "n_folds must be from 2 to the 10 rows, got 1"),
        ({"n_folds": 11}, "n_folds must be from 2 to the 10 rows, got 11"),
        ({"n_folds": "5"}, "n_folds must be from 2 to the 10 rows, got '5'"),
        ({"loss": ["l1"]}, r"loss must be one of l1, brier, log, got \['l1'\]"),
        ({"classifier": LinearRegression()}, "classifier must have fit and predict_proba, got Lin"),
        ({"level": 90}, r"level must be in \(0, 1\)"),
        ({"X": np.zeros((9, 1))}, r"X must have shape \(10, d\)"),
    ],
)
def test_what_no_classifier_can_judge_is_refused(changed, message):
    X, y, C = uneven(10)
    with pytest.raises(ValueError, match=message):
        metrics.ert(**{"X": X, "y": y, "intervals": C, "level": LEVEL, **changed})
