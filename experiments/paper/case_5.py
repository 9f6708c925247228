"""Item 14: exponential noise, symmetric and two-sided bands, a = 0 and a = 1000.

Case 5 with n = 100, b = λ₁ = λ₂ = 1 and θᶠ = 0.7, as in the paper's 'Non-symmetric intervals'. Its
figure shows one sample; here it is that of seed 0, and the numbers are over many seeds, after a
calibration with 1000 rows. Two variants look for reasons: more rows, and a soft band.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from experiments.experiment import Experiment
from experiments.paper import band_curves
from experiments.paper.band_curves import LEVEL
from sosbands import BandRegressor
from sosbands.datasets import case
from sosbands.metrics import exact_local_coverage, interval_score, mean_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEW_ROWS = 1000
PANELS = tuple(product((False, True), (0, 1000)))
# Variant ↦ (n, b, τ).
VARIANTS = {
    "paper": (100, 1.0, 1.0),
    "n = 1000": (1000, 1.0, 1.0),
    "soft: τ = 0.9, b = 100": (100, 100.0, 0.9),
}


def keys(full: bool) -> list[dict[str, Any]]:
    """Four bands for every seed."""
    return [
        {"variant": variant, "symmetric": symmetric, "mean_weight": a, "seed": seed}
        for variant, (symmetric, a) in product(VARIANTS, PANELS)
        for seed in range(100 if full else 20 if variant == "paper" else 10)
    ]


def measure(variant: str, symmetric: bool, mean_weight: float, seed: int) -> list[dict[str, Any]]:
    """The numbers, and for the paper's sample the curves."""
    truth = case(5)
    n, b, coverage = VARIANTS[variant]
    X, y = truth.sample(n, random_state=seed)
    model = BandRegressor.as_published(
        band__symmetric=symmetric,
        band__mean_weight=mean_weight,
        band__width_weight=b,
        band__training_coverage=coverage,
        band__lengthscale=0.7,
        calibration=None,
        random_state=seed,
    )
    model.fit(X, y).conformalize(*truth.sample(NEW_ROWS, random_state=seed + 10_000))
    rows = [{"kind": "number", **numbers(model, seed + 20_000)}]
    if (variant, seed) == ("paper", 0):
        x = band_curves.grid(truth)
        bands = model.predict_scale(x), model.predict_interval(x, LEVEL)
        rows += band_curves.curve(truth, x, model.predict(x), *bands)
        rows += band_curves.points(X, y, n)
    return rows


def numbers(model: BandRegressor, seed: int) -> dict[str, Any]:
    """How far the mean is from E[Y | X], and how good the calibrated intervals are."""
    truth = case(5)
    X, y = truth.sample(NEW_ROWS, random_state=seed)
    error = model.predict(X) - truth.mean(X)
    intervals = model.predict_interval(X, LEVEL)
    unbounded = np.full(len(X), np.inf)
    below = exact_local_coverage(truth, np.column_stack([-unbounded, intervals[:, 0]]), X)
    above = exact_local_coverage(truth, np.column_stack([intervals[:, 1], unbounded]), X)
    tail = (1 - LEVEL) / 2
    return {
        "mean_rmse": np.sqrt(np.mean(error**2)),
        "mean_bias": error.mean(),
        "width": mean_width(intervals),
        "interval_score": interval_score(y, intervals, LEVEL),
        "local_gap": np.abs(exact_local_coverage(truth, intervals, X) - LEVEL).mean(),
        "tail_gap": (np.abs(below - tail) + np.abs(above - tail)).mean() / 2,
        "width_correlation": np.corrcoef(
            np.ptp(intervals, axis=1), np.ptp(truth.interval(X, LEVEL), axis=1)
        )[0, 1],
        "gap": model.certificate_.gap,
    }


def figure(results: pd.DataFrame) -> Figure:
    """Two-sided bands above, symmetric ones below; a = 0 on the left."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(10, 7.5))
    grid = drawing.subplots(2, 2, sharex=True, sharey=True)
    chosen = results[(results["seed"] == 0) & (results["variant"] == "paper")]
    for axes, (symmetric, a) in zip(grid.ravel(), PANELS, strict=True):
        here = (chosen["symmetric"] == symmetric) & (chosen["mean_weight"] == a)
        band_curves.draw(axes, chosen[here])
        axes.set(title=f"{'symmetric' if symmetric else 'two-sided'}, a = {a}")
    for axes in grid[1]:
        axes.set_xlabel("x")
    for axes in grid[:, 0]:
        axes.set_ylabel("y")
    grid[0, 0].legend(loc="upper left", fontsize="small")
    return drawing


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Means over the seeds with their standard errors."""
    numbers = results[results["kind"] == "number"]
    table = numbers.groupby(["variant", "symmetric", "mean_weight"], sort=False)
    named = {
        "mean_rmse": "RMSE of the mean",
        "mean_bias": "its bias",
        "width": "mean width",
        "interval_score": "interval score",
        "local_gap": "mean |local coverage − 0.9|",
        "tail_gap": "mean |tail − 0.05|",
        "width_correlation": "correlation with the true width",
    }
    means, errors = table[list(named)].mean(), table[list(named)].sem()
    cells = means.map("{:.3f}".format) + " ± " + errors.map("{:.3f}".format)
    return cells.rename(columns=named).join(table.size().rename("seeds")).reset_index()


EXPERIMENT = Experiment(
    name="case_5",
    item=14,
    title="Case 5: symmetric and two-sided bands, a = 0 and a = 1000",
    claims=(
        "Appendix B.4, 'Non-symmetric intervals': when a = 0 the mean is biased, unlike a = 1000.",
        "Appendix B.4, 'Non-symmetric intervals': breaking the symmetry clearly improves "
        "adaptivity.",
    ),
    keys=keys,
    measure=measure,
    figure=figure,
    summary=summary,
    minutes=(0.5, 4),
)
