"""Item 3: HSIC over b and θᶠ, and bands with a too small and with the best θᶠ. Case 2, n = 100."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from experiments.experiment import Experiment
from experiments.paper import band_curves
from experiments.paper.criteria import (
    CASE,
    ROWS,
    TOL,
    calibrated,
    chosen,
    criteria,
    data,
    draw_criterion,
    grid,
    held_out,
    local_maxima,
    quality,
)
from experiments.paper.preliminary import problems
from sosbands import BandProblem, Newton

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH_WEIGHTS = (0.1, 1, 10, 100, 1000)
SHOWN = {"seed": 0, "width_weight": 10}


def measure(seed: int, width_weight: float, lengthscale: float) -> list[dict[str, Any]]:
    """HSIC, its scale-free twin and the quality of the band; for one data set the band itself."""
    truth, X, y = data(seed)
    (problem,) = problems(X, y, [lengthscale], width_weight=width_weight)
    found = criteria(*held_out(problem, seed), seed, ("hsic", "dcor"))
    rows = [{"kind": "criterion", **found, **quality(problem, truth, seed)}]
    if {"seed": seed, "width_weight": width_weight} == SHOWN:
        rows += band(problem, seed)
    return rows


def band(problem: BandProblem, seed: int) -> list[dict[str, Any]]:
    """The band of level 0.9, calibrated with as many rows as it was learned from."""
    truth, X, y = data(seed)
    solution = Newton(tol=TOL).solve(problem)
    inputs = band_curves.grid(truth)
    rows_cal = truth.sample(ROWS, random_state=seed + 20_000)
    intervals = calibrated(solution, *rows_cal, inputs)
    line = band_curves.curve(truth, inputs, solution.mean(inputs), intervals=intervals)
    return line + band_curves.points(X, y, ROWS)


def figure(results: pd.DataFrame) -> Figure:
    """HSIC of one data set, and two of its bands."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(13, 5))
    panels = drawing.subplots(1, 3, width_ratios=(1.2, 1, 1))
    shown = results[results["seed"] == SHOWN["seed"]]
    values = shown[shown["kind"] == "criterion"]
    draw_criterion(panels[0], values, "hsic", "HSIC with 90 % intervals, maxima dashed")
    panels[0].legend()
    drawing.suptitle(f"case {CASE}, n = {ROWS}, one data set (seed {SHOWN['seed']})")
    bands = shown[shown["kind"] != "criterion"]
    at_ten = values[values["width_weight"] == SHOWN["width_weight"]]
    best = chosen(at_ten, "hsic")["lengthscale"].item()
    for axes, lengthscale, label in zip(
        panels[1:], (values["lengthscale"].min(), best), ("too small", "largest HSIC"), strict=True
    ):
        band_curves.draw(axes, bands[bands["lengthscale"] == lengthscale])
        axes.set(xlabel="x", title=f"b = 10, θᶠ = {lengthscale:g} ({label})")
    panels[1].sharey(panels[2])
    panels[1].set_ylabel("y")
    handles, labels = panels[2].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower right", ncols=len(labels))
    return drawing


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """The maximum for each b: where it is, how high, and what its band is worth."""
    values = results[results["kind"] == "criterion"]
    best = chosen(values, "hsic")
    ten = best[best["width_weight"] == SHOWN["width_weight"]].set_index("seed")
    smallest = values[values["lengthscale"] == values["lengthscale"].min()]
    rows = []
    for b, part in best.set_index("seed").groupby("width_weight"):
        tried = values[values["width_weight"] == b]
        curves = tried.pivot(index="seed", columns="lengthscale", values="hsic").to_numpy()
        ratio = part["hsic"] / ten["hsic"]
        narrow = smallest[smallest["width_weight"] == b]
        rows.append(
            {
                "b": b,
                "maxima of a curve": local_maxima(curves).mean(),
                "last ÷ largest": (curves[:, -1] / curves.max(axis=1)).mean(),
                "median θᶠ": part["lengthscale"].median(),
                "θᶠ ÷ θᶠ of b = 10": np.exp(
                    np.log(part["lengthscale"] / ten["lengthscale"]).mean()
                ),
                "HSIC ÷ HSIC of b = 10": ratio.mean(),
                "s.e.": ratio.sem(),
                "median of it": ratio.median(),
                "dCor there": part["dcor"].mean(),
                "local error": part["local_error"].mean(),
                "least local error": tried.groupby("seed")["local_error"].min().mean(),
                "width": part["width"].mean(),
                "local error, θᶠ = 0.1": narrow["local_error"].mean(),
                "width, θᶠ = 0.1": narrow["width"].mean(),
            }
        )
    return pd.DataFrame(rows)


EXPERIMENT = Experiment(
    name="hsic_over_b",
    item=3,
    title="HSIC over b and θᶠ, and the bands of two lengthscales",
    claims=(
        "Section 4.1: for all b, HSIC first increases with θᶠ, reaches a peak and then decreases.",
        "Section 4.1: the higher b, the higher the optimal θᶠ.",
        "Section 4.1: for b ≥ 10 the optimal HSIC reaches a plateau.",
        "Section 4.1: a small θᶠ gives overly adaptive bands, the optimised one smooth and "
        "adaptive ones.",
    ),
    keys=partial(grid, WIDTH_WEIGHTS),
    measure=measure,
    figure=figure,
    summary=summary,
    minutes=(1.5, 7),
)
