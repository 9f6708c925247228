"""Item 10: the dual's solution beside that of SDP solvers, and the HSIC curve of case 1.

Solutions: case 1, n = 100, a = b = 0, λ₁ = λ₂ = 1, θᶠ = 0.4; the dual with tolerance 10⁻⁴ and
learning rate 0.01, SCS with the settings it comes with (Figure 'sdp_vs_dual'), and `Newton` to
10⁻⁸, from which the others' distances are measured. HSIC: case 1, n = 1000, five folds; beside it
the error of the local coverage that each θᶠ really leads to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from experiments.experiment import Experiment
from experiments.figures import mark_places
from experiments.paper import band_curves
from experiments.paper.band_curves import LEVEL
from experiments.paper.criteria import logarithmic_lengthscales
from experiments.paper.held_out_hsic import held_out
from experiments.paper.preliminary import problems
from sosbands import SDP, Accelerated, BandRegressor, Newton, Solution, Solver
from sosbands.datasets import case
from sosbands.metrics import exact_local_coverage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW, MANY, LENGTHSCALE = 100, 1000, 0.4
SOLVERS: dict[str, Solver] = {
    "Newton": Newton(tol=1e-8),
    "Accelerated (the paper's dual)": Accelerated(tol=1e-4, learning_rate=1e-2),
    "SCS": SDP(backend="SCS", tol=1e-4, options={}),
}


def keys(full: bool) -> list[dict[str, Any]]:
    """One unit for the solutions of a seed, one for each lengthscale of the curve of a seed."""
    seeds = range(10 if full else 3)
    lengthscales = np.geomspace(0.08, 4.0, 35 if full else 15).round(3).tolist()
    return [{"part": "solutions", "lengthscale": LENGTHSCALE, "seed": seed} for seed in seeds] + [
        {"part": "hsic", "lengthscale": lengthscale, "seed": seed}
        for seed in seeds
        for lengthscale in lengthscales
    ]


def measure(part: str, lengthscale: float, seed: int) -> list[dict[str, Any]]:
    """Three solutions of one problem, or one point of the HSIC curve."""
    n = FEW if part == "solutions" else MANY
    X, y = case(1).sample(n, random_state=seed)
    (problem,) = problems(X, y, [lengthscale], width_weight=0.0)
    if part == "solutions":
        rows = solutions({name: solver.solve(problem) for name, solver in SOLVERS.items()}, seed)
        return rows + (band_curves.points(X, y, n) if seed == 0 else [])
    fit = held_out(problem, seed)
    return [
        {
            "kind": "hsic",
            "hsic": fit.dependence("hsic", power=2),
            "hsic_of_roots": fit.dependence("hsic", power=1),
            "local_gap": local_gap(lengthscale, seed),
        }
    ]


def solutions(found: dict[str, Solution], seed: int) -> list[dict[str, Any]]:
    """How far each is from the most accurate one, relative to the largest √f; curves for seed 0."""
    x = band_curves.grid(case(1))
    exact = found["Newton"]
    largest = exact.scale(x).max()
    rows: list[dict[str, Any]] = []
    for name, solution in found.items():
        rows.append(
            {
                "kind": "solution",
                "solver": name,
                "value": solution.primal_value,
                "gap": solution.gap,
                "mean_distance": np.abs(solution.mean(x) - exact.mean(x)).max() / largest,
                "scale_distance": np.abs(solution.scale(x) - exact.scale(x)).max() / largest,
            }
        )
        if seed == 0:
            curve = band_curves.curve(case(1), x, solution.mean(x), solution.scale(x))
            rows += [{**row, "solver": name} for row in curve]
    return rows


def local_gap(lengthscale: float, seed: int) -> float:
    """Mean |local coverage − 0.9| of the band of all rows, calibrated with as many others."""
    truth = case(1)
    model = BandRegressor.as_published(
        band__lengthscale=lengthscale, band__width_weight=0.0, calibration=None, random_state=seed
    )
    model.fit(*truth.sample(MANY, random_state=seed))
    model.conformalize(*truth.sample(MANY, random_state=seed + 10_000))
    X = truth.sample_inputs(1000, random_state=seed + 20_000)
    local = exact_local_coverage(truth, model.predict_interval(X, LEVEL), X)
    return float(np.abs(local - LEVEL).mean())


def figure(results: pd.DataFrame) -> Figure:
    """The solutions on top of each other; the curve; what the curve is meant to predict."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(13, 4.6))
    left, middle, right = drawing.subplots(1, 3)
    draw_solutions(left, results[(results["part"] == "solutions") & (results["seed"] == 0)])
    for axes, column in ((middle, "hsic"), (right, "local_gap")):
        draw_curves(axes, results[results["kind"] == "hsic"], column)
    middle.set(title="case 1, n = 1000: HSIC, 5 folds", ylabel="HSIC of r² and f")
    right.set(
        title="case 1, n = 1000: after calibration", ylabel="mean |local coverage − 0.9|", ylim=0
    )
    middle.legend(fontsize="small")
    right.legend(fontsize="small", loc="lower right")
    return drawing


