"""Path following: the barrier dual on a few rows, for a decreasing barrier parameter μ.

Maximises D_μ(Γ, θ) + μ Σ log Γᵢ + μ Σ log(C − Γᵢ) + μ log θ, D_μ smoothed as in `core.scale_term`.
That is the central path of the primal problem with the barrier −μ log of every slack and of det A,
so that Newton's method needs few steps whatever the weights and penalties are. Steps are primal-
dual: the slacks σ ≈ μ/Γ are variables of the Newton matrix, which permits longer steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import isfinite

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack, solve_triangular

from sosbands.core.mean_term import MeanState, MeanTerm
from sosbands.core.scale_term import ScaleState, ScaleTerm
from sosbands.types import Array

_BOUNDARY = 0.95  # fraction of the way to the boundary that a step may go
_ROOM = 1e-13  # fraction of C that is always left, or C − Γ would lose all its digits
_CENTRAL = 20.0  # slacks stay within this factor of their central values
_MANY_ROWS = 800  # beyond it, Newton matrices are not formed if the curvature has few columns
_STIFF = 1.0  # rows whose curvature is above this multiple of the barrier's are solved for exactly,
_MOST_STIFF = 700  # but no more of them than this
# Newton decrements from which on μ falls. A box keeps the multipliers of a soft band from running
# away: it is followed less closely, to this multiple of the number of barriers.
_NEAR, _NEAR_IN_BOX = 1.0, 0.5
_FAR = 0.03  # a soft band starts at the μ whose gap is this fraction of that of the start
# A soft band takes about as many steps, of fewer products, without the curvature of pairs so
# close to none, with few features or with many; with less ridge than this it needs all.
_NO_CURVATURE, _MANY_FEATURES, _SMALL_RIDGE = (0.03, 0.1), 60, 1e-4
_IDLE = 40  # steps without progress after which the best state so far is returned
_CURVATURE = 0.9  # a step may end where the slope has turned to this fraction of the first slope


@dataclass(frozen=True)
class Restriction:
    """The dual on some rows: the mean's part, one part per side, and the box."""

    mean: MeanTerm
    scales: tuple[ScaleTerm, ...]
    upper: float

    @cached_property
    def sides(self) -> list[slice]:
        """The rows of each side among the stacked ones."""
        edges = np.cumsum([0, *(len(term.rows) for term in self.scales)]).tolist()
        return [slice(start, stop) for start, stop in pairwise(edges)]

    def at(self, gamma: Array, theta: float, mu: float) -> PathState:
        """Evaluate everything at (Γ, θ) with smoothing μ."""
        sides = zip(self.scales, self.sides, strict=True)
        scales = tuple(term.at(gamma[side], mu) for term, side in sides)
        return PathState(gamma, theta, mu, self.mean.at(gamma, theta), scales)


@dataclass(frozen=True)
class PathState:
    """The restriction evaluated at one (Γ, θ, μ)."""

    gamma: Array
    theta: float
    mu: float
    mean: MeanState
    scales: tuple[ScaleState, ...]

    def smoothed(self, mu: float) -> PathState:
        """The same (Γ, θ) with another μ."""
        return replace(self, mu=mu, scales=tuple(s.smoothed(mu) for s in self.scales))

    @cached_property
    def surplus(self) -> Array:
        """f − requirement, stacked over the sides."""
        values = [s.values for s in self.scales]
        return (values[0] if len(values) == 1 else np.concatenate(values)) - self.mean.requirements

    @property
    def barriers(self) -> int:
        """How many constraints there are, but for Γ ≤ C and the ball."""
        return len(self.gamma) + sum(len(scale.eigenvalues) for scale in self.scales)

    @property
    def dual_value(self) -> float:
        """D(Γ, θ), not smoothed."""
        return self.mean.value - sum(s.penalty for s in self.scales)

    def gap(self, upper: float) -> float:
        """Primal minus dual value on these rows, as a sum of non-negative terms."""
        surplus = self.surplus
        if isfinite(upper):
            met = np.maximum(surplus, 0.0)
            complementarity = float(self.gamma @ met + (upper - self.gamma) @ (met - surplus))
        else:
            complementarity = float(self.gamma @ np.abs(surplus))
        ball = self.mean.theta * abs(self.mean.slack)
        return complementarity + ball + sum(s.suboptimality for s in self.scales)


