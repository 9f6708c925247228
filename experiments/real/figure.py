"""The picture of the ranks, from the summaries alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from experiments.real.ranking import OURS

LEVEL = 0.9
SHOWN = {
    "interval_score": ("interval score", "o", "C0"),
    "coverage_gap": ("cluster coverage gap", "s", "C1"),
    "ert": ("ERT", "^", "C2"),
}


def draw(summaries: Mapping[str, pd.DataFrame], folder: Path) -> Path:
    """Average ranks ± a standard error at `LEVEL`, a panel for each group; variants are hollow."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    order = _order(summaries)
    size = (3.2 + 3.2 * len(summaries), 1.5 + 0.22 * len(order))
    drawing = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(drawing)
    panels = drawing.subplots(1, len(summaries), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (group, frame) in zip(panels, summaries.items(), strict=True):
        _panel(axes, frame.set_index("title"), order)
        sets = frame["sets"].iloc[0]
        axes.set(
            title=f"{group} sets ({sets})",
            xlabel=f"average rank ± s.e., 1 is best, level {LEVEL:g}",
        )
    panels[0].set_yticks(range(len(order)), order)
    panels[0].invert_yaxis()
    ours = summaries[next(iter(summaries))].set_index("method").loc[OURS, "title"]
    panels[0].get_yticklabels()[order.index(ours)].set_fontweight("bold")
    handles, labels = panels[0].get_legend_handles_labels()
    title = "hollow: variants, not ranked"
    drawing.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, title=title)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "ranks.png"
    drawing.savefig(path, dpi=150)
    return path


def _order(summaries: Mapping[str, pd.DataFrame]) -> list[str]:
    """Ranked methods by their interval score on most data sets, then the others."""
    largest = max(summaries.values(), key=lambda frame: frame["sets"].iloc[0])
    titles = list(largest["title"])
    return titles + [t for frame in summaries.values() for t in frame["title"] if t not in titles]


def _panel(axes: object, frame: pd.DataFrame, order: list[str]) -> None:
    rows = [title for title in order if title in frame.index]
    heights = [order.index(title) for title in rows]
    for metric, (label, marker, colour) in SHOWN.items():
        faces = [colour if frame.loc[title, "ranked"] else "white" for title in rows]
        ranks = frame.loc[rows, f"{metric}_rank"]
        if ranks.isna().all():  # no set has enough rows for it
            continue
        errors = frame.loc[rows, f"{metric}_rank_error"]
        axes.hlines(heights, ranks - errors, ranks + errors, colour, alpha=0.6, zorder=2)
        axes.scatter(ranks, heights, marker=marker, c=faces, edgecolors=colour, zorder=3)
        axes.scatter([], [], marker=marker, c=colour, label=label)
    axes.set_xlim(left=0.5)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
