"""How strongly two samples depend on each other: HSIC, distance correlation, mutual information.

With the energy kernel k(x, x′) = |x| + |x′| − |x − x′| the V-statistic of HSIC is the squared
distance covariance, with factor one. Let Aᵢⱼ = |uᵢ − uⱼ|, Bᵢⱼ = |vᵢ − vⱼ| and H = I − 11ᵀ/n. The
Gram matrix of u is K = |u|1ᵀ + 1|u|ᵀ − A, and H1 = 0 leaves HKH = −HAH; likewise for v. Hence

    tr(KHLH)/n² = tr(HAH HBH)/n² = ΣᵢⱼAᵢⱼBᵢⱼ/n² − 2 Σᵢ aᵢbᵢ/n³ + (Σᵢaᵢ)(Σᵢbᵢ)/n⁴,

where aᵢ and bᵢ are the row sums of A and B. (With half the kernel, the distance-induced kernel of
Sejdinovic et al., the factor is 1/4.) In one dimension this takes O(n log n) operations.

Proposition 4 bounds the local coverage by HSIC for a bounded kernel. The energy kernel, the one the
paper uses, is unbounded: it gives a heuristic to tune with, not a guarantee.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist
from scipy.special import digamma

from sosbands.types import Array

__all__ = ["distance_correlation", "hsic", "mutual_information"]

Seed: TypeAlias = int | np.integer | np.random.Generator | None
# A function of the differences x − x′, applied to a block of them.
Profile: TypeAlias = Callable[[Array], Array]

# Up to this many rows the plain sum over all pairs is at least as fast as the sorted one.
_FEW_ROWS = 250
# Blocks of about this many pairs stay in the processor's cache.
_BLOCK_ENTRIES = 1 << 16
# The median distance is taken among at most this many order statistics.
_MEDIAN_ROWS = 1000
# In units of a standard deviation: breaks ties, and moves nothing else.
_JITTER = 1e-10


def hsic(
    u: ArrayLike,
    v: ArrayLike,
    *,
    kernel: Literal["energy", "gaussian"] = "energy",
    sample_weight: ArrayLike | None = None,
) -> float:
    """HSIC(u, v) = tr(KHLH)/n², the V-statistic of Proposition 4.

    Parameters
    ----------
    u, v : array-like of shape (n,)
        Paired samples, say absolute residuals and scales.
    kernel : {"energy", "gaussian"}
        "energy" is k(x, x′) = |x| + |x′| − |x − x′|, the paper's: O(n log n), and HSIC(cu, v) =
        |c| HSIC(u, v). It is unbounded, so that Proposition 4 does not cover it. "gaussian" is
        k(x, x′) = exp(−(x − x′)²/(2h²)), h the median distance between two different values of the
        sample (of 1000 evenly spaced order statistics of a larger one): bounded by M_k = 1,
        scale-free, and O(n²) in time though not in memory.
    sample_weight : array-like of shape (n,), optional
        w ≥ 0: a pair counts as if it occurred w times. The h of "gaussian" does not see it.

    Returns
    -------
    float
        HSIC ≥ 0, zero if u or v is constant.

    Examples
    --------
    >>> from sosbands.dependence import hsic
    >>> hsic([0.0, 1.0], [0.0, 2.0])
    0.5
    """
    if kernel not in ("energy", "gaussian"):
        raise ValueError(f'kernel must be "energy" or "gaussian", got {kernel!r}: choose one')
    (u, scale_u), (v, scale_v) = _paired_samples(u, v)
    if scale_u == 0 or scale_v == 0:
        return 0.0
    w = _weights(sample_weight, len(u))
    if kernel == "gaussian":
        return pairwise_hsic(u, v, _gaussian(u), _gaussian(v), w)
    return _unit_hsic(u, v, w) * scale_u * scale_v


def distance_correlation(
    u: ArrayLike, v: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """dCor(u, v) = √(HSIC(u, v) / √(HSIC(u, u) HSIC(v, v))) with the energy kernel.

    It does not change with the location or the scale of u or of v.

    Parameters
    ----------
    u, v : array-like of shape (n,)
        Paired samples.
    sample_weight : array-like of shape (n,), optional
        w ≥ 0: a pair counts as if it occurred w times.

    Returns
    -------
    float
        In [0, 1]: one if v is an affine function of u, zero if u or v is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.dependence import distance_correlation
    >>> u = np.linspace(-1, 1, 200)
    >>> round(distance_correlation(u, 3 * u + 1), 6), distance_correlation(u, u**2) > 0.2
    (1.0, True)
    """
    (u, scale_u), (v, scale_v) = _paired_samples(u, v)
    if scale_u == 0 or scale_v == 0:
        return 0.0
    w = _weights(sample_weight, len(u))
    own = _unit_hsic(u, u, w) * _unit_hsic(v, v, w)
    return float(min(np.sqrt(_unit_hsic(u, v, w) / np.sqrt(own)), 1.0)) if own > 0 else 0.0


def mutual_information(
    x: ArrayLike, s: ArrayLike, *, n_neighbors: int = 3, random_state: Seed = None
) -> float:
    """MI(X, S) in nats by nearest neighbours (Kraskov, Stögbauer and Grassberger, 2004).

    MI ≈ ψ(k) + ψ(n) − meanᵢ[ψ(nₓᵢ + 1) + ψ(nₛᵢ + 1)], with nₓᵢ and nₛᵢ the numbers of other rows
    closer to row i, in X and in S alone, than its k-th neighbour in (X, S). Distances are the
    largest over the columns, each scaled to unit variance.

    Parameters
    ----------
    x : array-like of shape (n,) or (n, d)
        Inputs. All columns count jointly.
    s : array-like of shape (n,)
        Scores.
    n_neighbors : int
        k: more neighbours, less variance and more bias.
    random_state : int, numpy.random.Generator or None
        Seeds the noise, 10⁻¹⁰ standard deviations large, that breaks ties.

    Returns
    -------
    float
        The estimate, or zero where it is negative or where x or s is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.dependence import mutual_information
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 500))
    >>> mutual_information(x, x + 0.1 * noise) > 1 > mutual_information(x, noise)
    True
    """
    x, s = np.asarray(x, dtype=np.float64), _sample("s", s)
    x = x.reshape(len(x), -1) if x.ndim in (1, 2) else x
    if x.ndim != 2 or len(x) != len(s) or not np.all(np.isfinite(x)):
        raise ValueError(
            f"x must hold finite numbers in the shape ({len(s)},) or ({len(s)}, d), "
            f"got shape {x.shape}: give one row per score"
        )
    if n_neighbors not in range(1, len(s)):
        raise ValueError(
            f"n_neighbors must be a whole number from 1 to {len(s) - 1}, got {n_neighbors!r}: "
            "it counts the other rows"
        )
    x, s = x[:, np.ptp(x, axis=0) > 0], s[:, None]
    if x.shape[1] == 0 or np.ptp(s) == 0:
        return 0.0
    rng = np.random.default_rng(random_state)
    return max(_kraskov(_scaled_columns(x, rng), _scaled_columns(s, rng), n_neighbors), 0.0)


def pairwise_hsic(
    u: Array, v: Array, k: Profile, l: Profile, weights: Array | None = None
) -> float:
    """ΣᵢⱼK̃ᵢⱼL̃ᵢⱼ/n² with K̃ = HKH, L̃ = HLH, from the n² pairs, a block of rows at a time.

    With weights that add up to one, wᵢwⱼ instead of 1/n², and H = I − 1wᵀ.
    """

    def mean(values: Array) -> Array:
        return np.asarray(values.mean(axis=-1) if weights is None else values @ weights)

    n = len(u)
    step = max(1, _BLOCK_ENTRIES // n)
    blocks = [slice(start, start + step) for start in range(0, n, step)]
    means_k = np.concatenate([mean(k(u[rows, None] - u)) for rows in blocks])
    means_l = np.concatenate([mean(l(v[rows, None] - v)) for rows in blocks])
    centre_k, centre_l = means_k - mean(means_k), means_l - mean(means_l)
    total = 0.0
    for rows in blocks:
        K = k(u[rows, None] - u) - means_k[rows, None] - centre_k
        L = l(v[rows, None] - v) - means_l[rows, None] - centre_l
        total += float(np.vdot(K, L) if weights is None else weights[rows] @ (K * L) @ weights)
    return max(total, 0.0) / (n**2 if weights is None else 1)


def sorted_hsic(u: Array, v: Array, weights: Array | None = None) -> float:
    """The squared distance covariance of u and v in O(n log n), after Huo and Székely (2016).

    For the pairs i < j in the order of u, |vⱼ − vᵢ| = 2(vⱼ − vᵢ)₊ − (vⱼ − vᵢ), so that

        ΣᵢⱼAᵢⱼBᵢⱼ = 4 Σ_{i<j} (uⱼ − uᵢ)(vⱼ − vᵢ)₊ − 2n Σᵢ(uᵢ − ū)(vᵢ − v̄).

    Pairs tied in u or in v add nothing, whatever their order. With weights, wᵢ stands in every sum
    over i, and their sum for n.
    """
    n, w = (len(u), np.ones(len(u))) if weights is None else (float(weights.sum()), weights)
    u, v = u - np.sum(w * u) / n, v - np.sum(w * v) / n
    a, b = _distance_sums(u, w), _distance_sums(v, w)
    wa, wb = w * a, w * b
    ab = 4 * _concordant_sum(u, v, w) - 2 * n * float(w * u @ v)
    value = ab / n**2 - 2 * float(wa @ b) / n**3 + float(wa.sum()) * float(wb.sum()) / n**4
    return max(value, 0.0)


def hsic_by_weights(u: Array, v: Array, W: Array) -> Array:
    """HSIC with the energy kernel for every column of weights, from the n² pairs once.

    For weights that add up to one, wᵀ(A∘B)w − 2 Σᵢ wᵢaᵢbᵢ + (wᵀa)(wᵀb) with a = Aw and b = Bw.
    """
    (u, scale_u), (v, scale_v) = _paired_samples(u, v)
    W = W / W.sum(axis=0)
    a, b, ab = np.empty((3, *W.shape))
    step = max(1, _BLOCK_ENTRIES // len(u))
    for rows in (slice(start, start + step) for start in range(0, len(u), step)):
        A, B = np.abs(u[rows, None] - u), np.abs(v[rows, None] - v)
        a[rows], b[rows], ab[rows] = A @ W, B @ W, (A * B) @ W
    value = np.sum(W * (ab - 2 * a * b), axis=0) + np.sum(W * a, axis=0) * np.sum(W * b, axis=0)
    return np.asarray(np.maximum(value, 0.0) * scale_u * scale_v)


def _concordant_sum(u: Array, v: Array, w: Array) -> float:
    """Σ_{i<j} wᵢwⱼ(uⱼ − uᵢ)(vⱼ − vᵢ)₊ over the pairs in the order of u.

    A merge sort read backwards, all blocks of one size at once. A row of the table is a block of
    2ᵗ neighbours in the order of u, sorted by v: prefix sums over its left half meet its right
    half, then the halves part. Rows of zeros fill the table up to a power of two.
    """
    n = len(u)
    size = 1 << (n - 1).bit_length()
    by_v = np.argsort(v, kind="stable")
    rank = np.empty(n, dtype=np.intp)
    rank[np.argsort(u, kind="stable")] = np.arange(n)
    place = np.concatenate([rank[by_v], np.arange(n, size)]).reshape(1, size)
    table = np.zeros((4, 1, size))
    table[:, 0, :n] = w[by_v] * [np.ones(n), u[by_v], v[by_v], u[by_v] * v[by_v]]
    total = 0.0
    while size > 1:
        size //= 2
        right = (place & size) != 0
        lefts = np.cumsum(np.where(right, 0.0, table), axis=-1)[:, right]
        rights = table[:, right]
        total += float(np.vdot(rights[[0, 3]], lefts[[3, 0]]))
        total -= float(np.vdot(rights[[1, 2]], lefts[[2, 1]]))
        halves = table[:, ~right].reshape(4, -1, size), rights.reshape(4, -1, size)
        table = np.stack(halves, axis=2).reshape(4, -1, size)
        places = place[~right].reshape(-1, size), place[right].reshape(-1, size)
        place = np.stack(places, axis=1).reshape(-1, size)
    return total


def _distance_sums(u: Array, w: Array) -> Array:
    """Σⱼwⱼ|uᵢ − uⱼ| for every i.

    In sorted order, (Σ_{j<i}wⱼ + Σ_{j≤i}wⱼ − Σⱼwⱼ)uᵢ + Σⱼwⱼuⱼ − Σ_{j<i}wⱼuⱼ − Σ_{j≤i}wⱼuⱼ.
    """
    order = np.argsort(u, kind="stable")
    share, part = w[order], w[order] * u[order]
    below, prefix = np.cumsum(share), np.cumsum(part)
    sums = np.empty(len(u))
    balance = 2 * below - share - below[-1]
    sums[order] = balance * u[order] + prefix[-1] - 2 * prefix + part
    return sums


def _unit_hsic(u: Array, v: Array, weights: Array | None) -> float:
    if len(u) <= _FEW_ROWS:
        return pairwise_hsic(u, v, np.abs, np.abs, weights)
    return sorted_hsic(u, v, weights)


def _weights(sample_weight: ArrayLike | None, n: int) -> Array | None:
    """Weights that add up to one."""
    if sample_weight is None:
        return None
    w = _sample("sample_weight", sample_weight)
    if len(w) != n or w.min() < 0 or not w.any():
        raise ValueError(
            f"sample_weight must hold {n} numbers ≥ 0, not all 0, got {len(w)} from {w.min():g} "
            f"to {w.max():g}: give one for each pair"
        )
    w = w / w.max()
    return np.asarray(w / w.sum())


def _gaussian(u: Array) -> Profile:
    """x − x′ ↦ exp(−(x − x′)²/(2h²)), h the median of the distances that are not zero."""
    chosen = np.unique(np.linspace(0, len(u) - 1, _MEDIAN_ROWS).astype(np.intp))
    distances = pdist(np.sort(u)[chosen][:, None])
    h = np.median(distances[distances > 0])
    return lambda difference: np.exp(-((difference / h) ** 2) / 2)


def _kraskov(x: Array, s: Array, k: int) -> float:
    n = len(s)
    joint = np.hstack([x, s])
    distance = np.asarray(cKDTree(joint).query(joint, k=[k + 1], p=np.inf)[0])
    radius = np.nextafter(distance[:, 0], 0.0)
    neighbours = (
        cKDTree(z).query_ball_point(z, radius, p=np.inf, return_length=True) for z in (x, s)
    )
    # A ball counts its own centre, so that its length is already one more than the other rows.
    return float(digamma(k) + digamma(n) - sum(np.mean(digamma(count)) for count in neighbours))


def _scaled_columns(z: Array, rng: np.random.Generator) -> Array:
    z = (z - z.min(axis=0)) / np.ptp(z, axis=0)
    scaled: Array = z / z.std(axis=0) + _JITTER * rng.standard_normal(z.shape)
    return scaled


def _paired_samples(u: ArrayLike, v: ArrayLike) -> tuple[tuple[Array, float], tuple[Array, float]]:
    """Both samples moved to [0, 1], each with its range."""
    u, v = _sample("u", u), _sample("v", v)
    if len(u) != len(v):
        raise ValueError(
            f"u and v must be equally long, got {len(u)} and {len(v)} numbers: give pairs"
        )
    return _unit(u), _unit(v)


def _unit(u: Array) -> tuple[Array, float]:
    width = float(np.ptp(u))
    return (u - u.min()) / (width or 1.0), width


def _sample(name: str, values: ArrayLike) -> Array:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or len(sample) < 2:
        raise ValueError(
            f"{name} must have shape (n,) with n ≥ 2, got {sample.shape}: give one number per row"
        )
    if not np.all(np.isfinite(sample)):
        raise ValueError(f"{name} must be finite, got NaN or infinity: remove those rows")
    return sample
