"""Limits that outputs show by piling up at them."""

import numpy as np
import pytest

from sosbands.conformal import IntervalFamily
from sosbands.learning.output_limits import OutputLimits

RNG = np.random.default_rng(0)
SPREAD = RNG.normal(10.0, 2.0, 200)


def test_outputs_that_pile_up_end_there() -> None:
    counts = np.maximum(SPREAD - 10, 0.0)  # about half are zero
    assert OutputLimits.of(counts, "auto", "auto") == OutputLimits(0.0, None, 1e-9 * counts.max())
    capped = np.minimum(SPREAD, 11.0)
    limits = OutputLimits.of(capped, "auto", "auto")
    assert limits is not None
    assert (limits.low, limits.high) == (None, 11.0)


def test_outputs_that_do_not_pile_up_have_no_limit() -> None:
    assert OutputLimits.of(SPREAD, "auto", "auto") is None
    four = np.concatenate([SPREAD, np.full(4, 0.0)])
    assert OutputLimits.of(four, "auto", "auto") is None
    assert OutputLimits.of(np.append(four, 0.0), "auto", "auto") is not None


def test_equal_outputs_have_no_limit() -> None:
    assert OutputLimits.of(np.full(20, 3.0), "auto", "auto") is None


def test_rounding_does_not_hide_a_pile() -> None:
    capped = np.minimum(SPREAD, 11.0) * (1 + 1e-13 * RNG.normal(size=len(SPREAD)))
    limits = OutputLimits.of(capped, None, "auto")
    assert limits is not None
    assert limits.high == capped.max()


@pytest.mark.parametrize(("low", "high"), [(None, None), (-3, None), (None, 25.0), (-3.0, 25)])
def test_given_limits_are_taken_as_they_are(low: float | None, high: float | None) -> None:
    limits = OutputLimits.of(SPREAD, low, high)
    assert (limits is None) == (low is None and high is None)
    if limits is not None:
        assert (limits.low, limits.high) == (low, high)


def test_a_missing_limit_is_infinite() -> None:
    inner = IntervalFamily.around(np.zeros(2), np.ones(2))
    family = OutputLimits(None, 1.0, 0.0).bounded(inner)
    assert family.intervals(np.array([5.0]))[0, :, 0] == pytest.approx([-5.0, 1.0])
