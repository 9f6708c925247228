"""Columns of texts: the levels they have, and what is typical of the rows of a level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sosbands.learning.folds import fold_numbers
from sosbands.types import Array, Folds, Indices, Mask

# A text, or None for missing ones, which are a level of their own.
Level: TypeAlias = str | None

# Trees of scikit-learn take codes of categories below this number; more levels are mere numbers.
_MOST_CODES = 255
# Levels of single rows are common if they take this share of the rows. Not measured.
_OPEN = 0.05


def level_counts(values: Sequence[Level]) -> dict[Level, int]:
    """The levels with their numbers of rows; sorted, the missing one last."""
    counts = Counter(values)
    return {level: counts[level] for level in sorted(counts, key=lambda it: (it is None, it or ""))}


def level_codes(levels: Sequence[Level], values: Sequence[Level]) -> Indices:
    """The place of each value among the levels; −1 for all others."""
    place = {level: code for code, level in enumerate(levels)}
    return np.fromiter((place.get(value, -1) for value in values), np.intp, len(values))


@dataclass(frozen=True, eq=False)
class LevelMeans:
    """The mean of a quantity over the rows of each level, drawn to that over all rows.

    Attributes
    ----------
    means : array of shape (L + 1,)
        Of L levels, and in the end of all other ones together.
    """

    means: Array

    def __call__(self, codes: Indices) -> Array:
        """At rows of these levels; −1 is the place of the others."""
        return self.means[codes]

    @classmethod
    def learn(
        cls, codes: Indices, n_levels: int, values: Array, folds: Folds | None = None
    ) -> tuple[LevelMeans, Array]:
        """The means, and those at the training rows, made without the fold that holds a row.

        Rows that no fold holds get the means of all. Only the differences to the mean over all rows
        are made by fold: that mean is the same for all, so that it does not betray the fold.
        """
        weight = _prior_rows(codes, n_levels, values)
        centre = float(values.mean())
        everyone = np.arange(len(values))
        whole = cls(centre + _differences(codes, n_levels, values, everyone, weight))
        at_rows = whole(codes)
        if folds is None or not weight < np.inf:
            return whole, at_rows
        last = fold_numbers(folds, len(values))
        for number, (train, _) in enumerate(folds):
            test = np.flatnonzero(last == number)
            if len(test):
                made = _differences(codes, n_levels, values, train, weight)
                at_rows[test] = centre + made[codes[test]]
        return whole, at_rows


def _differences(
    codes: Indices, n_levels: int, values: Array, rows: Indices, weight: float
) -> Array:
    """Means of levels less the mean of all these rows, as if `weight` more rows were like all."""
    if not weight < np.inf:
        return np.zeros(n_levels + 1)
    places = codes[rows] % (n_levels + 1)  # −1 ↦ the last one
    counts = np.bincount(places, minlength=n_levels + 1)
    apart = values[rows] - values[rows].mean()
    sums = np.bincount(places, weights=apart, minlength=n_levels + 1)
    return np.asarray(sums / np.maximum(counts + weight, np.finfo(float).tiny))


def _prior_rows(codes: Indices, n_levels: int, values: Array) -> float:
    """Variance within levels ÷ variance between their means: how many rows a level needs to count.

    By the method of moments of a model with random effects. Infinite if levels do not differ.
    """
    places = codes % (n_levels + 1)
    counts = np.bincount(places, minlength=n_levels + 1)
    present = counts > 0
    n, groups = len(values), int(present.sum())
    apart = values - values.mean()
    means = np.bincount(places, weights=apart, minlength=n_levels + 1)[present] / counts[present]
    sizes = counts[present]
    between = float(np.sum(sizes * means**2))
    if groups < 2 or groups >= n:
        return np.inf
    within = max(float(apart @ apart) - between, 0.0) / (n - groups)
    variance = (between - (groups - 1) * within) / (n - float(np.sum(sizes**2)) / n)
    return within / variance if variance > 0 else np.inf


@dataclass(frozen=True, eq=False)
class LevelEncoding:
    """A column of texts as an indicator for each level, or as the typical output of the level.

    Levels of few rows are not on the list: at training rows, too, they are what a level is that was
    never seen.

    Attributes
    ----------
    levels : tuple of str and None
        In the order of their codes.
    means : LevelMeans or None
        Of the output; None for indicators.
    usual : int
        The level that needs no indicator, because it has none of the others; −1 for none.
    open : bool
        Whether levels that are not on the list were common in training: then they are not strange.
    """

    levels: tuple[Level, ...]
    means: LevelMeans | None
    usual: int
    open: bool

    kind = "text"
    plain = False

    def places(self, values: Sequence[Level]) -> Indices:
        """The code of every row, −1 for levels that are not on the list."""
        return level_codes(self.levels, values)

    def encode(self, values: Sequence[Level]) -> Array:
        """One column, or one for each level."""
        codes = self.places(values)
        if self.means is not None:
            return self.means(codes)[:, None]
        return np.asarray(codes[:, None] == self._shown, dtype=np.float64)

    def names(self, name: str) -> list[str]:
        """What these columns are called."""
        if self.means is not None:
            return [f"{name} (mean of y)"]
        return [
            f"{name} is missing" if self.levels[j] is None else f"{name} = {self.levels[j]}"
            for j in self._shown
        ]

    def codes(self, values: Sequence[Level]) -> Array:
        """The codes as numbers, NaN for levels that are not on the list."""
        codes = self.places(values)
        return np.where(codes < 0, np.nan, codes)[:, None]

    @property
    def categorical(self) -> list[bool]:
        """Whether the codes are no more than names."""
        return [len(self.levels) <= _MOST_CODES]

    def strange(self, values: Sequence[Level]) -> Mask:
        """Rows whose level is not on the list, unless that is common."""
        return np.asarray(self.places(values) < 0) & (not self.open)

    @property
    def _shown(self) -> Indices:
        return np.array([j for j in range(len(self.levels)) if j != self.usual], dtype=np.intp)

    @classmethod
    def indicators(cls, counts: dict[Level, int], least: int) -> LevelEncoding:
        """Of levels with at least so many rows; the most frequent one of several needs none."""
        kept = _frequent(counts, least)
        sizes = [counts[level] for level in kept]
        usual = int(np.argmax(sizes)) if len(kept) > 1 else -1
        return cls(kept, None, usual, _open(counts, kept))

    @classmethod
    def by_output(
        cls, counts: dict[Level, int], values: Sequence[Level], y: Array, folds: Folds | None
    ) -> tuple[LevelEncoding, Array]:
        """The mean output of levels, and that at the training rows without their folds."""
        kept = _frequent(counts, 2)
        means, at_rows = LevelMeans.learn(level_codes(kept, values), len(kept), y, folds)
        return cls(kept, means, -1, _open(counts, kept)), at_rows


def n_indicators(counts: dict[Level, int], least: int) -> int:
    """How many columns indicators take."""
    kept = len(_frequent(counts, least))
    return max(kept - 1, min(kept, 1))


def _frequent(counts: dict[Level, int], least: int) -> tuple[Level, ...]:
    return tuple(level for level, count in counts.items() if count >= least)


def _open(counts: dict[Level, int], kept: Sequence[Level]) -> bool:
    total = sum(counts.values())
    return total - sum(counts[level] for level in kept) > _OPEN * total
