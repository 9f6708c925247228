"""The band of least mean f that covers all training rows (UTOPIA; Fan, Ge and Mukherjee, 2024).

min (1/n) Σ f(xᵢ) with f(xᵢ) ≥ rᵢ²: our problem with b = 1 and λ₁ = λ₂ = 0. Without a penalty
nothing holds f between the rows, and no solver finds the least one; penalties of `PENALTY` are
small beside b. Mean and tuning are ours: only what is minimised differs.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments.methods import Array, Fitted, Method
from experiments.methods._bands import calibrated_band, hard_band

PENALTY = 1e-4
WEIGHTS = {"width_weight": 1.0, "trace_penalty": PENALTY, "ridge_penalty": PENALTY}


def fit(
    X: Array, y: Array, X_cal: Array, y_cal: Array, *, levels: Sequence[float], seed: int
) -> Fitted:
    """A hard band with one side, without an offset."""
    return calibrated_band(hard_band(seed, **WEIGHTS), (X, y), (X_cal, y_cal), levels)


METHOD = Method(__name__, "least mean width (UTOPIA)", fit, max_rows=200)
