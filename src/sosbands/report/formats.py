"""Numbers and names as the page shows them: short, on one line, plain text."""

import re

import numpy as np

from sosbands.conformal.calibration import asked, count
from sosbands.evaluation.number_words import number
from sosbands.quoting import shortened

__all__ = [
    "asked",
    "count",
    "number",
    "one_line",
    "percent",
    "ratio",
    "rows_in_words",
    "signed",
    "without_unit",
]

# Names longer than this would push everything else off a phone's screen.
_LONGEST_NAME = 40


def one_line(text: str, longest: int = _LONGEST_NAME) -> str:
    """The name of a column, or other text, on one short line."""
    return shortened(" ".join(text.split()) or "(no name)", longest)


def rows_in_words(n: int) -> str:
    """1 row, 2 000 rows."""
    return "1 row" if n == 1 else f"{count(n)} rows"


def signed(value: float) -> str:
    """Three digits with a sign, as a part of a sum."""
    return f"+{number(value, 3)}" if value >= 0 else number(value, 3)


def percent(share: float) -> str:
    """A share in percent with one decimal."""
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def ratio(width: float, usual: float) -> str:
    """How many times as wide as usual, if both are finite."""
    return number(width / usual, 2) if 0 < usual < np.inf and width < np.inf else "–"


def without_unit(target: str) -> tuple[str, str]:
    """A name and the unit that it ends with in brackets: "price (EUR)", "load [kW]", or none."""
    found = re.fullmatch(r"(.*\S)\s*[(\[]\s*([^()\[\]]{1,12}?)\s*[)\]]\s*", target)
    return (found[1], f"\N{NO-BREAK SPACE}{found[2]}") if found else (target, "")
