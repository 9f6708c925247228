"""From scores of held-out rows to intervals that cover: split, grouped, weighted, localized, CV+.

A score is the smallest q whose interval [lower − q·width, upper + q·width] holds y. A calibration
keeps the m scores of rows that trained nothing, and says at which q a new interval has the wanted
level. All of it rests on ranks: the k-th smallest score, k = ⌈level·(m + 1)⌉, and +∞ if k > m.
Scores of +∞ are legal; NaN is refused. Nothing here warns: `shortage` tells what there is to say.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from sosbands.types import Array, Indices, Mask

Groups: TypeAlias = NDArray[np.object_]

# Entries of the largest temporary: 8 MB of floats.
_BLOCK_ENTRIES = 1 << 20
# A selection passes over its arrays many times: they stay in the processor's cache.
_SELECTION_ENTRIES = 1 << 14
# Sums of weights that reach a level but for rounding do reach it, as the exact ranks do.
_SLACK = 1e-12
# Rows among which a bandwidth is chosen, and its range in units of the distance between them. At
# the upper end all weights are equal up to the slack, and the calibration is that of one split.
_BANDWIDTH_ROWS = 1000
_BANDWIDTHS = (1e-4, 1e15)


def checked_levels(confidence_level: Any) -> tuple[tuple[float, ...], bool]:
    """The levels, each in (0, 1), and whether one number was given rather than a sequence."""
    scalar = np.ndim(confidence_level) == 0
    if isinstance(confidence_level, np.ndarray) and scalar:
        confidence_level = confidence_level[()]
    # Not through one array of all: 32-bit numbers keep the decimals they print.
    given = [confidence_level] if scalar else list(confidence_level)
    if not given:
        raise ValueError("confidence_level must hold a level, got none: write 0.9 or [0.8, 0.9]")
    return tuple(_checked_level(level) for level in given), scalar


def order_rank(level: float, m: int) -> int:
    """k = ⌈level·(m + 1)⌉ with the level read as the decimal it prints as: 0.9·10 is 9."""
    return math.ceil(_exact(level) * (m + 1))


def rows_needed(level: float) -> int:
    """⌈1/α⌉ − 1, α = 1 − level: the smallest m whose rank is at most m."""
    return math.ceil(1 / (1 - _exact(level))) - 1


def guarantee(level: float, n: int, K: int) -> float:
    """1 − 2α − min{2(1 − 1/K)/(n/K + 1), (1 − K/n)/(K + 1)}, or zero: the coverage CV+ proves.

    Theorem 4 of Barber et al. (2021) for n rows in K folds of one size. In practice coverage is
    close to the level; for K = n (jackknife+) the minimum is zero.
    """
    loss = min(2 * (1 - 1 / K) / (n / K + 1), (1 - K / n) / (K + 1))
    return max(1 - 2 * (1 - level) - loss, 0.0)


@dataclass(frozen=True, eq=False)
class IntervalFamily:
    """The nested intervals [lower − q·width, upper + q·width] of every row.

    Attributes
    ----------
    lower, upper, width : arrays of shape (n,)
        Finite, with width ≥ 0.
    """

    lower: Array
    upper: Array
    width: Array

    def __post_init__(self) -> None:
        parts = np.stack([self.lower, self.upper, self.width])
        if parts.ndim != 2 or not np.all(np.isfinite(parts)) or np.any(parts[2] < 0):
            raise ValueError(
                f"a band must have finite bounds and widths ≥ 0 in the shape (n,), got shape "
                f"{parts.shape[1:]}, NaN, infinity or a negative width: check the mean and scale"
            )

    @classmethod
    def around(cls, mean: Array, scale: Array) -> IntervalFamily:
        """mean ± q·scale, the symmetric band: the scale is √f."""
        return cls(mean, mean, scale)

    @classmethod
    def between(cls, mean: Array, scales: Array) -> IntervalFamily:
        """[mean − scales[:, 0] − q, mean + scales[:, 1] + q], the two-sided band."""
        return cls(mean - scales[:, 0], mean + scales[:, 1], np.ones(len(mean)))

    def scores(self, y: Array) -> Array:
        """The smallest q whose interval holds y: max(lower − y, y − upper)/width.

        A width of zero scores 0 inside the bounds and +∞ outside. The score is a float that
        `intervals` takes back to y or beyond: outputs in round numbers share their scores, and
        those at the calibrated one must not drop out by rounding.
        """
        with np.errstate(over="ignore"):
            excess = np.maximum(self.lower - y, y - self.upper)
            q = _ratio(excess, self.width, np.where(excess > 0, np.inf, 0.0))
            while np.any(short := self._misses(y, q)):
                q = np.where(short, np.nextafter(q, np.inf), q)
        return q

    def signed_scores(self, y: Array) -> Array:
        """(y − mean)/width of a symmetric band, with 0/0 = 0 and x/0 = ±∞."""
        if np.any(self.lower != self.upper):
            raise ValueError("signed scores need a symmetric band, got a two-sided one: use scores")
        with np.errstate(over="ignore"):
            residual = y - self.lower
            beyond = np.where(residual == 0, 0.0, np.copysign(np.inf, residual))
            return _ratio(residual, self.width, beyond)

    def intervals(self, q: Array) -> Array:
        """The intervals for q of shape (k,) or (n, k), shape (n, 2, k).

        They are (−∞, ∞) for q = +∞ whatever the width, and the midpoint where q is so negative that
        the bounds cross.
        """
        lower, upper, width = (part[:, None] for part in (self.lower, self.upper, self.width))
        q = np.broadcast_to(q, (len(width), np.shape(q)[-1]))
        middle = 0.5 * lower + 0.5 * upper
        with np.errstate(over="ignore", invalid="ignore"):
            step = np.where(np.isinf(q), q, q * width)
            ends = np.minimum(lower - step, middle), np.maximum(upper + step, middle)
        return np.stack(ends, axis=1)

    def _misses(self, y: Array, q: Array) -> Mask:
        """Where rounding leaves y outside its own interval; widths of zero cannot repair it."""
        with np.errstate(invalid="ignore"):
            step = q * self.width
        return (self.width > 0) & ((self.lower - step > y) | (self.upper + step < y))


@dataclass(frozen=True, eq=False)
class Calibration:
    """Scores of calibration rows; ascending once constructed, with what belongs to them."""

    scores: Array
    _companions: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        self._sort()

    def shortage(self, levels: Sequence[float]) -> int | None:
        """The rows that a bounded interval needs at the largest level; None if they are there."""
        return _shortage(levels, len(self.scores))

    def extended(self, scores: ArrayLike, *companions: Any) -> Self:
        """The calibration with further rows: their scores, then their groups, weights or inputs."""
        columns = ("scores", *self._companions)
        added = zip(columns, (scores, *companions), strict=True)
        return replace(self, **{name: _joined(getattr(self, name), rows) for name, rows in added})

    def _sort(self, **companions: NDArray[Any]) -> None:
        """Check the scores, then sort them and the arrays that go with them."""
        scores = _checked_scores(self.scores, signed=isinstance(self, SignedCalibration))
        if len(scores) == 0:
            raise ValueError("scores must not be empty, got no row: give rows to calibrate with")
        for name, values in companions.items():
            if len(values) != len(scores):
                raise ValueError(
                    f"{name} must hold one row for each of the {len(scores)} scores, "
                    f"got {len(values)}: give both for the same rows"
                )
        order = np.argsort(scores, kind="stable")
        for name, values in {"scores": scores, **companions}.items():
            object.__setattr__(self, name, values[order])


@dataclass(frozen=True, eq=False)
class SplitCalibration(Calibration):
    """One q for all rows: P(Y ∈ C(X)) ≥ level, on average over inputs and calibration rows."""

    def quantiles(self, levels: Sequence[float]) -> Array:
        """The k-th smallest score of each level, k = ⌈level·(m + 1)⌉, shape (len(levels),)."""
        ranks = [order_rank(level, len(self.scores)) for level in levels]
        return _picked(self.scores, np.minimum(ranks, len(self.scores) + 1) - 1)


@dataclass(frozen=True, eq=False)
class SignedCalibration(Calibration):
    """Quantiles of signed scores: a predictive distribution of Y, calibrated at every level."""

    def quantiles(self, levels: Sequence[float]) -> Array:
        """The ⌊p(m + 1)⌋-th smallest for p < 0.5, the ⌈p(m + 1)⌉-th for p ≥ 0.5; ±∞ beyond.

        Rounding away from the median makes the interval between the quantiles of p and 1 − p cover
        with probability ≥ 1 − 2p.
        """
        m = len(self.scores)
        scores = np.concatenate([[-np.inf], self.scores, [np.inf]])
        exact = [_exact(level) * (m + 1) for level in levels]
        ranks = [math.floor(k) if 2 * k < m + 1 else math.ceil(k) for k in exact]
        return scores[np.minimum(ranks, m + 1)]

    def shortage(self, levels: Sequence[float]) -> int | None:
        """The rows that finite quantiles of all levels need; None if they are there."""
        return _shortage([float(max(_exact(p), 1 - _exact(p))) for p in levels], len(self.scores))


@dataclass(frozen=True, eq=False)
class GroupCalibration(Calibration):
    """One q for each group of rows: P(Y ∈ C(X) | group) ≥ level (Mondrian conformal prediction).

    Attributes
    ----------
    groups : object array of shape (m,)
        The name of each row's group: any hashable values.
    """

    groups: Groups
    _companions: ClassVar = ("groups",)
    by_group: dict[Hashable, SplitCalibration] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._sort(groups=_checked_groups(self.groups))
        codes: dict[Hashable, int] = {}
        code = np.array([codes.setdefault(group, len(codes)) for group in self.groups])
        first = np.cumsum(np.bincount(code))[:-1]
        parts = np.split(self.scores[np.argsort(code, kind="stable")], first)
        by_group = dict(zip(codes, map(SplitCalibration, parts), strict=True))
        object.__setattr__(self, "by_group", by_group)

    def quantiles(self, levels: Sequence[float], groups: Iterable[Hashable]) -> Array:
        """The quantiles of each row's group, shape (n, len(levels)); +∞ for an unseen group."""
        names = _checked_groups(groups)
        codes = {group: code for code, group in enumerate(self.by_group)}
        table = [part.quantiles(levels) for part in self.by_group.values()]
        table.append(np.full(len(levels), np.inf))
        rows = np.array([codes.get(name, len(codes)) for name in names], dtype=np.intp)
        return np.array(table)[rows]

    def shortage(self, levels: Sequence[float]) -> int | None:
        """The rows that every group needs at the largest level; None if all have them."""
        return _shortage(levels, min(len(part.scores) for part in self.by_group.values()))


