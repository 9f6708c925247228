"""Coverage, width and score of intervals, and how well widths follow errors."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from sosbands.metrics.checks import (
    bounds,
    check_count,
    covered_rows,
    each,
    levels_of,
    mean_of,
    outputs,
)
from sosbands.types import Array, Indices


def coverage(
    y: ArrayLike, intervals: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float | Array:
    """The share of rows, or of their weights, with lower ≤ y ≤ upper, a float.

    Examples
    --------
    >>> from sosbands.metrics import coverage
    >>> coverage([1.0, 5.0], [[0, 2], [0, 2]])
    0.5
    """
    return mean_of(covered_rows(y, intervals), sample_weight)


def mean_width(intervals: ArrayLike) -> float | Array:
    """The mean of upper − lower, a float; infinite as soon as one interval is.

    Examples
    --------
    >>> from sosbands.metrics import mean_width
    >>> mean_width([[0, 2], [0, 4]])
    3.0
    """
    lower, upper = bounds(intervals)
    return mean_of(upper - lower)


def interval_score(
    y: ArrayLike,
    intervals: ArrayLike,
    level: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> float | Array:
    """The mean of (u − l) + (2/α)(l − y)₊ + (2/α)(y − u)₊, α = 1 − level, a float (Winkler, 1972).

    Smaller is better; the conditional quantiles of levels α/2 and 1 − α/2 are best. `level` is a
    number in (0, 1), or k of them. The mean may be weighted.

    Examples
    --------
    >>> from sosbands.metrics import interval_score
    >>> interval_score([1.0, 5.0], [[0, 2], [0, 2]], 0.5)  # width 2, and a miss by 3 costs 3·2/0.5
    8.0
    """
    lower, upper = bounds(intervals)
    p = levels_of(level, lower)
    t = outputs(y, lower)
    misses = np.maximum(lower - t, 0) + np.maximum(t - upper, 0)
    return mean_of(upper - lower + 2 / (1 - p) * misses, sample_weight)


def r2_sqi(
    y: ArrayLike, mean: ArrayLike, intervals: ArrayLike, *, n_bins: int = 50, level: ArrayLike
) -> float | Array:
    """R²_SQI of Deutschmann et al. (2023), a float: how well widths follow the errors.

    At most `n_bins` bins are cut at the quantiles of the width; equal widths share one. With qᵦ the
    `level`-quantile of |y − mean| in bin β and wᵦ the median width there, the width is regressed on
    the quantile without intercept: c = Σqᵦwᵦ/Σqᵦ², R² = 1 − Σ(wᵦ − c qᵦ)²/Σ(wᵦ − w̄)² ≤ 1. This is
    the direction of the paper's figure, where a band of nearly constant width has a largely
    negative R² (the reverse gives it zero). It is −∞ if all widths are equal, and NaN if a median
    width is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.metrics import r2_sqi
    >>> width = np.repeat([1.0, 2.0, 4.0], 100)
    >>> intervals = np.column_stack([-width, width])
    >>> round(r2_sqi(width * 0.8, 0 * width, intervals, n_bins=3, level=0.9), 6)
    1.0
    """
    lower, upper = bounds(intervals)
    p = levels_of(level, lower)
    error = np.abs(outputs(y, lower) - outputs(mean, lower, "mean")).reshape(len(lower))
    widths = upper - lower
    check_count("n_bins", n_bins, len(error))
    return each(lambda w, q: _r2_sqi(error, w, float(q), n_bins), widths, p)


def size_stratified_coverage(
    y: ArrayLike, intervals: ArrayLike, *, n_bins: int = 5
) -> float | Array:
    """The smallest coverage over bins cut at the quantiles of the width, a float.

    Equal widths share a bin, so that there may be fewer than `n_bins`.

    Examples
    --------
    >>> from sosbands.metrics import size_stratified_coverage
    >>> size_stratified_coverage([0, 3, 0, 3], [[-1, 1], [-1, 1], [-4, 4], [-4, 4]], n_bins=2)
    0.5
    """
    (lower, upper), covered = bounds(intervals), covered_rows(y, intervals)
    check_count("n_bins", n_bins, len(lower))
    return each(
        lambda w, hit: min(float(hit[rows].mean()) for rows in width_bins(w, n_bins)),
        upper - lower,
        covered,
    )


def width_bins(widths: Array, n_bins: int) -> list[Indices]:
    """The rows of each bin, cut at the quantiles of the width; equal widths share one.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.metrics import width_bins
    >>> [rows.tolist() for rows in width_bins(np.array([3.0, 1.0, 2.0, 4.0]), 2)]
    [[1, 2], [0, 3]]
    """
    check_count("n_bins", n_bins, len(widths))
    # By ranks: quantiles of infinite widths cannot be interpolated.
    bins = (rankdata(widths, method="min").astype(np.intp) - 1) * n_bins // len(widths)
    return [np.flatnonzero(bins == b) for b in np.unique(bins)]


def _r2_sqi(error: Array, width: Array, level: float, n_bins: int) -> float:
    bins = width_bins(width, n_bins)
    w = np.array([np.median(width[rows]) for rows in bins])
    q = np.array([np.quantile(error[rows], level) for rows in bins])
    if not np.all(np.isfinite(w)):
        return np.nan
    spread = np.sum((w - w.mean()) ** 2)
    c = (q @ w) / (q @ q) if np.any(q) else 0.0
    return float(1 - np.sum((w - c * q) ** 2) / spread) if spread > 0 else -np.inf
