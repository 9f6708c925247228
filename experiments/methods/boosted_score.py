"""Boosted conformal intervals (Xie, Barber and Candès, 2024) around a boosted mean.

The score |y − m(x)|/s(x) is itself boosted, in m and in s, so that the calibrated intervals of a
level become short; the number of rounds comes from cross-validation on training rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from experiments.methods import Array, Fitted, Learner, Method
from experiments.methods._boosting import boosted, cross_fitted
from experiments.methods._score_boosting import ScoreBoosting, boosted_score
from experiments.methods._scores import rescaled

LEAST = 0.05


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
    """From a boosted mean, or another one, and the boosted mean of |residual|."""
    mean, Z, residual = cross_fitted(X, y, seed, learner)
    size, guesses, _ = cross_fitted(Z, np.abs(residual), seed)
    least = LEAST * np.abs(residual).mean() or 1e-12
    logs = np.log(np.maximum(guesses[:, -1], least))

    def predict(boosting: ScoreBoosting, X: Array) -> tuple[Array, Array]:
        m = mean.predict(X)
        Z = np.column_stack([X, m])
        shift, widening = boosting.moves(Z)
        return m + shift, np.maximum(size.predict(Z), least) * np.exp(widening)

    fitted = [
        rescaled(
            partial(predict, boosted_score(Z, residual, logs, level, seed)), X_cal, y_cal, [level]
        )
        for level in levels
    ]
    return Fitted(lambda X: np.concatenate([f.intervals(X) for f in fitted], axis=2), mean.predict)


METHOD = Method(__name__, "boosted score (Xie, Barber, Candès)", fit)
