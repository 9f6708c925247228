"""Item 8: seconds against n and tolerance for the SDP solver, the paper's dual, and `Newton`.

Case 1, a = b = 0, θᶠ = 0.3, at most 10⁴ steps, learning rate 0.01, as in the figure and the table
of the paper. Every unit runs `Newton` before and after the other solver, so that ratios compare
what saw the same machine; seconds are those of the processor, all threads together (BLAS has one),
and other processes do not count. `Accelerated` and `Newton` stop at a certified relative gap;
SCS takes the tolerance as its own (absolute and relative residuals), and the gap that it leaves is
recorded. Compiling JAX code is left out, the translation by CVXPY not.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from experiments.experiment import Experiment
from experiments.paper.preliminary import joint_mean
from sosbands import SDP, Accelerated, BandProblem, Gaussian, Newton, Solver
from sosbands.datasets import case

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

TOLERANCES = (1e-2, 1e-3, 1e-4)
STEPS, RATE = 10_000, 1e-2
TITLES = {
    "sdp": "SDP (SCS)",
    "accelerated": "dual (Accelerated)",
    "newton": "dual (Newton)",
}
COLOURS = dict(zip(TITLES, ("C3", "C1", "C0"), strict=True))
STYLES = dict(zip(TOLERANCES, (":", "--", "-"), strict=True))
SLOW = 1000  # a solve of the paper's dual takes minutes: three seeds
# Solver ↦ sizes: reduced, and the paper's.
SIZES = {
    "sdp": ((50, 100, 150), (50, 100, 150, 200, 300)),
    "accelerated": ((100, 200, 300), (100, 200, 300, 400, 500, 600, 800, 1000)),
    "newton": ((1000, 10_000, 100_000), (2000, 10_000, 100_000, 1_000_000)),
}


def keys(full: bool) -> list[dict[str, Any]]:
    """The slow solvers at the sizes they can do, `Newton` alone beyond."""
    return [
        {"solver": solver, "n": n, "tol": tol, "seed": seed}
        for solver, sizes in SIZES.items()
        for n, tol in product(sizes[full], TOLERANCES)
        for seed in range(5 if full and n != SLOW else 3)
    ]


def measure(solver: str, n: int, tol: float, seed: int) -> list[dict[str, Any]]:
    """Whole solves, features included; two of `Newton`."""
    X, y = case(1).sample(n, random_state=seed)
    problem = BandProblem.from_data(
        X, y, **joint_mean(X, y), scale_kernel=Gaussian(0.3), width_weight=0.0
    )
    rows = [timed("newton", Newton(tol=tol), problem)]
    if solver != "newton":
        rows.append(timed(solver, rival(solver, tol, problem), problem))
    rows.append(timed("newton", Newton(tol=tol), problem))
    return rows


def rival(solver: str, tol: float, problem: BandProblem) -> Solver:
    """The paper's dual, compiled already, or its SDP solver."""
    if solver == "sdp":
        return SDP(backend="SCS", tol=tol, options={"eps_abs": tol, "eps_rel": tol})
    Accelerated(max_iter=1, learning_rate=RATE).solve(problem)
    return Accelerated(tol=tol, max_iter=STEPS, learning_rate=RATE)


def timed(name: str, solver: Solver, problem: BandProblem) -> dict[str, Any]:
    """Processor seconds of one solve, and what it reached."""
    afresh = replace(problem)  # a copy has no features yet
    with threadpool_limits(1):  # libraries may have been loaded since the last time
        start = time.process_time()
        solution = solver.solve(afresh)
        seconds = time.process_time() - start
    return {
        "measured": name,
        "seconds": seconds,
        "gap": solution.gap,
        "iterations": solution.certificate.iterations,
        "reached": solution.status.optimal,
    }


