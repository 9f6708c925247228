"""Gradient boosting of the score |y − m(x)|/s(x), so that calibrated intervals become short.

What is minimised is the mean length of the intervals m(x) ± q s(x), in logarithms: log q + log of
the mean of s, where q is the quantile of the scores. It has gradients in m and in log s if the
quantile is smooth: rows count by how near their score is to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from experiments.methods import Array

ROUNDS, RATE, DEPTH, LEAF = 60, 0.1, 2, 10
FOLDS, BANDWIDTH = 3, 0.2
TINY = 1e-12


@dataclass
class ScoreBoosting:
    """Trees that move the mean, and the logarithm of the scale, of a given score."""

    level: float
    unit: float
    trees: list[tuple[Any, Any]] = field(default_factory=list)

    def moves(self, Z: Array) -> tuple[Array, Array]:
        """What is added to the mean and to the logarithm of the scale."""
        shift, widening = np.zeros(len(Z)), np.zeros(len(Z))
        for of_mean, of_scale in self.trees:
            shift += RATE * self.unit * of_mean.predict(Z)
            widening += RATE * of_scale.predict(Z)
        return shift, widening

    def grow(self, Z: Array, residual: Array, logs: Array, seed: int) -> tuple[Array, Array]:
        """One more tree for each, from residuals and logarithms of scales so far; what they add."""
        scale, size = np.exp(logs), np.maximum(np.abs(residual), TINY)
        near = nearness(np.log(size) - logs, self.level)
        # − n × the derivatives of log q + log mean(s).
        of_scale = len(Z) * (near - scale / scale.sum())
        of_mean = len(Z) * near * np.sign(residual) * self.unit / np.maximum(size, self.unit / 10)
        made = [tree(seed).fit(Z, target) for target in (of_mean, of_scale)]
        self.trees.append((made[0], made[1]))
        return RATE * self.unit * made[0].predict(Z), RATE * made[1].predict(Z)


def tree(seed: int) -> DecisionTreeRegressor:
    """A small one."""
    return DecisionTreeRegressor(max_depth=DEPTH, min_samples_leaf=LEAF, random_state=seed)


def nearness(log_scores: Array, level: float) -> Array:
    """Weights of sum one, largest where a score is the quantile."""
    away = (log_scores - np.quantile(log_scores, level)) / BANDWIDTH
    weights = np.exp(-(away**2) / 2)
    return weights / weights.sum()


def log_length(residual: Array, logs: Array, level: float) -> float:
    """Log q + log mean(s): half of the mean length of intervals that cover this share."""
    scores = np.log(np.maximum(np.abs(residual), TINY)) - logs
    return float(np.quantile(scores, level) + np.log(np.exp(logs).mean()))


def boosted_score(Z: Array, residual: Array, logs: Array, level: float, seed: int) -> ScoreBoosting:
    """As many rounds as make held-out intervals shortest, then these with all rows."""
    lengths = np.zeros(ROUNDS + 1)
    for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(Z):
        r, g = residual[test].copy(), logs[test].copy()
        grown = grow(Z[train], residual[train], logs[train], level, rounds=ROUNDS, seed=seed)
        lengths[0] += log_length(r, g, level)
        for k, pair in enumerate(grown.trees, start=1):
            shift, widening = ScoreBoosting(level, grown.unit, [pair]).moves(Z[test])
            r, g = r - shift, g + widening
            lengths[k] += log_length(r, g, level)
    return grow(Z, residual, logs, level, rounds=int(np.argmin(lengths)), seed=seed)


def grow(
    Z: Array, residual: Array, logs: Array, level: float, *, rounds: int, seed: int
) -> ScoreBoosting:
    """So many rounds."""
    made, r, g = ScoreBoosting(level, float(np.median(np.abs(residual))) or 1.0), residual, logs
    for _ in range(rounds):
        shift, widening = made.grow(Z, r, g, seed)
        r, g = r - shift, g + widening
    return made
