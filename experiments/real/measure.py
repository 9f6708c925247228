"""One method on one random split of one data set: what is measured.

Half of the rows train, a quarter calibrates, a quarter tests. y is in units of its standard
deviation. Bounds are cut off one range of the training outputs beyond their extremes, for all
methods alike: an infinite interval (they are counted) would make every average infinite. Clusters
and slabs are those of standardised inputs. Outlying inputs make clusters of one or two rows, which
count as much as the others, so that the gap is also taken over clusters of the ranks of the inputs.
The excess risk (ERT) has a classifier look for inputs where too many or too few rows are covered;
the CRPS judges the whole predictive distribution of methods that have one, and is the same at every
level. Seconds are those of the processor, on one thread, and a fit is for all levels together.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

from experiments.methods import QUANTILES, Array, Fitted, load
from sosbands.metrics import (
    cluster_count,
    coverage,
    coverage_gap,
    crps,
    ert,
    interval_score,
    mean_width,
    worst_slab_coverage,
)

LEVELS = (0.5, 0.8, 0.9, 0.95)
DIRECTIONS = 200
# Of fewer test rows a slab holds less than twenty in either half, and a classifier learns nothing.
LOCAL_ROWS = 200
# What the file of a data set holds beside method, seed, level and version.
COLUMNS = (
    *("n", "interval_score", "mean_width", "coverage", "coverage_gap", "rank_gap", "ert"),
    *("worst_slab", "crps", "infinite", "fit_seconds", "predict_seconds"),
)


@lru_cache(maxsize=2)
def rows_of(path: Path) -> tuple[Array, Array]:
    """Inputs and outputs of a CSV file with a header; y is the last column."""
    table = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    if table.shape[1] < 2 or not np.all(np.isfinite(table)):
        raise ValueError(
            f"{path.name} must hold numbers in two columns or more, y in the last, got shape "
            f"{table.shape}, NaN or infinity: drop the rows that are not complete"
        )
    return table[:, :-1], table[:, -1] / table[:, -1].std()


def split(n: int, seed: int) -> list[Any]:
    """The rows that train, calibrate and test."""
    rows = np.random.default_rng(seed).permutation(n)
    return np.split(rows, np.cumsum([n // 2, n // 4]))


def applies(path: Path, method: str) -> bool:
    """Whether a method can be used with the training rows of a data set."""
    X, _ = rows_of(path)
    return load(method).applies(len(X) // 2, X.shape[1])


def measure(path: Path, method: str, seed: int) -> list[dict[str, Any]]:
    """A row for each level."""
    X, y = rows_of(path)
    train, cal, test = split(len(y), seed)
    with threadpool_limits(1):  # of several processes, the metrics as well
        start = process_time()
        fitted = load(method).fit(X[train], y[train], X[cal], y[cal], levels=LEVELS, seed=seed)
        between = process_time()
        C = fitted.intervals(X[test])
        end = process_time()
        infinite = np.isinf(C).any(axis=1).mean(axis=0)
        low, high = y[train].min(), y[train].max()
        C = np.clip(C, 2 * low - high, 2 * high - low)
        columns = {**quality(X, y, test, C, seed), "infinite": infinite}
        same = {
            "n": len(y),
            "crps": distribution_score(fitted, X[test], y[test]),
            "fit_seconds": between - start,
            "predict_seconds": end - between,
        }
    found = [
        {**same, **{name: float(values[j]) for name, values in columns.items()}}
        for j in range(len(LEVELS))
    ]
    return [
        {"level": level, **{name: row[name] for name in COLUMNS}}
        for level, row in zip(LEVELS, found, strict=True)
    ]


def quality(X: Array, y: Array, test: Any, C: Array, seed: int) -> dict[str, Any]:
    """The metrics of the intervals of all levels; NaN where too few rows test."""
    Z, t = ((X - X.mean(axis=0)) / spread(X))[test], y[test]
    ranks = rankdata(X, axis=0)[test] / len(X)
    clusters = {"n_clusters": max(1, cluster_count(len(t))), "random_state": seed}
    slab = excess = np.full(len(LEVELS), np.nan)
    if len(t) >= LOCAL_ROWS:
        slab = worst_slab_coverage(Z, t, C, n_directions=DIRECTIONS, random_state=seed)
        excess = ert(Z, t, C, LEVELS, random_state=seed)
    return {
        "interval_score": interval_score(t, C, LEVELS),
        "mean_width": mean_width(C),
        "coverage": coverage(t, C),
        "coverage_gap": coverage_gap(Z, t, C, LEVELS, **clusters),
        "rank_gap": coverage_gap(ranks, t, C, LEVELS, **clusters),
        "ert": excess,
        "worst_slab": slab,
    }


def distribution_score(fitted: Fitted, X: Array, y: Array) -> float:
    """The CRPS at new rows, NaN without a distribution."""
    return np.nan if fitted.quantiles is None else crps(y, fitted.quantiles(X), QUANTILES)


def spread(X: Array) -> Array:
    """The standard deviation of each input, one where it does not vary."""
    return np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
