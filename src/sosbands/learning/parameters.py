"""Parameters that mean nothing are refused in one sentence each."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def seed_of(random_state: Any) -> int:
    """A number that stands for a random state: itself, or one that is drawn."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def check_choice(name: str, value: Any, allowed: Sequence[Any]) -> None:
    """One of several words."""
    known = isinstance(value, str | Integral) and not isinstance(value, bool)
    if not known or value not in allowed:
        raise ValueError(f"{name} must be one of {tuple(allowed)}, got {value!r}")


def check_switch(name: str, value: Any, *words: str) -> None:
    """True or False, or one of some words."""
    if not isinstance(value, bool | np.bool_) and not (isinstance(value, str) and value in words):
        known = ", ".join(["True", "False", *(f'"{word}"' for word in words)])
        raise ValueError(f"{name} must be one of {known}, got {value!r}")


def check_number(name: str, value: Any, *, positive: bool = False, automatic: bool = False) -> None:
    """A finite number ≥ 0, or > 0, or "auto"."""
    if automatic and isinstance(value, str) and value == "auto":
        return
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    if not np.isfinite(number) or number < 0 or (positive and number == 0):
        words = '"auto" or ' if automatic else ""
        raise ValueError(
            f"{name} must be {words}a number {'>' if positive else '>='} 0, got {value!r}"
        )


def check_count(name: str, value: Any) -> None:
    """A whole number from 1 on, or None."""
    if value is not None and not (isinstance(value, Integral) and int(value) > 0):
        raise ValueError(f"{name} must be a whole number >= 1 or None, got {value!r}")


def check_whole(name: str, value: Any) -> None:
    """A whole number; True and False are 1 and 0."""
    if not isinstance(value, Integral | np.bool_):
        raise ValueError(f"{name} must be a whole number, got {value!r}")


def check_jobs(n_jobs: Any) -> None:
    """A number of processes as joblib takes it."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(
            f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}: -1 uses all "
            "processors"
        )


def check_lengthscale(name: str, value: Any, words: Sequence[str]) -> None:
    """A word, a positive number, or one for each input."""
    if isinstance(value, str):
        if value not in words:
            raise ValueError(f"{name} must be one of {tuple(words)} or positive, got {value!r}")
        return
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.ndim > 1 or not np.all((numbers > 0) & np.isfinite(numbers)):
        raise ValueError(
            f"{name} must be one of {tuple(words)}, a positive number or one per input, "
            f"got {value!r}"
        )
