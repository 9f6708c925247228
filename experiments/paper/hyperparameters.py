"""Item 1: what a, b, λ₁ and λ₂ change, each over eleven decades with the others at 1.

The study of the paper's appendix 'Hyperparameter influence'. Its ten lengthscales are not given:
these are the ten between 0.1 and 1 of the study of forms A and B. The band is not calibrated, as in
the paper; its width after a calibration with 1000 rows is recorded beside it.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from experiments.experiment import Experiment
from experiments.paper.preliminary import joint_mean
from sosbands import BandProblem, Gaussian, Newton, Solution
from sosbands.datasets import Case, case

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WEIGHTS = {
    "mean_weight": "a",
    "width_weight": "b",
    "trace_penalty": "λ₁",
    "ridge_penalty": "λ₂",
}
DECADES = tuple(range(-3, 8))
INDICATORS = ("rmse", "width", "nuclear_norm", "frobenius_norm", "calibrated_width")
LEVEL, NEW_ROWS = 0.9, 1000


def keys(full: bool) -> list[dict[str, Any]]:
    """Cases, sizes, seeds and lengthscales; each unit is 44 problems."""
    seeds, lengthscales = (range(3), range(1, 11)) if full else (range(1), range(2, 11, 2))
    names = ("case", "n", "seed", "lengthscale")
    grid = product((1, 2, 3), (50, 100), seeds, (k / 10 for k in lengthscales))
    return [dict(zip(names, values, strict=True)) for values in grid]


def measure(case: int, n: int, seed: int, lengthscale: float) -> list[dict[str, Any]]:
    """Every weight at every decade, for one data set and lengthscale."""
    truth = _case(case)
    X, y = truth.sample(n, random_state=seed)
    ones = dict.fromkeys(WEIGHTS, 1.0)
    problem = BandProblem.from_data(
        X, y, **joint_mean(X, y), scale_kernel=Gaussian(lengthscale), **ones
    )
    rows = []
    for weight, decade in product(WEIGHTS, DECADES):
        solution = Newton(tol=1e-5).solve(problem.variant(**{weight: 10.0**decade}))
        rows.append(
            {"weight": weight, "decade": decade, **indicators(solution, truth, seed + 10_000)}
        )
    return rows


def indicators(solution: Solution, truth: Case, seed: int) -> dict[str, Any]:
    """The error of the mean, the width of the band, and the norms of A = RRᵀ."""
    X, y = truth.sample(NEW_ROWS, random_state=seed)
    R = solution.point.factors[0]
    mean, scale = solution.mean(X), solution.scale(X)
    scores = np.abs(y - mean) / np.maximum(scale, np.finfo(float).tiny)
    return {
        "rmse": np.sqrt(np.mean((y - mean) ** 2)),
        "width": 2 * scale.mean(),
        "nuclear_norm": np.sum(R**2),
        "frobenius_norm": np.linalg.norm(R.T @ R),
        "calibrated_width": 2 * scale.mean() * np.quantile(scores, LEVEL),
        "gap": solution.gap,
    }


def normalized(results: pd.DataFrame) -> pd.DataFrame:
    """Every indicator divided by its median over all combinations of a case, as in the paper."""
    medians = results.groupby("case")[list(INDICATORS)].transform("median")
    return results.assign(**(results[list(INDICATORS)] / medians))


def figure(results: pd.DataFrame) -> Figure:
    """The four panels of the paper."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, NullLocator

    drawing = Figure(figsize=(11, 8))
    panels = drawing.subplots(2, 2).ravel()
    relative = normalized(results)
    boxes(panels[0], relative, {("mean_weight", "rmse"): "RMSE"})
    boxes(
        panels[1],
        relative,
        {("ridge_penalty", "width"): "mean width", ("ridge_penalty", "nuclear_norm"): "‖A‖⋆"},
    )
    for axes, indicator in zip(panels[2:], ("width", "nuclear_norm"), strict=True):
        pairs = {("trace_penalty", indicator): "over λ₁", ("width_weight", indicator): "over b"}
        boxes(axes, relative, pairs)
    titles = (
        "(a) RMSE over a",
        "(b) mean width and nuclear norm over λ₂",
        "(c) mean width over λ₁ and b",
        "(d) nuclear norm ‖A‖⋆ over λ₁ and b",
    )
    labels = ("a", "λ₂", "λ₁ or b", "λ₁ or b")
    for axes, title, label in zip(panels, titles, labels, strict=True):
        scale = "log axis" if axes.get_yscale() == "log" else "linear axis, zoomed in"
        axes.set(title=title, xlabel=label, ylabel=f"÷ median of the case ({scale})")
    for axes in panels[1:3]:
        axes.yaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 5, 10]))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_locator(NullLocator())
    return drawing


