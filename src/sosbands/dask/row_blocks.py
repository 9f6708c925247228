"""Collections of Dask as aligned blocks of rows, which are known by their position in the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.delayed import Delayed
from sklearn.utils import _safe_indexing

from sosbands.dask.running import Runner
from sosbands.quoting import quoted
from sosbands.types import Indices


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """The rows of a table and what is told of them, block by block.

    Attributes
    ----------
    X : list of Delayed
        Arrays of shape (n, d), or data frames.
    beside : dict
        By name, what is told of the rows of each block: a list of Delayed.
    lengths : array of shape (blocks,)
        The rows of each block.
    meta : array or data frame
        A block of X without rows.
    """

    X: list[Delayed]
    beside: dict[str, list[Delayed]]
    lengths: Indices
    meta: Any

    @classmethod
    def of(cls, runner: Runner, X: Any, beside: Mapping[str, Any]) -> RowBlocks:
        """X and the collections beside it (those that are None are left out), by position."""
        tables = {"X": checked_table(X)}
        tables |= {
            name: _column(name, given) for name, given in beside.items() if given is not None
        }
        lengths = _lengths(runner, tables)
        n = {name: int(rows.sum()) for name, rows in lengths.items()}
        for name, rows in n.items():
            if rows != n["X"]:
                raise ValueError(
                    f"X has {n['X']} rows and {name} has {rows}: give both for the same rows"
                )
        parts = {name: blocks_of(one) for name, one in tables.items()}
        aligned = {
            name: parts[name]
            if np.array_equal(lengths[name], lengths["X"])
            else _aligned(parts[name], lengths[name], lengths["X"])
            for name in tables
            if name != "X"
        }
        return cls(parts["X"], aligned, lengths["X"], tables["X"]._meta)

    @property
    def n(self) -> int:
        """All rows."""
        return int(self.lengths.sum())

    @property
    def starts(self) -> Indices:
        """The position of the first row of each block."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def is_frame(self) -> bool:
        """Whether blocks are data frames."""
        return hasattr(self.meta, "iloc")

    def local(self, positions: Indices) -> list[Indices]:
        """Ascending positions in the table as positions in each block."""
        ends = np.searchsorted(positions, np.cumsum(self.lengths))
        parts = np.split(positions, ends[:-1])
        return [part - start for part, start in zip(parts, self.starts, strict=True)]

    def parts(self, values: Any) -> list[Any]:
        """An array with an entry for each row, cut into blocks."""
        return list(np.split(values, np.cumsum(self.lengths)[:-1]))


def checked_table(X: Any) -> Any:
    """A Dask array of one block of columns, or a Dask dataframe."""
    if isinstance(X, dd.DataFrame):
        return X
    if not isinstance(X, da.Array):
        raise ValueError(
            f"X must be a Dask array or dataframe, got {type(X).__name__}: use BandRegressor, or "
            "dask.array.from_array"
        )
    if X.ndim != 2 or np.isnan(X.shape[1]):
        raise ValueError(
            f"X must have two dimensions and a known number of columns, got the shape {X.shape}: "
            "reshape it, or call X.compute_chunk_sizes()"
        )
    return X if X.numblocks[1] == 1 else X.rechunk({1: X.shape[1]})


def blocks_of(collection: Any) -> list[Delayed]:
    """One Delayed for each block of rows."""
    return list(np.ravel(np.array(collection.to_delayed(), dtype=object)))


def known_lengths(collection: Any) -> Indices | None:
    """The rows of each block of an array; None where they are not known."""
    if isinstance(collection, da.Array) and not np.isnan(collection.shape[0]):
        return np.array(collection.chunks[0], dtype=np.intp)
    return None


def _column(name: str, values: Any) -> Any:
    """What is told of each row: a Dask series, or a Dask array of one dimension."""
    if isinstance(values, dd.DataFrame) and len(values.columns) == 1:
        values = values[values.columns[0]]
    if isinstance(values, da.Array) and values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if isinstance(values, dd.Series) or (isinstance(values, da.Array) and values.ndim == 1):
        return values
    seen = f"shape {values.shape}" if isinstance(values, da.Array) else type(values).__name__
    raise ValueError(
        f"{name} must be a Dask array of shape (n,) or a Dask series, got {quoted(seen)}: "
        "dask.array.from_array makes one"
    )


def _lengths(runner: Runner, tables: Mapping[str, Any]) -> dict[str, Indices]:
    """The rows of each block; those that are not known are counted, in one column of a frame."""
    found = {name: known_lengths(table) for name, table in tables.items()}
    unknown = {
        name: blocks_of(_narrow(tables[name])) for name, rows in found.items() if rows is None
    }
    # Blocks of one number are counted together: columns of one table are then read once, and
    # none is kept for another.
    tasks = [_counts(list(blocks)) for blocks in zip_longest(*unknown.values())]
    if tasks:
        counted = runner.results(tasks, reading="counting")
        for name, counts in zip(unknown, zip(*counted, strict=True), strict=True):
            found[name] = np.array(counts[: len(unknown[name])], dtype=np.intp)
    return {name: rows for name, rows in found.items() if rows is not None}


def _narrow(collection: Any) -> Any:
    """One column of a frame, so that files of columns are not read as a whole."""
    return (
        collection[[collection.columns[0]]] if isinstance(collection, dd.DataFrame) else collection
    )


@dask.delayed(pure=True)  # type: ignore[untyped-decorator]
def _counts(blocks: Sequence[Any]) -> list[int]:
    return [0 if block is None else len(block) for block in blocks]


def _aligned(blocks: Sequence[Delayed], lengths: Indices, wanted: Indices) -> list[Delayed]:
    """The same rows in blocks of other lengths."""
    edges, ends = np.cumsum(lengths) - lengths, np.cumsum(lengths)
    made, start = [], 0
    for stop in np.cumsum(wanted):
        touched = np.flatnonzero((edges < stop) & (ends > start)).tolist() or [0]
        cuts = [(max(start - edges[k], 0), max(min(stop, ends[k]) - edges[k], 0)) for k in touched]
        made.append(_stuck([blocks[k] for k in touched], cuts))
        start = stop
    return made


@dask.delayed(pure=True)  # type: ignore[untyped-decorator]
def _stuck(blocks: Sequence[Any], cuts: Sequence[tuple[int, int]]) -> Any:
    """Parts of some blocks as one."""
    return joined([block[first:last] for block, (first, last) in zip(blocks, cuts, strict=True)])


def joined(blocks: Sequence[Any]) -> Any:
    """Blocks of one kind, one below the other; categories are those of all."""
    if len(blocks) == 1:
        return blocks[0]
    if hasattr(blocks[0], "iloc"):
        from dask.dataframe.dispatch import concat

        return concat(list(blocks), ignore_index=True)
    return np.concatenate(blocks)


def taken(block: Any, rows: Indices) -> Any:
    """Some rows of an array, a series or a data frame."""
    return _safe_indexing(block, rows)
