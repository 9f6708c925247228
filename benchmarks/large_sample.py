"""Case 1 with 1000 training and 1000 calibration rows: how far are we from the oracle?

Means over 20 seeds that were never used to choose a default, at 2000 new inputs each. The oracle
knows the conditional quantiles. Nothing is timed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.outcomes import collect
from benchmarks.record import Record
from benchmarks.small_samples import OURS, outcome

ROWS, TEST_ROWS = 1000, 2000
SEEDS = tuple(range(2000, 2020))


def run(full: bool) -> Iterator[Record]:
    """Width and local coverage."""
    keys = [{"case": 1, "seed": seed, "method": OURS[0]} for seed in SEEDS]
    measure = partial(outcome, rows=ROWS, test_rows=TEST_ROWS)
    outcomes = collect("large_sample", keys, measure)
    means = outcomes[["width", "oracle", "local_error"]].mean()
    ratios = outcomes["width"] / outcomes["oracle"]
    yield Record(
        f"case 1, n = m = {ROWS}: mean width ÷ that of the oracle",
        float(means["width"] / means["oracle"]),
        "<=",
        1.03,
        seeds=SEEDS,
        notes=f"from {ratios.min():.3f} to {ratios.max():.3f} over {len(SEEDS)} seeds",
        details={"ratios": ratios.tolist()},
    )
    errors = outcomes["local_error"]
    yield Record(
        f"case 1, n = m = {ROWS}: mean |local coverage − 0.9|",
        float(means["local_error"]),
        "<=",
        0.03,
        unit="",
        seeds=SEEDS,
        notes=f"from {errors.min():.3f} to {errors.max():.3f} over {len(SEEDS)} seeds",
        details={"errors": errors.tolist()},
    )
