"""A Gaussian process with another one for its log-noise (hetGP, by Binois and others)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from experiments.methods import Array, Fitted, Method
from experiments.methods._scores import Predict, rescaled

ROWS, INPUTS = 1000, 20


def fit(
    X: Array, y: Array, X_cal: Array, y_cal: Array, *, levels: Sequence[float], seed: int
) -> Fitted:
    """The scale is the predictive deviation, noise included. Nothing is random."""
    return rescaled(learn(X, y), X_cal, y_cal, levels)


def learn(X: Array, y: Array) -> Predict:
    """As its authors advise, inputs are scaled to the unit cube and y is standardised.

    Where constant noise is likelier, hetGP returns that model.
    """
    from hetgpy import hetGP

    varying = np.ptp(X, axis=0) > 0  # hetGP cannot do with others
    low, span = X[:, varying].min(axis=0), np.ptp(X[:, varying], axis=0)
    centre, spread = y.mean(), y.std()

    def scaled(X: Array) -> Array:
        return (X[:, varying] - low) / span

    process = hetGP()
    with warnings.catch_warnings(action="ignore"):
        process.mle(
            scaled(X),
            (y - centre) / spread,
            settings={"factr": 1e9, "ignore_MLE_divide_invalid": True, "trace": -1},  # no prints
        )

    def predict(X: Array) -> tuple[Array, Array]:
        with warnings.catch_warnings(action="ignore"):  # variances that round to less than zero
            found = process.predict(scaled(X))
        return centre + spread * found["mean"], spread * np.sqrt(found["sd2"] + found["nugs"])

    return predict


METHOD = Method(__name__, "heteroscedastic GP (hetgpy)", fit, max_rows=ROWS, max_inputs=INPUTS)
