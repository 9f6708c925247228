"""Our band around the boosted mean, calibrated by CV+: all rows train and all calibrate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.methods import Array, Fitted, Method
from experiments.methods._bands import fitted_band
from experiments.methods._boosting import boosted
from sosbands import BandRegressor


def fit(
    X: Array, y: Array, X_cal: Array, y_cal: Array, *, levels: Sequence[float], seed: int
) -> Fitted:
    """The same rows as the others get, put to both uses."""
    model = BandRegressor(boosted(seed), calibration="cv+", random_state=seed)
    model.fit(np.concatenate([X, X_cal]), np.concatenate([y, y_cal]))
    return fitted_band(model, levels)


METHOD = Method(__name__, "sosbands, CV+", fit, variant_of="sosbands")
