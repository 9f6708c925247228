"""Columns of numbers and of dates, as numbers that kernels and trees can use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from sosbands.types import Array, Mask

# So many missing cells are enough to learn what missing means; fewer are merely filled in. Not
# measured.
_FLAGGED = 10
# Tails are heavy if the standard deviation is so many times the robust one, from the quantiles of
# 1 % and 99 %, which a normal distribution has so many standard deviations apart. Of the 42
# columns of the development sets that concerns aveoccup of california, where this was the best of
# five rules; few rows hold its extremes, so that there is little evidence of how much it helps.
_HEAVY, _NORMAL_RANGE, _LEAST_RANGE = 3.0, 4.65, 1e-9
_DAY = 86400.0


@dataclass(frozen=True, eq=False)
class NumberEncoding:
    """A column of numbers: missing ones filled in and perhaps flagged, heavy tails tamed.

    Attributes
    ----------
    fill : float
        What stands for missing numbers: the (lower) median.
    flagged : bool
        Whether a second column says which ones were missing.
    complete : bool
        Whether none was missing in training.
    tame : float
        0: numbers stay as they are. Otherwise x ↦ asinh(tame · u)/tame, u in robust units.
    unit : float
        The robust standard deviation, around the median.
    """

    fill: float
    flagged: bool
    complete: bool
    tame: float
    unit: float

    kind = "number"
    categorical = (False,)

    @classmethod
    def learn(cls, values: Array) -> NumberEncoding:
        """From training rows of which at least one is known."""
        known = values[~np.isnan(values)]
        missing = len(values) - len(known)
        tame, unit = _tails(known)
        fill = float(np.quantile(known, 0.5, method="lower"))
        return cls(fill, missing >= _FLAGGED, missing == 0, tame, unit)

    @property
    def plain(self) -> bool:
        """Whether numbers that are not missing stay as they are, in one column."""
        return not self.flagged and not self.tame

    def encode(self, values: Array) -> Array:
        """The numbers, and whether they were missing."""
        missing = np.isnan(values)
        filled = np.where(missing, self.fill, values)
        if self.tame:
            apart = (filled - self.fill) / self.unit
            filled = self.fill + self.unit * np.arcsinh(self.tame * apart) / self.tame
        return np.column_stack([filled, missing]) if self.flagged else filled[:, None]

    def names(self, name: str) -> list[str]:
        """What these columns are called."""
        return [name, f"{name} is missing"][: 1 + self.flagged]

    def codes(self, values: Array) -> Array:
        """The numbers as they are."""
        return values[:, None]

    def strange(self, values: Array) -> Mask:
        """Rows where it is missing, though it never was in training."""
        return np.isnan(values) & self.complete


def _tails(known: Array) -> tuple[float, float]:
    """How much to tame the tails of a column, and its robust standard deviation.

    No distribution between the two quantiles has a standard deviation of more than 2.33 robust
    ones: it takes values far beyond them. The more, the stronger, up to a logarithm.
    """
    size = max(float(np.abs(known).max()), np.finfo(float).tiny)
    low, high = np.quantile(known / size, [0.01, 0.99])
    unit = float(high - low) / _NORMAL_RANGE
    if unit < _LEAST_RANGE:
        return 0.0, 1.0  # nearly all values are the same
    excess = float(np.std(known / size)) / unit / _HEAVY - 1
    return float(np.clip(excess, 0.0, 1.0)), max(unit * size, np.finfo(float).tiny)


def _month(days: Array) -> Array:
    return _months(days) % 12 + 1


def _months(days: Array) -> Array:
    """Months since 1970."""
    dates = np.floor(days).astype("datetime64[D]")
    return dates.astype("datetime64[M]").astype(np.float64)


def _of_year(days: Array) -> Array:
    """Months since the beginning of the year, with the part of the month that has passed."""
    first = _months(days).astype("datetime64[M]").astype("datetime64[D]").astype(np.float64)
    return _months(days) % 12 + (days - first) / 31


def _weekday(days: Array) -> Array:
    return (np.floor(days) + 3) % 7  # 1970 began on a Thursday, 0 is Monday


def _hour(days: Array) -> Array:
    return days % 1 * 24


# A cycle ↦ its length in days, how many steps it has, where in it a day is, and that as a whole.
CYCLES: Mapping[str, tuple[float, int, Callable[[Array], Array], Callable[[Array], Array]]] = {
    "month": (366.0, 12, _of_year, _month),
    "weekday": (7.0, 7, _weekday, _weekday),
    "hour": (1.0, 24, _hour, _hour),
}


@dataclass(frozen=True, eq=False)
class DateEncoding:
    """A column of dates: a trend, and the cycles that vary.

    Attributes
    ----------
    trend : NumberEncoding
        Of days since 1970.
    cycles : tuple of {"month", "weekday", "hour"}
        Those that have different values over more than one turn.
    """

    trend: NumberEncoding
    cycles: tuple[str, ...]

    kind = "date"
    plain = False

    @classmethod
    def learn(cls, values: Array) -> DateEncoding:
        """From training rows of which at least one is known; in seconds since 1970."""
        days = values / _DAY
        known = days[~np.isnan(days)]
        span = float(np.ptp(known))
        cycles = [
            name
            for name, (length, _, _, whole) in CYCLES.items()
            if span >= length and np.ptp(np.round(whole(known), 6)) > 0
        ]
        return cls(NumberEncoding.learn(days), tuple(cycles))

    def encode(self, values: Array) -> Array:
        """The trend, whether it is missing, and each cycle as sine and cosine; 0 for missing."""
        days = values / _DAY
        missing = np.isnan(days)
        made = [self.trend.encode(days)]
        for name in self.cycles:
            _, steps, place, _ = CYCLES[name]
            angle = 2 * np.pi * place(np.where(missing, 0.0, days)) / steps
            made += [np.where(missing, 0.0, np.sin(angle)), np.where(missing, 0.0, np.cos(angle))]
        return np.column_stack(made)

    def names(self, name: str) -> list[str]:
        """What these columns are called."""
        turns = [f"{name}: {cycle} ({of})" for cycle in self.cycles for of in ("sin", "cos")]
        return [*self.trend.names(name), *turns]

    def codes(self, values: Array) -> Array:
        """Days since 1970, and the months, weekdays and hours that vary; missing ones are NaN."""
        days = values / _DAY
        missing = np.isnan(days)
        filled = np.where(missing, 0.0, days)
        parts = [np.where(missing, np.nan, CYCLES[name][3](filled)) for name in self.cycles]
        return np.column_stack([days, *parts])

    @property
    def categorical(self) -> list[bool]:
        """Nothing of a date is a mere name."""
        return [False] * (1 + len(self.cycles))

    def strange(self, values: Array) -> Mask:
        """Rows where it is missing, though it never was in training."""
        return self.trend.strange(values)
