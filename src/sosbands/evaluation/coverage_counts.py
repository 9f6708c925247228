"""The share of rows that their intervals cover, by level, width and cluster, and what chance does.

`evaluate`, `CoverageDisplay` and the report count here, so that they show the same numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import betabinom, binomtest

from sosbands.conformal import order_rank
from sosbands.metrics import Seed, clusters, width_bins
from sosbands.types import Array, Indices, Mask


@dataclass(frozen=True)
class LevelCoverage:
    """What intervals of one level do: the share that covers, with 95 % binomial bounds."""

    level: float
    coverage: float
    bounds: tuple[float, float]
    mean_width: float
    n_infinite: int


@dataclass(frozen=True)
class PartCoverage:
    """The coverage of some of the rows: of similar width, or near each other."""

    label: str
    n_rows: int
    coverage: float
    bounds: tuple[float, float]
    median_width: float


def inside(y: Array, intervals: Array) -> Mask:
    """Whether each interval holds its y; intervals of shape (n, 2), or (n, 2, k) for k levels."""
    t = y if intervals.ndim == 2 else y[:, None]
    covered: Mask = (intervals[:, 0] <= t) & (t <= intervals[:, 1])
    return covered


def coverage_by_level(
    y: Array, intervals: Array, levels: Sequence[float]
) -> tuple[LevelCoverage, ...]:
    """All rows at each of k levels; intervals of shape (n, 2, k)."""
    hits, widths, n = inside(y, intervals).sum(axis=0), intervals[:, 1] - intervals[:, 0], len(y)
    return tuple(
        LevelCoverage(
            level=level,
            coverage=float(hits[j] / n),
            bounds=binomial_bounds(int(hits[j]), n),
            mean_width=float(widths[:, j].mean()),
            n_infinite=int(np.isinf(widths[:, j]).sum()),
        )
        for j, level in enumerate(levels)
    )


def coverage_by_width(y: Array, intervals: Array, n_bins: int) -> tuple[PartCoverage, ...]:
    """Narrow to wide intervals, in bins cut at the quantiles of the width; equal ones share one."""
    widths = intervals[:, 1] - intervals[:, 0]
    return tuple(
        _part(_range(widths[rows]), y[rows], intervals[rows]) for rows in width_bins(widths, n_bins)
    )


def coverage_by_cluster(
    X: ArrayLike,
    y: Array,
    intervals: Array,
    *,
    n_clusters: int | None = None,
    random_state: Seed = None,
    label: Callable[[Indices], str] = lambda rows: f"{len(rows)}",
) -> tuple[PartCoverage, ...]:
    """k-means clusters of X as it is; `label` names a cluster by its rows."""
    found = clusters(X, n_clusters=n_clusters, random_state=random_state)
    return tuple(_part(label(rows), y[rows], intervals[rows]) for rows in found)


def falls_short(level: float, parts: Sequence[PartCoverage]) -> bool:
    """Whether a part is covered less than chance explains, allowing for as many looks."""
    confidence = 1 - 0.05 / max(len(parts), 1)
    return any(
        binomial_bounds(round(part.coverage * part.n_rows), part.n_rows, confidence=confidence)[1]
        < level
        for part in parts
    )


def binomial_bounds(hits: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Bounds of a probability that held in `hits` of n cases (Clopper and Pearson, 1934)."""
    found = binomtest(hits, n).proportion_ci(confidence)
    return float(found.low), float(found.high)


def expected_coverage(level: float, m: int, n: int) -> tuple[float, float]:
    """Where the coverage of n rows lies with probability ≥ 0.95 after a split calibration with m.

    Given the calibration rows the coverage is Beta(k, m + 1 − k) distributed, k = ⌈level·(m + 1)⌉,
    so that the number of rows covered is beta-binomial.
    """
    k = order_rank(level, m)
    if k > m:
        return 1.0, 1.0
    below = np.cumsum(betabinom.pmf(np.arange(n + 1), n, k, m + 1 - k))
    low, high = np.searchsorted(below, [0.025, 0.975])
    return float(low / n), float(min(high, n) / n)


def _part(label: str, y: Array, intervals: Array) -> PartCoverage:
    hits, n = int(inside(y, intervals).sum()), len(y)
    return PartCoverage(
        label=label,
        n_rows=n,
        coverage=hits / n,
        bounds=binomial_bounds(hits, n),
        median_width=float(np.median(intervals[:, 1] - intervals[:, 0])),
    )


def _range(widths: Array) -> str:
    low, high = (f"{end:.3g}".replace("inf", "∞") for end in (widths.min(), widths.max()))
    return low if low == high else f"{low} to {high}"