def boxes(axes: Axes, relative: pd.DataFrame, pairs: dict[tuple[str, str], str]) -> None:
    """A row of boxes over the decades for each pair of a weight and an indicator, side by side."""
    step = 0.8 / len(pairs)
    for place, ((weight, indicator), label) in enumerate(pairs.items()):
        chosen = relative[relative["weight"] == weight]
        groups = [chosen.loc[chosen["decade"] == decade, indicator] for decade in DECADES]
        at = [k + (place - (len(pairs) - 1) / 2) * step for k in range(len(DECADES))]
        drawn = axes.boxplot(
            groups, positions=at, widths=0.8 * step, patch_artist=True, flierprops={"ms": 2}
        )
        for box in drawn["boxes"]:
            box.set(facecolor=f"C{place}", alpha=0.6)
        for middle in drawn["medians"]:
            middle.set(color="black")
        axes.plot([], [], "s", color=f"C{place}", alpha=0.6, label=label)
    if len(pairs) > 1:
        axes.set_yscale("log")
        axes.margins(y=0.15)
        axes.legend(loc="upper left", ncols=2)
    axes.set_xticks(range(len(DECADES)), [f"$10^{{{decade}}}$" for decade in DECADES])


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Medians at a few decades; within one data set and θᶠ, the range and last ÷ first decade."""
    relative = normalized(results)
    rows = []
    for (weight, letter), indicator in product(WEIGHTS.items(), INDICATORS):
        runs = relative[relative["weight"] == weight].pivot(
            index=["case", "n", "seed", "lengthscale"], columns="decade", values=indicator
        )
        at = {f"1e{decade}": runs[decade].median() for decade in (-3, 0, 1, 3, 5, 7)}
        spread = (runs.max(axis=1) / runs.min(axis=1)).median()
        change = runs[DECADES[-1]] / runs[DECADES[0]]
        rows.append(
            {
                "weight": letter,
                "indicator": indicator,
                **at,
                "largest ÷ smallest": spread,
                "last ÷ first, quartile 1": change.quantile(0.25),
                "quartile 3": change.quantile(0.75),
                "n = 50": change.xs(50, level="n").mean(),
                "n = 100": change.xs(100, level="n").mean(),
            }
        )
    return pd.DataFrame(rows)


def _case(number: int) -> Case:
    return case(number)


EXPERIMENT = Experiment(
    name="hyperparameters",
    item=1,
    title="Influence of a, b, λ₁ and λ₂",
    claims=(
        "Section 3.2: λ₂ has a very small impact on the shape of the intervals, if λ₂ > 0.",
        "Section 3.2: a has very little influence on mean squared errors when noise is symmetric.",
        "Section 3.2: b and λ₁ have highly different influence; λ₁ has no strong impact if λ₁ > 0.",
        "Section 3.2: higher values of b yield narrower intervals and a larger nuclear norm.",
    ),
    keys=keys,
    measure=measure,
    figure=figure,
    summary=summary,
    minutes=(0.5, 3),
)
