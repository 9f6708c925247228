"""MAPIE's conformalized quantile regression on boosted quantiles."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from experiments.methods import Array, Fitted, Method
from experiments.methods._boosting import boosted, tails
from experiments.methods._scores import bounds


def fit(
    X: Array, y: Array, X_cal: Array, y_cal: Array, *, levels: Sequence[float], seed: int
) -> Fitted:
    """MAPIE wants the two quantiles and the median, and one object for each level."""
    from mapie.regression import ConformalizedQuantileRegressor

    logging.basicConfig()  # or MAPIE sets it up to print when quantiles cross
    median = boosted(seed, 0.5).fit(X, y)
    peers = []
    for level in levels:
        models = [*(boosted(seed, q).fit(X, y) for q in tails(level)), median]
        peer = ConformalizedQuantileRegressor(models, confidence_level=level, prefit=True)
        peers.append(peer.conformalize(X_cal, y_cal))

    def intervals(X: Array) -> Array:
        found = [peer.predict_interval(X, symmetric_correction=True)[1] for peer in peers]
        C = np.concatenate(found, axis=2)
        return bounds(C[:, 0], C[:, 1])

    return Fitted(intervals, median.predict)


METHOD = Method(__name__, "CQR, boosting (MAPIE)", fit)
