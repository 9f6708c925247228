"""Levels, read as the decimals they print as; scores in ascending order, and ranks among them."""

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sosbands.types import Array, Indices

# Sums of weights that reach a level but for rounding do reach it, as the exact ranks do.
SLACK = 1e-12
NOTHING_TO_DRAW = (
    "no calibration row has a finite score, so that there is nothing to draw from: calibrate with "
    "other rows"
)


def checked_levels(
    levels: Any, *, name: str = "confidence_level"
) -> tuple[tuple[float, ...], bool]:
    """The levels, each in (0, 1), and whether one number was given rather than a sequence.

    Examples
    --------
    >>> from sosbands.conformal import checked_levels
    >>> checked_levels(0.9), checked_levels([0.8, 0.9])
    (((0.9,), True), ((0.8, 0.9), False))
    """
    scalar = np.ndim(levels) == 0
    if isinstance(levels, np.ndarray) and scalar:
        levels = levels[()]
    # Not through one array of all: 32-bit numbers keep the decimals they print.
    given = [levels] if scalar else list(levels)
    if not given:
        raise ValueError(f"{name} must hold a level, got none: write 0.9 or [0.8, 0.9]")
    return tuple(_checked_level(level, name) for level in given), scalar


def order_rank(level: float, m: int) -> int:
    """k = ⌈level·(m + 1)⌉ with the level read as the decimal it prints as: 0.9·10 is 9.

    Examples
    --------
    >>> from sosbands.conformal import order_rank
    >>> order_rank(0.9, 9), order_rank(0.9, 99)
    (9, 90)
    """
    return math.ceil(exact_level(level) * (m + 1))


def rows_needed(level: float) -> int:
    """⌈1/α⌉ − 1, α = 1 − level: the smallest m whose rank is at most m.

    Examples
    --------
    >>> from sosbands.conformal import rows_needed
    >>> rows_needed(0.9), rows_needed(0.99)
    (9, 99)
    """
    return _rows_beyond(1 - exact_level(level))


def row_shortage(levels: Sequence[float], rows: int) -> int | None:
    """The rows that the largest level needs; None if there are as many."""
    needed = max(rows_needed(level) for level in levels)
    return needed if rows < needed else None


def quantile_rank(level: float, m: int) -> int:
    """⌊p(m + 1)⌋ for p < 0.5 and ⌈p(m + 1)⌉ for p ≥ 0.5, from 0 to m + 1: away from the median."""
    exact = exact_level(level) * (m + 1)
    return math.floor(exact) if 2 * exact < m + 1 else math.ceil(exact)


def quantile_shortage(levels: Sequence[float], rows: int) -> int | None:
    """The rows that finite quantiles of all levels need; None if there are as many."""
    tails = [min(exact_level(p), 1 - exact_level(p)) for p in levels]
    needed = max(_rows_beyond(tail) for tail in tails)
    return needed if rows < needed else None


def _rows_beyond(tail: Fraction) -> int:
    """⌈1/α⌉ − 1."""
    return math.ceil(1 / tail) - 1


def shown_level(level: float) -> str:
    """A level as people write it, in as few digits as tell it from others.

    Examples
    --------
    >>> from sosbands.conformal.ranks import shown_level
    >>> shown_level(0.9), shown_level(0.90000001)
    ('0.9', '0.90000001')
    """
    short = f"{level:g}"
    return short if float(short) == level else repr(float(level))


def exact_level(level: float) -> Fraction:
    """The decimal that a level prints as: that of its own precision for 32-bit numbers."""
    return Fraction(str(level))


def checked_scores(scores: ArrayLike, *, signed: bool = False) -> Array:
    """The scores as an array of shape (m,), of numbers and +∞; of −∞ as well if they are signed."""
    s = np.asarray(scores, dtype=np.float64)
    if s.ndim != 1:
        raise ValueError(f"scores must have shape (m,), got {s.shape}")
    if np.any(np.isnan(s)) or (not signed and np.any(s == -np.inf)):
        raise ValueError(
            "scores must be numbers or +inf, got NaN or -inf: drop rows without output"
        )
    return s


def ascending(
    scores: ArrayLike, *, signed: bool = False, **companions: NDArray[Any]
) -> tuple[Any, ...]:
    """The scores, checked and sorted, then the arrays that go with them in the same order."""
    s = checked_scores(scores, signed=signed)
    if len(s) == 0:
        raise ValueError("scores must not be empty, got no row: give rows to calibrate with")
    for name, values in companions.items():
        if len(values) != len(s):
            raise ValueError(
                f"{name} must hold one row for each of the {len(s)} scores, got {len(values)}: "
                "give both for the same rows"
            )
    order = np.argsort(s, kind="stable")
    return tuple(values[order] for values in (s, *companions.values()))


def picked(scores: Array, index: Indices) -> Array:
    """The scores at these places of an ascending list, +∞ just past its end."""
    picked: Array = np.concatenate([scores, [np.inf]])[index]
    return picked


def _checked_level(level: object, name: str) -> float:
    value = float(level) if isinstance(level, Real) else math.nan
    if not 0 < value < 1:
        advice = f"write {value / 100:g}" if 1 < value < 100 else "write 0.9 for nine rows in ten"
        seen = level.item() if isinstance(level, np.generic) else level
        raise ValueError(f"{name} must be in (0, 1), got {seen!r}: {advice}")
    return float(str(level)) if isinstance(level, np.floating) else value
