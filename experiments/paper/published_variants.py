"""Item 15, beyond the paper: which change of the published method makes its bands narrower?

The cases with the rows of items 4 to 7, one change at a time: a constant in kᶠ, so that f does
not vanish away from the training rows; a soft band; the mean of the Gaussian process instead of the
joint one; all three; one lengthscale for all data sets; and ten times as many calibration rows.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pandas as pd

from experiments.experiment import Experiment
from experiments.methods._bands import calibrated_band
from experiments.paper.adaptivity import FIRST_SEED, LEVEL, outcome
from sosbands import BandRegressor, datasets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CASES = (1, 2, 3, 4)
ROWS, MANY_ROWS = 100, 1000
OFFSET, SOFT = {"band__offset": 1.0}, {"band__training_coverage": 0.8}
GP_MEAN = {"band__joint_mean": False}
VARIANTS: dict[str, dict[str, Any]] = {
    "as published": {},
    "with an offset": OFFSET,
    "soft, τ = 0.8": SOFT,
    "mean of the GP": GP_MEAN,
    "all three": {**OFFSET, **SOFT, **GP_MEAN},
    "θᶠ = 1, not by HSIC": {"band__lengthscale": 1.0},
    f"as published, m = {MANY_ROWS}": {},
}


def keys(full: bool) -> list[dict[str, Any]]:
    """Cases, replications and variants."""
    seeds = range(FIRST_SEED, FIRST_SEED + (20 if full else 8))
    return [
        {"case": case, "seed": seed, "variant": variant}
        for case, seed, variant in product(CASES, seeds, VARIANTS)
    ]


def measure(case: int, seed: int, variant: str) -> dict[str, Any]:
    """One variant on one data set."""
    truth = datasets.case(case)
    X, y = truth.sample(2 * ROWS, random_state=seed)
    rows_cal = X[ROWS:], y[ROWS:]
    if str(MANY_ROWS) in variant:
        rows_cal = truth.sample(MANY_ROWS, random_state=seed + 40_000)
    model = BandRegressor.as_published(calibration=None, random_state=seed, **VARIANTS[variant])
    fitted = calibrated_band(model, (X[:ROWS], y[:ROWS]), rows_cal, [LEVEL])
    found = outcome(fitted, truth, seed)
    return {name: found[name] for name in ("width", "oracle_width", "coverage", "local_error")}


def figure(results: pd.DataFrame) -> Figure:
    """Width and error of local coverage of each variant, by case."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(15, 5.5))
    grid = drawing.subplots(2, len(CASES), sharey=True)
    for (row, metric), (column, number) in product(
        enumerate(("width", "local_error")), enumerate(CASES)
    ):
        axes, part = grid[row, column], results[results["case"] == number]
        groups = [part.loc[part["variant"] == variant, metric] for variant in VARIANTS]
        drawn = axes.boxplot(groups, orientation="horizontal", patch_artist=True, widths=0.6)
        for box, middle in zip(drawn["boxes"], drawn["medians"], strict=True):
            box.set(facecolor="C0", alpha=0.6)
            middle.set(color="black")
        axes.set_yticks(range(1, len(VARIANTS) + 1), VARIANTS)
        if metric == "width":
            axes.axvline(part["oracle_width"].mean(), color="black", linestyle=":")
            axes.set_title(f"case {number} (dotted: the oracle)")
        label = "mean width (units of y)" if metric == "width" else "mean |local coverage − 0.9|"
        axes.set_xlabel(label)
    grid[0, 0].invert_yaxis()
    return drawing


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Means, and paired differences to the published form."""
    rows = []
    for number, variant in product(CASES, VARIANTS):
        part = results[results["case"] == number]
        widths = part.pivot(index="seed", columns="variant", values="width")
        errors = part.pivot(index="seed", columns="variant", values="local_error")
        rows.append(
            {
                "case": number,
                "variant": variant,
                "width": widths[variant].mean(),
                "median width": widths[variant].median(),
                "− published": (widths[variant] - widths["as published"]).mean(),
                "s.e.": (widths[variant] - widths["as published"]).sem(),
                "local error": errors[variant].mean(),
                "− published ": (errors[variant] - errors["as published"]).mean(),
                "s.e. ": (errors[variant] - errors["as published"]).sem(),
            }
        )
    return pd.DataFrame(rows)


EXPERIMENT = Experiment(
    name="published_variants",
    item=15,
    title="Beyond the paper: what makes the published bands wide",
    claims=("Beyond the paper: why the widths of items 4 to 7 differ from what it says.",),
    keys=keys,
    measure=measure,
    figure=figure,
    summary=summary,
    minutes=(1.5, 4),
)
