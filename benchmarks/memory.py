"""`predict_interval` at two million rows: how much memory it takes beside rows and intervals.

What is measured is the peak of all allocations that are alive at once (tracemalloc) less the
intervals that are returned; the rows were there before. No single array can be larger than that.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from benchmarks.isolation import run_alone
from benchmarks.record import Record
from sosbands import BandRegressor
from sosbands.datasets import case

Array = npt.NDArray[np.float64]

ROWS, TRAINING_ROWS, CALIBRATION_ROWS = 2_000_000, 2000, 2000
DIMENSION = 3
MODES = ("split", "localized", "cv+", "groups", "weights")


def run(full: bool) -> Iterator[Record]:
    """Every kind of calibration."""
    for mode in MODES:
        yield run_alone(beside_rows_and_result, mode)


def beside_rows_and_result(mode: str) -> Record:
    """Peak in MB of all that is allocated but the result."""
    model = calibrated(mode)
    X = case(2, dimension=DIMENSION).sample_inputs(ROWS, random_state=1)
    belongings = of_rows(mode, X)
    tracemalloc.start()
    intervals = model.predict_interval(X, 0.9, **belongings)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    landmarks = len(model.band_.functions.scales[0].landmarks)
    return Record(
        f"intervals of {ROWS / 1e6:g} million rows, {mode}: memory beside rows and result",
        (peak - intervals.nbytes) / 2**20,
        "<=",
        256.0,
        unit="MB",
        seeds=(0,),
        notes=f"all allocations together; case 2, d = {DIMENSION}, {landmarks} landmarks, "
        f"{CALIBRATION_ROWS} calibration rows",
    )


def calibrated(mode: str) -> BandRegressor:
    """A band that calibrates in the given way; with "cv+" the training rows do it."""
    X, y = case(2, dimension=DIMENSION).sample(TRAINING_ROWS + CALIBRATION_ROWS, random_state=0)
    calibration = mode if mode in ("localized", "cv+") else "split"
    model = BandRegressor(None, calibration=calibration, random_state=0)
    model.fit(X[:TRAINING_ROWS], y[:TRAINING_ROWS])
    if mode == "cv+":
        return model
    X, y = X[TRAINING_ROWS:], y[TRAINING_ROWS:]
    return model.conformalize(X, y, **of_rows(mode, X))


def of_rows(mode: str, X: Array) -> dict[str, npt.NDArray[np.generic]]:
    """Groups by the signs of all inputs, or weights that favour a large first input."""
    if mode == "groups":
        return {"groups": (X > 0) @ 2 ** np.arange(DIMENSION)}
    if mode == "weights":
        return {"weights": np.exp(0.5 * X[:, 0])}
    return {}
