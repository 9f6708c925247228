"""Our band with one scale for both sides, around the boosted mean."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.methods import Array, Fitted, Method
from experiments.methods._bands import calibrated_band
from experiments.methods._boosting import boosted
from sosbands import BandRegressor, KernelBand


def fit(
    X: Array, y: Array, X_cal: Array, y_cal: Array, *, levels: Sequence[float], seed: int
) -> Fitted:
    """Otherwise the defaults."""
    model = BandRegressor(
        boosted(seed), band=KernelBand(symmetric=True), calibration=None, random_state=seed
    )
    return calibrated_band(model, (X, y), (X_cal, y_cal), levels)


METHOD = Method(__name__, "sosbands, symmetric", fit, variant_of="sosbands")
