"""Item 19: cases 2 and 3 with several inputs: do bands become constant?

The appendix says that intervals tend to be constant as d grows, since σ(x) does. Measured are the
relative standard deviation of widths over x, of the oracle's and of bands, the correlation of the
logarithms of both, and the error of the local coverage; n = 100 for every d.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from experiments import methods
from experiments.experiment import Experiment
from experiments.paper.adaptivity import FIRST_SEED, LEVEL, TEST_ROWS, bounds
from sosbands import datasets
from sosbands.metrics import exact_local_coverage, mean_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CASES, DIMENSIONS, ROWS = (2, 3), (1, 2, 5), 100
METHODS = {
    "sosbands_published": "kernel SoS, as published",
    "sosbands_kernel_mean": "sosbands, defaults",
    "homoscedastic_gp": "homoscedastic GP",
}
PANELS = {
    "variation": "relative s.d. of widths over x",
    "relative_width": "mean width ÷ that of the oracle",
    "local_error": "mean |local coverage − 0.9|",
}
TINY = np.finfo(float).tiny


def keys(full: bool) -> list[dict[str, Any]]:
    """Cases, numbers of inputs, replications and methods."""
    seeds = range(FIRST_SEED, FIRST_SEED + (20 if full else 8))
    return [
        {"case": case, "d": d, "seed": seed, "method": method}
        for case, d, seed, method in product(CASES, DIMENSIONS, seeds, METHODS)
    ]


def measure(case: int, d: int, seed: int, method: str) -> dict[str, Any]:
    """One method on one data set."""
    truth = datasets.case(case, dimension=d)
    X, y = truth.sample(2 * ROWS, random_state=seed)
    rows = X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:]
    fitted = methods.load(method).fit(*rows, levels=[LEVEL], seed=seed)
    X_new = truth.sample(TEST_ROWS, random_state=seed + 10_000)[0]
    C, ideal = bounds(fitted, X_new), truth.interval(X_new, LEVEL)
    widths, ideal_widths = np.diff(C)[:, 0], np.diff(ideal)[:, 0]
    logs = np.log(np.maximum([widths, ideal_widths], TINY))
    return {
        "variation": widths.std() / widths.mean(),
        "oracle_variation": ideal_widths.std() / ideal_widths.mean(),
        # Of widths that do not vary there is none.
        "correlation": np.corrcoef(logs)[0, 1] if np.ptp(logs[0]) > 1e-6 else np.nan,
        "relative_width": mean_width(C) / mean_width(ideal),
        "local_error": np.abs(exact_local_coverage(truth, C, X_new) - LEVEL).mean(),
    }


def figure(results: pd.DataFrame) -> Figure:
    """Means ± standard errors against d, a row of panels for each case."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(13, 6.5))
    grid = drawing.subplots(len(CASES), len(PANELS), sharex=True)
    for (row, number), (column, metric) in product(enumerate(CASES), enumerate(PANELS)):
        axes, part = grid[row, column], results[results["case"] == number]
        for place, (method, title) in enumerate(METHODS.items()):
            runs = part[part["method"] == method].groupby("d")[metric]
            mean, error = runs.mean(), runs.sem()
            axes.errorbar(mean.index, mean, error, color=f"C{place}", label=title, capsize=3)
        if metric == "variation":
            ideal = part.groupby("d")["oracle_variation"].mean()
            axes.plot(ideal.index, ideal, "k:", label="the oracle")
        axes.set(title=f"case {number}", xlabel="inputs d", ylabel=PANELS[metric])
        axes.set_xticks(DIMENSIONS)
    grid[0, 0].legend()
    return drawing


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Means and standard errors."""
    rows = []
    for number, d, (method, title) in product(CASES, DIMENSIONS, METHODS.items()):
        chosen = (results["case"] == number) & (results["d"] == d) & (results["method"] == method)
        runs = results[chosen]
        rows.append(
            {
                "case": number,
                "d": d,
                "method": title,
                "relative s.d. of widths": runs["variation"].mean(),
                "s.e.": runs["variation"].sem(),
                "of the oracle": runs["oracle_variation"].mean(),
                "correlation with it": runs["correlation"].mean(),
                "width ÷ oracle": runs["relative_width"].mean(),
                "s.e. ": runs["relative_width"].sem(),
                "local error": runs["local_error"].mean(),
                "s.e.  ": runs["local_error"].sem(),
            }
        )
    return pd.DataFrame(rows)


EXPERIMENT = Experiment(
    name="several_inputs",
    item=19,
    title="Cases 2 and 3 with several inputs",
    claims=("Appendix: in cases 2 and 3 intervals tend to be constant as d grows.",),
    keys=keys,
    measure=measure,
    figure=figure,
    summary=summary,
    minutes=(4, 10),
)
