"""Cases 1 to 4 with 100 training and 100 calibration rows: are our intervals first?

For each case, the mean width and the mean of |local coverage − 0.9|, exact at 1000 new inputs,
averaged over 100 seeds that were never used to choose a default. A figure is our mean minus that
of the best peer (the one with the smallest mean), in standard errors of the paired differences: at
most 1 means first, or within one standard error of first. Nothing is timed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd

from benchmarks.outcomes import collect
from benchmarks.record import Record
from experiments.methods import load
from sosbands import datasets
from sosbands.metrics import exact_local_coverage, mean_width

LEVEL = 0.9
CASES = (1, 2, 3, 4)
ROWS, TEST_ROWS = 100, 1000
SEEDS = tuple(range(1000, 1100))
OURS = ("sosbands_kernel_mean", "sosbands_published")
PEERS = ("quantile_forest_cqr", "homoscedastic_gp", "heteroscedastic_gp")
FIGURES = {"width": "mean width", "local_error": "mean |local coverage − 0.9|"}


def run(full: bool) -> Iterator[Record]:
    """Both figures of every case."""
    keys = [
        {"case": number, "seed": seed, "method": method}
        for seed, number, method in product(SEEDS, CASES, (*OURS, *PEERS))
    ]
    outcomes = collect("small_samples", keys, outcome)
    for number, figure in product(CASES, FIGURES):
        yield against_best(outcomes[outcomes["case"] == number], number, figure)


def outcome(
    case: int, seed: int, method: str, rows: int = ROWS, test_rows: int = TEST_ROWS
) -> dict[str, float]:
    """Mean width, that of the oracle, and mean |local coverage − level| of one run."""
    truth = datasets.case(case)
    X, y = truth.sample(2 * rows, random_state=seed)
    X_test = truth.sample_inputs(test_rows, random_state=seed + 10_000)
    fitted = load(method).fit(X[:rows], y[:rows], X[rows:], y[rows:], levels=[LEVEL], seed=seed)
    C = fitted.intervals(X_test)[:, :, 0]
    return {
        "width": float(mean_width(C)),
        "oracle": float(mean_width(truth.interval(X_test, LEVEL))),
        "local_error": float(np.abs(exact_local_coverage(truth, C, X_test) - LEVEL).mean()),
    }


def against_best(outcomes: pd.DataFrame, number: int, figure: str) -> Record:
    """Our mean minus that of the best peer, in standard errors of the paired differences."""
    table = outcomes.pivot(index="seed", columns="method", values=figure)
    means, medians = table.mean(), table.median()
    distances = {peer: in_standard_errors(table[OURS[0]] - table[peer]) for peer in PEERS}
    best = means[list(PEERS)].idxmin()
    notes = f"means: {listed(means)}"
    if figure == "width":
        notes += f"; medians: {listed(medians)}; oracle {outcomes['oracle'].mean():.3f}"
    return Record(
        f"case {number}, n = m = {ROWS}: {FIGURES[figure]} − the best peer's, in s.e.",
        distances[best],
        "<=",
        1.0,
        unit="",
        seeds=SEEDS,
        notes=notes,
        details={
            "best peer": best,
            "means": means.to_dict(),
            "medians": medians.to_dict(),
            "in standard errors, by peer": distances,
        },
    )


def in_standard_errors(differences: pd.Series) -> float:
    """Mean ÷ standard error."""
    return float(differences.mean() / differences.sem())


def listed(values: pd.Series) -> str:
    """Ours and the peers', in the order above."""
    return ", ".join(
        f"{method.replace('_', ' ')} {values[method]:.3g}" for method in (*OURS, *PEERS)
    )
