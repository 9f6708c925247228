"""Figures from results: drawn, then written as PNG and SVG, the same bytes every time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from experiments.experiment import Experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = Path(__file__).parent / "figures"

_STYLE = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "figure.constrained_layout.use": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "svg.hashsalt": "sosbands",
}


def draw(experiment: Experiment, results: pd.DataFrame, folder: Path) -> Path:
    """Write the figure of an experiment; the path of the PNG file."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{experiment.name}.png"
    with mpl.rc_context(_STYLE):
        figure = experiment.figure(results)
        FigureCanvasAgg(figure)
        figure.savefig(path)
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    return path


def mark_places(axes: Axes, places: dict[str, float]) -> None:
    """A dashed vertical line for each colour; where several share a place, they take turns."""
    for place in sorted(set(places.values())):
        sharing = [colour for colour, x in places.items() if x == place]
        for turn, colour in enumerate(sharing):
            dashes = (6 * turn, (4, 6 * len(sharing) - 4))
            axes.axvline(place, color=colour, linestyle=dashes, linewidth=1.2)
