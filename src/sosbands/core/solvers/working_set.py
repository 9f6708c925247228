"""The working set: which multipliers move, which stay at 0 and which at C."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sosbands.core.primal import Fit
from sosbands.core.solvers.path import Iterate, PathEnd, central
from sosbands.core.solvers.reduction import Reduction, RowRoles
from sosbands.core.solvers.solution import Solution
from sosbands.core.solvers.units import Normalised
from sosbands.types import Array, Indices, Mask

_SETTLED = 0.1  # a soft row this close to 0 or C (as a fraction of C) may leave
_INACTIVE = 1e-3  # a hard row with this fraction of the largest multiplier may leave
_FEW_FEATURES = 60  # up to here, steps are solved in the space of pairs of features
_CROWDED = 250  # up to this size nobody has to leave
# Rows that join a soft band start off their bounds by a tenth of C, all together by no more than
# this share of the multipliers, or the path would have to be taken up where it began (residuals
# that hardly vary around a function, by `fit_large.wild_output`: 690 steps instead of 770).
_JOINING = 0.1
_RETURNS = 2  # a row that has come back more often than this stays

# How much further down the path a soft band on all rows starts than its uniform multipliers say.
_CLOSER = 0.1
# Fraction of C by which multipliers of another problem are moved off 0 and C: some seven steps;
# with ten times of it eight, with a hundred as many as without a start (folds of 140 rows).
_OFF_BOUNDS = 2e-3


@dataclass
class WorkingSet:
    """Rows, their multipliers (stacked over the sides), θ and μ, in the units of the solver.

    It is complete if every row that may carry a multiplier moves.
    """

    units: Normalised
    rows: RowRoles
    gamma: Array
    theta: float
    mu: float
    complete: bool = False
    returns: Array = field(init=False)

    def __post_init__(self) -> None:
        """No row has come back yet."""
        self.returns = np.zeros((len(self.units.scales), len(self.units.targets)), dtype=np.int16)

    @classmethod
    def all_rows(cls, units: Normalised, reduction: Reduction) -> WorkingSet:
        """Every row moves, from a uniform start of the size at which A would just cover them."""
        n = len(units.targets)
        peak = max(float(units.demands.max()), 0.0) or 1.0
        free, gammas = [], []
        for side, demands in zip(units.scales, units.demands, strict=True):
            tall = side.rows.shape[1] <= n
            gram = side.rows.T @ side.rows if tall else side.rows @ side.rows.T
            largest = float(np.linalg.eigvalsh(gram)[-1]) or 1.0
            size = (side.trace + 2 * side.ridge * peak) / largest + units.width_weight
            free.append(_demanding(units, side.rows, demands))
            gammas.append(np.full(len(free[-1]), min(size, 0.5 * units.upper)))
        rows = RowRoles(tuple(free), (np.arange(0),) * len(free))
        gamma = np.concatenate(gammas)
        theta = float(np.mean(gamma))
        state = reduction.restrict(rows, gamma, 1e-12 * theta).restriction.at(
            gamma, theta, 1e-3 * peak * theta
        )
        mu = float(np.mean(gamma * np.maximum(np.abs(state.surplus), 0.01 * peak)))
        if np.isfinite(units.upper):
            mu *= _CLOSER
        return cls(units, rows, gamma, theta, mu, complete=True)

    @classmethod
    def all_rows_from(cls, units: Normalised, start: Solution) -> WorkingSet:
        """Every row of a soft band moves, from where a similar problem has ended.

        μ is small: the path is taken up where the gap of the start belongs.
        """
        sides = zip(units.scales, units.demands, strict=True)
        free = tuple(_demanding(units, side.rows, demands) for side, demands in sides)
        shares = np.concatenate([start.multipliers[side][rows] for side, rows in enumerate(free)])
        shares = shares / start.problem.multiplier_bound
        gamma = np.clip(shares, _OFF_BOUNDS, 1 - _OFF_BOUNDS) * units.upper
        rows = RowRoles(free, (np.arange(0),) * len(free))
        theta = max(units.own_theta(start.theta), 1e-12)
        mu = 1e-12 * units.problem.zero_level / units.value
        return cls(units, rows, gamma, theta, mu, complete=True)

    @classmethod
    def from_coarse(
        cls, units: Normalised, sample: Indices, coarse: Solution, fit: Fit
    ) -> WorkingSet:
        """From a coarse problem's multipliers at the sampled rows and its band at all rows."""
        surplus, scales = _in_units(units, fit)
        if np.isfinite(units.upper):
            sides = zip(surplus, scales, coarse.multipliers, strict=True)
            parts = [_soft_start_from(units, *side) for side in sides]
        else:
            parts = [_hard_start(sample, multipliers) for multipliers in coarse.multipliers]
        rows = RowRoles(tuple(p[0] for p in parts), tuple(p[1] for p in parts))
        gamma = np.concatenate([p[2] for p in parts])
        barriers = len(gamma) + sum(side.rows.shape[1] for side in units.scales) + 1
        value = max(abs(coarse.dual_value), units.problem.zero_level) / units.value
        mu = min(max(coarse.gap, 1e-3), 0.1) * value / barriers
        working = cls(units, rows, gamma, max(units.own_theta(coarse.theta), 1e-12), mu)
        working._admit(surplus, scales)
        return working

    @classmethod
    def around_inner(cls, units: Normalised, inner: Array) -> WorkingSet:
        """From a multiple of what the bands inside reach, which has much of the shape.

        μ is small: the path is taken up where the gap of the start belongs.
        """
        share = (1 - units.problem.training_coverage) / len(units.scales)
        scales = inner / units.value
        surplus = scales - units.demands
        sides = zip(surplus, scales, strict=True)
        parts = [_soft_start(units, *side, share=share) for side in sides]
        rows = RowRoles(tuple(p[0] for p in parts), tuple(p[1] for p in parts))
        gamma = np.concatenate([p[2] for p in parts])
        return cls(units, rows, gamma, 1e-12, 1e-12 * units.problem.zero_level / units.value)

    def iterate(self) -> Iterate:
        """Where the path starts."""
        return central(self.gamma, self.theta, self.mu, self.units.upper)

    def multipliers(self, gamma: Array) -> Array:
        """Γ of shape (sides, n) from the stacked multipliers of the free rows."""
        out = np.zeros((len(self.rows.free), len(self.units.targets)))
        for side, part in enumerate(np.split(gamma, self.rows.splits)):
            out[side, self.rows.free[side]] = part
            out[side, self.rows.capped[side]] = self.units.upper
        return out

    def update(self, outcome: PathEnd, fit: Fit, band: float, gap: float) -> int:
        """Settled rows leave, rows on the wrong side join; the number of those that joined.

        ``band`` is the value of the feasible band, ``gap`` its relative gap.
        """
        state = outcome.state
        self.gamma, self.theta, self.mu = state.gamma, state.theta, outcome.iterate.mu
        surplus, scales = _in_units(self.units, fit)
        barriers = state.barriers + 1
        if gap < 0.5 and len(self.gamma) > _CROWDED:
            self._release(surplus, scales)
        joined = self._admit(surplus, scales)
        if joined or outcome.stalled:  # the path is resumed where its gap is what all rows leave
            if not np.isfinite(band):
                band = abs(state.dual_value - state.mean.fit) + outcome.gap
            self.mu = max(self.mu, min(gap, 0.1) * band / barriers)
        return joined

    def _release(self, surplus: Array, scales: Array) -> None:
        """Fix multipliers that the barrier alone keeps off their bounds."""
        upper = self.units.upper
        free, capped, gammas = [], [], []
        for side, gamma in enumerate(np.split(self.gamma, self.rows.splits)):
            rows = self.rows.free[side]
            gain = surplus[side][rows]
            if np.isfinite(upper):
                settled, high = _settled(gamma, gain, upper)
            else:
                settled = (gamma < _INACTIVE * gamma.max()) & (gain > 0.05 * scales[side][rows])
                high = np.zeros_like(settled)
            stay = ~settled | (self.returns[side][rows] > _RETURNS)
            capped.append(np.union1d(self.rows.capped[side], rows[high & ~stay]))
            free.append(rows[stay])
            gammas.append(gamma[stay])
        self.rows, self.gamma = RowRoles(tuple(free), tuple(capped)), np.concatenate(gammas)

    def _admit(self, surplus: Array, scales: Array) -> int:
        """Let the worst rows outside the set join."""
        upper, soft = self.units.upper, bool(np.isfinite(self.units.upper))
        free, capped, gammas, joined = [], [], [], 0
        for side, gamma in enumerate(np.split(self.gamma, self.rows.splits)):
            rows, missed = self.rows.free[side], self.rows.capped[side]
            wrong = np.maximum(-surplus[side], 0.0)
            wrong[missed] = np.maximum(surplus[side][missed], 0.0)
            wrong[rows] = 0.0
            typical = max(float(np.mean(scales[side])), np.finfo(float).tiny)
            if soft:
                fresh = _largest(wrong, self._room(side, len(rows)))
                mass = _JOINING * (float(np.sum(gamma)) / upper + len(missed))
                off = min(0.1, mass / max(len(fresh), 1))
                start = np.where(np.isin(fresh, missed), 1 - off, off) * upper
            else:
                score = wrong / (scales[side] + 0.01 * typical)
                fresh = _different(score, self.units.scales[side].rows, max(20, len(rows) // 2))
                start = self.mu / np.maximum(wrong[fresh], 1e-6 * typical)
                start = np.minimum(start, float(gamma.max()))
            self.returns[side][fresh] += 1
            joined += len(fresh)
            free.append(np.concatenate([rows, fresh]))
            capped.append(np.setdiff1d(missed, fresh, assume_unique=True))
            gammas.append(np.concatenate([gamma, start]))
        self.rows, self.gamma = RowRoles(tuple(free), tuple(capped)), np.concatenate(gammas)
        return joined

    def _room(self, side: int, size: int) -> int:
        """How many rows of a soft band may join: many where a row costs little."""
        features = self.units.scales[side].rows.shape[1]
        return max(100, size if features <= _FEW_FEATURES else size // 3)


def _demanding(units: Normalised, rows: Array, demands: Array) -> Indices:
    """All rows, but for those of a given mean that demand nothing: f ≥ 0 covers them anyway."""
    if units.mean_rows is not None:
        return np.arange(len(units.targets))
    if not np.any(demands > 0):  # the path needs a variable
        return np.array([np.argmax(np.einsum("ij,ij->i", rows, rows))])
    return np.flatnonzero(demands > 0)


def _settled(gamma: Array, gain: Array, upper: float) -> tuple[Mask, Mask]:
    """Rows of a soft band that are all but at 0 or C, and which of them are at C.

    No more of them than the others can make up for when the rest of the way is rounded off.
    """
    high = gamma > 0.5 * upper
    rest = np.where(high, upper - gamma, gamma)
    right = np.where(high, gain < 0, gain > 0)
    near = np.flatnonzero(right & (rest < _SETTLED * upper))
    near = near[np.argsort(rest[near])]
    settled = np.zeros(len(gamma), dtype=bool)
    settled[near[np.cumsum(rest[near]) <= 0.25 * rest.sum()]] = True
    return settled, high


def _in_units(units: Normalised, fit: Fit) -> tuple[Array, Array]:
    """f − requirement and f in the units of the solver."""
    return (fit.scales - fit.requirements) / units.value, fit.scales / units.value


def _hard_start(sample: Indices, multipliers: Array) -> tuple[Indices, Indices, Array]:
    """The rows that the coarse problem found active."""
    largest = float(multipliers.max()) or 1.0
    active = multipliers > _INACTIVE * largest
    active[np.argmax(multipliers)] = True
    return sample[active], sample[:0], np.maximum(multipliers[active], _INACTIVE * largest)


def _soft_start_from(
    units: Normalised, surplus: Array, scales: Array, multipliers: Array
) -> tuple[Indices, Indices, Array]:
    """From a band that misses some of its rows, and has others at its edge.

    If its rows are those of the problem, their multipliers are known (5 to 8 % fewer steps).
    """
    parts = multipliers / (float(multipliers.max()) or 1.0)
    missed, between = float(np.mean(parts > 0.5)), np.abs(parts - 0.5) < 0.5 - _SETTLED
    near, capped, gamma = _soft_start(units, surplus, scales, missed, int(np.sum(between)))
    if len(parts) == len(surplus):
        gamma = np.clip(parts[near], _SETTLED, 1 - _SETTLED) * units.upper
    return near, capped, gamma


def _soft_start(
    units: Normalised, surplus: Array, scales: Array, share: float, between: int = 0
) -> tuple[Indices, Indices, Array]:
    """The rows closest to the edge of another band move; the rest are inside it or missed.

    That band is scaled, so that it misses this share of the rows: a band of few rows follows them
    too closely, and too many rows at C are hard to undo.
    """
    needed = scales - surplus
    ratios = needed / np.maximum(scales, 1e-12 * float(scales.max()) or 1.0)
    size = max(float(np.quantile(ratios, 1 - share)), 0.0) or 1.0
    scales, surplus = size * scales, size * scales - needed
    distance = np.abs(surplus) / (scales + 0.01 * max(float(np.mean(scales)), 1e-300))
    count = min(len(surplus), max(100, between))
    near = np.sort(np.argpartition(distance, count - 1)[:count])
    missed = np.setdiff1d(np.flatnonzero(surplus < 0), near)
    return near, missed, np.full(len(near), 0.5 * units.upper)


def _largest(score: Array, count: int) -> Indices:
    """Rows with the largest positive scores."""
    positive = np.flatnonzero(score > 0)
    if len(positive) <= count:
        return positive
    return positive[np.argpartition(score[positive], -count)[-count:]]


def _different(score: Array, rows: Array, count: int) -> Indices:
    """Rows with large positive scores whose features differ: neighbours violate together."""
    pool = _largest(score, 20 * count)
    if len(pool) <= count:
        return pool
    directions = rows[pool] / np.linalg.norm(rows[pool], axis=1)[:, None]
    left, chosen = score[pool].copy(), []
    for _ in range(count):
        best = int(np.argmax(left))
        if left[best] <= 0:
            break
        chosen.append(best)
        left *= 1.0 - 0.999 * np.minimum((directions @ directions[best]) ** 2, 1.0)
        left[best] = 0.0
    return pool[chosen]
