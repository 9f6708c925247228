"""Dates and times as people and programs spell them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Any

from sosbands.cli.cells import LONGEST

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<name>{'|'.join(_MONTHS)})[a-z]*\.?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_YEAR, _DAY = r"(?P<year>\d{4}|\d\d)", r"(?P<day>\d\d?)(?:st|nd|rd|th|\.)?"
_CLOCK = (
    r"(?P<hour>\d\d?):?(?P<minute>\d\d)(?::?(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"\s*(?P<half>[ap]\.?m\.?)?\s*(?:Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?)?"
)
_SPELLINGS = [
    re.compile(rf"{_WEEKDAY}{day}(?:(?:,?\s+|T){_CLOCK})?", re.IGNORECASE)
    for day in (
        r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d\d?)(?P=mark)(?P<day>\d\d?)",
        r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)(?=T)",
        rf"(?P<first>\d\d?)(?P<mark>[-/.])(?P<then>\d\d?)(?P=mark){_YEAR}",
        rf"{_DAY}(?:\s+|-){_MONTH},?(?:\s+|-){_YEAR}",
        rf"{_MONTH}\s+{_DAY},?\s+(?P<year>\d{{4}})",
    )
]
_TIME = re.compile(
    r"(?P<hour>\d{1,3}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:[.,]\d{1,9})?)?"
    r"\s*(?P<half>[ap]\.?m\.?)?",
    re.IGNORECASE,
)
# Two digits of a year: those below are of this century, as in POSIX.
_CENTURY = 69


def moment(cell: Any, *, day_first: bool = True) -> datetime | None:
    """The date that a cell stands for, by the clock of its zone; None if it is none.

    `day_first` is about 1/2/2024 and 1-2-2024; with points the day always comes first.
    """
    if isinstance(cell, datetime):
        return cell.replace(tzinfo=None)
    if isinstance(cell, date):
        return datetime(cell.year, cell.month, cell.day)
    if not isinstance(cell, str) or len(cell) > LONGEST:
        return None
    return _read(cell.strip(), day_first)


def order_shown(cells: Iterable[Any]) -> set[bool]:
    """Whether the day comes first in 13/1/2024 and the like: what those cells show that can.

    Both, if they contradict each other; none, if every one could be read in both ways. A cell that
    is the same date in both ways says nothing, nor does one that is a date in neither.
    """
    shown = set()
    for cell in cells:
        if needs_order(cell):
            ways = {first for first in (True, False) if moment(cell, day_first=first)}
            shown |= ways if len(ways) == 1 else set()
    return shown


def needs_order(cell: Any) -> bool:
    """Whether the date that a cell stands for depends on the order of day and month."""
    if not isinstance(cell, str) or len(cell) > LONGEST:
        return False
    found = _SPELLINGS[2].fullmatch(cell.strip())
    return found is not None and found["mark"] != "." and found["first"] != found["then"]


def may_begin_with_years(cells: Iterable[Any]) -> bool:
    """Whether dates as 23-01-31 are rather years, months and days: there are more days than years.

    Said of cells whose order of day and month is in question. A last number that no day has is a
    year.
    """
    parts = [cell.split()[0].split("-") for cell in cells]
    short = [part for part in parts if len(part) == 3 and all(len(one) == 2 for one in part)]
    first, last = ({part[at] for part in short} for at in (0, 2))
    return len(last) > len(first) and max(last) <= "31"


def hours(cell: Any) -> float | None:
    """The time of a day, or how long something takes, in hours; None if a cell is neither."""
    if isinstance(cell, time):
        return cell.hour + cell.minute / 60 + (cell.second + cell.microsecond / 1e6) / 3600
    if isinstance(cell, timedelta):
        return cell.total_seconds() / 3600
    if not isinstance(cell, str) or len(cell) > LONGEST:
        return None
    found = _TIME.fullmatch(cell.strip())
    if found is None:
        return None
    hour = _hour(found)
    if hour is None:
        return None
    return hour + int(found["minute"]) / 60 + int(found["second"] or 0) / 3600


def are_dates(cells: Sequence[Any]) -> bool:
    """Whether most of some cells are dates."""
    return 2 * sum(is_date(cell) for cell in cells) > len(cells)


def is_date(cell: Any) -> bool:
    """Whether a cell is a date, in whichever order."""
    return moment(cell) is not None or moment(cell, day_first=False) is not None


@lru_cache(maxsize=100_000)
def _read(text: str, day_first: bool) -> datetime | None:
    for spelling in _SPELLINGS:
        found = spelling.fullmatch(text)
        if found is not None:
            return _datetime(found, day_first)
    return None


def _datetime(found: re.Match[str], day_first: bool) -> datetime | None:
    parts = found.groupdict()
    if parts.get("first"):
        first, then = parts["first"], parts["then"]
        day_first = day_first or parts["mark"] == "."
        parts["day"], parts["month"] = (first, then) if day_first else (then, first)
    elif parts.get("name"):
        parts["month"] = str(1 + _MONTHS.index(parts["name"].lower()))
    year = int(parts["year"])
    if len(parts["year"]) == 2:
        year += 2000 if year < _CENTURY else 1900
    hour = _hour(found) if parts["hour"] else 0
    if hour is None:
        return None
    micro = int((parts["fraction"] or "0")[:6].ljust(6, "0"))
    minute, second = int(parts["minute"] or 0), int(parts["second"] or 0)
    try:
        return datetime(year, int(parts["month"]), int(parts["day"]), hour, minute, second, micro)
    except ValueError:  # there is no such day
        return None


def _hour(found: re.Match[str]) -> int | None:
    """The hour of a clock of 24 hours; None if one of 12 hours has no such hour."""
    hour, half = int(found["hour"]), (found["half"] or "").lower()
    if not half:
        return hour
    return hour % 12 + 12 * (half[0] == "p") if 1 <= hour <= 12 else None
