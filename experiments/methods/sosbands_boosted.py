"""Our band around the boosted mean, as that of the methods that take a mean."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.methods import Array, Fitted, Method
from experiments.methods._bands import calibrated_band
from experiments.methods._boosting import boosted
from sosbands import BandRegressor


def fit(
    X: Array, y: Array, X_cal: Array, y_cal: Array, *, levels: Sequence[float], seed: int
) -> Fitted:
    """One fit serves all levels."""
    model = BandRegressor(boosted(seed), calibration=None, random_state=seed)
    return calibrated_band(model, (X, y), (X_cal, y_cal), levels)


METHOD = Method(__name__, "sosbands, around boosting", fit, variant_of="sosbands")
