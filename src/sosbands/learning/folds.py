"""Which rows train, which calibrate, and the folds of cross-fitting."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    TimeSeriesSplit,
    check_cv,
)

from sosbands.conformal import named
from sosbands.types import Array, Folds, Indices, Mask


def calibration_rows(n: int, size: float | int, *, name: str = "calibration_size") -> int:
    """How many of n rows calibrate: a share, or a number, that goes by this name."""
    share = isinstance(size, Real) and not isinstance(size, Integral)
    if (
        isinstance(size, bool)
        or not isinstance(size, Real)
        or not (0 < size < 1 if share else size >= 1)
    ):
        raise ValueError(f"{name} must be a share in (0, 1) or a number of rows >= 1, got {size!r}")
    count = max(1, round(float(size) * n)) if share else int(size)
    _check_training_rows(n - count, n, size, name)
    return count


def _check_training_rows(left: int, n: int, size: float | int, name: str) -> None:
    if left < 5:
        raise ValueError(
            f"{name}={size!r} leaves {left} of {n} rows to learn from, at least 5 "
            "are needed: lower it"
        )


def calibration_split(
    n: int,
    size: float | int,
    *,
    cv: Any,
    groups: Indices | None,
    seed: int,
    name: str = "calibration_size",
) -> tuple[Indices, Indices]:
    """Pre-training and calibration rows: at random, by whole groups, or the last in time."""
    held = held_back(n, size, cv=cv, groups=groups, seed=seed, name=name)
    return np.flatnonzero(~held), np.flatnonzero(held)


def held_back(
    n: int,
    size: float | int,
    *,
    cv: Any,
    groups: Indices | None,
    seed: int,
    name: str = "calibration_size",
) -> Mask:
    """Which of n rows calibrate."""
    count, held = calibration_rows(n, size, name=name), np.zeros(n, dtype=bool)
    if isinstance(cv, TimeSeriesSplit):
        if groups is not None:
            raise ValueError("groups and TimeSeriesSplit contradict each other: give one of them")
        held[n - count :] = True
    elif groups is not None:
        _check_groups(groups)
        splitter = GroupShuffleSplit(1, test_size=count / n, random_state=seed)
        train, test = next(splitter.split(np.zeros(n), groups=groups))
        _check_training_rows(len(train), n, size, name)
        held[test] = True
    else:
        # As `permutation(n)`, in half the memory unless there are billions of rows.
        order = np.arange(n, dtype=np.int32 if n < 2**31 else np.int64)
        np.random.default_rng(seed).shuffle(order)
        held[order[:count]] = True
    return held


def cross_fitting_folds(X: Any, y: Array, *, cv: Any, groups: Indices | None, seed: int) -> Folds:
    """(train, test) of every fold."""
    splitter, n = _splitter(cv, len(y), groups, seed), len(y)
    folds = [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y, groups)]
    last = max((int(rows.max()) for fold in folds for rows in fold if len(rows)), default=0)
    if last >= n:
        raise ValueError(
            f"cv names row {last} of {n}: folds are made of the rows that learn, without those "
            "that calibration_size holds back; give a splitter of any number of rows, or "
            "calibration=None"
        )
    return folds


def _splitter(cv: Any, n: int, groups: Indices | None, seed: int) -> Any:
    """What makes the folds of n rows."""
    if hasattr(cv, "split") and hasattr(cv, "get_n_splits"):
        return cv
    if isinstance(cv, list) and all(isinstance(fold, tuple) and len(fold) == 2 for fold in cv):
        return check_cv(cv)
    if not isinstance(cv, Integral) or isinstance(cv, bool):
        seen = repr(cv) if len(repr(cv)) < 80 else type(cv).__name__
        raise ValueError(
            "cv must be a number of folds or a splitter with split(), or a list of (train, test), "
            f"got {seen}"
        )
    if cv < 2:
        raise ValueError(f"cv must be at least 2 or a splitter, got {cv!r}")
    if groups is None:
        return KFold(min(int(cv), max(2, n // 2)), shuffle=True, random_state=seed)
    kinds = len(np.unique(groups))
    if kinds < 2:
        raise ValueError(
            f"groups leave {kinds} group of rows to learn from, beside those that calibrate or "
            "judge, and at least 2 are needed: give rows of more groups, or no groups"
        )
    return GroupKFold(min(int(cv), kinds))


def folds_of_rows(n: int, *, cv: Any, groups: Indices | None, seed: int) -> NDArray[np.int16]:
    """The fold that holds out each of n rows, with two bytes for a row.

    The folds must be a number: then each trains with all rows that it does not hold out.
    """
    if not isinstance(cv, Integral):
        raise ValueError(
            f"cv must be a number of folds for a mean that is trained on collections, got {cv!r}"
        )
    numbers = np.empty(n, dtype=np.int16)
    for number, (_, test) in enumerate(_splitter(cv, n, groups, seed).split(numbers, None, groups)):
        numbers[test] = number
    return numbers


def fold_numbers(folds: Folds, n: int) -> Indices:
    """The last fold that holds out each row; −1 for none."""
    numbers = np.full(n, -1, dtype=np.intp)
    for number, (_, test) in enumerate(folds):
        numbers[test] = number
    return numbers


def renumbered(folds: Folds, rows: Indices, n: int) -> Folds:
    """What the folds of n rows have of some of them, in this order; folds without rows are gone."""
    place = np.full(n, -1, dtype=np.intp)
    place[rows] = np.arange(len(rows))
    parts = [[np.sort(place[part][place[part] >= 0]) for part in fold] for fold in folds]
    return [(train, test) for train, test in parts if len(train) and len(test)]


def band_sample(n: int, most: int | None, seed: int) -> Indices:
    """The rows that a band is learned from, by position: all, or a random part of them."""
    if most is None or n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def numbered(groups: Any) -> Indices:
    """Groups by number instead of by name, which may be of any hashable type."""
    names = named(groups)
    try:
        distinct = sorted(set(names))
    except TypeError:
        distinct = list(dict.fromkeys(names))
    number = {name: i for i, name in enumerate(distinct)}
    return np.array([number[name] for name in names], dtype=np.intp)


def _check_groups(groups: Indices) -> None:
    kinds = len(np.unique(groups))
    if kinds < 2:
        raise ValueError(f"groups must name at least 2 groups of rows to split, got {kinds}")


def check_partition(folds: Folds, n: int) -> None:
    """CV+ needs every row in exactly one fold."""
    counts = np.bincount(np.concatenate([test for _, test in folds]), minlength=n)
    if np.any(counts != 1):
        raise ValueError(
            'calibration="cv+" needs a cv that holds out every row exactly once, such as KFold: '
            f"{int(np.sum(counts != 1))} of {n} rows are not"
        )