def figure(results: pd.DataFrame) -> Figure:
    """Seconds against n, and how many times longer than `Newton` the others take."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    drawing = Figure(figsize=(11, 5.4))
    left, right = drawing.subplots(1, 2)
    medians = table(results)
    compared = medians.merge(ratios(results), on=["measured", "tol", "n"])
    draw(left, medians, "median_seconds")
    draw(right, compared, "ratio")
    left.set(
        title="case 1: processor seconds of one solve",
        ylabel="seconds (median of the seeds)",
    )
    right.set(
        title="how many times as long as Newton on the same data",
        ylabel="seconds ÷ seconds of Newton (median of the seeds)",
    )
    sizes = sorted(compared["n"].unique())
    right.set_xticks(sizes, list(map(str, sizes)))
    right.xaxis.set_minor_locator(NullLocator())
    right.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    right.yaxis.set_major_formatter("{x:g}")
    drawing.legend(handles=legend(), loc="outside lower center", ncols=3)
    return drawing


def draw(axes: Axes, rows: pd.DataFrame, column: str) -> None:
    """A line for each solver and tolerance; hollow where a gap is above the tolerance."""
    for (name, tol), line in rows.groupby(["measured", "tol"], sort=False):
        axes.plot(line["n"], line[column], STYLES[tol], color=COLOURS[name])
        for reached, fill in ((True, COLOURS[name]), (False, "white")):
            points = line[(line["reached"] == 1) == reached]
            axes.plot(points["n"], points[column], "o", color=COLOURS[name], mfc=fill, ms=5)
    axes.set(xscale="log", yscale="log", xlabel="rows n")


def legend() -> list[Line2D]:
    """Colours for the solvers, line styles for the tolerances, hollow points for larger gaps."""
    from matplotlib.lines import Line2D

    solvers = [Line2D([], [], color=COLOURS[name], label=TITLES[name]) for name in TITLES]
    gaps = [
        Line2D([], [], color="black", ls=style, label=f"tolerance {tol:g}")
        for tol, style in STYLES.items()
    ]
    ends = [
        Line2D([], [], color="black", ls="", marker="o", ms=5, mfc=fill, label=label)
        for fill, label in (
            ("black", "certified gap ≤ tolerance for every seed"),
            ("white", "certified gap > tolerance for a seed or more"),
        )
    ]
    return [*solvers, *gaps, *ends]


def table(results: pd.DataFrame) -> pd.DataFrame:
    """The paper's table: mean and standard deviation of the seconds."""
    groups = results.groupby(["measured", "tol", "n"])
    return groups.agg(
        median_seconds=("seconds", "median"),
        mean_seconds=("seconds", "mean"),
        std_seconds=("seconds", "std"),
        steps=("iterations", "median"),
        largest_gap=("gap", "max"),
        reached=("reached", "mean"),
    ).reset_index()


def ratios(results: pd.DataFrame) -> pd.DataFrame:
    """Seconds ÷ the mean of `Newton` before and after, the median over the seeds."""
    unit = ["solver", "tol", "n", "seed"]
    newton = results[results["measured"] == "newton"].groupby(unit)["seconds"].mean()
    others = results[results["measured"] != "newton"].set_index(unit)
    times = others["seconds"] / newton.reindex(others.index)
    medians = times.rename("ratio").groupby(["solver", "tol", "n"]).median().reset_index()
    return medians.rename(columns={"solver": "measured"})


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Seconds, the ratio to `Newton`, and the exponent of n that fits the medians best."""
    rows = table(results).merge(ratios(results), how="left", on=["measured", "tol", "n"])
    for _, line in rows.groupby(["measured", "tol"]):
        exponent = np.polyfit(np.log(line["n"]), np.log(line["median_seconds"]), 1)[0]
        rows.loc[line.index, "exponent_of_n"] = exponent
    return rows.rename(columns={"ratio": "over_newton"})


EXPERIMENT = Experiment(
    name="solve_times",
    item=8,
    title="Seconds against n and tolerance: SDP, the paper's dual, Newton",
    claims=(
        "Section 4.2: an SDP solver can only handle up to n = 200 rows.",
        "Section 4.2: the dual solver scales linearly with n and is robust to user tolerances.",
        "Appendix B.3, table: seconds of the dual on a CPU, n = 100 to 1000.",
    ),
    keys=keys,
    measure=measure,
    figure=figure,
    summary=summary,
    minutes=(2, 150),
    timed=True,
)
