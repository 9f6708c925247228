"""The dual over all rows: the penalty Ω* of any solver's multipliers, and how to make it vanish.

With Γ the multipliers of the coverage constraints and θ that of ‖m‖² ≤ s, the dual is

    D(Γ, θ) = min_z { base(z) + Σ Γᵢ requirementᵢ(z) + θ(‖z‖² − s) } − Σ_sides Ω*(M(Γ)),
    M(Γ) = M₀ + Φᵀ diag(Γ) Φ,      Ω*(M) = ‖[M]₊‖² / (4λ₂)                    (Prop. 2),

where ``base`` and M₀ = −λ₁I − (b/n)ΦᵀΦ + … collect everything that does not move. Its gradient is
the constraint violation: ∂D/∂Γᵢ = requirementᵢ − f(xᵢ) and ∂D/∂θ = ‖m‖² − s. What Newton's method
needs of both parts is in `mean_term` and `scale_term`.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from sosbands.core.features import Basis
from sosbands.core.problem import BandProblem
from sosbands.types import Array


def penalty(problem: BandProblem, gamma: Array, rows: Array, cost: Array) -> float:
    """Ω*(M) of one side, M = Φᵀ diag(Γ) Φ − cost."""
    active = np.flatnonzero(gamma)
    rounding = np.finfo(float).eps * len(cost) * float(np.abs(cost).max())
    root = rows[active]
    root *= np.sqrt(gamma[active])[:, None]  # in place: of many rows, new memory takes longer
    if problem.width_weight == 0 and len(active) < rows.shape[1]:  # cost = λ₁I: few rows will do
        eigenvalues = np.linalg.eigvalsh(root @ root.T) - problem.trace_penalty
    else:
        eigenvalues = np.linalg.eigvalsh(root.T @ root - cost)
    excess = eigenvalues[eigenvalues > 4 * rounding]
    if problem.ridge_penalty > 0:
        return float(np.sum(excess**2)) / (4 * problem.ridge_penalty)
    return np.inf if len(excess) else 0.0


def shrunk(
    problem: BandProblem, basis: Basis, multipliers: Array, theta: float
) -> tuple[Array, float]:
    """(Γ, θ) scaled down until Φᵀ diag(Γ) Φ ⪯ λ₁I + (b/n)ΦᵀΦ on every side.

    There Ω* vanishes, whatever λ₂ is: the dual point to take where λ₂ is 0 or as good as 0.
    """
    largest = 1.0
    for part, gamma in zip(basis.scales, multipliers, strict=True):
        rows = part.rows
        stacked = np.vstack(
            [
                np.sqrt(problem.width_weight / problem.total_weight) * rows,
                np.sqrt(problem.trace_penalty) * np.eye(rows.shape[1]),
            ]
        )
        R = np.asarray(np.linalg.qr(stacked, mode="r"))  # RᵀR = λ₁I + (b/n)ΦᵀΦ
        pivots = np.abs(np.diag(R))
        if pivots.min() <= np.finfo(float).eps * len(rows) * pivots.max():
            return np.zeros_like(multipliers), 0.0
        active = np.flatnonzero(gamma)
        white = solve_triangular(R, rows[active].T, trans=1, check_finite=False)
        largest = max(largest, float(np.linalg.eigvalsh((white * gamma[active]) @ white.T)[-1]))
    largest *= 1 + 1e-12  # so that rounding does not undo it
    return multipliers / largest, theta / largest


def width_cost(problem: BandProblem, gram: Array) -> Array:
    """λ₁I + (b/n)ΦᵀΦ from ΦᵀΦ."""
    cost = problem.trace_penalty * np.eye(len(gram))
    return cost + problem.width_weight / problem.total_weight * gram
