import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sosbands.learning.standardize import Affine, EvenUnits, VaryingInputs


def rows(n=40, d=2):
    return np.random.default_rng(0).uniform(2, 5, size=(n, d))


def test_units_have_mean_zero_and_variance_one():
    X = rows()
    units = Affine.of(X)
    Z = units(X)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    assert_allclose(Z.std(axis=0), 1)
    assert_allclose(units.undo(Z), X)
    assert_array_equal(Affine.of(X, active=False)(X), X)


def test_a_vector_has_one_unit():
    y = rows()[:, 0]
    units = Affine.of(y)
    assert np.shape(units.scale) == ()
    assert_allclose(units(y), (y - y.mean()) / y.std())


@pytest.mark.parametrize("constant", [0.0, 0.1, 1 / 3, 1e17, -1e-300])
def test_constants_become_zero_and_keep_their_unit(constant):
    units = Affine.of(np.full((7, 1), constant))
    assert_allclose(units(np.full((7, 1), constant)), 0, atol=1e-12 * max(1, abs(constant)))
    assert_array_equal(units.undo(units(np.full((7, 1), constant))), constant)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
def test_units_neither_overflow_nor_underflow(size):
    Z = Affine.of(size * np.arange(5.0))(size * np.arange(5.0))
    assert_allclose(Z, (np.arange(5) - 2) / np.sqrt(2), rtol=1e-9, atol=1e-12)


def test_columns_that_vary_by_rounding_alone_are_left_out():
    B = np.column_stack([rows(), np.where(np.arange(40) % 2, 0.3, 0.1 + 0.2), np.full(40, 7.0)])
    seen = VaryingInputs.of(B)
    assert_array_equal(seen.columns, [0, 1])
    assert_allclose(seen(B), Affine.of(B[:, :2])(B[:, :2]))


def test_all_columns_stay_if_none_varies_or_nothing_is_standardised():
    constant = np.full((5, 3), 2.0)
    assert_array_equal(VaryingInputs.of(constant).columns, [0, 1, 2])
    assert_array_equal(VaryingInputs.of(constant)(constant), 0)
    as_they_are = VaryingInputs.of(constant, active=False)
    assert_array_equal(as_they_are(constant), constant)


def test_of_a_parameter_the_entries_of_columns_that_vary_count():
    B = np.column_stack([rows()[:, 0], np.ones(40), rows()[:, 1]])
    seen = VaryingInputs.of(B)
    assert_array_equal(seen.entries("lengthscale", [1.0, 2.0, 3.0], 3), [1.0, 3.0])
    assert seen.entries("lengthscale", 0.5, 3) == 0.5
    assert seen.entries("lengthscale", "hsic", 3) == "hsic"
    with pytest.raises(ValueError, match="lengthscale has 2 entries for 3 inputs: give one number"):
        seen.entries("lengthscale", [1.0, 2.0], 3)


def test_even_units_are_halfway_between_values_and_ranks():
    rng = np.random.default_rng(0)
    Z = Affine.of(raw := np.column_stack([np.exp(rng.normal(size=50)), np.arange(50) // 7]))(raw)
    units = EvenUnits.of(Z)
    below, same = Z[:, None] > Z, Z[:, None] == Z
    ranks = np.mean(below + 0.5 * same, axis=1)  # one row at a time
    assert_allclose(units(Z), 0.5 * (Z + np.sqrt(12) * ranks))


def test_even_units_go_on_between_and_beyond_the_rows():
    units = EvenUnits.of(np.array([[0.0], [1.0], [3.0]]))
    ends = np.sqrt(12) * np.array([1 / 6, 2 / 6, 4 / 6, 5 / 6, 5 / 6])
    Z = np.array([-1.0, 0.5, 2.0, 3.0, 5.0])
    assert_allclose(units(Z[:, None])[:, 0], 0.5 * (Z + ends))
    assert_allclose(EvenUnits.of(np.zeros((4, 1)))(np.zeros((1, 1))), 0.25 * np.sqrt(12))


def test_even_units_know_some_values_of_many_rows():
    Z = np.random.default_rng(0).normal(size=(5000, 1))
    units = EvenUnits.of(Z)
    assert units.knots[0].shape == (2, 101)
    ranks = (np.argsort(np.argsort(Z[:, 0])) + 0.5) / 5000
    assert_allclose(units(Z)[:, 0], 0.5 * (Z[:, 0] + np.sqrt(12) * ranks), atol=0.01)


def test_even_units_take_values_that_rounding_splits_for_one():
    z = np.repeat([0.0, 0.3, 1.0], 10)[:, None]
    split = z * np.where(np.arange(30) % 2, 1, 1 + 4e-16)[:, None]
    assert_allclose(EvenUnits.of(split)(split), EvenUnits.of(z)(z), rtol=1e-12)
