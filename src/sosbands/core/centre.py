"""What bands of several levels go around: the mean and a smooth function δ beside it.

A mean is often outside the best intervals of low levels, if outputs are skewed or pile up at one
value. δ moves the centre of all bands to about the median of what the mean leaves:

    min  Σ wᵢ √(ε² + (rᵢ − δ(xᵢ))²) / Σ wᵢ + λ‖δ‖²,

with the kernel of the band, so that ‖δ‖² ≤ mean|r|/λ. The smoothing ε makes the problem one of a
few Newton steps in as many dimensions as there are features, and the solution smooth in the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sosbands.core.expansions import KernelExpansion
from sosbands.core.features import FeatureRows
from sosbands.core.problem import BandProblem
from sosbands.core.threads import one_blas_thread
from sosbands.types import Array

# ε in units of the root mean square of the residuals. With 0.3 scores were the same on the eight
# development sets, within .1 %.
_SMOOTHING = 0.1
# The decrease that is left, as a fraction of the value, and steps to get there: four to fifteen.
_TOLERANCE, _STEPS = 1e-14, 100


@dataclass(frozen=True, eq=False)
class Centre:
    """δ as a function, and its values at the rows of the problem."""

    function: KernelExpansion
    values: Array

    @classmethod
    def of(cls, problem: BandProblem, penalty: float) -> Centre:
        """Learn δ from the residuals of a problem, with the kernel of its scale."""
        part: FeatureRows = problem.features
        weights = problem.row_weights
        shares = np.ones(problem.n) if weights is None else weights
        with one_blas_thread():
            z = smoothed_median(part.rows, problem.residuals, shares / shares.sum(), penalty)
        return cls(part.features.expansion(z), part.rows @ z)


def smoothed_median(rows: Array, r: Array, shares: Array, penalty: float) -> Array:
    """z that minimises Σ sharesᵢ √(ε² + (rᵢ − φᵢᵀz)²) + λ‖z‖², by Newton's method."""
    size = float(np.sqrt(shares @ r**2)) or 1.0
    ε, z = _SMOOTHING * size, np.zeros(rows.shape[1])

    def value(z: Array) -> float:
        return float(shares @ np.hypot(ε, r - rows @ z) + penalty * (z @ z))

    now = value(z)
    for _ in range(_STEPS):
        left = r - rows @ z
        sizes = np.hypot(ε, left)
        slope = 2 * penalty * z - rows.T @ (shares * left / sizes)
        H = (rows.T * (shares * ε**2 / sizes**3)) @ rows
        H[np.diag_indices(len(H))] += 2 * penalty
        direction = -cho_solve(cho_factor(H, check_finite=False), slope, check_finite=False)
        gain, length = -float(slope @ direction), 1.0
        if gain <= _TOLERANCE * now:
            break
        # The value is convex: half a step that does not gain enough is tried until one does.
        while (then := value(z + length * direction)) > now - 1e-4 * length * gain:
            length *= 0.5
            if length < 1e-10:
                return z
        z, now = z + length * direction, then
    return z
