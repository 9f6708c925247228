"""The parts of a `TableEncoder`, checked as when they were learned.

Texts and numbers of a file become keys of dictionaries and places in arrays: whatever they are,
they must be what `TableEncoder` would have made.
"""

import math
from typing import Any, get_args

from sosbands.learning.columns import ColumnEncoding
from sosbands.learning.quantities import CYCLES
from sosbands.persistence.kinds import Attributes, check, made_anew, numbers, set_columns, whole

# Of a table: one row of so many columns is half a megabyte.
_MOST_COLUMNS = 1 << 16


def number_encoding(kind: type, attributes: Attributes) -> Any:
    """What stands for missing numbers, and how far others are stretched."""
    for name in ("fill", "tame", "unit"):
        value = attributes.get(name)
        check(isinstance(value, float) and math.isfinite(value), f"{name} must be a finite number")
    check(attributes["tame"] >= 0 < attributes["unit"], "a column needs a unit")
    for name in ("flagged", "complete"):
        check(isinstance(attributes.get(name), bool), f"{name} must be a truth value")
    return kind(**attributes)


def date_encoding(kind: type, attributes: Attributes) -> Any:
    """A trend, and cycles that there are."""
    cycles: Any = attributes.get("cycles")
    known = isinstance(cycles, tuple) and all(isinstance(name, str) for name in cycles)
    check(known and list(cycles) == [name for name in CYCLES if name in cycles], "unknown cycles")
    check(isinstance(attributes.get("trend"), get_args(ColumnEncoding)), "a date needs a trend")
    return kind(**attributes)


def level_means(kind: type, attributes: Attributes) -> Any:
    """A number for each level, and one for all others."""
    means = numbers(attributes.get("means"), "means of levels", ndim=1)
    check(len(means) and all(map(math.isfinite, means.tolist())), "means of levels must be finite")
    return kind(**attributes)


def level_encoding(kind: type, attributes: Attributes) -> Any:
    """Different texts, and perhaps a mean for each."""
    levels: Any = attributes.get("levels")
    means = attributes.get("means")
    texts = isinstance(levels, tuple) and all(it is None or isinstance(it, str) for it in levels)
    check(texts and len(set(levels)) == len(levels), "levels must be different texts")
    whole(attributes.get("usual"), "the usual level", least=-1, most=len(levels) - 1)
    check(isinstance(attributes.get("open"), bool), "levels are open or not")
    if means is not None:
        check(len(getattr(means, "means", ())) == len(levels) + 1, "every level needs a mean")
    return kind(**attributes)


def table_encoder(kind: type, attributes: Attributes) -> Any:
    """An encoding for each column."""
    encoder = made_anew(kind, attributes)
    if "columns_" in attributes:
        columns, notices = attributes["columns_"], attributes.get("notices_", [])
        encodings = get_args(ColumnEncoding)
        known = isinstance(columns, list) and all(isinstance(one, encodings) for one in columns)
        check(known, "a table needs an encoding for each column")
        count = set_columns(encoder, attributes, most=_MOST_COLUMNS)
        check(len(columns) == count, "a table needs an encoding for each column")
        texts = isinstance(notices, list) and all(isinstance(text, str) for text in notices)
        check(texts, "notices must be texts")
        encoder.columns_, encoder.notices_ = list(columns), list(notices)
    return encoder
