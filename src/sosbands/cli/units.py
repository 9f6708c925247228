"""Numbers with a unit, a currency or a per cent sign stuck to them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from sosbands.cli.cells import LONGEST

_SIGNS = "$€£¥₹"
_CODES = "USD|EUR|GBP|CHF|JPY|AUD|CAD|INR|SEK|NOK|DKK|PLN|CNY"
_LETTER = "a-zA-ZÀ-ÖØ-öø-ÿµμ°%‰²³"
_CELL = re.compile(
    rf"(?P<sign>[-+−]?)\s*(?P<before>[{_SIGNS}]|(?:US|A|C)\$|(?:{_CODES})\b)?\s*"
    r"(?P<number>[-+−]?(?:\d[\d.,'’_\s]*|[.,]\d+)(?:[eE][-+]?\d+)?)"
    rf"\s*(?P<after>[{_SIGNS}{_LETTER}][{_SIGNS}{_LETTER}/.·\s]{{0,14}}(?:(?<=[a-z])[23])?)?"
)
# 1st, 2nd and so on are names of places.
_ORDINALS = frozenset({"st", "nd", "rd", "th"})
# Of two of these in one column, one cannot make the other's number.
_KNOWN = frozenset(
    {"%", "‰", "km", "m", "cm", "mm", "mi", "mile", "miles", "ft", "in", "yd", "m²", "m2", "sqft"}
    | {"ft²", "ft2", "m³", "m3", "l", "ml", "cl", "gal", "cc", "t", "kg", "g", "mg", "lb", "lbs"}
    | {"oz", "h", "hr", "hrs", "hours", "min", "mins", "s", "sec", "ms", "year", "years", "yr"}
    | {"yrs", "month", "months", "week", "weeks", "day", "days", "°C", "°F", "C", "F", "k", "K"}
    | {"M", "B", "bn", "mn", "mio", "kW", "W", "MW", "kWh", "hp", "bhp", "PS", "mph", "km/h"}
    | {"kmh", "kmpl", "km/kg", "px", "kB", "KB", "MB", "GB", "TB"}
)


class Quantity(NamedTuple):
    """A cell in two parts: the number as it is written, and the unit."""

    number: str
    unit: str


def quantity(cell: Any) -> Quantity | None:
    """The parts of a cell that is a number with a unit; None for everything else."""
    if not isinstance(cell, str) or len(cell) > LONGEST:
        return None
    found = _CELL.fullmatch(cell.strip())
    if found is None:
        return None
    before, after = found["before"] or "", (found["after"] or "").strip()
    written = found["number"].strip()
    if not (before or after) or after in _ORDINALS or (found["sign"] and written[0] in "+-−"):
        return None
    return Quantity(found["sign"] + written, f"{before} {after}".strip())


def is_known(unit: str) -> bool:
    """Whether a unit is one that people would not take for part of a name."""
    return unit in _KNOWN or unit.strip(_SIGNS) == "" or re.fullmatch(_CODES, unit) is not None
