"""Quantiles of the scores of held-out rows: split, signed, grouped and weighted."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sosbands.conformal.ranks import checked_levels, exact_level, order_rank, row_shortage
from sosbands.types import Array, Indices

Groups: TypeAlias = NDArray[np.object_]

# Sums of weights that reach a level but for rounding do reach it, as the exact ranks do.
SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class Calibration:
    """Scores of calibration rows; ascending once constructed, with what belongs to them."""

    scores: Array
    unit: ClassVar[str] = "rows"  # what is exchangeable
    _companions: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        self._sort()

    @property
    def size(self) -> int:
        """How many units calibrate."""
        return len(self.scores)

    def shortage(self, levels: Sequence[float]) -> int | None:
        """The size that a bounded interval needs at the largest level; None if it is reached."""
        return row_shortage(levels, self.size)

    def extended(self, scores: ArrayLike, *companions: Any) -> Self:
        """The calibration with further rows: their scores, then their groups, weights or inputs."""
        columns = ("scores", *self._companions)
        added = zip(columns, (scores, *companions), strict=True)
        return replace(self, **{name: _joined(getattr(self, name), rows) for name, rows in added})

    def _sort(self, **companions: NDArray[Any]) -> None:
        """Check the scores, then sort them and the arrays that go with them."""
        scores = checked_scores(self.scores, signed=isinstance(self, SignedCalibration))
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
        given, _ = checked_levels(levels, name="levels")
        ranks = [order_rank(level, len(self.scores)) for level in given]
        return picked(self.scores, np.minimum(ranks, len(self.scores) + 1) - 1)


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
        given, _ = checked_levels(levels, name="levels")
        exact = [exact_level(level) * (m + 1) for level in given]
        ranks = [math.floor(k) if 2 * k < m + 1 else math.ceil(k) for k in exact]
        return scores[np.minimum(ranks, m + 1)]

    def shortage(self, levels: Sequence[float]) -> int | None:
        """The rows that finite quantiles of all levels need; None if they are there."""
        outer = [float(max(exact_level(p), 1 - exact_level(p))) for p in levels]
        return row_shortage(outer, len(self.scores))


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
        self._sort(groups=named(self.groups))
        codes: dict[Hashable, int] = {}
        code = np.array([codes.setdefault(group, len(codes)) for group in self.groups])
        first = np.cumsum(np.bincount(code))[:-1]
        parts = np.split(self.scores[np.argsort(code, kind="stable")], first)
        by_group = dict(zip(codes, map(SplitCalibration, parts), strict=True))
        object.__setattr__(self, "by_group", by_group)

    def quantiles(self, levels: Sequence[float], groups: Iterable[Hashable]) -> Array:
        """The quantiles of each row's group, shape (n, len(levels)); +∞ for an unseen group."""
        names = named(groups)
        codes = {group: code for code, group in enumerate(self.by_group)}
        table = [part.quantiles(levels) for part in self.by_group.values()]
        table.append(np.full(len(levels), np.inf))
        rows = np.array([codes.get(name, len(codes)) for name in names], dtype=np.intp)
        return np.array(table)[rows]

    def shortage(self, levels: Sequence[float]) -> int | None:
        """The rows that every group needs at the largest level; None if all have them."""
        return row_shortage(levels, min(len(part.scores) for part in self.by_group.values()))


@dataclass(frozen=True, eq=False)
class ClusteredCalibration(Calibration):
    """One q for rows of new clusters, such as patients (Lee, Barber and Willett, 2023).

    Rows of one cluster resemble each other, and clusters alone are exchangeable. Each of them
    counts as one, however many rows it has, and so does that of a new row. Then a row of a new
    cluster has P(Y ∈ C(X)) ≥ level.

    Attributes
    ----------
    clusters : int array of shape (m,)
        The number of each row's cluster.
    """

    clusters: Indices
    unit: ClassVar = "groups"  # as users call them
    _companions: ClassVar = ("clusters",)

    def __post_init__(self) -> None:
        self._sort(clusters=np.asarray(self.clusters, dtype=np.intp))

    @property
    def size(self) -> int:
        """The number of clusters."""
        return len(np.unique(self.clusters))

    def quantiles(self, levels: Sequence[float]) -> Array:
        """The smallest t with Σ 1{sᵢ ≤ t}/(rows of its cluster) ≥ level·(clusters + 1), or +∞."""
        _, cluster, rows = np.unique(self.clusters, return_inverse=True, return_counts=True)
        given, _ = checked_levels(levels, name="levels")
        target = np.array(given) * (len(rows) + 1)
        index = np.searchsorted(np.cumsum(1.0 / rows[cluster]), target * (1 - SLACK))
        return picked(self.scores, index)


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
        given, _ = checked_levels(levels, name="levels")
        target = (self._mass[-1] + own)[:, None] * np.array(given)
        index = np.searchsorted(self._mass, target * (1 - SLACK))
        return picked(self.scores, index)


def checked_scores(scores: ArrayLike, *, signed: bool = False) -> Array:
    """The scores as an array of shape (m,), of numbers and +∞; of −∞ as well if they are signed."""
    s = np.asarray(scores, dtype=np.float64)
    if s.ndim != 1:
        raise ValueError(f"scores must have shape (m,), got {s.shape}")
    if np.any(np.isnan(s)) or (not signed and np.any(s == -np.inf)):
        raise ValueError(
            "scores must be numbers or +inf, got NaN or -inf: drop rows without output"
        )
    return s


def picked(scores: Array, index: Indices) -> Array:
    """The scores at these places of an ascending list, +∞ just past its end."""
    picked: Array = np.concatenate([scores, [np.inf]])[index]
    return picked


def _checked_weights(weights: ArrayLike) -> Array:
    w = np.asarray(weights, dtype=np.float64)
    if w.ndim != 1 or not np.all(np.isfinite(w)) or np.any(w < 0):
        worst = w[~(np.isfinite(w) & (w >= 0))][:1]
        seen = f"{worst[0]}" if len(worst) else f"shape {w.shape}"
        raise ValueError(
            f"weights must be finite and ≥ 0, one per row, got {seen}: clip the ratios"
        )
    return w


def named(groups: Iterable[Hashable]) -> Groups:
    """An object array: joining numbers and strings in any other would rename groups."""
    names = list(groups)
    try:
        missing = any(_is_missing(name) for name in set(names))
    except TypeError:
        raise ValueError(
            "groups must be hashable, got rows that are not: name each group"
        ) from None
    if missing:
        raise ValueError("groups must be known, got NaN: give the rows without one a name")
    return np.fromiter(names, dtype=object, count=len(names))


def _is_missing(name: Hashable) -> bool:
    """NaN and NaT are not equal to themselves; pandas' NA does not say whether it is."""
    return type(name).__name__ == "NAType" or bool(name != name)  # noqa: PLR0124


def _joined(rows: NDArray[Any], more: Any) -> NDArray[Any]:
    added = named(more) if rows.dtype == object else np.asarray(more)
    return np.concatenate([rows, added])
