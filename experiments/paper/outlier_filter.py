"""Item 17: does leaving rows with large residuals out make hard bands better?

Section 3.1 proposes that for outliers. The published form on the rows of items 4 to 7, as they are
drawn and with a twentieth of the training outputs moved far away; rows are left out whose residual
by the preliminary Gaussian process is beyond 3 robust standard deviations. A soft band, which may
miss some rows, is beside them. Calibration rows are as they are drawn.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from experiments.experiment import Experiment
from experiments.methods._bands import calibrated_band
from experiments.paper.adaptivity import FIRST_SEED, LEVEL, TEST_ROWS, bounds
from sosbands import BandRegressor, datasets
from sosbands.metrics import coverage, exact_local_coverage, mean_width
from sosbands.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CASES, ROWS = (1, 2, 3, 4), 100
# Outputs that are moved, and by how many standard deviations of all.
MOVED, DISTANCE = 0.05, 5.0
PUBLISHED = "as published"
VARIANTS: dict[str, dict[str, Any]] = {
    PUBLISHED: {},
    "without those beyond 3": {"remove_outliers": 3.0},
    "soft, τ = 0.8": {"band__training_coverage": 0.8},
}
DATA = {False: "as drawn", True: "a twentieth moved"}


def keys(full: bool) -> list[dict[str, Any]]:
    """Cases, with and without outliers, replications and variants."""
    seeds = range(FIRST_SEED, FIRST_SEED + (20 if full else 8))
    return [
        {"case": case, "outliers": outliers, "seed": seed, "variant": variant}
        for case, outliers, seed, variant in product(CASES, DATA, seeds, VARIANTS)
    ]


def measure(case: int, outliers: bool, seed: int, variant: str) -> dict[str, Any]:
    """One variant on one data set."""
    truth = datasets.case(case)
    X, y = truth.sample(2 * ROWS, random_state=seed)
    y_train = with_outliers(y[:ROWS], seed) if outliers else y[:ROWS]
    model = BandRegressor.as_published(calibration=None, random_state=seed, **VARIANTS[variant])
    fitted = calibrated_band(model, (X[:ROWS], y_train), (X[ROWS:], y[ROWS:]), [LEVEL])
    X_new, y_new = truth.sample(TEST_ROWS, random_state=seed + 10_000)
    C = bounds(fitted, X_new)
    return {
        "left_out": model.n_outliers_,
        "width": mean_width(C),
        "coverage": coverage(y_new, C),
        "local_error": np.abs(exact_local_coverage(truth, C, X_new) - LEVEL).mean(),
    }


def with_outliers(y: Array, seed: int) -> Array:
    """A twentieth of the outputs, at random, up or down at random."""
    rng = np.random.default_rng(seed + 50_000)
    chosen = rng.permutation(len(y))[: round(MOVED * len(y))]
    moved = y.copy()
    moved[chosen] += DISTANCE * y.std() * rng.choice([-1.0, 1.0], len(chosen))
    return moved


def figure(results: pd.DataFrame) -> Figure:
    """Width and error of local coverage of each variant, by case, with and without outliers."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(15, 6))
    grid = drawing.subplots(2, len(CASES), sharey=True)
    names = list(product(DATA, VARIANTS))
    for (row, metric), (column, number) in product(
        enumerate(("width", "local_error")), enumerate(CASES)
    ):
        axes, part = grid[row, column], results[results["case"] == number]
        groups = [
            part.loc[(part["outliers"] == outliers) & (part["variant"] == variant), metric]
            for outliers, variant in names
        ]
        drawn = axes.boxplot(groups, orientation="horizontal", patch_artist=True, widths=0.6)
        for (outliers, _), box, middle in zip(names, drawn["boxes"], drawn["medians"], strict=True):
            box.set(facecolor="C1" if outliers else "C0", alpha=0.6)
            middle.set(color="black")
        labels = [f"{variant}, {DATA[outliers]}" for outliers, variant in names]
        axes.set_yticks(range(1, len(names) + 1), labels)
        axes.set_title(f"case {number}" if metric == "width" else "")
        label = "mean width (units of y)" if metric == "width" else "mean |local coverage − 0.9|"
        axes.set_xlabel(label)
    grid[0, 0].invert_yaxis()
    return drawing


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Means, and paired differences to the published form."""
    rows = []
    for number, outliers, variant in product(CASES, DATA, VARIANTS):
        chosen = (results["case"] == number) & (results["outliers"] == outliers)
        runs = results[chosen].pivot(index="seed", columns="variant")
        wider = runs["width"][variant] - runs["width"][PUBLISHED]
        worse = runs["local_error"][variant] - runs["local_error"][PUBLISHED]
        rows.append(
            {
                "case": number,
                "training outputs": DATA[outliers],
                "variant": variant,
                "rows left out": runs["left_out"][variant].mean(),
                "width": runs["width"][variant].mean(),
                "− published": wider.mean(),
                "s.e.": wider.sem(),
                "local error": runs["local_error"][variant].mean(),
                "− published ": worse.mean(),
                "s.e. ": worse.sem(),
            }
        )
    return pd.DataFrame(rows)


EXPERIMENT = Experiment(
    name="outlier_filter",
    item=17,
    title="Hard bands without the rows of large residuals",
    claims=("Section 3.1: rows with large residuals can be left out, for robustness to outliers.",),
    keys=keys,
    measure=measure,
    figure=figure,
    summary=summary,
    minutes=(2, 5),
)
