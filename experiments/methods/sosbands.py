"""Our band as it comes: around the average of models that is the default mean."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.methods import Array, Fitted, Method
from experiments.methods._bands import calibrated_band
from sosbands import BandRegressor


def fit(
    X: Array, y: Array, X_cal: Array, y_cal: Array, *, levels: Sequence[float], seed: int
) -> Fitted:
    """One fit serves all levels."""
    model = BandRegressor(calibration=None, random_state=seed)
    return calibrated_band(model, (X, y), (X_cal, y_cal), levels)


METHOD = Method(__name__, "sosbands, as it comes", fit)
