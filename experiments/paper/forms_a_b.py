"""Item 11: formulation A against formulation B, with and without the Frobenius term.

Cases 1, 2 and 3, SCS with the settings it comes with; the paper's size is three seeds, n = 50 and
100, ten lengthscales from 0.1 to 1. λ₁ = 1, a = 0, b = 0 and b = 10. Seconds are the processor's
(other processes do not count), less the share that CVXPY needs to translate the program. In form B
the Frobenius term is ‖A‖² = tr KBKB, stated through A = ΦᵀBΦ (see `SDP`): the paper does not say
how it states it. A run is cut off after 2500 iterations, and counts as that long.
"""

from __future__ import annotations

import time
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from experiments.experiment import Experiment
from experiments.paper.preliminary import joint_mean
from sosbands import SDP, BandProblem, Gaussian, datasets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_ITERATIONS = 2500
# As SCS comes, but for the limit of 10⁵ iterations: most runs need 100 to 500, a few never end.
SCS: dict[str, Any] = {"backend": "SCS", "tol": 1e-3, "options": {}, "max_iter": MAX_ITERATIONS}
MODELS = {
    ("A", 1.0): "A, λ₂ = 1",
    ("A", 0.0): "A, λ₂ = 0",
    ("B", 1.0): "B, λ₂ = 1",
    ("B", 0.0): "B, λ₂ = 0",
}
WEIGHTS = (0.0, 10.0)
# Unsolved or not ↦ how a run is drawn.
MARKS: dict[bool, dict[str, Any]] = {
    False: {"marker": "o", "color": "C0", "alpha": 0.5, "ls": "", "ms": 4, "label": "one problem"},
    True: {
        "marker": "x",
        "color": "C3",
        "ls": "",
        "ms": 6,
        "label": f"stopped at the limit of {MAX_ITERATIONS} iterations: would have taken longer",
    },
}


def keys(full: bool) -> list[dict[str, Any]]:
    """Data sets, lengthscales and weights; each unit is four programs."""
    sizes = (50, 100) if full else (50,)
    lengthscales = [k / 10 for k in (range(1, 11) if full else (2, 5, 8))]
    names = ("case", "n", "seed", "lengthscale", "width_weight")
    grid = product((1, 2, 3), sizes, range(3 if full else 1), lengthscales, WEIGHTS)
    return [dict(zip(names, values, strict=True)) for values in grid]


def measure(
    case: int, n: int, seed: int, lengthscale: float, width_weight: float
) -> list[dict[str, Any]]:
    """The four models in turn."""
    X, y = datasets.case(case).sample(n, random_state=seed)
    mean = joint_mean(X, y)
    rows = []
    for form, ridge in MODELS:
        problem = BandProblem.from_data(
            X,
            y,
            **mean,
            scale_kernel=Gaussian(lengthscale),
            width_weight=width_weight,
            ridge_penalty=ridge,
        )
        rows.append({"form": form, "ridge": ridge, **timed(SDP(form, **SCS), problem)})
    return rows


def timed(solver: SDP, problem: BandProblem) -> dict[str, Any]:
    """Processor seconds of SCS, and what it reached."""
    with threadpool_limits(1):
        start = time.process_time()
        solution = solver.solve(problem)
        spent = time.process_time() - start
    certificate = solution.certificate
    share = certificate.seconds["backend"] / certificate.seconds["total"]
    return {
        "seconds": spent * share,
        "total_seconds": spent,
        "iterations": certificate.iterations,
        "gap": solution.gap,
        "unsolved": certificate.iterations >= MAX_ITERATIONS,
    }


def figure(results: pd.DataFrame) -> Figure:
    """Boxes of the seconds, one panel for each n and b; runs that were cut off are crosses."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    sizes = sorted(results["n"].unique())
    drawing = Figure(figsize=(11, 3.6 * len(sizes) + 0.4))
    grid = drawing.subplots(len(sizes), len(WEIGHTS), sharey=True, squeeze=False)
    for (i, n), (j, b) in product(enumerate(sizes), enumerate(WEIGHTS)):
        axes = grid[i, j]
        here = results[(results["n"] == n) & (results["width_weight"] == b)]
        groups = [here[(here["form"] == form) & (here["ridge"] == ridge)] for form, ridge in MODELS]
        seconds = [group["seconds"] for group in groups]
        # Every problem has a mark of its own.
        axes.boxplot(seconds, widths=0.5, showfliers=False, medianprops={"color": "black"})
        for place, group in enumerate(groups, start=1):
            for unsolved, mark in MARKS.items():
                shown = group.loc[group["unsolved"] == unsolved, "seconds"]
                axes.plot(np.full(len(shown), place), shown, **mark)
        axes.set_xticks(range(1, 5), list(MODELS.values()))
        axes.set(yscale="log", title=f"n = {n}, b = {b:g}: {len(groups[0])} problems")
        if j == 0:
            axes.set_ylabel("processor seconds of SCS")
    handles = [Line2D([], [], **mark) for mark in MARKS.values()]
    drawing.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return drawing


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Mean seconds and iterations, and what form A saves; ratios are of means over the problems."""
    index, columns = ["n", "width_weight"], ["form", "ridge"]
    seconds = results.pivot_table("seconds", index, columns)
    iterations = results.pivot_table("iterations", index, columns)
    cut = results.pivot_table("unsolved", index, columns)
    rows = []
    for where in seconds.index:
        mean = seconds.loc[where]
        rows.append(
            {
                **dict(zip(index, where, strict=True)),
                **{f"{label}: s": mean[model] for model, label in MODELS.items()},
                **{f"{label}: steps": iterations.loc[where][m] for m, label in MODELS.items()},
                "A saves, λ₂ = 1": 1 - mean["A", 1.0] / mean["B", 1.0],
                "A saves, λ₂ = 0": 1 - mean["A", 0.0] / mean["B", 0.0],
                "λ₂ = 1 saves, A": 1 - mean["A", 1.0] / mean["A", 0.0],
                "λ₂ = 1 saves, B": 1 - mean["B", 1.0] / mean["B", 0.0],
                "unsolved": float(cut.loc[where].sum() / 4),
            }
        )
    return pd.DataFrame(rows)


EXPERIMENT = Experiment(
    name="forms_a_b",
    item=11,
    title="Formulation A against formulation B, with and without the Frobenius term",
    claims=(
        "Appendix B.4: formulation A yields 90 % computational savings on average.",
        "Appendix B.4: λ₂ > 0 also improves resolution times, in particular when b > 0.",
    ),
    keys=keys,
    measure=measure,
    figure=figure,
    summary=summary,
    minutes=(2.5, 500),
    timed=True,
)
