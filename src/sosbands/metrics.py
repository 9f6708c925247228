"""How good prediction intervals are: coverage, width, and how both vary over the inputs.

Everywhere y has shape (n,), X shape (n, d), and intervals shape (n, 2), or (n, 2, k) for k levels,
with finite or infinite bounds. What is written as a float below is then an array of shape (k,). The
slabs and the clusters see X as it is: scale its columns beforehand if their units differ. For the
dependence of residuals on scales and of scores on inputs, `hsic` and `mutual_information` are those
of `sosbands.dependence`.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from sosbands.datasets import Case
from sosbands.dependence import hsic, mutual_information
from sosbands.slabs import slab_coverage
from sosbands.types import Array, Indices, Mask

__all__ = [
    "cluster_count",
    "clusters",
    "coverage",
    "coverage_gap",
    "exact_local_coverage",
    "hsic",
    "interval_score",
    "local_coverage",
    "mean_width",
    "mutual_information",
    "r2_sqi",
    "size_stratified_coverage",
    "width_bins",
    "worst_slab_coverage",
]

_CLUSTER_ROWS, _MOST_CLUSTERS = 50, 15

Seed: TypeAlias = int | np.integer | np.random.Generator | None
Curve: TypeAlias = Callable[[Array], Array]

# F⁻¹ and F of the standard normal and of the exponential law.
_LAWS: tuple[tuple[Curve, Curve], ...] = (
    (ndtri, ndtr),
    (lambda p: -np.log1p(-p), lambda t: -np.expm1(-np.maximum(t, 0))),
)


def coverage(
    y: ArrayLike, intervals: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float | Array:
    """The share of rows, or of their weights, with lower ≤ y ≤ upper, a float."""
    return _mean(_covered(y, intervals), sample_weight)


def mean_width(intervals: ArrayLike) -> float | Array:
    """The mean of upper − lower, a float; infinite as soon as one interval is."""
    lower, upper = _bounds(intervals)
    return _mean(upper - lower)


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
    """
    lower, upper = _bounds(intervals)
    p = _levels(level, lower)
    t = _outputs(y, lower)
    misses = np.maximum(lower - t, 0) + np.maximum(t - upper, 0)
    return _mean(upper - lower + 2 / (1 - p) * misses, sample_weight)


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
    """
    lower, upper = _bounds(intervals)
    p = _levels(level, lower)
    error = np.abs(_outputs(y, lower) - _outputs(mean, lower, "mean")).reshape(len(lower))
    widths = upper - lower
    _check_count("n_bins", n_bins, len(error))
    return _each(lambda w, q: _r2_sqi(error, w, float(q), n_bins), widths, p)


def local_coverage(
    truth: Case | Callable[[Array, np.random.Generator], ArrayLike],
    predict_interval: Callable[[Array], ArrayLike],
    X: ArrayLike,
    *,
    n_outputs: int = 1000,
    random_state: Seed = None,
) -> Array:
    """P(Y ∈ C(x) | X = x) at every row x of X, shape (n,) or (n, k), from `n_outputs` draws of Y.

    `truth` is a `sosbands.datasets.Case` or a function (X, rng) ↦ y of shape (n,), and
    `predict_interval` maps X to intervals. The standard error is at most 1/(2√n_outputs).
    """
    if n_outputs < 1:
        raise ValueError(f"n_outputs must be ≥ 1, got {n_outputs}: the paper draws 1000")
    rng, rows = np.random.default_rng(random_state), _inputs(X)
    draw = truth if callable(truth) else truth.sample_outputs
    lower, upper = _bounds(predict_interval(rows))
    hits = np.zeros(lower.shape)
    for _ in range(n_outputs):
        t = _outputs(draw(rows, rng), lower)
        hits += (lower <= t) & (t <= upper)
    return hits / n_outputs


def exact_local_coverage(case: Case, intervals: ArrayLike, X: ArrayLike) -> Array:
    """P(l ≤ m(x) + σ(x)ε ≤ u) = |F((u − m)/σ) − F((l − m)/σ)| at the rows of X, shape (n[, k]).

    F is the normal or the exponential distribution function. Where σ(x) = 0, Y is m(x).
    """
    (lower, upper), F = _bounds(intervals), _distribution(case)
    m = _outputs(case.location(X), lower, "case.location(X)")
    σ = _outputs(case.scale(X), lower, "case.scale(X)")
    s = np.where(σ == 0, 1.0, σ)
    inside = np.abs(F((upper - m) / s) - F((lower - m) / s))
    return np.where(σ == 0, (lower <= m) & (m <= upper), inside)


def size_stratified_coverage(
    y: ArrayLike, intervals: ArrayLike, *, n_bins: int = 5
) -> float | Array:
    """The smallest coverage over bins cut at the quantiles of the width, a float.

    Equal widths share a bin, so that there may be fewer than `n_bins`.
    """
    (lower, upper), covered = _bounds(intervals), _covered(y, intervals)
    _check_count("n_bins", n_bins, len(lower))
    return _each(
        lambda w, hit: min(float(hit[rows].mean()) for rows in width_bins(w, n_bins)),
        upper - lower,
        covered,
    )


def worst_slab_coverage(
    X: ArrayLike,
    y: ArrayLike,
    intervals: ArrayLike,
    *,
    min_mass: float = 0.2,
    n_directions: int = 1000,
    random_state: Seed = None,
) -> float | Array:
    """The coverage in the worst slab {x : a ≤ vᵀx ≤ b} (Cauchois, Gupta and Duchi, 2021).

    A random half of the rows chooses v among `n_directions` uniform ones (one input has but one),
    and a and b such that the slab holds at least a share `min_mass` of that half. The result, a
    float, is the coverage of the rows of the other half in that slab.
    """
    covered = _covered(y, intervals)
    rows = _inputs(X, len(covered))
    n, d = rows.shape
    if not 0 < min_mass <= 1 or n_directions < 1:
        raise ValueError(
            "min_mass must be in (0, 1] and n_directions ≥ 1, "
            f"got {min_mass} and {n_directions}: the defaults are 0.2 and 1000"
        )
    _check_count("the number of halves", 2, n)
    rng = np.random.default_rng(random_state)
    halves = np.array_split(rng.permutation(n), 2)
    V = rng.standard_normal((n_directions, d)) if d > 1 else np.ones((1, 1))
    V = V / np.linalg.norm(V, axis=1, keepdims=True)
    return _each(lambda hit: slab_coverage(rows, hit, V, halves, min_mass), covered)


def coverage_gap(
    X: ArrayLike,
    y: ArrayLike,
    intervals: ArrayLike,
    level: ArrayLike,
    *,
    n_clusters: int | None = None,
    random_state: Seed = None,
) -> float | Array:
    """The mean of |coverage − level| over k-means clusters of X, a float.

    There are min(15, n // 50) clusters unless `n_clusters` says otherwise; each counts the same.
    """
    covered = _covered(y, intervals)
    p = _levels(level, covered)
    rows = _inputs(X, len(covered))
    parts = clusters(rows, n_clusters=n_clusters, random_state=random_state)
    return _mean([np.abs(covered[part].mean(axis=0) - p) for part in parts])


def clusters(
    X: ArrayLike, *, n_clusters: int | None = None, random_state: Seed = None
) -> list[Indices]:
    """The rows of each k-means cluster of X.

    There are min(15, n // 50) clusters unless `n_clusters` says otherwise.
    """
    from sklearn.cluster import KMeans

    rows = _inputs(X)
    if n_clusters is None:
        n_clusters = cluster_count(len(rows))
        if n_clusters < 1:
            raise ValueError(
                f"clusters need at least {_CLUSTER_ROWS} rows, got {len(rows)}: give more, or "
                "n_clusters"
            )
    _check_count("n_clusters", n_clusters, len(rows))
    seed = int(np.random.default_rng(random_state).integers(2**31))
    label = KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(rows)
    return [np.flatnonzero(label == c) for c in np.unique(label)]


def cluster_count(n: int) -> int:
    """How many clusters the coverage of n rows can be counted in: min(15, n // 50)."""
    return min(_MOST_CLUSTERS, n // _CLUSTER_ROWS)


def width_bins(widths: Array, n_bins: int) -> list[Indices]:
    """The rows of each bin, cut at the quantiles of the width; equal widths share one."""
    _check_count("n_bins", n_bins, len(widths))
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


def _distribution(case: Case) -> Curve:
    """F, recognised by its quantiles."""
    p = np.array([0.1, 0.5, 0.9])
    for quantile, F in _LAWS:
        if np.allclose(case.noise.quantile(p), quantile(p)):
            return F
    raise ValueError(
        f"the noise must be normal or exponential, got another law in {case!r}: use local_coverage"
    )


def _covered(y: ArrayLike, intervals: ArrayLike) -> Mask:
    lower, upper = _bounds(intervals)
    t = _outputs(y, lower)
    return (lower <= t) & (t <= upper)


def _bounds(intervals: ArrayLike) -> tuple[Array, Array]:
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


def _outputs(y: ArrayLike, lower: Array, name: str = "y") -> Array:
    """`y` as a column that broadcasts against the bounds."""
    t = np.asarray(y, dtype=np.float64)
    if t.shape != lower.shape[:1] or not np.all(np.isfinite(t)):
        raise ValueError(
            f"{name} must hold one finite number for each of the {len(lower)} intervals, "
            f"got shape {t.shape}, NaN or infinity: drop the rows without an output"
        )
    return t.reshape(len(t), *(1,) * (lower.ndim - 1))


def _inputs(X: ArrayLike, n: int | None = None) -> Array:
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.size == 0 or len(rows) != (n or len(rows)):
        raise ValueError(f"X must have shape ({n or 'n'}, d), got {rows.shape}: one row per output")
    if not np.all(np.isfinite(rows)):
        raise ValueError("X must be finite, got NaN or infinity: impute or drop those rows")
    return rows


def _levels(level: ArrayLike, lower: Array | Mask) -> Array:
    """One level for each set of intervals, shape () or (k,)."""
    p, shape = np.asarray(level, dtype=np.float64), lower.shape[1:]
    if p.shape not in ((), shape) or not np.all((p > 0) & (p < 1)):
        raise ValueError(
            f"level must be in (0, 1), one number or one per set of intervals, got {level!r}: "
            "write 90 % as 0.9"
        )
    return np.broadcast_to(p, shape)


def _check_count(name: str, count: int, n: int) -> None:
    if not 1 <= count <= n:
        raise ValueError(f"{name} must be from 1 to the number of rows ({n}), got {count}")


def _each(metric: Callable[..., float], *arrays: Array | Mask) -> float | Array:
    """The metric of each set of intervals, which the last axis counts if there is one."""
    if arrays[0].ndim == 1:
        return metric(*arrays)
    return np.array([metric(*(a[..., j] for a in arrays)) for j in range(arrays[0].shape[1])])


def _mean(values: ArrayLike, weights: ArrayLike | None = None) -> float | Array:
    rows = np.asarray(values, dtype=np.float64)
    w = None if weights is None else np.asarray(weights, dtype=np.float64)
    mean: Array = np.asarray(rows.mean(axis=0) if w is None else np.average(rows, 0, w))
    return float(mean) if mean.ndim == 0 else mean
