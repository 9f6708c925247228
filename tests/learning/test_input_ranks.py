import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sosbands.learning import input_ranks
from sosbands.learning.input_ranks import InputRanks
from sosbands.learning.standardize import VaryingInputs


def lognormal(n=60, d=3, seed=0):
    X = np.random.default_rng(seed).lognormal(size=(n, d))
    return VaryingInputs.of(X)(X)


def slow_shares(Z, training):
    """The mean over training rows of a step with a slope, one by one."""
    steps = (Z[:, None] - training) / input_ranks._STEP + 0.5
    return np.clip(steps, 0, 1).mean(axis=1)


def test_ranks_are_mean_steps():
    Z, new = lognormal(), lognormal(seed=1)
    Z[:20, 1] = Z[0, 1]  # ties
    ranks = InputRanks.of(Z)
    for values in (Z, new, Z + 0.3 * input_ranks._STEP):
        assert_allclose(ranks(values), slow_shares(values, Z), atol=1e-9)


def test_numbers_apart_have_the_shares_of_smaller_ones():
    Z = np.array([[-2.0], [0.0], [1.0], [1.0], [3.0]])
    expected = [[0.1], [0.3], [0.6], [0.6], [0.9]]
    assert_allclose(InputRanks.of(Z)(Z), expected, atol=1e-12)


def test_nothing_changes_beyond_the_training_rows():
    ranks = InputRanks.of(lognormal(d=1))
    assert_allclose(ranks(np.array([[-1e300], [-10.0], [50.0], [1e300]])), [[0], [0], [1], [1]])


def test_rounding_does_not_part_ties():
    Z = np.repeat([[0.0], [1.0]], 30, axis=0)
    moved = Z + 1e-13 * np.random.default_rng(0).normal(size=Z.shape)
    assert_allclose(InputRanks.of(moved)(moved), InputRanks.of(Z)(Z), atol=1e-9)


def test_the_order_of_rows_does_not_matter():
    Z = lognormal()
    order = np.random.default_rng(1).permutation(len(Z))
    assert_array_equal(InputRanks.of(Z[order]).values, InputRanks.of(Z).values)


def test_many_rows_are_represented_by_some():
    Z = lognormal(2000)
    exact = slow_shares(Z, Z)
    assert InputRanks.of(Z).values.shape == (3, 500)
    assert_allclose(InputRanks.of(Z)(Z), exact, atol=2 / 500)


def test_a_row_needs_all_columns():
    with pytest.raises(ValueError, match="zip"):
        InputRanks.of(lognormal())(lognormal(d=2))
