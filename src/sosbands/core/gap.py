"""How far a primal and a dual point are apart, without the terms that they share.

With h half the slope of the mean's part of the Lagrangian at z, and H its curvature,

    p − d = band + Ω*(M(Γ)) − Σ Γᵢ requirementᵢ + θ(s − ‖z‖²) + hᵀH⁻¹h.

The fit (a/n)‖r‖² is part of p and of d. On paper it cancels; as numbers, the difference of both
would be rounding alone where the band is a millionth of the fit.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from sosbands.core.dual import penalty, width_cost
from sosbands.core.features import FeatureRows
from sosbands.core.primal import Feasible, Fit
from sosbands.core.problem import BandProblem
from sosbands.types import Array

_EPS = float(np.finfo(float).eps)
# A difference below zero by more than this fraction of its terms is no rounding.
_ROUNDING = 1e-10


class Gaps:
    """Duality gaps of one problem: what it pays for widths is computed once."""

    def __init__(self, problem: BandProblem) -> None:
        self.problem = problem
        self._sides: dict[int, tuple[Array, Array]] = {}

    def between(self, feasible: Feasible, multipliers: Array, theta: float) -> float:
        """p − d; infinite where the point is not feasible, or the multipliers bound nothing."""
        band, fit = feasible.value.band, feasible.fit
        dual = sum(
            penalty(self.problem, gamma, *self._side(part))
            for part, gamma in zip(fit.point.basis.scales, multipliers, strict=True)
        )
        paid = float(np.sum(multipliers * fit.requirements))
        difference = band + dual - paid
        if not difference >= -_ROUNDING * (band + dual + abs(paid)):  # NaN is neither
            return np.inf
        found = max(difference, 0.0) + mean_excess(self.problem, fit, multipliers, theta)
        return found if np.isfinite(found) else np.inf

    def _side(self, part: FeatureRows) -> tuple[Array, Array]:
        """The rows in their span, beyond which M = −λ₁I has no positive part, and their cost."""
        if id(part) not in self._sides:
            rows, gram = part.rows, None
            if len(rows) < rows.shape[1]:
                rows = np.asarray(np.linalg.qr(rows.T, mode="r")).T
                gram = rows.T @ rows
            cost = width_cost(self.problem, part.gram if gram is None else gram)
            self._sides[id(part)] = rows, cost
        return self._sides[id(part)]


def mean_excess(problem: BandProblem, fit: Fit, multipliers: Array, theta: float) -> float:
    """θ(s − ‖z‖²) + hᵀH⁻¹h: what the mean costs beyond the best one at (Γ, θ).

    Its part of the Lagrangian is quadratic in z: H = Lᵀ diag(w) L + θI, h = θz − Lᵀ(w∘r) with
    w = a/n + Γ; for a two-sided band w = a/n, and h has −½Lᵀ(Γ_up − Γ_low) besides.
    """
    mean, z, r, a = fit.point.basis.mean, fit.point.z, fit.residuals, problem.mean_weight
    if mean is None or z is None:
        return 0.0
    weights = np.full(problem.n, a / problem.total_weight)
    pull = weights * r
    if problem.symmetric:
        weights = weights + multipliers[0]
        pull = weights * r
    else:
        pull += 0.5 * (multipliers[1] - multipliers[0])
    h = theta * z - mean.rows.T @ pull
    noise = 100 * _EPS * float(np.abs(pull) @ np.sqrt(mean.squared_norms))
    used = np.flatnonzero(weights)
    root = np.sqrt(weights[used])[:, None] * mean.rows[used]
    ball = theta * max(problem.mean_bound - float(z @ z), 0.0)
    return ball + _quadratic(root, h, theta, noise)


def _quadratic(root: Array, h: Array, theta: float, noise: float) -> float:
    """hᵀ(rootᵀroot + θI)⁻¹h; infinite if h is not 0 but for its noise where the matrix is."""
    beyond = 0.0
    if len(root) < root.shape[1]:  # what is beyond the span of the rows has the curvature θ
        span = np.linalg.qr(root.T)[0]
        inside = span.T @ h
        beyond = float(np.linalg.norm(h - span @ inside))
        root, h = root @ span, inside
    if beyond > 0 and theta == 0:
        if beyond > noise:
            return np.inf
        beyond = 0.0
    out = beyond**2 / theta if beyond else 0.0
    if not len(h):
        return out
    stacked = np.vstack([root, np.sqrt(theta) * np.eye(len(h))])
    R = np.asarray(np.linalg.qr(stacked, mode="r"))
    pivots = np.abs(np.diag(R))
    if pivots.min() > _EPS * len(stacked) * pivots.max():
        half = solve_triangular(R, h, trans=1, check_finite=False)
        return out + float(half @ half)
    _, sizes, axes = np.linalg.svd(R)
    slopes, flat = axes @ h, sizes <= _EPS * len(stacked) * sizes[0]
    if np.any(np.abs(slopes[flat]) > noise):
        return np.inf
    return out + float(np.sum((slopes[~flat] / sizes[~flat]) ** 2))