@dataclass(frozen=True, eq=False)
class WeightedCalibration(Calibration):
    """Covariate shift: rows count by their likelihood ratio (Tibshirani et al., 2019).

    Attributes
    ----------
    weights : array of shape (m,)
        dQ/dP at each row, up to a factor: new rows come from Q, these from P.
    """

    weights: Array
    _companions: ClassVar = ("weights",)
    _mass: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        weights = _checked_weights(self.weights)
        if not np.any(weights):
            raise ValueError("weights must not all be zero: then no row resembles the new ones")
        self._sort(weights=weights)
        # In units of the largest, equal weights are ones and their sums exact.
        object.__setattr__(self, "_mass", np.cumsum(self.weights / weights.max()))

    def quantiles(self, levels: Sequence[float], weights: Array) -> Array:
        """The smallest t with Σ wᵢ 1{sᵢ ≤ t} ≥ level·(Σ wᵢ + w), or +∞, shape (n, len(levels)).

        The weights w ≥ 0 are those of the n new rows.
        """
        with np.errstate(over="ignore"):
            own = _checked_weights(weights) / self.weights.max()
        target = (self._mass[-1] + own)[:, None] * np.array(levels, dtype=np.float64)
        index = np.searchsorted(self._mass, target * (1 - _SLACK))
        return _picked(self.scores, index)


