"""Randomly localized conformal prediction (Hore and Barber, 2025) around the boosted mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.methods import Array, Fitted, Learner, Method
from experiments.methods._boosting import boosted
from sosbands.conformal import LocalizedCalibration, effective_bandwidth


def fit(
    X: Array,
    y: Array,
    X_cal: Array,
    y_cal: Array,
    *,
    levels: Sequence[float],
    seed: int,
    learner: Learner = boosted,
) -> Fitted:
    """Absolute residuals; the bandwidth leaves max(50, m^(2/3)) effective calibration rows."""
    mean = learner(seed).fit(X, y)
    centre, spread = X.mean(axis=0), np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)

    def standardised(X: Array) -> Array:
        return (X - centre) / spread

    calibration = LocalizedCalibration(
        np.abs(y_cal - mean.predict(X_cal)),
        standardised(X_cal),
        effective_bandwidth(standardised(X), len(y_cal)),
        seed,
    )

    def intervals(X: Array) -> Array:
        m, q = mean.predict(X)[:, None], calibration.quantiles(levels, standardised(X))
        return np.stack([m - q, m + q], axis=1)

    return Fitted(intervals, mean.predict)


METHOD = Method(__name__, "localized split (RLCP)", fit)
