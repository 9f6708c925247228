"""The share of rows that their intervals cover, by level, width and cluster, and what chance does.

`evaluate`, `CoverageDisplay` and the report count here, so that they show the same numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import betabinom, binomtest

from sosbands.conformal import order_rank
from sosbands.core.checks import check_count
from sosbands.evaluation.number_words import number
from sosbands.metrics import Seed, clusters, width_bins
from sosbands.types import Array, Indices, Mask


@dataclass(frozen=True)
class LevelCoverage:
    """What intervals of one level do: the share that covers, with 95 % binomial bounds.

    `expected` is where the share was to be expected, if the number of calibration rows is known.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.evaluation.coverage_counts import coverage_by_level
    >>> intervals = np.tile([[-1.0], [1.0]], (4, 1, 1))
    >>> (found,) = coverage_by_level(np.array([0.0, 0.5, 1.0, 2.0]), intervals, [0.9])
    >>> found.coverage, found.mean_width
    (0.75, 2.0)
    """

    level: float
    coverage: float
    bounds: tuple[float, float]
    mean_width: float
    n_infinite: int
    expected: tuple[float, float] | None = None


@dataclass(frozen=True)
class PartCoverage:
    """The coverage of some of the rows: of similar width, or near each other.

    `expected` is where it was to be expected if the level held for this part, too; None if the
    number of calibration rows is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.evaluation.coverage_counts import coverage_by_width
    >>> intervals = np.array([[-1.0, 1.0], [-1.0, 1.0], [-5.0, 5.0], [-5.0, 5.0]])
    >>> narrow, wide = coverage_by_width(np.array([0.0, 2.0, 0.0, 2.0]), intervals, 2)
    >>> narrow.coverage, wide.coverage, wide.median_width
    (0.5, 1.0, 10.0)
    """

    label: str
    n_rows: int
    coverage: float
    bounds: tuple[float, float]
    median_width: float
    expected: tuple[float, float] | None = None

    @property
    def short(self) -> bool:
        """Whether fewer rows are covered than chance explains."""
        return self.expected is not None and self.coverage < self.expected[0]


def inside(y: Array, intervals: Array) -> Mask:
    """Whether each interval holds its y; intervals of shape (n, 2), or (n, 2, k) for k levels."""
    t = y if intervals.ndim == 2 else y[:, None]
    covered: Mask = (intervals[:, 0] <= t) & (t <= intervals[:, 1])
    return covered


def coverage_by_level(
    y: Array,
    intervals: Array,
    levels: Sequence[float],
    n_calibration: int | None = None,
    asked: float | None = None,
) -> tuple[LevelCoverage, ...]:
    """All rows at each of k levels; intervals of shape (n, 2, k).

    The ranges to be expected of levels other than the one asked for allow for as many looks.
    """

    def expected(level: float) -> tuple[float, float] | None:
        chance = 0.05 if level == asked else 0.05 / len(levels)
        if n_calibration is None:
            return None
        return expected_coverage(level, n_calibration, n, chance=chance)

    hits, widths, n = inside(y, intervals).sum(axis=0), intervals[:, 1] - intervals[:, 0], len(y)
    return tuple(
        LevelCoverage(
            level=level,
            coverage=float(hits[j] / n),
            bounds=binomial_bounds(int(hits[j]), n),
            mean_width=float(widths[:, j].mean()),
            n_infinite=int(np.isinf(widths[:, j]).sum()),
            expected=expected(level),
        )
        for j, level in enumerate(levels)
    )


def coverage_by_width(y: Array, intervals: Array, n_bins: int) -> tuple[PartCoverage, ...]:
    """Narrow to wide intervals, in bins cut at the quantiles of the width; equal ones share one."""
    widths = intervals[:, 1] - intervals[:, 0]
    return tuple(
        part_coverage(_range(widths[rows]), y[rows], intervals[rows])
        for rows in width_bins(widths, n_bins)
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
    return tuple(part_coverage(label(rows), y[rows], intervals[rows]) for rows in found)


def distribution_shares(values: Array, n_bins: int) -> tuple[PartCoverage, ...]:
    """The share of outputs in parts of equal probability of their predictive distributions."""
    check_count("n_bins", n_bins)
    counts, edges = np.histogram(values, bins=n_bins, range=(0.0, 1.0))
    n, parts = len(values), zip(counts.tolist(), edges[:-1], edges[1:], strict=True)
    return tuple(
        PartCoverage(f"{low:.3g} to {high:.3g}", n, count / n, binomial_bounds(count, n), 0.0)
        for count, low, high in parts
    )


def with_expected(
    parts: Sequence[PartCoverage], level: float, n_calibration: int
) -> tuple[PartCoverage, ...]:
    """The parts with the range of coverage that chance explains, allowing for as many looks."""
    chance = 0.05 / max(len(parts), 1)
    return tuple(
        replace(p, expected=expected_coverage(level, n_calibration, p.n_rows, chance=chance))
        for p in parts
    )


def binomial_bounds(hits: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Bounds of a probability that held in `hits` of n cases (Clopper and Pearson, 1934)."""
    found = binomtest(hits, n).proportion_ci(confidence)
    return float(found.low), float(found.high)


def expected_coverage(level: float, m: int, n: int, *, chance: float = 0.05) -> tuple[float, float]:
    """Where the coverage of n rows lies after a split calibration with m, but for a small chance.

    Given the calibration rows the coverage is Beta(k, m + 1 − k) distributed, k = ⌈level·(m + 1)⌉,
    so that the number of rows covered is beta-binomial.
    """
    k = order_rank(level, m)
    if k > m:
        return 1.0, 1.0
    below = np.cumsum(betabinom.pmf(np.arange(n + 1), n, k, m + 1 - k))
    low, high = np.searchsorted(below, [chance / 2, 1 - chance / 2])
    return float(low / n), float(min(high, n) / n)


def part_coverage(label: str, y: Array, intervals: Array) -> PartCoverage:
    """The coverage of these rows."""
    hits, n = int(inside(y, intervals).sum()), len(y)
    return PartCoverage(
        label=label,
        n_rows=n,
        coverage=hits / n,
        bounds=binomial_bounds(hits, n),
        median_width=float(np.median(intervals[:, 1] - intervals[:, 0])),
    )


def _range(widths: Array) -> str:
    low, high = (number(float(end), 3) for end in (widths.min(), widths.max()))
    return low if low == high else f"{low} to {high}"
