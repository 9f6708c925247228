import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsRegressor
from threadpoolctl import threadpool_limits

from sosbands.learning import neighbours
from sosbands.learning.neighbours import NearestRow, NeighbourMean, distances_among

INPUTS = [1, 5, 6, 20]


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("d", INPUTS)
def test_the_distance_to_the_nearest_row_equals_the_slow_twin(d, monkeypatch):
    monkeypatch.setattr(neighbours, "_BLOCK_ENTRIES", 500)
    X, Z = rows(90, d), rows(70, d, seed=1)
    assert_allclose(NearestRow(X).distance(Z), cdist(Z, X).min(axis=1), rtol=1e-12)
    slow = cdist(X, X) + np.diag(np.full(90, np.inf))
    assert_allclose(distances_among(X), slow.min(axis=1), rtol=1e-12)


@pytest.mark.parametrize("d", INPUTS)
@pytest.mark.parametrize("centre", [0.0, 1e9])
def test_equal_rows_have_a_distance_of_exactly_zero(d, centre):
    X = rows(50, d) + centre
    assert_array_equal(NearestRow(X).distance(X[::-1]), 0)
    assert_array_equal(distances_among(np.repeat(X, 2, axis=0)), 0)
    assert_array_equal(distances_among(X[:1]), 0)


@pytest.mark.parametrize("d", INPUTS)
def test_distances_that_overflow_are_infinite(d):
    assert_array_equal(NearestRow(rows(9, d)).distance(np.full((1, d), 1e300)), np.inf)


def test_where_nothing_is_tied_the_mean_is_that_of_scikit_learn_taken_twice(monkeypatch):
    monkeypatch.setattr(neighbours, "_BLOCK_ENTRIES", 500)
    X, y, Z = rows(90, 3), rows(90, 1)[:, 0], rows(70, 3, seed=1)
    once = KNeighborsRegressor(7).fit(X, y).predict(X)
    twice = KNeighborsRegressor(7).fit(X, once).predict(Z)
    assert_allclose(NeighbourMean(7).fit(X, y).predict(Z), twice)


def test_equally_near_rows_share_the_places_that_nearer_ones_leave():
    X, y = np.array([[0.0], [1.0], [-1.0], [1.0], [5.0]]), np.array([4.0, 1.0, 2.0, 6.0, 99.0])
    # Of two neighbours, 0 has itself and a third of each of the three rows at distance one; each
    # row at 1 itself and its twin; −1 itself and 0.
    at_zero, at_one, below = (4 + 3) / 2, (1 + 6) / 2, (2 + 4) / 2
    model = NeighbourMean(2).fit(X, y)
    assert_allclose(model.means_[:4], [at_zero, at_one, below, at_one])
    expected = (at_zero + (2 * at_one + below) / 3) / 2
    assert_allclose(model.predict([[0.0]]), expected)
    assert_allclose(NeighbourMean(5).fit(X, y).predict([[0.0]]), y.mean())


def test_neither_order_nor_rounding_nor_threads_choose_among_neighbours():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, size=(200, 2)) / 3, rng.normal(size=200)
    Z = rng.integers(0, 3, size=(40, 2)) / 3
    found = NeighbourMean(30).fit(X, y).predict(Z)
    order = rng.permutation(200)
    assert_allclose(NeighbourMean(30).fit(X[order], y[order]).predict(Z), found)
    jitter = 1e-14 * rng.normal(size=X.shape)
    assert_allclose(NeighbourMean(30).fit(X + jitter, y).predict(Z), found)
    with threadpool_limits(1):
        assert_allclose(NeighbourMean(30).fit(X, y).predict(Z), found)


def test_neighbours_that_are_infinitely_far_count_alike():
    model = NeighbourMean(3).fit(rows(9, 2), np.arange(9.0))
    assert_allclose(model.predict(np.full((1, 2), 1e300)), model.means_.mean())


def test_of_the_outputs_no_single_one_is_kept():
    X, y = rows(50, 2), rows(50, 1, seed=3)[:, 0]
    kept = np.concatenate([np.ravel(value) for value in vars(NeighbourMean(4).fit(X, y)).values()])
    assert not np.isin(y, kept).any()


@pytest.mark.parametrize("k", [0, 10])
def test_more_neighbours_than_rows_or_none_are_refused(k):
    with pytest.raises(ValueError, match=f"from 1 to the number of rows, 9, got {k}"):
        NeighbourMean(k).fit(rows(9, 2), np.zeros(9))


def test_neighbours_count_by_their_weights():
    X, y, w = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([1.0, 4.0, 0.0, 2.0]), [1, 2, 1, 3]
    model = NeighbourMean(2).fit(X, y, sample_weight=w)
    assert_allclose(model.means_, [3.0, 3.0, 1.5, 1.5])
