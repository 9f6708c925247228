"""Item 2: does HSIC or mutual information find the lengthscale? Case 2, n = 100, ten folds."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from experiments.experiment import Experiment
from experiments.paper.criteria import (
    CASE,
    CRITERIA,
    ROWS,
    chosen,
    criteria,
    data,
    draw_criterion,
    grid,
    held_out,
    local_maxima,
    logarithmic_lengthscales,
    quality,
)
from experiments.paper.preliminary import problems

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH_WEIGHTS = (1, 10, 100)


def measure(seed: int, width_weight: float, lengthscale: float) -> dict[str, Any]:
    """Both criteria and what they should find, for one data set, b and θᶠ."""
    truth, X, y = data(seed)
    (problem,) = problems(X, y, [lengthscale], width_weight=width_weight)
    found = criteria(*held_out(problem, seed), seed, tuple(CRITERIA))
    return {**found, **quality(problem, truth, seed)}


def figure(results: pd.DataFrame) -> Figure:
    """The criteria of one data set; below, what they choose in each of all data sets."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(11, 7.5))
    panels = drawing.subplots(2, 2)
    seed = results["seed"].min()
    first = results[results["seed"] == seed]
    for axes, (criterion, label) in zip(panels[0], CRITERIA.items(), strict=True):
        draw_criterion(axes, first, criterion, f"{label} of seed {seed}, 90 % intervals")
    panels[0, 1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    marks = {"hsic": ("o", "0.2"), "mi": ("^", "C4")}
    for place, (criterion, label) in enumerate(CRITERIA.items()):
        best, (marker, color) = chosen(results, criterion), marks[criterion]
        at = best["width_weight"].map(WIDTH_WEIGHTS.index) + (place - 0.5) * 0.3
        jitter = np.random.default_rng(0).uniform(-0.08, 0.08, len(best))
        style = {"color": color, "alpha": 0.6, "label": label}
        panels[1, 0].plot(best["lengthscale"], at + jitter, marker, **style)
        excess = best["local_error"] - least_error(results, best)
        panels[1, 1].plot(excess, at + jitter, marker, **style)
    logarithmic_lengthscales(panels[1, 0])
    panels[1, 0].set(title="the lengthscale of each data set", xlabel="chosen lengthscale θᶠ")
    panels[1, 1].set(
        title="what the choice costs",
        xlabel="mean |local coverage − 0.9| minus that of the best θᶠ",
    )
    number = results["seed"].nunique()
    drawing.suptitle(f"case {CASE}, n = {ROWS}: one data set above, all {number} below")
    for axes in panels[1]:
        axes.set_ylabel("weight b (vertical spread: random)")
        axes.set_yticks(range(len(WIDTH_WEIGHTS)), [f"b = {b:g}" for b in WIDTH_WEIGHTS])
    panels[1, 1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    return drawing


def least_error(results: pd.DataFrame, best: pd.DataFrame) -> Any:
    """The smallest error over θᶠ of the data set and b of each row."""
    least = results.groupby(["seed", "width_weight"])["local_error"].min()
    return least.loc[list(zip(best["seed"], best["width_weight"], strict=True))].to_numpy()


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """How clear the maximum is, how much it varies, and what it is worth."""
    rows = []
    for criterion, b in product(CRITERIA, WIDTH_WEIGHTS):
        part = results[results["width_weight"] == b]
        best = chosen(part, criterion)
        curves = part.pivot(index="seed", columns="lengthscale", values=criterion)
        noise = (part[f"{criterion}_high"] - part[f"{criterion}_low"]).groupby(part["seed"]).mean()
        height = (curves.max(axis=1) - curves.min(axis=1)) / noise
        rows.append(
            {
                "criterion": CRITERIA[criterion],
                "b": b,
                "maxima of a curve": local_maxima(curves.to_numpy()).mean(),
                "height ÷ interval": height.mean(),
                "median θᶠ": best["lengthscale"].median(),
                "spread of θᶠ (s.d. of log)": np.log(best["lengthscale"]).std(),
                "local error": best["local_error"].mean(),
                "least local error": least_error(part, best).mean(),
                "local error of a random θᶠ": part["local_error"].mean(),
                "width": best["width"].mean(),
            }
        )
    return pd.DataFrame(rows)


EXPERIMENT = Experiment(
    name="hsic_or_mi",
    item=2,
    title="HSIC and mutual information as criteria for θᶠ",
    claims=(
        "Section 3.2: HSIC allows to clearly discriminate the lengthscales.",
        "Section 3.2: MI suffers from estimation instability and is unusable in practice to "
        "identify a satisfying lengthscale.",
    ),
    keys=partial(grid, WIDTH_WEIGHTS),
    measure=measure,
    figure=figure,
    summary=summary,
    minutes=(1, 4),
)
