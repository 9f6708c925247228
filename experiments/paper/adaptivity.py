"""Mean width, mutual information, R²_SQI and local coverage of a few methods on one of the cases.

Every method gets n rows to learn from and as many to calibrate with, at level 0.9. Seeds start at
3000: no default was chosen with them. Mutual information is that of x and the score, by ranks of
the score: that changes nothing but keeps a few huge scores (f near 0) from deciding the estimate.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from experiments import methods
from experiments.experiment import Experiment
from experiments.methods import Fitted
from sosbands import datasets
from sosbands.datasets import Case
from sosbands.metrics import (
    coverage,
    exact_local_coverage,
    local_coverage,
    mean_width,
    mutual_information,
    r2_sqi,
)
from sosbands.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METHODS = {
    "sosbands_published": "kernel SoS, as published",
    "sosbands": "sosbands, as it comes",
    "sosbands_kernel_mean": "sosbands, kernel mean",
    "quantile_forest_cqr": "CQR, quantile forest",
    "homoscedastic_gp": "homoscedastic GP",
    "heteroscedastic_gp": "heteroscedastic GP",
}
LEVEL, FIRST_SEED = 0.9, 3000
TEST_ROWS, LOCATIONS, OUTPUTS, BINS = 1000, 100, 1000, 50
LOWEST_SQI = -1  # of the figure: what is far below 0 would leave no room for the rest


def experiment(*, case: int, d: int, n: int, **declared: Any) -> Experiment:
    """The experiment with one of the paper's cases."""
    return Experiment(
        title=f"Case {case}, d = {d}, n = {n}: width, adaptivity and local coverage",
        keys=partial(keys, case, d, n),
        measure=measure,
        figure=figure,
        summary=summary,
        **declared,
    )


def keys(case: int, d: int, n: int, full: bool) -> list[dict[str, Any]]:
    """The paper's 20 replications, or 100: a fifth of the variance for what is close."""
    seeds = range(FIRST_SEED, FIRST_SEED + (100 if full else 20))
    return [
        {"case": case, "d": d, "n": n, "seed": seed, "method": method}
        for seed in seeds
        for method in METHODS
    ]


def measure(case: int, d: int, n: int, seed: int, method: str) -> dict[str, Any]:
    """One method on one data set."""
    truth = datasets.case(case, dimension=d)
    X, y = truth.sample(2 * n, random_state=seed)
    fit = methods.load(method).fit
    return outcome(fit(X[:n], y[:n], X[n:], y[n:], levels=[LEVEL], seed=seed), truth, seed)


def outcome(fitted: Fitted, truth: Case, seed: int) -> dict[str, Any]:
    """All metrics of one fit."""
    X, y = truth.sample(TEST_ROWS, random_state=seed + 10_000)
    X_local = truth.sample_inputs(LOCATIONS, random_state=seed + 20_000)
    C = bounds(fitted, X)
    local = local_coverage(
        truth, partial(bounds, fitted), X_local, n_outputs=OUTPUTS, random_state=seed + 30_000
    )
    ranks = rankdata(scores(fitted, X, y, C))
    return {
        "width": mean_width(C),
        "oracle_width": mean_width(truth.interval(X, LEVEL)),
        "coverage": coverage(y, C),
        "mutual_information": mutual_information(X, ranks, random_state=0),
        "r2_sqi": sqi(fitted, X, y, C),
        "local_error": np.abs(exact_local_coverage(truth, C, X) - LEVEL).mean(),
        # In thousandths, all in one cell: a row for each would make the table large.
        "local_coverage": " ".join(f"{1000 * share:.0f}" for share in np.sort(local)),
    }


def bounds(fitted: Fitted, X: Array) -> Array:
    """The intervals of the one level, shape (n, 2)."""
    return fitted.intervals(X)[:, :, 0]


def scores(fitted: Fitted, X: Array, y: Array, C: Array) -> Array:
    """|y − m| / s, or max(l − y, y − u) without a mean, up to a monotone transformation."""
    if fitted.mean is None or fitted.scale is None:
        return np.maximum(C[:, 0] - y, y - C[:, 1])
    return np.abs(y - fitted.mean(X)) / np.maximum(fitted.scale(X), np.finfo(float).tiny)


def sqi(fitted: Fitted, X: Array, y: Array, C: Array) -> float:
    """R²_SQI; NaN for a method without a mean."""
    if fitted.mean is None:
        return float("nan")
    return float(r2_sqi(y, fitted.mean(X), C, n_bins=BINS, level=LEVEL))


