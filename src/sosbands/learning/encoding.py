"""What a band sees of X: its numeric columns, or what a transformer makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array

from sosbands.quoting import listed
from sosbands.types import Array

# Rows that are predicted at once: what is computed for them stays far below 256 MB.
_BLOCK_ROWS = 1 << 15


def is_frame(X: Any) -> bool:
    """Whether X is a DataFrame, of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def row_blocks(X: Any) -> Iterator[slice]:
    """Slices that cover the rows of X."""
    rows = X.shape[0]
    return (slice(start, min(start + _BLOCK_ROWS, rows)) for start in range(0, rows, _BLOCK_ROWS))


@dataclass(frozen=True, eq=False)
class BandInputs:
    """X ↦ an array of finite numbers of shape (n, d).

    Attributes
    ----------
    columns : list or None
        The numeric columns of a DataFrame: their names, or numbers if they have none.
    positions : list of int or None
        Where they are, for rows that come without their names.
    transformer : transformer or None
        Fitted; takes the place of the columns.
    """

    columns: list[Any] | None
    positions: list[int] | None
    transformer: Any | None

    @classmethod
    def learn(cls, X: Any, y: Array, transformer: Any | None) -> BandInputs:
        """From pre-training rows."""
        if transformer is not None:
            return cls(None, None, clone(transformer).fit(X, y))
        if not is_frame(X):
            return cls(None, None, None)
        columns = _numeric_columns(X)
        if not columns:
            raise ValueError(
                f"X has no numeric columns among {listed(X.columns)}: give a band_transformer that "
                "makes numbers of them"
            )
        # The first of several columns of one name.
        places = {name: at for at, name in reversed(list(enumerate(X.columns)))}
        return cls(columns, [places[name] for name in columns], None)

    def __call__(self, X: Any) -> Array:
        """The numbers, checked."""
        if self.transformer is not None:
            made = self.transformer.transform(X)
            if hasattr(made, "toarray"):
                made = made.toarray()
            return _finite(made, "what band_transformer makes of X", "impute in band_transformer")
        if self.columns is None:
            return np.asarray(X, dtype=np.float64)
        if is_frame(X) and all(isinstance(name, str) and name in X for name in self.columns):
            seen = X[self.columns]
        else:  # numbers are not names
            rows = X.iloc if hasattr(X, "iloc") else X if is_frame(X) else np.asarray(X)
            seen = rows[:, self.positions]
        advice = "impute them, or give a band_transformer that does"
        return _finite(seen, "the numeric columns of X", advice)


def _numeric_columns(X: Any) -> list[Any]:
    if hasattr(X, "select_dtypes"):
        return list(X.select_dtypes(["number", "bool"], exclude="timedelta").columns)
    return [
        name
        for name, kind in zip(X.columns, X.dtypes, strict=True)
        if kind.is_numeric() or str(kind) == "Boolean"
    ]


def _finite(values: Any, what: str, advice: str) -> Array:
    # In rows, as arrays come: another order of summation would round differently.
    numbers: Array = check_array(values, dtype=np.float64, order="C", ensure_all_finite=False)
    bad = int(np.sum(~np.isfinite(numbers)))
    if bad:
        raise ValueError(f"{what} hold {bad} NaN or infinite values: {advice}")
    return numbers
