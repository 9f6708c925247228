"""What users gave, as messages quote it: shortened, so that a sentence stays a sentence.

A cell may hold 50 MB and a table 200 000 names; a message with all of it helps nobody.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import Any

_LONGEST = 80
_MOST_NAMES = 5


def shortened(text: str, longest: int = _LONGEST) -> str:
    """The beginning of a text, with an ellipsis where the rest is left out."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def quoted(value: Any) -> str:
    """A value as Python writes it; of a string the beginning, in quotes."""
    if isinstance(value, str):
        return repr(shortened(str(value)))  # NumPy's strings would show their type
    return shortened(repr(value))


def listed(values: Collection[Any], most: int = _MOST_NAMES) -> str:
    """The first values, and how many more there are."""
    shown = ", ".join(map(quoted, islice(values, most)))
    rest = len(values) - most
    return f"{shown} and {rest} more" if rest > 0 else shown
