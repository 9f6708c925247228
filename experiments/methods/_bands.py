"""`BandRegressor` with settings of all kinds, called like the other methods."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.methods import QUANTILES, Array, Fitted
from sosbands import BandRegressor, KernelBand


def calibrated_band(
    model: BandRegressor,
    rows: tuple[Array, Array],
    calibration_rows: tuple[Array, Array],
    levels: Sequence[float],
) -> Fitted:
    """Fit with some rows, calibrate with the others."""
    return fitted_band(model.fit(*rows).conformalize(*calibration_rows), levels)


def fitted_band(model: BandRegressor, levels: Sequence[float]) -> Fitted:
    """A model that is calibrated already."""
    return Fitted(
        lambda X: model.predict_interval(X, list(levels)),
        model.predict,
        lambda X: model.predict(X, return_std=True)[1],
        lambda X: model.predict_quantiles(X, QUANTILES),
    )


def hard_band(seed: int, **weights: float) -> BandRegressor:
    """Around the kernel mean, a band with one side that covers every training row."""
    band = KernelBand(symmetric=True, training_coverage=1.0, offset=0.0, caution=0.0, **weights)
    return BandRegressor(None, band=band, calibration=None, random_state=seed)
