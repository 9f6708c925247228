import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold

from sosbands import BandRegressor
from sosbands.learning.difficulty import Difficulty, SecondOpinion
from sosbands.learning.difficulty_trees import DifficultyTrees
from sosbands.learning.folds import cross_fitting_folds
from sosbands.learning.neighbours import NeighbourMean
from tests.regressors import regressor


def noisy(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, X[:, 0] + np.where(X[:, 1] > 0, 1.0, 0.1) * rng.standard_normal(n)


def learned():
    rng = np.random.default_rng(0)
    Z = np.round(rng.uniform(1, 2, (60, 1)), 6)  # as many digits as the guess sees
    folds = cross_fitting_folds(Z, Z[:, 0], cv=3, groups=None, seed=0)
    return Z, *Difficulty.learn(LinearRegression(), Z, 9 * Z[:, 0] ** 2, folds=folds)


def test_the_difficulty_is_the_logarithm_of_the_guess_in_units_of_its_spread():
    Z, difficulty, held_out = learned()
    logs = np.log(9 * Z[:, 0] ** 2)  # whose root is linear in Z
    assert_allclose(held_out, (logs - logs.mean()) / logs.std(), atol=1e-9)
    assert_allclose(difficulty(Z), held_out, atol=1e-9)
    assert_allclose(difficulty(np.array([[99.0], [-99.0]])), [held_out.max(), held_out.min()])


def test_neither_the_order_of_columns_nor_the_last_digits_change_the_guess():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 3))
    sizes = np.abs(Z[:, 0]) + 0.1 * rng.uniform(size=200)
    folds = cross_fitting_folds(Z, sizes, cv=3, groups=None, seed=0)
    trees = HistGradientBoostingRegressor(max_iter=5, random_state=0)
    expected = Difficulty.learn(trees, Z, sizes, folds=folds)[1]
    for order in ([2, 0, 1], [1, 0, 2]):
        difficulty, held_out = Difficulty.learn(trees, Z[:, order], sizes, folds=folds)
        assert_allclose(held_out, expected)
        assert_allclose(difficulty(Z[:, order] + 1e-12), difficulty(Z[:, order]))


def test_a_model_that_is_exact_on_most_rows_does_not_make_the_others_wild():
    rng = np.random.default_rng(0)

    def rows(n):
        X = rng.uniform(size=(n, 2))
        return X, np.where(X[:, 0] < 0.85, 0.0, 1 + (0.2 + X[:, 1]) * rng.standard_normal(n))

    (X, y), (X_new, _) = rows(300), rows(1000)
    trees = RandomForestRegressor(30, random_state=0)
    intervals = BandRegressor(trees, random_state=0).fit(X, y).predict_interval(X_new, 0.9)
    assert np.diff(intervals, axis=1).max() < 10 * np.abs(y).max()


@pytest.mark.parametrize("weight", [0.5, 0.2])
@pytest.mark.parametrize("sides", [(), (3, 2)])
def test_a_scale_is_averaged_geometrically_with_the_guess(sides, weight):
    Z, difficulty, held_out = learned()
    scale = np.random.default_rng(1).uniform(0.5, 2, (60, *sides))
    width = scale[:, -1].mean(axis=1) if sides else scale
    sizes = 9 * Z[:, 0] ** 2
    guess = sizes / np.exp(np.median(np.log(sizes / width)))
    opinion = SecondOpinion.of(difficulty.units, held_out, scale, weight=weight)
    averaged = opinion.averaged(held_out, scale)
    now = averaged[:, -1].mean(axis=1) if sides else averaged
    assert_allclose(now, guess**weight * width ** (1 - weight))
    if sides:  # levels and sides keep their ratios
        assert_allclose(averaged / averaged[:, :1, :1], scale / scale[:, :1, :1])


def test_a_scale_of_zero_stays_zero():
    _, difficulty, held_out = learned()
    opinion = SecondOpinion.of(difficulty.units, held_out, np.ones(60), weight=0.5)
    assert_allclose(opinion.averaged(held_out, np.zeros(60)), 0)


def test_the_band_around_a_model_is_averaged_with_the_guess_of_its_trees():
    X, y = noisy(600)
    trees = HistGradientBoostingRegressor(max_iter=10, random_state=0)
    settings = {
        "lengthscale": 1.0,
        "width_weight": 10.0,
        "caution": 0.0,
        "calibration": None,
        "random_state": 0,
    }
    band = regressor(LinearRegression(), difficulty=trees, **settings).fit(X, y).band_
    mean, scale = band.mean_and_scale(X)
    encoded = band.encoding.encoded(X)
    seen = band.scale_inputs(encoded, band.blend(mean, band.inputs(encoded.B)))
    alone = band.functions.scale(seen.Z).mean(axis=1)
    opinion = band.second_opinion
    guess = np.exp(opinion.units.undo(seen.guess) - opinion.excess)
    assert_allclose(scale.mean(axis=1), np.sqrt(alone * guess) * band.residual_size)
    without = regressor(LinearRegression(), difficulty=None, **settings).fit(X, y)
    assert without.band_.second_opinion is None


@pytest.mark.parametrize(
    ("rows", "kind"), [(99, None), (100, NeighbourMean), (500, DifficultyTrees)]
)
def test_the_more_rows_there_are_the_more_may_guess(rows, kind):
    X, y = noisy(rows)
    fixed = {"lengthscale": 1.0, "width_weight": 10.0, "calibration": None, "random_state": 0}
    difficulty = regressor(LinearRegression(), **fixed).fit(X, y).band_.scale_inputs.difficulty
    assert difficulty is None if kind is None else isinstance(difficulty.model, kind)
    assert regressor(**fixed).fit(X, y).band_.scale_inputs.difficulty is None


def test_neighbours_are_not_more_than_the_rows_of_a_fold():
    X, y = noisy(110)
    groups = np.repeat([0, 1], [101, 9])
    fixed = {"lengthscale": 1.0, "width_weight": 10.0, "calibration": None, "cv": GroupKFold(2)}
    model = regressor(LinearRegression(), **fixed).fit(X, y, groups=groups)
    assert model.band_.scale_inputs.difficulty.model.n_neighbors == 9


@pytest.mark.parametrize("size", [1e39, 1e300])
def test_numbers_beyond_32_bits_are_the_largest_to_trees(size):
    X, y = noisy(720)
    X[3, 1] = size
    model = regressor(LinearRegression(), lengthscale=1.0, width_weight=10.0, random_state=0)
    C = model.fit(X, y).predict_interval(np.array([[0.0, 0.5, 0.0], [0.0, -size, 0.0]]))
    assert np.all(np.isfinite(C))