def draw_solutions(axes: Axes, rows: pd.DataFrame) -> None:
    """Mean and band of every solver; they can hardly be told apart."""
    dots = rows[rows["kind"] == "point"]
    axes.plot(dots["x"], dots["y"], ".", color="0.6", ms=4, label="training rows")
    styles: tuple[dict[str, Any], ...] = (
        {"color": "C0", "lw": 5},
        {"color": "C1", "lw": 2.5},
        {"color": "black", "lw": 0, "marker": "o", "ms": 3, "markevery": 8},
    )
    for name, style in zip(SOLVERS, styles, strict=True):
        line = rows[(rows["kind"] == "curve") & (rows["solver"] == name)]
        axes.plot(line["x"], line["mean"], label=name, **style)
        axes.plot(line["x"], line["band_low"], **style)
        axes.plot(line["x"], line["band_high"], **style)
    axes.set(title="case 1, n = 100, θᶠ = 0.4: m and m ± √f", xlabel="x", ylabel="y")
    axes.margins(y=0.2)
    axes.legend(fontsize="small", loc="lower left")


def draw_curves(axes: Axes, rows: pd.DataFrame, column: str) -> None:
    """One curve for each seed, with the θᶠ that HSIC chooses as a dashed line."""
    chosen = {}
    for place, (seed, curve) in enumerate(rows.groupby("seed")):
        color = f"C{place}"
        axes.plot(curve["lengthscale"], curve[column], ".-", color=color, label=f"seed {seed}")
        chosen[color] = curve.loc[curve["hsic"].idxmax(), "lengthscale"]
    mark_places(axes, chosen)
    axes.set_xlabel("lengthscale θᶠ (dashed: chosen by HSIC)")
    logarithmic_lengthscales(axes)


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Distances between the solutions; what HSIC chooses, and how good that is."""
    solved = results[results["kind"] == "solution"].groupby("solver", sort=False)
    largest = solved[["gap", "mean_distance", "scale_distance"]].max()
    rows = [
        {"what": f"{name}: largest {column}", "value": value}
        for name, row in largest.iterrows()
        for column, value in row.items()
    ]
    for seed, curve in results[results["kind"] == "hsic"].groupby("seed"):
        chosen = curve.loc[curve["hsic"].idxmax()]
        smallest, widest = curve.iloc[0], curve.iloc[-1]
        rows += [
            {"what": f"seed {seed}: θᶠ of the largest HSIC", "value": chosen["lengthscale"]},
            {
                "what": f"seed {seed}: θᶠ of the best local coverage",
                "value": curve.loc[curve["local_gap"].idxmin(), "lengthscale"],
            },
            {
                "what": f"seed {seed}: mean |local coverage − 0.9| there",
                "value": curve["local_gap"].min(),
            },
            {"what": f"seed {seed}: … at HSIC's θᶠ", "value": chosen["local_gap"]},
            {"what": f"seed {seed}: … at the smallest θᶠ", "value": smallest["local_gap"]},
            {"what": f"seed {seed}: … at the largest θᶠ", "value": widest["local_gap"]},
        ]
    return pd.DataFrame(rows)


EXPERIMENT = Experiment(
    name="dual_and_sdp",
    item=10,
    title="Dual and SDP solutions, n = 100; HSIC curve, n = 1000",
    claims=(
        "Appendix B.3, 'Illustration': the dual's solution coincides with that of the SDP solver.",
        "Appendix B.3, 'Illustration': HSIC has a maximum over θᶠ (case 1, n = 1000, a = b = 0).",
    ),
    keys=keys,
    measure=measure,
    figure=figure,
    summary=summary,
    minutes=(0.5, 10),
)
