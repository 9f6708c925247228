"""`predict_interval` at two million rows: how much memory it takes beside rows and intervals.

What is measured is the peak of all allocations that are alive at once (tracemalloc) less the
intervals that are returned; the rows were there before. No single array can be larger than that.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.isolation import run_alone
from benchmarks.record import Record
from sosbands import BandRegressor
from sosbands.datasets import case

Array = npt.NDArray[np.float64]

ROWS, TRAINING_ROWS, CALIBRATION_ROWS = 2_000_000, 1000, 2000
DIMENSION = 3
MODES = ("split", "localized", "cv+", "groups", "weights")


def run(full: bool) -> Iterator[Record]:
    """Every kind of calibration."""
    for mode in MODES:
        yield run_alone(memory, mode)


def memory(mode: str) -> Record:
    """Peak in MB of all arrays but the result."""
    model, rank = calibrated(mode)
    X = case(2, dimension=DIMENSION).sample_inputs(ROWS, random_state=1)
    companion = companions(mode, X)
    tracemalloc.start()
    intervals = model.predict_interval(X, **companion)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return Record(
        f"intervals of 2·10⁶ rows, {mode}: memory beside rows and result",
        (peak - intervals.nbytes) / 2**20,
        "<=",
        256.0,
        unit="MB",
        seeds=(0,),
        notes=f"all arrays together; case 2, d = {DIMENSION}, rank {rank}",
    )
