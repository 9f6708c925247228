"""From scores of the calibration rows to intervals.

Scores are rescaled, |y − m(x)| / s(x), or additive, max(l(x) − y, y − u(x)); the
⌈level (m + 1)⌉-th smallest of m scores calibrates a band. Where its bounds cross, a band covers
nothing and is written as one point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy.special import ndtri

from experiments.methods import QUANTILES, Array, Fitted

Predict: TypeAlias = Callable[[Array], tuple[Array, Array]]


def rescaled(predict: Predict, X_cal: Array, y_cal: Array, levels: Sequence[float]) -> Fitted:
    """m(x) ± q s(x); `predict` gives m and s, each of shape (n,)."""
    m, s = predict(X_cal)
    q = calibrated(np.abs(y_cal - m) / s, levels)

    def intervals(X: Array) -> Array:
        m, s = predict(X)
        return bounds(m[:, None] - q * s[:, None], m[:, None] + q * s[:, None])

    return Fitted(intervals, lambda X: predict(X)[0], lambda X: predict(X)[1])


def normal(predict: Predict, X_cal: Array, y_cal: Array, levels: Sequence[float]) -> Fitted:
    """m(x) ± q s(x), and the quantiles of the normal law of mean m(x) and deviation s(x)."""

    def quantiles(X: Array) -> Array:
        m, s = predict(X)
        return m[:, None] + s[:, None] * ndtri(QUANTILES)

    return replace(rescaled(predict, X_cal, y_cal, levels), quantiles=quantiles)


def additive(predict: Predict, X_cal: Array, y_cal: Array, levels: Sequence[float]) -> Fitted:
    """[l(x) − q, u(x) + q]; `predict` gives l and u, each with one column for each level."""
    low, high = predict(X_cal)
    scores = np.maximum(low - y_cal[:, None], y_cal[:, None] - high)
    q = np.array([calibrated(s, [p])[0] for s, p in zip(scores.T, levels, strict=True)])

    def intervals(X: Array) -> Array:
        low, high = predict(X)
        return bounds(low - q, high + q)

    return Fitted(intervals)


def calibrated(scores: Array, levels: Sequence[float]) -> Array:
    """The ⌈level (m + 1)⌉-th smallest of m scores, for each level; infinite if they are too few."""
    ranks = np.ceil(np.asarray(levels) * (len(scores) + 1) - 1e-9)  # rounding must not raise a rank
    return np.append(np.sort(scores), np.inf)[ranks.astype(int) - 1]


def bounds(lower: Array, upper: Array) -> Array:
    """Both bounds side by side, shape (n, 2, k); bounds that cross meet halfway."""
    shift = np.maximum(lower - upper, 0) / 2
    return np.stack([lower - shift, np.maximum(upper + shift, lower - shift)], axis=1)
