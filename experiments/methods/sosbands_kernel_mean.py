"""Our band around a kernel mean, as the paper has it: `estimator=None`."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.methods import Array, Fitted, Method
from experiments.methods._bands import calibrated_band
from sosbands import BandRegressor


def fit(
    X: Array, y: Array, X_cal: Array, y_cal: Array, *, levels: Sequence[float], seed: int
) -> Fitted:
    """The defaults."""
    model = BandRegressor(None, calibration=None, random_state=seed)
    return calibrated_band(model, (X, y), (X_cal, y_cal), levels)


METHOD = Method(__name__, "sosbands, kernel mean", fit, variant_of="sosbands")
