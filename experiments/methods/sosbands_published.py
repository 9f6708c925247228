"""The paper's algorithm 1: a hard band with a joint mean, nothing standardised."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.methods import Array, Fitted, Method
from experiments.methods._bands import calibrated_band
from sosbands import BandRegressor

ROWS, INPUTS = 200, 8


def fit(
    X: Array, y: Array, X_cal: Array, y_cal: Array, *, levels: Sequence[float], seed: int
) -> Fitted:
    """At most `ROWS` random training rows, `INPUTS` inputs: one search for each lengthscale."""
    rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:ROWS])
    model = BandRegressor.as_published(calibration=None, random_state=seed)
    return calibrated_band(model, (X[rows], y[rows]), (X_cal, y_cal), levels)


TITLE = f"sosbands, as published (≤ {ROWS} rows)"
METHOD = Method(__name__, TITLE, fit, variant_of="sosbands", max_inputs=INPUTS)
