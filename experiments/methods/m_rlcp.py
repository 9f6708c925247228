"""Randomly localized conformal prediction with averaged draws, m-RLCP (Hore and Barber, 2025).

The guarantee is 1 − 2α instead of 1 − α, as for any average of p-values; the coverage is usually
near 1 − α, and intervals hardly depend on chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import softmax

from experiments.methods import Array, Fitted, Learner, Method
from experiments.methods._boosting import boosted
from sosbands.conformal import effective_bandwidth, normals_of

DRAWS, BLOCK = 20, 1 << 20


def fit(*rows: Array, levels: Sequence[float], seed: int, learner: Learner = boosted) -> Fitted:
    """Absolute residuals of the boosted mean, or of another one; the bandwidth of RLCP."""
    X, y, X_cal, y_cal = rows
    mean = learner(seed).fit(X, y)
    centre, spread = X.mean(axis=0), np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
    Z, Z_cal = (X - centre) / spread, (X_cal - centre) / spread
    h, scores = effective_bandwidth(Z, len(y_cal)), np.abs(y_cal - mean.predict(X_cal))

    def intervals(X: Array) -> Array:
        m, Z = mean.predict(X)[:, None], (X - centre) / spread
        size = max(1, BLOCK // len(scores))
        starts, known = range(0, len(Z), size), {"h": h, "levels": levels, "seed": seed}
        q = np.concatenate([quantiles(Z[s : s + size], Z_cal, scores, **known) for s in starts])
        return np.stack([m - q, m + q], axis=1)

    return Fitted(intervals, mean.predict)


def quantiles(
    Z: Array, Z_cal: Array, scores: Array, *, h: float, levels: Sequence[float], seed: int
) -> Array:
    """Of the scores and an atom at +∞, in weights that are averages over the draws."""
    order, weights = np.argsort(scores), np.zeros((len(Z), len(scores) + 1))
    for draw in range(DRAWS):
        drawn = Z + h * normals_of(Z, seed * DRAWS + draw)
        own = np.sum((Z - drawn) ** 2, axis=1)
        squares = np.column_stack([cdist(drawn, Z_cal[order], "sqeuclidean"), own])
        weights += softmax(-squares / (2 * h**2), axis=1) / DRAWS
    mass = np.cumsum(weights[:, :-1], axis=1)
    index = [np.sum(mass < level * (1 - 1e-9), axis=1) for level in levels]
    return np.append(scores[order], np.inf)[np.stack(index, axis=1)]


METHOD = Method(__name__, "localized split, averaged (m-RLCP)", fit)