@dataclass(frozen=True)
class Iterate:
    """Multipliers and slacks: σ of Γ ≥ 0, ξ of Γ ≤ C, ρ of the ball."""

    gamma: Array
    theta: float
    mu: float
    slack: Array
    excess: Array
    ball: float


def central(gamma: Array, theta: float, mu: float, upper: float) -> Iterate:
    """An iterate whose slacks have their central values."""
    excess = mu / (upper - gamma) if isfinite(upper) else np.zeros_like(gamma)
    return Iterate(gamma, theta, mu, mu / gamma, excess, mu / theta)


@dataclass(frozen=True)
class PathEnd:
    """Where a path was left: the iterate, its state, its gap, and whether rounding stopped it."""

    iterate: Iterate
    state: PathState
    gap: float
    steps: int
    stalled: bool


def follow(
    restriction: Restriction, iterate: Iterate, *, tol: float, floor: float, max_steps: int
) -> PathEnd:
    """Follow the path until gap ≤ tol · max(|primal value − fit|, floor)."""
    upper, near = restriction.upper, _NEAR
    state = restriction.at(iterate.gamma, iterate.theta, iterate.mu)
    if isfinite(upper):
        iterate, state = _raised(iterate, state, upper)
        near = _NEAR_IN_BOX * state.barriers
    best, idle, steps = PathEnd(iterate, state, np.inf, 0, stalled=True), 0, 0
    while steps < max_steps:
        gap = state.gap(upper)
        band = state.dual_value + gap - state.mean.fit  # < 0 if it covers many rows at C by far
        if gap + _repair_cost(state, upper) * band <= tol * max(abs(band), floor):
            return PathEnd(iterate, state, gap, steps, stalled=False)
        idle = 0 if gap < 0.99 * best.gap else idle + 1
        if gap < best.gap:
            best = PathEnd(iterate, state, gap, steps, stalled=True)
        moved = _step(restriction, iterate, state) if idle <= _IDLE else None
        if moved is None:
            return replace(best, steps=steps)
        iterate, state, decrement, length = moved
        steps += 1
        if decrement * length < near:
            mu = iterate.mu * (0.1 if length > 0.5 else 0.3)
            iterate, state = replace(iterate, mu=mu), state.smoothed(mu)
    return PathEnd(iterate, state, state.gap(upper), steps, stalled=False)


def _raised(iterate: Iterate, state: PathState, upper: float) -> tuple[Iterate, PathState]:
    """Further up the path, if the start is so far from it that its gap belongs to a larger μ."""
    if (mu := _FAR * state.gap(upper) / state.barriers) <= iterate.mu:
        return iterate, state
    return central(iterate.gamma, iterate.theta, mu, upper), state.smoothed(mu)


def _repair_cost(state: PathState, upper: float) -> float:
    """What scaling A until it covers the rows adds to a hard band, as a fraction of its value."""
    if isfinite(upper):
        return 0.0
    values = state.surplus + state.mean.requirements
    with np.errstate(over="ignore"):  # f may vanish at a row
        t = float(np.max(state.mean.requirements / np.maximum(values, 1e-300)))
    return min(max(t, 1.0), 1e100) ** 2 - 1.0


