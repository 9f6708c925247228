"""The constant that a scale is averaged with where data cannot tell them apart."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sosbands import BandRegressor, KernelBand
from sosbands.learning.evenness import Evenness, log_widths
from sosbands.learning.plan import Rules


def widths(*sides):
    return np.random.default_rng(0).uniform(0.5, 2, (51, *sides))


@pytest.mark.parametrize("weight", [0.0, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("sides", [(), (3, 2)])
def test_widths_are_averaged_geometrically_with_their_median(sides, weight):
    spread = widths(*sides)
    evenness = Evenness.of(spread, weight=weight)
    averaged = evenness.averaged(spread)
    before, after = np.exp(log_widths(spread)), np.exp(log_widths(averaged))
    assert_allclose(after, np.median(before) ** weight * before ** (1 - weight))
    if sides:  # levels and sides keep their ratios
        assert_allclose(averaged / averaged[:, :1, :1], spread / spread[:, :1, :1])


def test_the_width_is_that_of_both_sides_of_the_last_level():
    spread = widths(3, 2)
    assert_allclose(np.exp(log_widths(spread)), spread[:, 2].mean(axis=1))
    assert_allclose(np.exp(log_widths(widths())), widths())


def test_where_there_is_no_width_there_is_none_afterwards():
    """Most rows have none: they do not say what is typical."""
    spread = np.where(np.arange(51) < 30, 0.0, widths())
    evenness = Evenness.of(spread, weight=0.5)
    averaged = evenness.averaged(spread)
    assert_array_equal(averaged[:30], 0)
    assert_allclose(averaged[30:], np.sqrt(spread[30:] * np.median(spread[30:])))
    none = np.zeros((4, 1, 2))
    assert_array_equal(Evenness.of(none, weight=0.5).averaged(none), none)


def rows(size, n=600):
    """Noise of one size, or one that grows with an input."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 3))
    return X, X[:, 0] + np.exp(size * X[:, 1]) * rng.standard_normal(n)


def fitted(X, y, **settings):
    band = KernelBand(**settings)
    return BandRegressor(None, band=band, calibration=None, random_state=0).fit(X, y)


def test_a_constant_counts_as_much_as_it_helps():
    even, uneven = fitted(*rows(0.0)), fitted(*rows(1.0))
    assert 0.3 < even.tuning_.evenness <= 0.5
    assert uneven.tuning_.evenness < 1e-3
    evenness = even.band_.evenness
    assert evenness.weight == even.tuning_.evenness
    # Scales at the training rows are around the constant.
    X, _ = rows(0.0)
    scale = even.band_.mean_and_scale(X)[1] / even.band_.residual_size
    assert np.log(np.median(scale)) == pytest.approx(evenness.typical, abs=0.3)


def test_with_few_rows_no_constant_counts():
    X, y = rows(0.0, n=399)
    model = fitted(X, y)
    assert model.tuning_.evenness == 0
    assert model.band_.evenness is None


def test_the_form_of_the_paper_has_no_constant():
    published, usual = KernelBand.as_published(), KernelBand()
    assert [Rules(band, own_mean=True).evens(1000) for band in (published, usual)] == [False, True]


@pytest.mark.parametrize("settings", [{"lengthscale": 1.0}, {"training_coverage": 1.0}])
def test_what_is_given_stays_as_it_is(settings):
    """Whoever names the lengthscale, or asks for a hard band, gets that scale."""
    assert fitted(*rows(0.0, n=400), **settings).band_.evenness is None
