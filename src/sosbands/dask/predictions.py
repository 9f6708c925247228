"""Predictions of collections: lazy, block by block, in the shape that they have in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.delayed import Delayed

from sosbands.dask.row_blocks import RowBlocks, blocks_of, checked_table, known_lengths
from sosbands.dask.running import Runner, constant


def lazily(
    runner: Runner,
    model: Any,
    method: Callable[..., Any],
    X: Any,
    *arguments: Any,
    shape: tuple[int, ...] = (),
    beside: Mapping[str, Any] | None = None,
) -> da.Array:
    """An array of what a method of a model says of every block; `shape` is that of one row."""
    X = checked_table(X)
    call = _Call(method, arguments, _names(beside), np.empty((0, *shape)))
    tasks = _tasks(runner, call, model, X, beside or {})
    lengths = known_lengths(X)
    rows = [np.nan] * len(tasks) if lengths is None else lengths.tolist()
    blocks = [
        da.from_delayed(task, shape=(n, *shape), dtype=np.float64)
        for task, n in zip(tasks, rows, strict=True)
    ]
    return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)


def lazy_frame(
    runner: Runner,
    model: Any,
    method: Callable[..., Any],
    X: dd.DataFrame,
    *arguments: Any,
    names: Sequence[str],
    beside: Mapping[str, Any] | None = None,
) -> dd.DataFrame:
    """The same as a dataframe with these columns and the index of X."""
    meta = type(X._meta)(np.empty((0, len(names))), columns=list(names), index=X._meta.index[:0])
    call = _Call(method, arguments, _names(beside), meta)
    tasks = _tasks(runner, call, model, X, beside or {})
    return dd.from_delayed(tasks, meta=meta, divisions=X.divisions, verify_meta=False)


def _tasks(
    runner: Runner, call: _Call, model: Any, X: Any, beside: Mapping[str, Any]
) -> list[Delayed]:
    blocks, columns = blocks_of(X), []
    if call.names:  # each row needs its own: blocks of other lengths are put in line
        rows = RowBlocks.of(runner, X, {name: beside[name] for name in call.names})
        blocks, columns = rows.X, [rows.beside[name] for name in call.names]
    made, known = dask.delayed(call, pure=False, traverse=False), constant(model, "model")
    return [made(known, *block) for block in zip(blocks, *columns, strict=True)]


@dataclass(frozen=True, eq=False)
class _Call:
    """What a model in memory is asked about one block."""

    method: Callable[..., Any]
    arguments: tuple[Any, ...]
    names: tuple[str, ...]  # of what is told of the rows
    empty: Any  # the answer for a block without rows

    def __call__(self, model: Any, X: Any, *told: Any) -> Any:
        if not len(X):
            return self.empty
        return self.method(model, X, *self.arguments, **dict(zip(self.names, told, strict=True)))


def _names(beside: Mapping[str, Any] | None) -> tuple[str, ...]:
    return tuple(name for name, values in (beside or {}).items() if values is not None)
