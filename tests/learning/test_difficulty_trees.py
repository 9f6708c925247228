import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from sosbands.learning.difficulty_trees import DifficultyTrees

BOOSTING = HistGradientBoostingRegressor(max_iter=10, random_state=0)
EXTRA = ExtraTreesRegressor(5, min_samples_leaf=5, random_state=0)


def rows(n=200):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    return X, np.sqrt(np.abs((0.2 + X[:, 0]) * rng.standard_normal(n)))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_guess_is_the_average_of_both_in_units_of_the_root(weighted):
    X, roots = rows()
    weights = np.arange(1.0, 201.0) if weighted else None
    guess = DifficultyTrees(BOOSTING, EXTRA).fit(X, roots, sample_weight=weights).predict(X)
    usual = BOOSTING.fit(X, roots, sample_weight=weights).predict(X)
    cubes = EXTRA.fit(X, roots**3, sample_weight=weights).predict(X)
    assert_allclose(guess, (usual + cubes ** (1 / 3)) / 2, rtol=1e-12)


def test_what_both_can_say_exactly_is_the_guess():
    X = np.linspace(0, 1, 20)[:, None]
    constant = DifficultyTrees(LinearRegression(), EXTRA).fit(X, np.full(20, 0.7))
    assert_allclose(constant.predict(X), 0.7)
    with np.errstate(all="raise"):
        nothing = DifficultyTrees(LinearRegression(), EXTRA).fit(X, np.zeros(20))
        assert_allclose(nothing.predict(X), 0)


def test_where_a_few_residuals_are_very_large_the_guess_is_larger():
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0], [1.0]], 2000, axis=0)
    sizes = np.abs(rng.standard_normal(4000))
    sizes[2000:] = np.abs(rng.standard_t(2, size=2000))
    sizes[2000:] *= (np.mean(sizes[:2000] ** 0.5) / np.mean(sizes[2000:] ** 0.5)) ** 2
    model = DifficultyTrees(BOOSTING, EXTRA).fit(X, np.sqrt(sizes))
    light, heavy = model.predict([[0.0], [1.0]])
    alone = BOOSTING.fit(X, np.sqrt(sizes)).predict([[0.0], [1.0]])
    assert alone[1] == pytest.approx(alone[0], rel=0.01)
    assert heavy > 1.05 * light


def test_what_is_given_is_not_fitted():
    DifficultyTrees(boosting := LinearRegression(), extra := LinearRegression()).fit(*rows())
    assert not hasattr(boosting, "coef_")
    assert not hasattr(extra, "coef_")
