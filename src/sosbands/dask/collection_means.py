"""Means that a regressor of Dask learns from collections: from all rows, and without each fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sosbands.dask.row_blocks import RowBlocks, taken
from sosbands.dask.running import Runner
from sosbands.dask.watching import trained_watching
from sosbands.learning.means import Mean, OutOfSample, checked_prediction
from sosbands.learning.progress import Progress
from sosbands.types import Array, Folds, Mask


def fits_collections(estimator: Any) -> bool:
    """Whether a regressor is one of Dask's, by the names that XGBoost and LightGBM give them."""
    return type(estimator).__name__.startswith("Dask")


def collection_mean(
    runner: Runner,
    estimator: Any,
    rows: RowBlocks,
    train: Mask,
    *,
    numbers: NDArray[np.int16],
    X: Any,
    chosen: NDArray[np.int16],
    progress: Progress,
) -> tuple[OutOfSample, Folds]:
    """The mean of all rows that train, and what means without its fold predict for each row of X.

    Parameters
    ----------
    rows : RowBlocks
        All rows, y among what is told of them.
    train : array of bool, of shape (n,)
        Which of them train.
    numbers : array of int, of shape (n_train,)
        The fold of each row that trains.
    X : array or data frame
        The rows of the band.
    chosen : array of int
        Their folds.
    """
    present = np.unique(chosen).tolist()
    folds = [(np.flatnonzero(chosen != k), np.flatnonzero(chosen == k)) for k in present]
    predictions = np.full(len(chosen), np.nan)
    of_all = np.full(len(train), -1, dtype=np.int16)
    of_all[train] = numbers
    with progress.phase("mean", len(folds) + 1):
        for number, (_, test) in zip(present, folds, strict=True):
            model = _trained(runner, estimator, rows, train & (of_all != number))
            predictions[test] = checked_prediction(model, taken(X, test))
            progress.step()
        model = _trained(runner, estimator, rows, train)
        progress.step()
    return OutOfSample(Mean(model, False), predictions), folds


def in_memory(model: Any) -> Any:
    """A fitted regressor of Dask as one that predicts blocks in memory."""
    if hasattr(model, "to_local"):
        return model.to_local()
    if type(model).__module__.startswith("xgboost"):
        from xgboost import XGBRegressor

        local = XGBRegressor(**model.get_params())
        local.load_model(model.get_booster().save_raw())
        return local
    return model


def _trained(runner: Runner, estimator: Any, rows: RowBlocks, kept: Mask) -> Any:
    """A clone of the regressor, trained with some of the rows, which is then in memory."""
    parts = rows.parts(kept)
    counts = [int(np.count_nonzero(part)) for part in parts]
    blocks = [k for k, count in enumerate(counts) if count]

    def some(column: Sequence[Any]) -> list[Any]:
        return [_kept(column[k], np.packbits(parts[k])) for k in blocks]

    sizes = [counts[k] for k in blocks]
    y = _vector(some(rows.beside["y"]), sizes, frame=rows.is_frame)
    passed = {}
    if "sample_weight" in rows.beside:
        passed["sample_weight"] = _vector(
            some(rows.beside["sample_weight"]), sizes, frame=rows.is_frame
        )
    X = _table(some(rows.X), sizes, rows)
    runner.count("mean")

    def train() -> Any:
        fresh = clone(estimator)
        if runner.client is not None and hasattr(fresh, "client"):
            fresh.client = runner.client
        return in_memory(fresh.fit(X, y, **passed))

    return trained_watching(train, runner.client, type(estimator).__name__)


def _table(blocks: Sequence[Any], sizes: Sequence[int], rows: RowBlocks) -> Any:
    if rows.is_frame:
        return dd.from_delayed(list(blocks), meta=rows.meta, verify_meta=False)
    columns, dtype = rows.meta.shape[1], rows.meta.dtype
    return da.concatenate(
        [
            da.from_delayed(block, shape=(n, columns), dtype=dtype)
            for block, n in zip(blocks, sizes, strict=True)
        ]
    )


def _vector(blocks: Sequence[Any], sizes: Sequence[int], *, frame: bool) -> Any:
    """Outputs or weights, as a series beside a frame and as an array beside an array."""
    if frame:
        import pandas as pd

        series = [_as_series(block) for block in blocks]
        meta = pd.Series(np.empty(0), dtype=np.float64)
        return dd.from_delayed(series, meta=meta, verify_meta=False)
    arrays = [_as_array(block) for block in blocks]
    return da.concatenate(
        [
            da.from_delayed(one, shape=(n,), dtype=np.float64)
            for one, n in zip(arrays, sizes, strict=True)
        ]
    )


@dask.delayed(pure=True)  # type: ignore[untyped-decorator]
def _kept(block: Any, bits: NDArray[np.uint8]) -> Any:
    return taken(block, np.flatnonzero(np.unpackbits(bits, count=len(block))))


@dask.delayed(pure=True)  # type: ignore[untyped-decorator]
def _as_array(block: Any) -> Array:
    return np.asarray(block, dtype=np.float64)


@dask.delayed(pure=True)  # type: ignore[untyped-decorator]
def _as_series(block: Any) -> Any:
    import pandas as pd

    index = getattr(block, "index", None)
    return pd.Series(np.asarray(block, dtype=np.float64), index=index)
