import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sosbands.learning.input_ranks import InputRanks
from sosbands.learning.standardize import VaryingInputs


def lognormal(n=60, d=3, seed=0):
    X = np.random.default_rng(seed).lognormal(size=(n, d))
    return VaryingInputs.of(X)(X)


def slow_shares(Z):
    """Of smaller numbers, and of half of the equal ones, one row at a time."""
    return np.mean((Z[:, None] > Z) + 0.5 * (Z[:, None] == Z), axis=1)


def test_training_rows_have_the_shares_of_smaller_ones():
    Z = lognormal()
    Z[:20, 1] = Z[0, 1]  # ties
    assert_allclose(InputRanks.of(Z)(Z), slow_shares(Z))


def test_ranks_go_on_between_the_training_rows_and_stay_beyond_them():
    ranks = InputRanks.of(np.array([[0.0], [1.0], [3.0]]))
    new = np.array([[-1e300], [-1.0], [0.5], [2.0], [3.0], [1e300]])
    assert_allclose(ranks(new)[:, 0], np.array([1, 1, 2, 4, 5, 5]) / 6)


def test_a_constant_column_has_one_rank():
    assert_allclose(InputRanks.of(np.zeros((4, 1)))(np.array([[-1.0], [0.0], [2.0]])), 0.5)


def test_rounding_does_not_part_ties():
    Z = np.repeat([[0.0], [1.0]], 30, axis=0)
    moved = Z + 1e-13 * np.random.default_rng(0).normal(size=Z.shape)
    assert_allclose(InputRanks.of(moved)(moved), InputRanks.of(Z)(Z), atol=1e-9)


def test_the_order_of_rows_does_not_matter():
    Z = lognormal()
    order = np.random.default_rng(1).permutation(len(Z))
    for one, other in zip(InputRanks.of(Z[order]).knots, InputRanks.of(Z).knots, strict=True):
        assert_array_equal(one, other)


def test_many_rows_are_represented_by_some():
    Z = lognormal(2000)
    ranks = InputRanks.of(Z)
    assert [known.shape for known in ranks.knots] == [(2, 101)] * 3
    assert_allclose(ranks(Z), slow_shares(Z), atol=1 / 100)


def test_a_row_needs_all_columns():
    with pytest.raises(ValueError, match="zip"):
        InputRanks.of(lognormal())(lognormal(d=2))
