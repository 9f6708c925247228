"""Item 16, beyond the paper: the bands it is nearest to, with the same mean and the same rows.

The least nuclear norm (Liang, 2022) and the least mean width (UTOPIA) are what is minimised if b,
or the penalties, are left out of the paper's problem; both around our kernel mean, tuned as ours.
Two other ways to adapt, localized calibration with averaged draws and a boosted score, go around
the same kernel mean. Infinite bounds are cut off one range of the outputs beyond their extremes.
"""

from __future__ import annotations

from itertools import product
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from experiments import methods
from experiments.experiment import Experiment
from experiments.paper.adaptivity import FIRST_SEED, LEVEL, TEST_ROWS, bounds
from sosbands import KernelMean, datasets
from sosbands.metrics import coverage, exact_local_coverage, mean_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CASES, ROWS = (1, 2, 3, 4), 100
OURS = "sosbands_kernel_mean"
METHODS = {
    OURS: "sosbands, defaults",
    "sosbands_published": "kernel SoS, as published",
    "nuclear_norm_band": "least nuclear norm (Liang)",
    "minimal_mean_width": "least mean width (UTOPIA)",
    "m_rlcp": "localized, averaged (m-RLCP)",
    "boosted_score": "boosted score",
}
AROUND_ANY_MEAN = ("m_rlcp", "boosted_score")
METRICS = {
    "width": "mean width (units of y)",
    "local_error": "mean |local coverage − 0.9|",
    "seconds": "seconds of a fit",
}


def keys(full: bool) -> list[dict[str, Any]]:
    """Cases, replications and methods."""
    seeds = range(FIRST_SEED, FIRST_SEED + (100 if full else 20))
    return [
        {"case": case, "seed": seed, "method": method}
        for case, seed, method in product(CASES, seeds, METHODS)
    ]


def kernel_mean(seed: int) -> KernelMean:
    """The mean that ours goes around."""
    return KernelMean(random_state=seed)


def measure(case: int, seed: int, method: str) -> dict[str, Any]:
    """One method on one data set."""
    truth = datasets.case(case)
    X, y = truth.sample(2 * ROWS, random_state=seed)
    rows = X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:]
    around = {"learner": kernel_mean} if method in AROUND_ANY_MEAN else {}
    start = process_time()
    fitted = methods.load(method).fit(*rows, levels=[LEVEL], seed=seed, **around)
    seconds = process_time() - start
    X_new, y_new = truth.sample(TEST_ROWS, random_state=seed + 10_000)
    C = bounds(fitted, X_new)
    low, high = y[:ROWS].min(), y[:ROWS].max()
    cut = np.clip(C, 2 * low - high, 2 * high - low)
    return {
        "width": mean_width(cut),
        "oracle_width": mean_width(truth.interval(X_new, LEVEL)),
        "coverage": coverage(y_new, C),
        "local_error": np.abs(exact_local_coverage(truth, C, X_new) - LEVEL).mean(),
        "infinite": np.isinf(C).any(axis=1).mean(),
        "seconds": seconds,
    }


def figure(results: pd.DataFrame) -> Figure:
    """Width, error of local coverage and time of each method, by case."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(15, 8))
    grid = drawing.subplots(len(METRICS), len(CASES), sharey=True)
    for (row, metric), (column, number) in product(enumerate(METRICS), enumerate(CASES)):
        axes, part = grid[row, column], results[results["case"] == number]
        groups = [part.loc[part["method"] == method, metric] for method in METHODS]
        drawn = axes.boxplot(groups, orientation="horizontal", patch_artist=True, widths=0.6)
        for place, (box, middle) in enumerate(zip(drawn["boxes"], drawn["medians"], strict=True)):
            box.set(facecolor=f"C{place}", alpha=0.6)
            middle.set(color="black")
        axes.set_yticks(range(1, len(METHODS) + 1), METHODS.values())
        axes.set_xlabel(METRICS[metric])
        if metric == "width":
            axes.axvline(part["oracle_width"].mean(), color="black", linestyle=":")
            axes.set_title(f"case {number} (dotted: the oracle)")
        if metric == "seconds":
            axes.set_xscale("log")
    grid[0, 0].invert_yaxis()
    return drawing


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Means, and paired differences to our defaults."""
    rows = []
    for number, (method, title) in product(CASES, METHODS.items()):
        runs = results[results["case"] == number].pivot(index="seed", columns="method")
        wider = runs["width"][method] - runs["width"][OURS]
        worse = runs["local_error"][method] - runs["local_error"][OURS]
        rows.append(
            {
                "case": number,
                "method": title,
                "width": runs["width"][method].mean(),
                "− ours": wider.mean(),
                "s.e.": wider.sem(),
                "coverage": runs["coverage"][method].mean(),
                "infinite": runs["infinite"][method].mean(),
                "local error": runs["local_error"][method].mean(),
                "− ours ": worse.mean(),
                "s.e. ": worse.sem(),
                "median seconds": runs["seconds"][method].median(),
            }
        )
    return pd.DataFrame(rows)


EXPERIMENT = Experiment(
    name="neighbours",
    item=16,
    title="Beyond the paper: its neighbours around the same mean",
    claims=("Beyond the paper: what the two weights of its problem add to either alone.",),
    keys=keys,
    measure=measure,
    figure=figure,
    summary=summary,
    minutes=(3, 15),
)
