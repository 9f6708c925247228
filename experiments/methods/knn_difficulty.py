"""Normalised conformal prediction of crepes: difficulty is the mean |residual| of 25 neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.methods import Array, Fitted, Learner, Method
from experiments.methods._boosting import boosted, cross_fitted


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
    """Neighbours among the training rows, by standardised inputs and cross-fitted residuals.

    What crepes adds to a difficulty, 0.01, is meant for residuals of about one. Its `scaler` would
    take the smallest difficulty to zero, which makes much wider intervals.
    """
    from crepes import ConformalRegressor
    from crepes.extras import DifficultyEstimator

    mean, _, residual = cross_fitted(X, y, seed, learner)
    centre, spread = X.mean(axis=0), np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)

    def standardised(X: Array) -> Array:
        return (X - centre) / spread

    k = min(25, len(y))
    difficulty = DifficultyEstimator().fit(standardised(X), residuals=residual / y.std(), k=k)

    def scale(X: Array) -> Array:
        return np.asarray(difficulty.apply(standardised(X)))

    peer = ConformalRegressor().fit(y_cal - mean.predict(X_cal), sigmas=scale(X_cal))

    def intervals(X: Array) -> Array:
        m, s = mean.predict(X), scale(X)
        return np.stack([peer.predict_int(m, sigmas=s, confidence=p) for p in levels], axis=2)

    return Fitted(intervals, mean.predict, scale)


METHOD = Method(__name__, "kNN difficulty (crepes)", fit)
