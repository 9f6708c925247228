"""How coverage varies over the inputs: at a point, in a slab, in clusters."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from sosbands.datasets import Case
from sosbands.metrics.checks import (
    Seed,
    bounds,
    check_count,
    covered_rows,
    each,
    inputs,
    levels_of,
    mean_of,
    outputs,
)
from sosbands.slabs import slab_coverage
from sosbands.types import Array, Indices

_CLUSTER_ROWS, _MOST_CLUSTERS = 50, 15

Curve: TypeAlias = Callable[[Array], Array]

# F⁻¹ and F of the standard normal and of the exponential law.
_LAWS: tuple[tuple[Curve, Curve], ...] = (
    (ndtri, ndtr),
    (lambda p: -np.log1p(-p), lambda t: -np.expm1(-np.maximum(t, 0))),
)


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

    Examples
    --------
    >>> from sosbands.datasets import case
    >>> from sosbands.metrics import local_coverage
    >>> truth = case(1)
    >>> found = local_coverage(truth, lambda X: truth.interval(X, 0.9), [[0.0]], random_state=0)
    >>> bool(abs(found[0] - 0.9) < 0.05)
    True
    """
    if n_outputs < 1:
        raise ValueError(f"n_outputs must be ≥ 1, got {n_outputs}: the paper draws 1000")
    rng, rows = np.random.default_rng(random_state), inputs(X)
    draw = truth if callable(truth) else truth.sample_outputs
    lower, upper = bounds(predict_interval(rows))
    hits = np.zeros(lower.shape)
    for _ in range(n_outputs):
        t = outputs(draw(rows, rng), lower)
        hits += (lower <= t) & (t <= upper)
    return hits / n_outputs


def exact_local_coverage(case: Case, intervals: ArrayLike, X: ArrayLike) -> Array:
    """P(l ≤ m(x) + σ(x)ε ≤ u) = |F((u − m)/σ) − F((l − m)/σ)| at the rows of X, shape (n[, k]).

    F is the normal or the exponential distribution function. Where σ(x) = 0, Y is m(x).

    Examples
    --------
    >>> from sosbands.datasets import case
    >>> from sosbands.metrics import exact_local_coverage
    >>> X = [[-0.5], [0.5]]
    >>> exact_local_coverage(case(1), case(1).interval(X, 0.9), X).round(6).tolist()
    [0.9, 0.9]
    """
    (lower, upper), F = bounds(intervals), _distribution(case)
    m = outputs(case.location(X), lower, "case.location(X)")
    σ = outputs(case.scale(X), lower, "case.scale(X)")
    s = np.where(σ == 0, 1.0, σ)
    inside = np.abs(F((upper - m) / s) - F((lower - m) / s))
    return np.where(σ == 0, (lower <= m) & (m <= upper), inside)


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

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.metrics import worst_slab_coverage
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> y = np.where(X[:, 0] > 1, 5.0, 0.0)  # missed on the right alone
    >>> intervals = np.tile([-1.0, 1.0], (400, 1))
    >>> worst_slab_coverage(X, y, intervals, random_state=0) < 0.5
    True
    """
    covered = covered_rows(y, intervals)
    rows = inputs(X, len(covered))
    n, d = rows.shape
    if not 0 < min_mass <= 1 or n_directions < 1:
        raise ValueError(
            "min_mass must be in (0, 1] and n_directions ≥ 1, "
            f"got {min_mass} and {n_directions}: the defaults are 0.2 and 1000"
        )
    check_count("the number of halves", 2, n)
    rng = np.random.default_rng(random_state)
    halves = np.array_split(rng.permutation(n), 2)
    V = rng.standard_normal((n_directions, d)) if d > 1 else np.ones((1, 1))
    V = V / np.linalg.norm(V, axis=1, keepdims=True)
    return each(lambda hit: slab_coverage(rows, hit, V, halves, min_mass), covered)


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

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.metrics import coverage_gap
    >>> X = np.repeat([[0.0], [9.0]], 50, axis=0)
    >>> intervals = np.repeat([[-1, 1], [5, 6]], 50, axis=0)
    >>> coverage_gap(X, np.zeros(100), intervals, 0.5, n_clusters=2, random_state=0)
    0.5
    """
    covered = covered_rows(y, intervals)
    p = levels_of(level, covered)
    rows = inputs(X, len(covered))
    parts = clusters(rows, n_clusters=n_clusters, random_state=random_state)
    return mean_of([np.abs(covered[part].mean(axis=0) - p) for part in parts])


def clusters(
    X: ArrayLike, *, n_clusters: int | None = None, random_state: Seed = None
) -> list[Indices]:
    """The rows of each k-means cluster of X.

    There are min(15, n // 50) clusters unless `n_clusters` says otherwise.

    Examples
    --------
    >>> from sosbands.metrics import clusters
    >>> sorted(len(rows) for rows in clusters([[0.0], [0.1], [9.0]], n_clusters=2, random_state=0))
    [1, 2]
    """
    from sklearn.cluster import KMeans

    rows = inputs(X)
    if n_clusters is None:
        n_clusters = cluster_count(len(rows))
        if n_clusters < 1:
            raise ValueError(
                f"clusters need at least {_CLUSTER_ROWS} rows, got {len(rows)}: give more, or "
                "n_clusters"
            )
    check_count("n_clusters", n_clusters, len(rows))
    seed = int(np.random.default_rng(random_state).integers(2**31))
    label = KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(rows)
    return [np.flatnonzero(label == c) for c in np.unique(label)]


def cluster_count(n: int) -> int:
    """How many clusters the coverage of n rows can be counted in: min(15, n // 50).

    Examples
    --------
    >>> from sosbands.metrics import cluster_count
    >>> cluster_count(200), cluster_count(10_000)
    (4, 15)
    """
    return min(_MOST_CLUSTERS, n // _CLUSTER_ROWS)


def _distribution(case: Case) -> Curve:
    """F, recognised by its quantiles."""
    p = np.array([0.1, 0.5, 0.9])
    for quantile, F in _LAWS:
        if np.allclose(case.noise.quantile(p), quantile(p)):
            return F
    raise ValueError(
        f"the noise must be normal or exponential, got another law in {case!r}: use local_coverage"
    )