@dataclass(frozen=True, eq=False)
class LocalizedCalibration(Calibration):
    """Nearby rows count more: randomly localized conformal prediction (Hore and Barber, 2025).

    A new row x draws x̃ = x + h·g, g ~ N(0, I), and calibration row j weighs
    H(xⱼ, x̃) = exp(−‖xⱼ − x̃‖²/(2h²)), the atom at +∞ H(x, x̃). The draw is what makes the marginal
    guarantee exact; it is the same for all levels.

    Attributes
    ----------
    inputs : array of shape (m, d)
        The calibration rows, in units in which one bandwidth suits all columns.
    bandwidth : float
        h > 0; see `effective_bandwidth`.
    seed : int
        With a row's position it decides the row's draw, whatever the row holds.
    """

    inputs: Array
    bandwidth: float
    seed: int
    _companions: ClassVar = ("inputs",)

    def __post_init__(self) -> None:
        self._sort(inputs=_checked_inputs(self.inputs))
        if not 0 < self.bandwidth < np.inf:
            raise ValueError(
                f"bandwidth must be positive and finite, got {self.bandwidth}: "
                "use effective_bandwidth"
            )

    def quantiles(
        self, levels: Sequence[float], inputs: Array, *, first_position: int = 0
    ) -> Array:
        """The weighted quantiles at the new rows, shape (n, len(levels)).

        A table predicted in pieces gets the same answers if `first_position` says where in it each
        piece starts.
        """
        X = _checked_inputs(inputs, self.inputs.shape[1])
        q = np.empty((len(X), len(levels)))
        size = max(1, _BLOCK_ENTRIES // len(self.scores))
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            q[rows] = self._block_quantiles(levels, X[rows], first_position + start)
        return q

    def _block_quantiles(self, levels: Sequence[float], X: Array, position: int) -> Array:
        drawn = X + self.bandwidth * normals_at(position, X.shape, self.seed)
        unit = 2 * self.bandwidth**2
        own = np.sum((X - drawn) ** 2, axis=1) / unit
        mass = cdist(drawn, self.inputs, "sqeuclidean")
        mass /= unit
        # The largest weight of a row is one, so that they do not all vanish.
        nearest = np.minimum(mass.min(axis=1), own)
        np.exp(np.subtract(nearest[:, None], mass, out=mass), out=mass)
        np.cumsum(mass, axis=1, out=mass)
        total = mass[:, -1] + np.exp(nearest - own)
        index = [np.sum(mass < (p * (1 - _SLACK) * total)[:, None], axis=1) for p in levels]
        return _picked(self.scores, np.stack(index, axis=1))


@dataclass(frozen=True, eq=False)
class PlusCalibration:
    """CV+ (Barber et al., 2021): each row is scored by the model that did not see its fold.

    All rows train and all calibrate; the price is the `guarantee`, weaker than the level. There is
    no way to add rows: one that no fold holds out breaks the symmetry that the proof needs.

    Attributes
    ----------
    scores_by_fold : tuple of arrays
        Ascending once constructed.
    """

    scores_by_fold: tuple[Array, ...]

    def __post_init__(self) -> None:
        folds = tuple(np.sort(_checked_scores(scores)) for scores in self.scores_by_fold)
        object.__setattr__(self, "scores_by_fold", folds)

    def shortage(self, levels: Sequence[float]) -> int | None:
        """The rows that a bounded interval needs at the largest level; None if they are there."""
        return _shortage(levels, sum(map(len, self.scores_by_fold)))

    def intervals(
        self, families: Sequence[IntervalFamily], levels: Sequence[float], centre: Array
    ) -> Array:
        """The intervals of the new rows, shape (n, 2, len(levels)).

        The upper end is the ⌈level·(m + 1)⌉-th smallest of upperₖ + sᵢ·widthₖ over the folds k and
        their scores sᵢ, the lower end mirrors it. Each interval is stretched to hold the centre.

        Parameters
        ----------
        families : sequence of IntervalFamily
            Each fold's band at the new rows, in the order of the scores.
        levels : sequence of float
            The confidence levels.
        centre : array of shape (n,)
            The prediction; since intervals hold it they are nested and lower ≤ upper.
        """
        if len(families) != len(self.scores_by_fold):
            raise ValueError(
                f"families must hold one band for each of the {len(self.scores_by_fold)} folds, "
                f"got {len(families)}"
            )
        m = sum(map(len, self.scores_by_fold))
        ranks = [order_rank(level, m) for level in levels]
        upper, opposite, width = (
            np.stack(parts, axis=1)
            for parts in zip(*((f.upper, -f.lower, f.width) for f in families), strict=True)
        )
        high = _selected(self.scores_by_fold, ranks, upper, width)
        low = -_selected(self.scores_by_fold, ranks, opposite, width)
        ends = np.minimum(low, centre[:, None]), np.maximum(high, centre[:, None])
        return np.stack(ends, axis=1)


def effective_bandwidth(inputs: Array, rows: int, *, target: float | None = None) -> float:
    """h at which a typical new row meets `target` effective calibration rows of `rows`.

    The effective number is (Σw)²/Σw², with the weights that `LocalizedCalibration` uses, the atom
    among them: among many inputs all rows are equally far, and only the atom shows that they are
    too far. The median over a sample of the pre-training rows stands for the typical row.

    Parameters
    ----------
    inputs : array of shape (p, d)
        Pre-training rows. Calibration rows would break the guarantee.
    rows : int
        m, the number of calibration rows.
    target : float, optional
        Default: max(50, m^(2/3)). A level of 0.9 needs nine rows everywhere, and with a median of
        fifty few places have less; of many rows, m^(2/3) is the rate of neighbours that balances
        bias and variance for a smooth function of two inputs.

    Returns
    -------
    float
        h. If no h reaches the target, so large an h that all rows weigh the same, as in
        `SplitCalibration`.
    """
    X = _checked_inputs(inputs)
    goal = max(50.0, rows ** (2 / 3)) if target is None else target
    if len(X) > _BANDWIDTH_ROWS:
        X = X[np.random.default_rng(0).choice(len(X), _BANDWIDTH_ROWS, replace=False)]
    squares = cdist(X, X, "sqeuclidean")
    spread = math.sqrt(squares.mean())
    if spread == 0:
        return 1.0
    g = normals_at(0, X.shape, 0)
    tilt = np.sum(g * X, axis=1)[:, None] - g @ X.T
    low, high = (math.log(spread * c) for c in _BANDWIDTHS)
    while high - low > 1e-3:
        middle = (low + high) / 2
        enough = _effective_rows(squares, tilt, math.exp(middle), rows) >= goal
        low, high = (low, middle) if enough else (middle, high)
    return math.exp(high)


def normals_at(position: int, shape: tuple[int, int], seed: int) -> Array:
    """Standard normal rows that depend on the seed and their position alone.

    The d numbers of row i come from the words i·d, …, i·d + d − 1 of the Philox stream of the seed,
    one 64-bit word each: its first 52 bits, centred in (0, 1), through the normal quantile function
    (the usual samplers use a random number of words). Philox counts in steps of four words.
    """
    n, d = shape
    steps, rest = divmod(position * d, 4)
    stream = np.random.Philox(seed)
    stream.advance(steps)
    words = np.asarray(stream.random_raw(rest + n * d), dtype=np.uint64)[rest:]
    uniform = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return np.asarray(ndtri(uniform)).reshape(n, d)


def _effective_rows(squares: Array, tilt: Array, h: float, rows: int) -> float:
    """Median of (Σw)²/Σw², from log w/w₀ = −‖xᵢ − xⱼ‖²/(2h²) − gᵢᵀ(xᵢ − xⱼ)/h, w₀ the atom's."""
    log_ratio = -squares / (2 * h**2) - tilt / h
    np.fill_diagonal(log_ratio, -np.inf)
    peak = np.maximum(log_ratio.max(axis=1), 0.0)
    w, atom = np.exp(log_ratio - peak[:, None]), np.exp(-peak)
    factor = rows / (len(w) - 1)
    total = factor * w.sum(axis=1) + atom
    return float(np.median(total**2 / (factor * np.sum(w**2, axis=1) + atom**2)))


def _selected(folds: Sequence[Array], ranks: Sequence[int], start: Array, width: Array) -> Array:
    """The rank-th smallest of startₖ + sᵢ·widthₖ for each row and rank; +∞ beyond the finite sᵢ.

    Infinite scores are the last in any order, so the others decide; and 0·∞ never comes up.
    """
    finite = [scores[np.isfinite(scores)] for scores in folds]
    q = np.full((len(start), len(ranks)), np.inf)
    size = max(1, _SELECTION_ENTRIES // len(folds))
    for first in range(0, len(start), size):
        rows = slice(first, first + size)
        for j, rank in enumerate(ranks):
            if rank <= sum(map(len, finite)):
                q[rows, j] = _select(finite, rank, start[rows], width[rows])
    return q


def _select(lists: Sequence[Array], rank: int, start: Array, width: Array) -> Array:
    """The rank-th smallest of the ascending lists, each mapped affinely, merged only in thought.

    Rounding is monotone, so the mapped lists ascend as well and searches in them are exact. The
    entries low ≤ j < high of each are candidates. The pivot is the median, weighted by their
    numbers, of the entries that would be the answer if the lists were alike: it halves the
    candidates below the answer or those above it. Once it is the answer it stays.
    """
    counts = np.array([len(values) for values in lists], dtype=np.intp)
    first = np.cumsum(counts) - counts
    # An index just past the last list is looked up, but not counted.
    merged = np.concatenate([*lists, [0.0]])

    def at(index: Indices) -> Array:
        mapped: Array = start + merged[first + index] * width
        return mapped

    def count(before: np.ufunc, low: Indices, high: Indices) -> Indices:
        for _ in range(int(np.max(high - low)).bit_length()):
            middle = (low + high) // 2
            left = before(at(middle), pivot) & (low < high)
            low, high = np.where(left, middle + 1, low), np.where(left, high, middle)
        return low

    low, high = np.zeros(start.shape, dtype=np.intp), np.tile(counts, (len(start), 1))
    with np.errstate(over="ignore"):
        while True:
            size = high - low
            wanted = rank - low.sum(axis=1, keepdims=True)
            guess = low + (wanted - 1) * size // size.sum(axis=1, keepdims=True)
            pivot = _weighted_median(at(guess), size)
            below = count(np.less, low, high)
            upto = count(np.less_equal, below, high)
            beyond = below.sum(axis=1, keepdims=True) >= rank
            within = upto.sum(axis=1, keepdims=True) >= rank
            if np.all(within & ~beyond):
                return pivot[:, 0]
            low, high = np.where(within, low, upto), np.where(beyond, below, high)


def _weighted_median(values: Array, weights: Indices) -> Array:
    """The lower weighted median of each row, shape (n, 1); values of weight zero do not count."""
    order = np.argsort(np.where(weights > 0, values, np.inf), axis=1)
    mass = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    median = np.argmax(2 * mass >= mass[:, -1:], axis=1)[:, None]
    chosen: Array = np.take_along_axis(values, np.take_along_axis(order, median, axis=1), axis=1)
    return chosen


def _exact(level: float) -> Fraction:
    """The decimal that a level prints as: that of its own precision for 32-bit numbers."""
    return Fraction(str(level))


def _checked_level(level: object) -> float:
    value = float(level) if isinstance(level, Real) else math.nan
    if not 0 < value < 1:
        advice = f"write {value / 100:g}" if 1 < value < 100 else "write 0.9 for nine rows in ten"
        seen = level.item() if isinstance(level, np.generic) else level
        raise ValueError(f"confidence_level must be in (0, 1), got {seen!r}: {advice}")
    return float(str(level)) if isinstance(level, np.floating) else value


def _checked_scores(scores: ArrayLike, *, signed: bool = False) -> Array:
    s = np.asarray(scores, dtype=np.float64)
    if s.ndim != 1:
        raise ValueError(f"scores must have shape (m,), got {s.shape}")
    if np.any(np.isnan(s)) or (not signed and np.any(s == -np.inf)):
        raise ValueError(
            "scores must be numbers or +inf, got NaN or -inf: drop rows without output"
        )
    return s


def _checked_weights(weights: ArrayLike) -> Array:
    w = np.asarray(weights, dtype=np.float64)
    if w.ndim != 1 or not np.all(np.isfinite(w)) or np.any(w < 0):
        worst = w[~(np.isfinite(w) & (w >= 0))][:1]
        seen = f"{worst[0]}" if len(worst) else f"shape {w.shape}"
        raise ValueError(
            f"weights must be finite and ≥ 0, one per row, got {seen}: clip the ratios"
        )
    return w


def _checked_inputs(inputs: ArrayLike, columns: int | None = None) -> Array:
    X = np.asarray(inputs, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != (columns or X.shape[1]) or not np.all(np.isfinite(X)):
        raise ValueError(
            f"inputs must be finite in the shape (n, {columns or 'd'}), got shape {X.shape}, NaN "
            "or infinity: impute or drop those rows"
        )
    return X


def _checked_groups(groups: Iterable[Hashable]) -> Groups:
    """An object array: joining numbers and strings in any other would rename groups."""
    names = list(groups)
    try:
        missing = any(isinstance(name, float) and math.isnan(name) for name in set(names))
    except TypeError:
        raise ValueError(
            "groups must be hashable, got rows that are not: name each group"
        ) from None
    if missing:
        raise ValueError("groups must be known, got NaN: give the rows without one a name")
    return np.fromiter(names, dtype=object, count=len(names))


def _shortage(levels: Sequence[float], rows: int) -> int | None:
    needed = max(rows_needed(level) for level in levels)
    return needed if rows < needed else None


def _picked(scores: Array, index: Indices) -> Array:
    """The scores at these places of an ascending list, +∞ just past its end."""
    picked: Array = np.concatenate([scores, [np.inf]])[index]
    return picked


def _joined(rows: NDArray[Any], more: Any) -> NDArray[Any]:
    added = _checked_groups(more) if rows.dtype == object else np.asarray(more)
    return np.concatenate([rows, added])


def _ratio(numerator: Array, width: Array, at_zero: Array) -> Array:
    ratio: Array = np.divide(numerator, width, out=at_zero, where=width > 0)
    return ratio
