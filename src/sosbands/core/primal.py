"""Primal points: their values, the repair that makes them feasible, and the relative gap.

A point recovered from multipliers is slightly infeasible, and a gap proves something only for a
feasible pair: hence the repair before the gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sosbands.core.features import Basis
from sosbands.core.problem import BandProblem
from sosbands.types import Array


@dataclass(frozen=True, eq=False)
class Point:
    """A primal point: m(x) = ⟨z, φᵐ(x)⟩ and, per side, f(x) = ‖Rᵀφᶠ(x)‖², so that A = RRᵀ.

    Examples
    --------
    >>> from sosbands import BandProblem, Gaussian, Newton
    >>> problem = BandProblem.from_data([0, 1, 2], [0.1, -0.4, 1.5], scale_kernel=Gaussian(1.0))
    >>> point = Newton().solve(problem).point
    >>> len(point.factors), point.z is None  # one side, and no joint mean
    (1, True)
    """

    basis: Basis
    z: Array | None
    factors: tuple[Array, ...]

    @classmethod
    def zero(cls, basis: Basis) -> Point:
        """m = 0 and f = 0."""
        z = None if basis.mean is None else np.zeros(basis.mean.rows.shape[1])
        return cls(basis, z, tuple(np.zeros((side.rows.shape[1], 1)) for side in basis.scales))


@dataclass(frozen=True, eq=False)
class Fit:
    """A point at the training rows.

    Attributes
    ----------
    point : Point
    residuals : array of shape (n,)
        yᵢ − m(xᵢ).
    requirements, scales : arrays of shape (sides, n)
        What f must reach, and f.
    """

    point: Point
    residuals: Array
    requirements: Array
    scales: Array

    @classmethod
    def of(cls, problem: BandProblem, point: Point, residuals: Array, scales: Array) -> Fit:
        """With what the residuals demand."""
        return cls(point, residuals, problem.requirements(residuals), scales)


def evaluate(problem: BandProblem, point: Point) -> Fit:
    """A point at the training rows, in one pass over them."""
    scales = [
        squared_norms(part.rows, R)
        for part, R in zip(point.basis.scales, point.factors, strict=True)
    ]
    return Fit.of(problem, point, _residuals(problem, point), np.stack(scales))


def _residuals(problem: BandProblem, point: Point) -> Array:
    if point.basis.mean is None or point.z is None:
        return problem.targets
    return problem.targets - point.basis.mean.rows @ point.z


@dataclass(frozen=True)
class Value:
    """A primal value and its parts."""

    fit: float
    width: float
    penalty: float
    hinge: float

    @property
    def total(self) -> float:
        """The objective."""
        return self.fit + self.band

    @property
    def band(self) -> float:
        """The objective without the fit of the mean: what gaps are measured against."""
        return self.width + self.penalty + self.hinge


def squared_norms(rows: Array, R: Array, block: int = 1024) -> Array:
    """‖Rᵀφᵢ‖² for every row, in blocks; R may be that of the first features alone."""
    out = np.empty(len(rows))
    for start in range(0, len(rows), block):
        image = rows[start : start + block, : len(R)] @ R
        out[start : start + block] = np.einsum("ij,ij->i", image, image)
    return out


def primal_value(problem: BandProblem, fit: Fit) -> Value:
    """The objective at a point."""
    return _value(problem, fit, *_traces(fit.point))


def _traces(point: Point) -> tuple[Array, Array]:
    """tr A and ‖A‖² = tr A² of every side."""
    trace = np.array([np.sum(R * R) for R in point.factors])
    return trace, np.array([np.sum((R.T @ R) ** 2) for R in point.factors])


def _value(problem: BandProblem, fit: Fit, trace: Array, squared: Array) -> Value:
    hinge = 0.0
    if problem.soft:
        missed = np.maximum(fit.requirements - fit.scales, 0.0)
        hinge = problem.multiplier_bound * float(missed.sum())
    penalty = problem.trace_penalty * trace.sum() + problem.ridge_penalty * squared.sum()
    return Value(
        fit=problem.mean_weight / problem.total_weight * float(fit.residuals @ fit.residuals),
        width=problem.width_weight / problem.total_weight * float(fit.scales.sum()),
        penalty=float(penalty),
        hinge=hinge,
    )


@dataclass(frozen=True)
class Feasible:
    """A feasible point at the rows, its value, and how far the point before the repair missed."""

    fit: Fit
    value: Value
    violation: float

    @property
    def point(self) -> Point:
        """The point itself."""
        return self.fit.point


def repair(problem: BandProblem, fit: Fit) -> Feasible:
    """The nearest cheap feasible point: z shrunk onto the ball, then A scaled or lifted.

    A hard band takes the cheaper of A · max(requirement / f) and A + I · max(requirement − f)/‖φ‖²;
    its value is infinite where neither exists. `violation` is the largest requirement left unmet
    before the repair, as a fraction of the largest requirement.
    """
    fit = _onto_ball(problem, fit)
    missing = np.maximum(fit.requirements - fit.scales, 0.0)
    if problem.soft or not missing.any():  # what a soft band misses is part of its value
        return Feasible(fit, primal_value(problem, fit), 0.0)
    violation = float(missing.max()) / max(float(fit.requirements.max()), np.finfo(float).tiny)
    traces = _traces(fit.point)
    options = [
        Feasible(moved[0], _value(problem, *moved), violation)
        for moved in (_scaled(fit, *traces), _lifted(fit, missing, *traces))
        if moved is not None
    ]
    if not options:
        nowhere = Value(fit=0.0, width=0.0, penalty=np.inf, hinge=0.0)
        return Feasible(fit, nowhere, violation)
    return min(options, key=lambda option: option.value.total)


def _onto_ball(problem: BandProblem, fit: Fit) -> Fit:
    z = fit.point.z
    if z is None or float(z @ z) <= problem.mean_bound:
        return fit
    shrunk = replace(fit.point, z=z * np.sqrt(problem.mean_bound / float(z @ z)))
    return Fit.of(problem, shrunk, _residuals(problem, shrunk), fit.scales)


def _scaled(fit: Fit, trace: Array, squared: Array) -> tuple[Fit, Array, Array] | None:
    """A · t with the smallest t per side that covers every row, its tr A and ‖A‖²."""
    if np.any((fit.requirements > 0) & (fit.scales <= 0)):
        return None
    tiny = np.finfo(float).tiny
    with np.errstate(over="ignore"):
        t = np.maximum(np.max(fit.requirements / np.maximum(fit.scales, tiny), axis=1), 1.0)
    if not np.all(np.isfinite(t)):
        return None
    factors = tuple(np.sqrt(ti) * R for ti, R in zip(t, fit.point.factors, strict=True))
    point = replace(fit.point, factors=factors)
    moved = replace(fit, point=point, scales=t[:, None] * fit.scales)
    return moved, t * trace, t**2 * squared


def _lifted(
    fit: Fit, missing: Array, trace: Array, squared: Array
) -> tuple[Fit, Array, Array] | None:
    """A + ε I with the smallest ε per side that covers every row, its tr A and ‖A‖²."""
    point, factors, scales, lifts = fit.point, [], [], []
    parts = zip(point.basis.scales, point.factors, missing, fit.scales, strict=True)
    for part, R, short, f in parts:
        norms = part.squared_norms
        if np.any((short > 0) & (norms <= np.finfo(float).tiny)):
            return None
        ε = float(np.max(short / np.maximum(norms, np.finfo(float).tiny)))
        factors.append(np.hstack([R, np.sqrt(ε) * np.eye(len(R))]) if ε else R)
        scales.append(f + ε * norms)
        lifts.append(ε)
    point = replace(point, factors=tuple(factors))
    moved = replace(fit, point=point, scales=np.stack(scales))
    size, lift = np.array([len(R) for R in point.factors]), np.array(lifts)
    return moved, trace + size * lift, squared + 2 * lift * trace + size * lift**2


def uncoverable(problem: BandProblem, basis: Basis) -> bool:
    """Whether a hard band has rows with φ = 0, where f = 0 whatever A is.

    A joint mean would have to pass exactly through them, which leaves no feasible point inside.
    """
    if problem.soft:
        return False
    for side, sign in zip(basis.scales, problem.signs, strict=True):
        norms = side.squared_norms
        if problem.row_weights is not None:  # a small weight is no blank row
            norms = norms / problem.row_weights
        blank = norms <= 1e-12 * max(float(norms.max()), 1e-300)
        y = problem.targets[blank]
        needed = np.abs(y) if problem.symmetric else sign * y
        if np.any(needed > 0) or (basis.mean is not None and len(y)):
            return True
    return False


def relative_gap(problem: BandProblem, value: Value, difference: float) -> float:
    """(p − d) / (p − (a/n)‖r‖²); absolute, in units of the zero level, where the optimum is 0."""
    if not (np.isfinite(value.total) and np.isfinite(difference)):
        return np.inf
    reference = max(value.band, problem.zero_level)
    if reference <= 0:
        return 0.0 if difference <= 0 else np.inf
    return difference / reference
