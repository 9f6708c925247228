"""Predictions of collections: lazy, block by block, in the shape that they have in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.delayed import Delayed

from sosbands.conformal import SignedCalibration
from sosbands.dask.allocation import kept_memory
from sosbands.dask.row_blocks import RowBlocks, blocks_of, checked_table, known_lengths
from sosbands.dask.running import Runner, constant
from sosbands.dask.thresholds import Thresholds
from sosbands.estimator import BandRegressor
from sosbands.types import Array


def lazily(
    runner: Runner,
    model: Any,
    method: Callable[..., Any],
    X: Any,
    *arguments: Any,
    shape: tuple[int, ...] = (),
    beside: Mapping[str, Any] | None = None,
) -> da.Array:
    """An array of what a method of a model says of every block; `shape` is that of one row.

    The model may be Delayed.
    """
    X = checked_table(X)
    call = _Call(method, arguments, _names(beside), np.empty((0, *shape)))
    tasks = _tasks(runner, call, model, X, beside or {})
    lengths = known_lengths(X)
    rows = [np.nan] * len(tasks) if lengths is None else lengths.tolist()
    return _array(tasks, rows, shape)


def lazy_draws(runner: Runner, model: Delayed, X: Any, n_samples: int, seed: int) -> da.Array:
    """Outputs drawn from the predictive distributions of rows, of shape (n, n_samples).

    Random numbers are those of one generator, whose stream each block enters at its own place: a
    draw depends on the seed and on the position of its row.
    """
    rows = RowBlocks.of(runner, X, {})
    tasks = [
        _drawn(model, block, n_samples, seed, start)
        for block, start in zip(rows.X, rows.starts.tolist(), strict=True)
    ]
    return _array(tasks, rows.lengths.tolist(), (n_samples,))


@dask.delayed(pure=False)  # type: ignore[untyped-decorator]
def with_distribution(model: Any, scores: Sequence[Array]) -> Any:
    """A copy of a model whose predictive distribution has all these signed scores."""
    distribution = SignedCalibration(np.concatenate(scores))
    calibration = Thresholds({}, distribution.size)
    calibration.distribution = distribution
    copied = copy(model)
    copied.calibration_ = calibration
    return copied


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
    made = dask.delayed(call, pure=False, traverse=False)
    known = model if isinstance(model, Delayed) else constant(model, "model")
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
        beside = dict(zip(self.names, told, strict=True))
        with kept_memory():
            return self.method(model, X, *self.arguments, **beside)


@dask.delayed(pure=False)  # type: ignore[untyped-decorator]
def _drawn(model: Any, X: Any, n_samples: int, seed: int, start: int) -> Array:
    if not len(X):
        return np.empty((0, n_samples))
    generator = np.random.PCG64(seed).advance(start * n_samples)
    with kept_memory():
        drawn: Array = BandRegressor.sample(model, X, n_samples, np.random.RandomState(generator))
    return drawn


def _array(tasks: Sequence[Delayed], rows: Sequence[float], shape: tuple[int, ...]) -> da.Array:
    """The results of tasks, with this shape for each row, one below the other."""
    blocks = [
        da.from_delayed(task, shape=(n, *shape), dtype=np.float64)
        for task, n in zip(tasks, rows, strict=True)
    ]
    return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)


def _names(beside: Mapping[str, Any] | None) -> tuple[str, ...]:
    return tuple(name for name, values in (beside or {}).items() if values is not None)
