import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sosbands.learning import extrapolation
from sosbands.learning.extrapolation import Extrapolation


def share(far, rows):
    return far.share(far.distance(rows))


def test_extrapolation_by_hand():
    X = np.arange(11.0)[:, None]
    far = Extrapolation.learn(X, np.random.default_rng(0))[0]
    # All neighbours are 1 apart, so that 2 is one unit.
    rows = np.array([[3.0], [12.0], [14.0]])
    assert_allclose(share(far, rows), 1 - np.exp([0, -0.5, -2]), atol=1e-12)
    assert_allclose(far.distance(rows), [0, 1, 2], atol=1e-12)


def test_no_distance_is_infinite():
    far = Extrapolation.learn(np.eye(3), np.random.default_rng(0))[0]
    assert np.isfinite(far.distance(np.full((1, 3), 1e300))).all()


def test_many_rows_are_represented_by_some(monkeypatch):
    monkeypatch.setattr(extrapolation, "_NEIGHBOURS", 50)
    X = np.random.default_rng(0).uniform(size=(500, 2))
    fits = [Extrapolation.learn(X, np.random.default_rng(1))[0] for _ in range(2)]
    first, again = (share(fit, X) for fit in fits)
    assert_array_equal(first, again)
    assert np.median(first) < 0.5
    assert share(Extrapolation.learn(X, np.random.default_rng(1))[0], X + 10).min() > 0.99


def test_rows_that_are_all_alike_have_a_unit_all_the_same():
    far = Extrapolation.learn(np.ones((5, 2)), np.random.default_rng(0))[0]
    assert_array_equal(share(far, np.ones((1, 2))), 0)
    assert share(far, np.full((1, 2), 9.0)) > 0.99


@pytest.mark.parametrize("d", [2, 20, 30])
def test_repeated_rows_do_not_make_new_ones_far(d):
    rng = np.random.default_rng(d)
    points = 3 + 10 * rng.normal(size=(25, d))
    far = Extrapolation.learn(np.repeat(points[:24], 12, axis=0), np.random.default_rng(0))[0]
    alone = Extrapolation.learn(points[:24], np.random.default_rng(0))[0]
    assert_allclose(far.unit, alone.unit, rtol=1e-4)
    assert_array_equal(share(far, points[:24]), 0)
    assert far.distance(points[24:]) < 3


@pytest.mark.parametrize("jitter", [1e-4, 1e-3])
def test_sites_of_uneven_frequency_are_as_far_apart_with_a_jitter_as_without(jitter):
    rng = np.random.default_rng(0)
    sites = rng.normal(size=(60, 2))
    rows = sites[np.minimum(rng.geometric(0.06, 400), 60) - 1]
    exact = Extrapolation.learn(rows, np.random.default_rng(0))[0]
    near = Extrapolation.learn(
        rows + jitter * rng.normal(size=rows.shape), np.random.default_rng(0)
    )[0]
    assert 0.5 * exact.unit < near.unit < 2 * exact.unit


def coded(rng):
    return np.where(rng.random((1000, 1)) < 0.02, -999.0, rng.normal(size=(1000, 1)))


def outlying(rng):
    rows = rng.normal(size=(300, 2))
    rows[0] = 1e4
    return rows


@pytest.mark.parametrize(
    "made",
    [coded, outlying, lambda rng: np.exp(3 * rng.normal(size=(1000, 2)))],
    ids=["coded", "outlying", "heavy tails"],
)
def test_outlying_rows_do_not_make_all_others_near(made):
    rows = made(np.random.default_rng(0))
    centre, spread = np.median(rows, axis=0), np.median(np.abs(rows - np.median(rows, axis=0)))
    far = Extrapolation.learn(rows, np.random.default_rng(0))[0]
    assert share(far, centre[None, :]) < 0.1
    assert share(far, centre[None, :] + 200 * spread) > 0.5


@pytest.mark.parametrize("d", [1, 2])
def test_dense_rows_are_not_taken_for_repeated_ones(d):
    rows = np.random.default_rng(0).uniform(size=(4000, d))
    far = Extrapolation.learn(rows, np.random.default_rng(0))[0]
    assert 0 < np.median(far.distance(np.random.default_rng(1).uniform(size=(500, d)))) < 0.5


def test_rounding_is_no_variation():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=50), np.where(np.arange(50) % 2, 0.3, 0.1 + 0.2)])
    far = Extrapolation.learn(X, np.random.default_rng(0))[0]
    assert far.distance(X[:1] + np.array([0, 0.01])) < 0.5


def test_how_far_training_rows_are_from_each_other_is_known_without_themselves():
    X = np.random.default_rng(0).normal(size=(30, 2))
    far, distances = Extrapolation.learn(X, np.random.default_rng(1))
    Z = far.inputs(X)
    between = np.linalg.norm(Z[:, None] - Z, axis=2) + np.diag(np.full(30, np.inf))
    assert_allclose(distances, between.min(axis=1) / far.unit)


def test_only_some_of_many_training_rows_are_compared(monkeypatch):
    monkeypatch.setattr(extrapolation, "_NEIGHBOURS", 20)
    X = np.random.default_rng(0).normal(size=(30, 2))
    far, distances = Extrapolation.learn(X, np.random.default_rng(1))
    known = np.isfinite(distances)
    assert known.sum() == len(far.rows) == 20
    assert_allclose(far.distance(X[known]), 0, atol=1e-7)
    assert distances[known].min() > 0
