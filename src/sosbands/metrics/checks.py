"""What metrics take is checked here, and averaged in one way."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sosbands.types import Array, Mask

Seed: TypeAlias = int | np.integer | np.random.Generator | None


def covered_rows(y: ArrayLike, intervals: ArrayLike) -> Mask:
    """Whether each interval holds its y, shape (n,) or (n, k)."""
    lower, upper = bounds(intervals)
    t = outputs(y, lower)
    return (lower <= t) & (t <= upper)


def bounds(intervals: ArrayLike) -> tuple[Array, Array]:
    """The lower and the upper bounds, each of shape (n,) or (n, k)."""
    C = np.asarray(intervals, dtype=np.float64)
    if C.ndim not in (2, 3) or C.shape[1] != 2 or C.size == 0:
        raise ValueError(f"intervals must have shape (n, 2) or (n, 2, k), got {C.shape}")
    lower, upper = C[:, 0], C[:, 1]
    if np.any(np.isnan(C)):
        raise ValueError("intervals must be numbers, got NaN: write an unbounded one as ±inf")
    if np.any((lower > upper) | (lower == np.inf) | (upper == -np.inf)):
        raise ValueError("intervals must have lower ≤ upper, got others: sort each pair of bounds")
    return lower, upper


def outputs(y: ArrayLike, lower: Array, name: str = "y") -> Array:
    """`y` as a column that broadcasts against bounds or quantiles."""
    t = np.asarray(y, dtype=np.float64)
    if t.shape != lower.shape[:1] or not np.all(np.isfinite(t)):
        raise ValueError(
            f"{name} must hold one finite number for each of the {len(lower)} rows, "
            f"got shape {t.shape}, NaN or infinity: drop the rows without an output"
        )
    return t.reshape(len(t), *(1,) * (lower.ndim - 1))


def inputs(X: ArrayLike, n: int | None = None) -> Array:
    """X with finite numbers and, if that is known, n rows."""
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.size == 0 or len(rows) != (n or len(rows)):
        raise ValueError(f"X must have shape ({n or 'n'}, d), got {rows.shape}: one row per output")
    if not np.all(np.isfinite(rows)):
        raise ValueError("X must be finite, got NaN or infinity: impute or drop those rows")
    return rows


def levels_of(level: ArrayLike, lower: Array | Mask) -> Array:
    """One level for each set of intervals, or column of quantiles: shape () or (k,)."""
    p, shape = np.asarray(level, dtype=np.float64), lower.shape[1:]
    if not np.all((p > 0) & (p < 1)):
        raise ValueError(f"level must be in (0, 1), got {level!r}: write 90 % as 0.9")
    if p.ndim and not shape:
        raise ValueError(
            f"level must be one number for one interval or quantile of each row, got {level!r}: "
            "give that number alone"
        )
    if p.shape not in ((), shape):
        raise ValueError(
            f"level must be one number, or one for each set of intervals or quantiles, "
            f"{shape[0]}, got {p.size}: name those that were predicted"
        )
    return np.broadcast_to(p, shape)


def check_count(name: str, count: int, n: int) -> None:
    """Refuse fewer than one part of n rows, or more than n."""
    if not 1 <= count <= n:
        raise ValueError(f"{name} must be from 1 to the number of rows ({n}), got {count}")


def each(metric: Callable[..., float], *arrays: Array | Mask) -> float | Array:
    """The metric of each set of intervals, which the last axis counts if there is one."""
    if arrays[0].ndim == 1:
        return metric(*arrays)
    return np.array([metric(*(a[..., j] for a in arrays)) for j in range(arrays[0].shape[1])])


def mean_of(values: ArrayLike, weights: ArrayLike | None = None) -> float | Array:
    """The mean over the rows, a float if they hold one number each."""
    rows = np.asarray(values, dtype=np.float64)
    if weights is None:
        mean: Array = np.asarray(rows.mean(axis=0))
    else:
        w = _checked_weights(weights, len(rows))
        # What has no weight may be infinite.
        mean = np.asarray(np.average(rows[w > 0], 0, w[w > 0]))
    return float(mean) if mean.ndim == 0 else mean


def _checked_weights(weights: ArrayLike, n: int) -> Array:
    """Finite weights of n rows, none negative and not all zero."""
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},), one for each row, got {w.shape}")
    if not np.all(np.isfinite(w)) or w.min() < 0 or not w.any():
        raise ValueError(
            "sample_weight must hold finite numbers >= 0, some of them positive, got numbers from "
            f"{w.min():g} to {w.max():g}: give 0 to leave a row out"
        )
    return np.asarray(w / w.max())  # whose sum does not overflow