def _step(
    restriction: Restriction, iterate: Iterate, state: PathState
) -> tuple[Iterate, PathState, float, float] | None:
    """One damped Newton step; None if rounding errors leave no direction."""
    upper, mu = restriction.upper, iterate.mu
    gradient = _gradient(state, upper, restriction.mean.bounded)
    direction = _direction(restriction, iterate, state, gradient)
    if direction is None:
        return None
    slope, n = float(gradient @ direction), len(iterate.gamma)
    d_gamma, d_theta = direction[:n], float(direction[n]) if restriction.mean.bounded else 0.0
    length = _longest(iterate, d_gamma, d_theta, upper)
    for _ in range(40):
        gamma = np.minimum(iterate.gamma + length * d_gamma, upper * (1 - _ROOM))
        theta = iterate.theta + length * d_theta
        moved = restriction.at(gamma, theta, mu)
        # The barrier function is convex: while its slope has not turned much, it has decreased.
        turned = float(_gradient(moved, upper, restriction.mean.bounded) @ direction)
        if turned <= _CURVATURE * abs(slope) or -slope < 1e-9 * mu:
            break
        length *= max(0.1, min(0.5, slope / (slope - turned)))
    advanced = _advance(iterate, moved, d_gamma, d_theta, length=length, upper=upper)
    return advanced, moved, -slope / mu, length


def _gradient(state: PathState, upper: float, bounded: bool) -> Array:
    """Gradient of the barrier function that is minimised."""
    gradient = state.surplus - state.mu / state.gamma
    if isfinite(upper):
        gradient += state.mu / (upper - state.gamma)
    return np.append(gradient, state.mean.slack - state.mu / state.theta) if bounded else gradient


def _direction(
    restriction: Restriction, iterate: Iterate, state: PathState, gradient: Array
) -> Array | None:
    """−H⁻¹ gradient for H = curvature + diagonal, in as many dimensions as that takes."""
    diagonal, upper = _barrier_diagonal(restriction, iterate), restriction.upper
    mean = state.mean.curvature_factor()
    if mean is None:  # around a given mean the sides know nothing of each other
        parts = [
            _side_direction(scale, diagonal[rows], gradient[rows], soft=isfinite(upper))
            for scale, rows in zip(state.scales, restriction.sides, strict=True)
        ]
        found = [part for part in parts if part is not None]
        return np.concatenate(found) if len(found) == len(parts) else None
    columns = sum(scale.pairs for scale in state.scales) + mean.shape[1]
    if len(gradient) > max(2 * columns, _MANY_ROWS):
        F = _curvature_factor(state, restriction.sides, mean, columns)
        return _low_rank_direction(F, diagonal, gradient)
    H = mean @ mean.T
    for scale, rows in zip(state.scales, restriction.sides, strict=True):
        H[rows, rows] += scale.curvature()
    return _dense_direction(H, diagonal, gradient)


def _side_direction(scale: ScaleState, D: Array, gradient: Array, *, soft: bool) -> Array | None:
    """The direction of one side alone."""
    if len(gradient) > max(2 * scale.pairs, _MANY_ROWS):
        return _low_rank_direction(scale.curvature_factor(), D, gradient)
    all_count = not soft or scale.term.ridge <= _SMALL_RIDGE
    least = 0.0 if all_count else _NO_CURVATURE[len(scale.eigenvalues) > _MANY_FEATURES]
    return _dense_direction(scale.curvature(least), D, gradient)


def _dense_direction(H: Array, diagonal: Array, gradient: Array) -> Array | None:
    """−(H + D)⁻¹ gradient; H is overwritten."""
    H.flat[:: len(H) + 1] += diagonal
    return _solve(H, -gradient)


def _barrier_diagonal(restriction: Restriction, iterate: Iterate) -> Array:
    """σ/Γ + ξ/(C − Γ), and ρ/θ."""
    diagonal = iterate.slack / iterate.gamma
    if isfinite(restriction.upper):
        diagonal = diagonal + iterate.excess / (restriction.upper - iterate.gamma)
    if not restriction.mean.bounded:
        return diagonal
    return np.append(diagonal, iterate.ball / iterate.theta)


def _curvature_factor(state: PathState, sides: list[slice], mean: Array, columns: int) -> Array:
    """F with FFᵀ = curvature."""
    F, start = np.zeros((len(mean), columns)), 0
    for scale, rows in zip(state.scales, sides, strict=True):
        F[rows, start : start + scale.pairs] = scale.curvature_factor()
        start += scale.pairs
    F[:, start:] = mean
    return F


