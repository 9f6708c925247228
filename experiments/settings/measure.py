"""One fit on one split of one set: interval scores at two levels, coverage and processor time."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing as take
from threadpoolctl import threadpool_limits

from experiments.real.measure import rows_of, spread
from experiments.settings.registry import SETTINGS
from experiments.settings.setup import (
    LEVELS,
    SETUPS,
    Array,
    Setup,
    Variant,
    default_model,
)
from sosbands.metrics import coverage, interval_score

MISSING = 0.2
# How fast the noise of linear outputs grows.
GROWTH = {"linear": 0.5, "even noise": 0.0}
# Columns that say nothing, beside those of a table.
NOISE_COLUMNS = 90
# Columns with at most so many different numbers, whole and more than two, become texts.
MOST_TEXTS = 31

Parts = list[npt.NDArray[np.intp]]


def parts(rows: int, seed: int, most: int) -> Parts:
    """Rows that train, calibrate and test: a half and two quarters."""
    order = np.random.default_rng(seed).permutation(rows)[:most]
    return np.split(order, np.cumsum([len(order) // 2, len(order) // 4]))


def baseline(folder: str, *, setup: str, set: str, seed: int) -> list[dict[str, Any]]:
    """With all defaults."""
    return measured(Path(folder), SETUPS[setup], None, set, seed)


def changed(
    folder: str, setting: str, *, without: str, setup: str, set: str, seed: int
) -> list[dict[str, Any]]:
    """With one of them changed."""
    variant = SETTINGS[setting].variant(without, setup)
    return measured(Path(folder), SETUPS[setup], variant, set, seed)


def measured(
    folder: Path, setup: Setup, variant: Variant | None, name: str, seed: int
) -> list[dict[str, Any]]:
    """A row for each level."""
    X, y = table(folder / f"{name}.csv", setup.cells, seed)
    if variant is None:
        return scored(default_model(setup, seed), setup, X, y, seed)
    with variant.changed_constants():
        return scored(variant.model(seed), setup, X, y, seed)


def table(path: Path, cells: str, seed: int) -> tuple[Any, Array]:
    """Inputs and outputs, these in units of their standard deviation."""
    X, y = rows_of(path)
    if cells in GROWTH:
        y = linear_outputs(X, seed, GROWTH[cells])
    if cells == "missing":
        X = np.where(np.random.default_rng(seed).random(X.shape) < MISSING, np.nan, X)
    if cells == "many inputs":
        noise = np.random.default_rng(seed).standard_normal((len(X), NOISE_COLUMNS))
        X = np.column_stack([X, noise])
    return (with_texts(X) if cells == "texts" else X), y


def linear_outputs(X: Array, seed: int, growth: float) -> Array:
    """As much noise as signal, whose size may grow with the first input."""
    rng, Z = np.random.default_rng(seed), (X - X.mean(axis=0)) / spread(X)
    signal = Z @ rng.standard_normal(Z.shape[1])
    y = signal / signal.std() + np.exp(growth * Z[:, 0]) * rng.standard_normal(len(Z))
    return np.asarray(y / y.std())


def with_texts(X: Array) -> Any:
    """A frame in which columns of few different whole numbers are texts."""
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    for name in frame:
        whole = np.array_equal(frame[name], np.round(frame[name]))
        if whole and 2 < frame[name].nunique() <= MOST_TEXTS:
            frame[name] = frame[name].astype(int).astype(str)
    return frame


def scored(model: Any, setup: Setup, X: Any, y: Array, seed: int) -> list[dict[str, Any]]:
    """Fit, calibrate and test; intervals are cut off one range of y beyond its extremes."""
    train, rest, test = parts(len(y), seed, setup.max_rows)
    with threadpool_limits(1):
        start = process_time()
        if setup.own_split:
            train = np.concatenate([train, rest])
            model.fit(take(X, train), y[train])
        else:
            model.fit(take(X, train), y[train]).conformalize(take(X, rest), y[rest])
        seconds = process_time() - start
        C = model.predict_interval(take(X, test), list(LEVELS))
    low, high = y[train].min(), y[train].max()
    C = np.clip(C, 2 * low - high, 2 * high - low)
    scores, covered = interval_score(y[test], C, LEVELS), coverage(y[test], C)
    return [
        {
            "level": level,
            "score": float(scores[j]),
            "coverage": float(covered[j]),
            "seconds": seconds,
        }
        for j, level in enumerate(LEVELS)
    ]
