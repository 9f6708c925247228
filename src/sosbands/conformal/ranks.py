"""Levels, read as the decimals they print as, and their ranks among scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np


def checked_levels(
    levels: Any, *, name: str = "confidence_level"
) -> tuple[tuple[float, ...], bool]:
    """The levels, each in (0, 1), and whether one number was given rather than a sequence."""
    scalar = np.ndim(levels) == 0
    if isinstance(levels, np.ndarray) and scalar:
        levels = levels[()]
    # Not through one array of all: 32-bit numbers keep the decimals they print.
    given = [levels] if scalar else list(levels)
    if not given:
        raise ValueError(f"{name} must hold a level, got none: write 0.9 or [0.8, 0.9]")
    return tuple(_checked_level(level, name) for level in given), scalar


def order_rank(level: float, m: int) -> int:
    """k = ⌈level·(m + 1)⌉ with the level read as the decimal it prints as: 0.9·10 is 9."""
    return math.ceil(exact_level(level) * (m + 1))


def rows_needed(level: float) -> int:
    """⌈1/α⌉ − 1, α = 1 − level: the smallest m whose rank is at most m."""
    return math.ceil(1 / (1 - exact_level(level))) - 1


def row_shortage(levels: Sequence[float], rows: int) -> int | None:
    """The rows that the largest level needs; None if there are as many."""
    needed = max(rows_needed(level) for level in levels)
    return needed if rows < needed else None


def exact_level(level: float) -> Fraction:
    """The decimal that a level prints as: that of its own precision for 32-bit numbers."""
    return Fraction(str(level))


def _checked_level(level: object, name: str) -> float:
    value = float(level) if isinstance(level, Real) else math.nan
    if not 0 < value < 1:
        advice = f"write {value / 100:g}" if 1 < value < 100 else "write 0.9 for nine rows in ten"
        seen = level.item() if isinstance(level, np.generic) else level
        raise ValueError(f"{name} must be in (0, 1), got {seen!r}: {advice}")
    return float(str(level)) if isinstance(level, np.floating) else value