def local_coverages(results: pd.DataFrame) -> Array:
    """The local coverages of all runs, pooled."""
    return (
        np.concatenate([np.array(cell.split(), float) for cell in results["local_coverage"]]) / 1e3
    )


def figure(results: pd.DataFrame) -> Figure:
    """Boxes of the three metrics, and the distribution of local coverage."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(12, 6.5))
    left, right = drawing.subfigures(1, 2, width_ratios=(1.15, 1))
    panels = left.subplots(3, 1, height_ratios=(1, 1, 1.4))
    several = results["d"].iloc[0] > 1
    boxes(panels[0], results, "width", "mean width (units of y)")
    panels[0].axvline(results["oracle_width"].mean(), color="black", linestyle=":")
    panels[0].set_title("dotted: the oracle", loc="right", fontsize="small")
    boxes(panels[1], results, "mutual_information", "MI of x and score (nats)")
    if several:
        panels[1].set_title("unreliable for several inputs", loc="right", fontsize="small")
    boxes(panels[2], results, "r2_sqi", "R²_SQI (1 is best)")
    panels[2].set(xlim=(LOWEST_SQI, 1), xticks=(-1, -0.5, 0, 0.5, 1))
    for place, method in enumerate(METHODS, start=1):
        note = left_out(results.loc[results["method"] == method, "r2_sqi"].dropna())
        panels[2].text(1.05, place, note, fontsize="small", va="center")
    draw_density(right.subplots(), results)
    replications = results["seed"].nunique()
    number, d, n = results.iloc[0][["case", "d", "n"]]
    drawing.suptitle(f"Case {number}, d = {d}, n = {n}, {replications} replications, level 0.9")
    return drawing


def boxes(axes: Axes, results: pd.DataFrame, metric: str, label: str) -> None:
    """A box for each method, in its colour."""
    groups = [results.loc[results["method"] == method, metric].dropna() for method in METHODS]
    drawn = axes.boxplot(groups, orientation="horizontal", patch_artist=True, widths=0.6)
    for place, (box, middle) in enumerate(zip(drawn["boxes"], drawn["medians"], strict=True)):
        box.set(facecolor=f"C{place}", alpha=0.6)
        middle.set(color="black")
    axes.set_yticks(range(1, len(METHODS) + 1), METHODS.values())
    axes.invert_yaxis()
    axes.set_xlabel(label)


def left_out(values: pd.Series) -> str:
    """What the panel of R²_SQI does not show of a method."""
    if values.empty:
        return "has no mean"
    below = (values < LOWEST_SQI).sum()
    if not below:
        return ""
    note = f"{below} of {len(values)} below {LOWEST_SQI},\nmedian {values.median():.1f}"
    return note.replace("-", "−")


def draw_density(axes: Axes, results: pd.DataFrame) -> None:
    """Histograms of local coverage, as lines."""
    edges = np.linspace(0.5, 1, 26)
    for place, (method, label) in enumerate(METHODS.items()):
        shares = local_coverages(results[results["method"] == method])
        heights = np.histogram(np.maximum(shares, edges[0]), edges)[0] / len(shares)
        ours = place < 3
        axes.stairs(heights, edges, color=f"C{place}", linewidth=2 if ours else 1.2, label=label)
    axes.axvline(LEVEL, color="black", linestyle="--", linewidth=1)
    axes.set(
        xlabel="local coverage P(Y ∈ C(x) | x); below 0.5 counts as 0.5",
        ylabel="share of the locations, in bins of 0.02",
        title=f"local coverage at {LOCATIONS} random x per replication, {OUTPUTS} draws each",
    )
    axes.legend(loc="upper left")


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Every metric of every method; widths also as paired differences to the published method."""
    widths = results.pivot(index="seed", columns="method", values="width")
    rows = []
    for method, label in METHODS.items():
        part = results[results["method"] == method]
        shares, more = local_coverages(part), widths[method] - widths["sosbands_published"]
        rows.append(
            {
                "method": label,
                "width": part["width"].mean(),
                "median width": part["width"].median(),
                "width − published": more.mean(),
                "s.e.": more.sem(),
                "coverage": part["coverage"].mean(),
                "MI": part["mutual_information"].mean(),
                "median R²_SQI": part["r2_sqi"].dropna().median(),
                "local error": part["local_error"].mean(),
                "s.e. ": part["local_error"].sem(),
                "s.d. of local coverage": shares.std(),
                "share ≥ 0.98": (shares >= 0.98).mean(),
                "share < 0.8": (shares < 0.8).mean(),
                "share < 0.5": (shares < 0.5).mean(),
                "oracle width": part["oracle_width"].mean(),
            }
        )
    return pd.DataFrame(rows)
