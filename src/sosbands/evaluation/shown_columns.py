"""The columns of a table as people know them: numbers in their units, categories and dates by name.

What the band sees of them is something else (indicators, means over levels, trends); every word
and every picture about rows goes back to the columns here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import numpy as np

from sosbands.estimator import BandRegressor
from sosbands.evaluation.band_values import input_names
from sosbands.learning.encoding import TableEncoder
from sosbands.learning.tables import read_table
from sosbands.types import Array, Indices, Mask

ShownKind: TypeAlias = Literal["number", "date", "category"]

MISSING = "missing"
# A category that fewer rows than this share have is not what they have in common.
_MOSTLY, _ALL = 0.5, 0.95
_DAY = 86_400.0


@dataclass(frozen=True, eq=False)
class ShownColumn:
    """One column of some rows.

    Attributes
    ----------
    name : str
    kind : {"number", "date", "category"}
    values : array of float64 or list of str
        Numbers, and dates in seconds since 1970, with NaN for missing ones; categories by name.
    """

    name: str
    kind: ShownKind
    values: Any

    @property
    def known(self) -> Mask:
        """Where there is a value."""
        if self.kind == "category":
            return np.array([value != MISSING for value in self.values], dtype=bool)
        known: Mask = np.isfinite(self.values)
        return known

    def cell(self, row: int) -> str:
        """One value in words."""
        if self.kind == "category":
            return str(self.values[row])
        return self._said(self.values[row])

    def typical(self, rows: Indices) -> str:
        """What these rows have in common: their median, or their most frequent category."""
        if self.kind == "category":
            return self._most_frequent([self.values[row] for row in rows])
        values = self.values[rows]
        known = values[np.isfinite(values)]
        if 2 * len(known) < len(values):
            return f"{self.name} {MISSING}"
        return f"{self.name} ≈ {self._said(float(np.median(known)))}"

    def _most_frequent(self, values: list[str]) -> str:
        level, n = Counter(values).most_common(1)[0]
        if n >= _ALL * len(values):
            return f"{self.name} = {level}"
        word = "mostly" if n >= _MOSTLY * len(values) else "often"
        return f"{self.name} {word} {level}"

    def _said(self, value: float) -> str:
        if not np.isfinite(value):
            return MISSING
        known = self.values[np.isfinite(self.values)]
        if self.kind == "date":
            return said_date(value, with_time=bool(np.any(known % _DAY)))
        if np.array_equal(known, np.round(known)):
            return (f"{value:.0f}" if abs(value) < 1e12 else f"{value:.4g}").replace("-", "−")
        return _rounded(value, float(np.std(known)))


def shown_columns(model: BandRegressor, X: Any, B: Array) -> tuple[ShownColumn, ...]:
    """The columns of X, or of B if a transformer of the user makes that of X.

    X are rows, B is what the band sees of them.
    """
    if sees_columns(model):
        names = getattr(model, "feature_names_in_", None)
        return tuple(
            _shown(f"input {j + 1}" if names is None else str(names[j]), column)
            for j, column in enumerate(read_table(X))
        )
    names = input_names(model, B.shape[1])
    return tuple(ShownColumn(name, "number", B[:, j]) for j, name in enumerate(names))


def sees_columns(model: BandRegressor) -> bool:
    """Whether the band sees the columns of X, and not what a transformer of the user makes."""
    return isinstance(model.band_.encoding.transformer, TableEncoder)


def column_of_inputs(model: BandRegressor, d: int) -> tuple[int, ...]:
    """For each of the d inputs of the band, the number of the column in `shown_columns`."""
    encoder = model.band_.encoding.transformer
    return tuple(encoder.places_) if isinstance(encoder, TableEncoder) else tuple(range(d))


def said_date(seconds: float, *, with_time: bool = False) -> str:
    """A day, perhaps with the time."""
    date = datetime.fromtimestamp(seconds, UTC)
    return f"{date:%Y-%m-%d %H:%M}" if with_time else f"{date:%Y-%m-%d}"


def _shown(name: str, column: Any) -> ShownColumn:
    if column.kind == "text" or (column.kind == "empty" and isinstance(column.values, list)):
        return ShownColumn(
            name, "category", [v if v is not None else MISSING for v in column.values]
        )
    return ShownColumn(name, "date" if column.kind == "date" else "number", column.values)


def _rounded(value: float, spread: float) -> str:
    """A number to a hundredth of what such numbers vary by: 2015, not 2.02e+03."""
    if not spread > 0:
        return f"{value:.6g}"
    decimals = 1 - int(np.floor(np.log10(spread)))
    plain = f"{round(value, decimals) + 0.0:.{max(decimals, 0)}f}"
    return (plain if len(plain) < 12 else f"{value:.4g}").replace("-", "−")
