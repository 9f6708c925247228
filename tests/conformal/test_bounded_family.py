"""Intervals that are cut off at the limits of outputs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sosbands.conformal import BoundedFamily, IntervalFamily, NestedFamily, SplitCalibration

ROWS = 40


def families(seed: int) -> list[IntervalFamily | NestedFamily]:
    """A symmetric and a nested family, some of whose centres are beyond the limits."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(1.0, 2.0, ROWS)
    widths = np.cumsum(rng.exponential(size=(ROWS, 2, 2)), axis=1)
    return [
        IntervalFamily.around(centre, rng.exponential(size=ROWS)),
        NestedFamily(centre, widths, rng.exponential(size=ROWS) + 0.1),
    ]


@given(seed=st.integers(0, 2**32 - 1), low=st.sampled_from([-np.inf, 0.0]), kind=st.integers(0, 1))
def test_a_score_is_the_smallest_q_whose_interval_holds_the_output(
    seed: int, low: float, kind: int
) -> None:
    rng = np.random.default_rng(seed)
    family = BoundedFamily(families(seed)[kind], low, 2.0)
    y = np.clip(rng.normal(1.0, 2.0, ROWS), low, 2.0)  # several are on a limit
    q = family.scores(y)
    ends = family.intervals(q[:, None])[:, :, 0]
    assert np.all((ends[:, 0] <= y) & (y <= ends[:, 1]))
    positive = q > 1e-9
    closer = family.intervals(((1 - 1e-6) * q)[:, None])[:, :, 0]
    assert not np.any(((closer[:, 0] <= y) & (y <= closer[:, 1]))[positive])


@pytest.mark.parametrize("kind", [0, 1])
def test_finite_intervals_stay_within_the_limits_and_the_last_is_the_whole_line(kind: int) -> None:
    family = BoundedFamily(families(0)[kind], 0.0, 2.0)
    intervals = family.intervals(np.array([0.0, 0.5, 3.0, 1e300, np.inf]))
    assert np.all((intervals[:, :, :-1] >= 0) & (intervals[:, :, :-1] <= 2))
    assert np.all(intervals[:, 0, -1] == -np.inf)
    assert np.all(intervals[:, 1, -1] == np.inf)
    assert np.all(np.diff(intervals[:, 0], axis=1) <= 0)
    assert np.all(np.diff(intervals[:, 1], axis=1) >= 0)


@pytest.mark.parametrize("kind", [0, 1])
def test_outputs_beyond_a_limit_score_infinity_unless_rounding_puts_them_there(kind: int) -> None:
    inner = families(1)[kind]
    family = BoundedFamily(inner, 0.0, np.inf, tolerance=1e-9)
    beyond, near = np.full(ROWS, -0.1), np.full(ROWS, -1e-12)
    assert np.all(np.isposinf(family.scores(beyond)))
    assert np.all(np.isneginf(family.signed_scores(beyond)))
    assert np.array_equal(family.scores(near), family.scores(np.zeros(ROWS)))
    assert np.array_equal(family.signed_scores(near), inner.signed_scores(np.zeros(ROWS)))


@pytest.mark.parametrize("kind", [0, 1])
def test_without_limits_nothing_changes(kind: int) -> None:
    inner, q = families(2)[kind], np.array([0.1, 0.7, 4.0])
    family, y = BoundedFamily(inner, -np.inf, np.inf), np.linspace(-5, 5, ROWS)
    assert np.array_equal(family.scores(y), inner.scores(y))
    assert np.array_equal(family.signed_scores(y), inner.signed_scores(y))
    assert np.array_equal(family.intervals(q), inner.intervals(q))
    assert np.array_equal(family.points(np.tile(q, (ROWS, 1))), inner.points(np.tile(q, (ROWS, 1))))
    assert np.array_equal(family.quantiles([0.1, 0.5, 0.9], q), inner.quantiles([0.1, 0.5, 0.9], q))
    assert np.array_equal(family[3:5].centre, inner.centre[3:5])


def test_a_limit_that_is_none_costs_no_coverage() -> None:
    """A tenth of the outputs is below a wrong limit; 4000 draws of 39 calibration rows and one."""
    rng = np.random.default_rng(0)
    level, m, draws = 0.8, 39, 4000
    y = rng.normal(size=(draws, m + 1))
    family = BoundedFamily(IntervalFamily.around(np.zeros(m + 1), np.ones(m + 1)), -1.2816, np.inf)
    held = 0
    for outputs in y:
        scores = family.scores(outputs)
        held += scores[m] <= SplitCalibration(scores[:m]).quantiles([level])[0]
    assert held >= draws * level - 3 * np.sqrt(draws * level * (1 - level))