def _low_rank_direction(F: Array, diagonal: Array, gradient: Array) -> Array | None:
    """−(FFᵀ + D)⁻¹ gradient for many more rows than columns of F.

    Woodbury's formula loses digits where D is small beside FFᵀ. Such stiff rows (1) are kept, the
    others (2) eliminated: with K = I + F₂ᵀD₂⁻¹F₂ the matrix that is left is D₁ + F₁K⁻¹F₁ᵀ.
    """
    stiffness = np.einsum("ij,ij->i", F, F) / diagonal
    stiff = stiffness > max(_STIFF, np.partition(stiffness, -_MOST_STIFF)[-_MOST_STIFF])
    F1, F2, D2, right = F[stiff], F[~stiff], diagonal[~stiff], -gradient
    light = F2 / D2[:, None]
    K = F2.T @ light
    K[np.diag_indices(len(K))] += 1.0
    try:
        factor = cho_factor(K, lower=True, check_finite=False)
    except LinAlgError:
        return None
    known = light.T @ right[~stiff]
    half = solve_triangular(factor[0], F1.T, lower=True, check_finite=False)
    S = half.T @ half
    S[np.diag_indices(len(S))] += diagonal[stiff]
    first = _solve(S, right[stiff] - F1 @ cho_solve(factor, known, check_finite=False))
    if first is None:
        return None
    out = np.empty(len(gradient))
    out[stiff] = first
    image = cho_solve(factor, F1.T @ first + known, check_finite=False)  # Fᵀ times the direction
    out[~stiff] = (right[~stiff] - F2 @ image) / D2
    return out


def _solve(H: Array, right: Array) -> Array | None:
    """H⁻¹ right; rounding can cost H its definiteness, which a little more diagonal gives back.

    H is overwritten.
    """
    if not len(right):  # no row is stiff
        return right
    diagonal = H.diagonal().copy()
    # Without SciPy's checks, which take longer than a small factorisation, and in LAPACK's order of
    # the entries. The factor takes the place of one half of them; the other half is left.
    _, solution, failed = lapack.dposv(H.T, right, overwrite_a=1)
    for shift in (1e-14, 1e-12, 1e-10):
        if not failed:
            break
        H.flat[:: len(H) + 1] = diagonal * (1.0 + shift)
        _, solution, failed = lapack.dposv(H.T, right, lower=1)
    return None if failed else np.asarray(solution)


def _longest(iterate: Iterate, d_gamma: Array, d_theta: float, upper: float) -> float:
    """Longest step ≤ 1 that stays inside the box."""
    speed = max(float((-d_gamma / iterate.gamma).max()), -d_theta / iterate.theta)
    if isfinite(upper):
        speed = max(speed, float((d_gamma / (upper - iterate.gamma)).max()))
    return min(1.0, _BOUNDARY / speed) if speed > 0 else 1.0


def _advance(
    old: Iterate, state: PathState, d_gamma: Array, d_theta: float, *, length: float, upper: float
) -> Iterate:
    """The new iterate; slacks take the linearised complementarity step, kept near the centre."""
    mu = old.mu

    def slack(value: Array, variable: Array, change: Array, now: Array) -> Array:
        """σ after Γ dσ + σ dΓ = μ − σΓ, within a factor of μ/Γ."""
        stepped = value + length * (mu / variable - value - value / variable * change)
        middle = mu / now
        return np.minimum(np.maximum(stepped, middle / _CENTRAL), middle * _CENTRAL)

    excess, ball = old.excess, old.ball
    if isfinite(upper):
        excess = slack(old.excess, upper - old.gamma, -d_gamma, upper - state.gamma)
    if d_theta:  # around a given mean there is no ball
        ball = slack(*(np.array([v]) for v in (old.ball, old.theta, d_theta, state.theta))).item()
    return Iterate(
        gamma=state.gamma,
        theta=state.theta,
        mu=mu,
        slack=slack(old.slack, old.gamma, d_gamma, state.gamma),
        excess=excess,
        ball=ball,
    )
