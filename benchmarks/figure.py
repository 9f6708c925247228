"""Time against n for all three solvers: the left half of the paper's figure 'large scale'.

It only reads what the timing table and the SDP ratio have stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from benchmarks.record import power_of_ten

COLOURS = {"SDP": "tab:green", "Accelerated": "tab:orange", "Newton": "tab:blue"}
STYLES = {1e-2: ":", 1e-3: "--", 1e-4: "-"}
SDP_TOL, SDP_STYLE = 1e-6, "-."
# The paper's table 'computation time', device CPU, mean seconds.
PAPER_SIZES = (100, 200, 300, 400, 500, 600, 800, 1000)
PAPER_SECONDS = {
    1e-2: (1.32, 2.23, 3.76, 11.35, 11.05, 22.71, 25.69, 41.59),
    1e-3: (1.37, 4.30, 10.58, 31.07, 30.29, 32.06, 41.91, 83.08),
    1e-4: (2.30, 4.88, 12.67, 34.20, 52.22, 42.85, 66.07, 136.86),
}

Curve = list[tuple[int, float, bool]]


def draw(results: Mapping[str, Any], path: Path) -> None:
    """Draw what there is."""
    table = results.get("timing_table", {"records": []})["records"]
    programs = results.get("sdp_ratio", {"records": []})["records"]
    figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
    for tol, style in STYLES.items():
        axes.loglog(PAPER_SIZES, PAPER_SECONDS[tol], style, color="0.7", lw=1.5, zorder=1)
        for solver in ("Accelerated", "Newton"):
            plot(axes, curve(table, solver, tol), COLOURS[solver], style)
    plot(axes, curve(programs, "SDP", SDP_TOL), COLOURS["SDP"], SDP_STYLE)
    axes.set(
        xlabel="number of rows n",
        ylabel="seconds, one core",
        title="Test case 1, a = b = 0, θᶠ = 0.3: time to a certified gap",
    )
    axes.grid(which="major", color="0.92")
    capped = any(record["capped"] for record in [*table, *programs])
    figure.legend(handles=legend(capped), fontsize="small", loc="outside lower center", ncols=2)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def curve(records: list[Mapping[str, Any]], solver: str, tol: float) -> Curve:
    """n, median seconds over the seeds, and whether the time limit cut a run off."""
    points = []
    for record in records:
        details = record["details"]
        chosen = details.get("tol") == tol and details.get("figure", True)
        if chosen and record["times"].get(solver):
            seconds = np.median([np.median(repeats) for repeats in record["times"][solver]])
            points.append((details["n"], float(seconds), record["capped"] and solver != "Newton"))
    return sorted(points)


def plot(axes: Axes, points: Curve, colour: str, style: str) -> None:
    """A line with a dot per size; an arrow where the time is a lower bound."""
    if not points:
        return
    n, seconds, capped = (np.array(column) for column in zip(*points, strict=True))
    axes.loglog(n, seconds, style, color=colour, lw=1.5)
    axes.loglog(n[~capped], seconds[~capped], "o", color=colour, ms=4)
    axes.loglog(n[capped], seconds[capped], "^", color=colour, ms=8)


def legend(capped: bool) -> list[Line2D]:
    """Colours for the solvers, line styles for the tolerances, and the arrow if there is one."""
    labels = {
        "SDP": "SDP (SCS, form A)",
        "Accelerated": "Accelerated (the paper's algorithm)",
        "Newton": "Newton",
    }
    handles = [Line2D([], [], color=COLOURS[name], label=label) for name, label in labels.items()]
    handles.append(Line2D([], [], color="0.7", label="dual solver, CPU, as published"))
    if capped:
        bound = "stopped by the time limit: a lower bound"
        handles.append(Line2D([], [], color="black", ls="", marker="^", ms=8, label=bound))
    for tol, style in (STYLES | {SDP_TOL: SDP_STYLE}).items():
        handles.append(
            Line2D([], [], color="black", ls=style, lw=1, label=f"gap {power_of_ten(tol)}")
        )
    return handles
