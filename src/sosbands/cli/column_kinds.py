"""What a column holds, and how its cells are read by it: the same for the rows of every file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd

from sosbands.cli import cells, dates
from sosbands.cli.table_file import CsvFormat
from sosbands.cli.units import quantity
from sosbands.quoting import shortened

# Names of categories that are kept for people to look at.
_EXAMPLES = 20


@dataclass(frozen=True)
class Numbers:
    """Numbers, all of them with the same unit or without."""

    unit: str = ""
    called: ClassVar[str] = "numbers"

    def read(self, column: pd.Series[Any], form: CsvFormat) -> tuple[Any, list[int]]:
        """An array with NaN where there is nothing, and the places of cells that are no numbers."""
        if not self.unit:
            return cells.numbers_and_others(column, form)

        def value(cell: Any) -> float | None:
            found = quantity(cell)
            right = found is not None and found.unit == self.unit
            return cells.number(found.number, form) if found is not None and right else None

        found, wrong = cells.read_distinct(column.to_numpy(object), form, value)
        return np.array(found, dtype=np.float64), wrong  # None becomes NaN

    def told(self) -> str:
        """What people are told that the column holds."""
        return f"numbers, in {self.unit}" if self.unit else "numbers"


@dataclass(frozen=True)
class Dates:
    """Days, with or without the time."""

    day_first: bool | None = None  # in 1/2/2024; None: no cell showed it
    called: ClassVar[str] = "dates"

    def read(self, column: pd.Series[Any], form: CsvFormat) -> tuple[Any, list[int]]:
        """Dates of NumPy, NaT where there is nothing; and the places of cells that are none."""
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            column = column.dt.tz_localize(None)
        if pd.api.types.is_datetime64_dtype(column.dtype):
            return column.to_numpy("datetime64[us]"), []
        order = self.day_first if form.day_first is None else form.day_first

        def value(cell: Any) -> Any:
            unknown = order is None and dates.needs_order(cell)
            return None if unknown else dates.moment(cell, day_first=bool(order))

        found, wrong = cells.read_distinct(column.to_numpy(object), form, value)
        made = [None if isinstance(cell, float) else cell for cell in found]
        return np.array(made, dtype="datetime64[us]"), wrong

    def told(self) -> str:
        """What people are told that the column holds."""
        return "dates"


@dataclass(frozen=True)
class Times:
    """Times of a day, or how long something takes."""

    called: ClassVar[str] = "times"

    def read(self, column: pd.Series[Any], form: CsvFormat) -> tuple[Any, list[int]]:
        """Hours, NaN where there is nothing; and the places of cells that are no times."""
        found, wrong = cells.read_distinct(column.to_numpy(object), form, dates.hours)
        return np.array(found, dtype=np.float64), wrong

    def told(self) -> str:
        """What people are told that the column holds."""
        return "times, in hours"


@dataclass(frozen=True)
class Names:
    """Names of categories."""

    count: int = 0  # 0: not known
    examples: tuple[str, ...] = ()
    called: ClassVar[str] = "names"

    @classmethod
    def among(cls, distinct: Iterable[str]) -> Names:
        """What is kept of the different names of a column."""
        known = sorted(distinct)
        return cls(len(known), tuple(shortened(" ".join(n.split())) for n in known[:_EXAMPLES]))

    def read(self, column: pd.Series[Any], form: CsvFormat) -> tuple[Any, list[int]]:
        """Strings, None where there is nothing; every cell is a name."""
        return cells.categories(column, form).to_numpy(object), []

    def told(self) -> str:
        """What people are told that the column holds."""
        if not self.count:
            return "categories"
        more = f" and {self.count - len(self.examples)} more" * (self.count > len(self.examples))
        return f"{', '.join(self.examples)}{more}"


Kind: TypeAlias = Numbers | Dates | Times | Names
_KINDS: dict[str, type[Any]] = {kind.called: kind for kind in (Numbers, Dates, Times, Names)}


def kind_to_dict(kind: Kind) -> dict[str, Any]:
    """A kind for JSON."""
    return {"kind": kind.called, **asdict(kind)}


def kind_from_dict(stored: Any) -> Kind:
    """The kind that `kind_to_dict` stored; what it cannot have stored is a ValueError."""
    if not isinstance(stored, Mapping) or stored.get("kind") not in _KINDS:
        raise ValueError("a column is of no known kind")
    made = _KINDS[stored["kind"]]
    checks: dict[str, Callable[[Any], bool]] = {
        "unit": lambda value: isinstance(value, str),
        "day_first": lambda value: value is None or isinstance(value, bool),
        "count": lambda value: type(value) is int and value >= 0,
        "examples": lambda value: (
            isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
        ),
    }
    settings = {name: value for name, value in stored.items() if name != "kind"}
    known = {part.name for part in fields(made)}
    if set(settings) != known or not all(checks[name](settings[name]) for name in known):
        raise ValueError(f"a column of {made.called} is described as none is")
    given = {n: tuple(value) if isinstance(value, list) else value for n, value in settings.items()}
    kind: Kind = made(**given)
    return kind
