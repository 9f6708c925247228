"""Colours that colour-blind readers tell apart, and axes to draw on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

# Okabe and Ito's palette.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
BLUE, VERMILION = PALETTE[:2]
INK, PALE = "0.25", "0.9"

Style = Mapping[str, Any]
Colour = tuple[float, float, float]


def own_axes(rows: int = 1, *, size: tuple[float, float] = (7.0, 4.0)) -> list[Axes]:
    """Axes of a new figure, one above the other, without the lines that say nothing."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(rows, sharex=True, figsize=size, layout="constrained", squeeze=False)
    for ax in axes[:, 0]:
        ax.spines[["top", "right"]].set_visible(False)
    return list(axes[:, 0])


def tint(colour: Any, strength: float) -> Colour:
    """The colour mixed with white; opaque, so that nested areas keep their own shades."""
    from matplotlib.colors import to_rgb

    red, green, blue = 1 - strength * (1 - np.array(to_rgb(colour)))
    return float(red), float(green), float(blue)


def styled(artist: type, defaults: Style, given: Style | None) -> dict[str, Any]:
    """The defaults, replaced by what the user gives under any of matplotlib's names for it."""
    from matplotlib.cbook import normalize_kwargs

    return {**defaults, **normalize_kwargs(dict(given or {}), artist)}


def legend_beside(ax: Axes) -> Legend:
    """A legend to the right of the axes, where it hides neither data nor title."""
    return ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, borderaxespad=0.3)
