"""What a band sees of X: its numeric columns, or what a transformer makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array

from sosbands.quoting import listed
from sosbands.types import Array

# Rows that are predicted at once: what is computed for them stays far below 256 MB.
_BLOCK_ROWS = 1 << 15


def is_frame(X: Any) -> bool:
    """Whether X is a data frame in memory, of pandas, polars, pyarrow or another library."""
    return bool(nw.dependencies.is_into_dataframe(X))


def frame_like(X: Any, table: Array, names: Sequence[str]) -> Any:
    """A table as a frame of the library of X, and with its index if frames of it have one."""
    made = nw.from_numpy(table, schema=list(names), backend=nw.get_native_namespace(X)).to_native()
    return made.set_axis(X.index, axis=0) if hasattr(made, "set_axis") else made


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
        The names of the numeric columns of a data frame, if columns have names.
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
        frame = _named(X)
        kinds = [frame[name].dtype for name in frame.columns]
        places = [at for at, kind in enumerate(kinds) if kind.is_numeric() or kind == nw.Boolean()]
        if not places:
            raise ValueError(
                f"X has no numeric columns among {listed(X.columns)}: give a band_transformer that "
                "makes numbers of them"
            )
        names = [frame.columns[at] for at in places] if _has_names(X) else None
        return cls(names, places, None)

    def __call__(self, X: Any) -> Array:
        """The numbers, checked."""
        if self.transformer is not None:
            made = self.transformer.transform(X)
            if hasattr(made, "toarray"):
                made = made.toarray()
            return _finite(made, "what band_transformer makes of X", "impute in band_transformer")
        if self.positions is None:
            return np.asarray(X, dtype=np.float64, order="C")
        if not is_frame(X):
            seen = np.asarray(X)[:, self.positions]
        else:
            frame = _named(X)
            known = self.columns is not None and set(self.columns) <= set(frame.columns)
            seen = frame[:, self.columns if known else self.positions].to_numpy()
        advice = "impute them, or give a band_transformer that does"
        return _finite(seen, "the numeric columns of X", advice)


def _has_names(X: Any) -> bool:
    """Whether columns have names of their own; those of pandas may be numbers, or repeated."""
    names = list(getattr(X, "columns", ())) if hasattr(X, "set_axis") else []
    return len(set(names)) == len(names) and all(isinstance(name, str) for name in names)


def _named(X: Any) -> Any:
    """X as narwhals sees it; where columns have no names, their numbers stand for them."""
    if not _has_names(X):
        X = X.set_axis([str(at) for at in range(X.shape[1])], axis=1)
    return nw.from_native(X, eager_only=True)


def _finite(values: Any, what: str, advice: str) -> Array:
    # In rows, as arrays come: another order of summation would round differently.
    numbers: Array = check_array(values, dtype=np.float64, order="C", ensure_all_finite=False)
    bad = int(np.sum(~np.isfinite(numbers)))
    if bad:
        raise ValueError(f"{what} hold {bad} NaN or infinite values: {advice}")
    return numbers
