"""Four fits at once on two cores ÷ one alone on one core.

Around a boosted mean, whose library runs as many OpenMP threads as there are cores, unless it is
held back. Threads that wait for each other on busy cores made this ten times as slow.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.fit_time import fit, listed
from benchmarks.isolation import run_alone, run_crowded, wait_for_the_others
from benchmarks.record import SEEDS, Record, ratio_of_medians
from sosbands.datasets import case

ROWS, DIMENSION = 1000, 5


def run(full: bool) -> Iterator[Record]:
    """By the clock, where 2 would be without loss, and in processor time."""
    alone = [[run_alone(seconds, seed)] for seed in SEEDS]
    crowd = [run_crowded(seconds, seed) for seed in SEEDS]
    for place, kind, target in ((0, "time", 3.0), (1, "processor time", 1.5)):
        times = {
            name: [[run[place] for run in runs] for runs in found]
            for name, found in (("crowd", crowd), ("alone", alone))
        }
        yield Record(
            f"four fits at once on two cores, n = {ROWS}, d = {DIMENSION}, boosted mean: {kind} "
            "÷ one alone",
            ratio_of_medians(times, "crowd", "alone"),
            "<=",
            target,
            times=times,
            notes=f"case 2; {listed(times)}",
        )


def seconds(seed: int) -> tuple[float, float]:
    """Of one fit once the libraries are loaded: by the clock, and of the processor."""
    X, y = case(2, dimension=DIMENSION).sample(ROWS, random_state=seed)
    mean = HistGradientBoostingRegressor(random_state=seed)
    mean.fit(X[:50], np.zeros(50))
    wait_for_the_others()
    start, used = time.perf_counter(), time.process_time()
    fit(X, y, seed, estimator=mean)
    return time.perf_counter() - start, time.process_time() - used
