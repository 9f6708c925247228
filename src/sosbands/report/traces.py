"""The parts that pictures are made of: plotly's traces and layouts in plain dictionaries.

Colours are CSS variables: the page's script resolves them, so that one file suits light screens,
dark screens and paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from sosbands.evaluation import LevelCoverage, PartCoverage
from sosbands.types import Array, Indices, Mask

Trace: TypeAlias = dict[str, Any]

BAND, INNER, INK, MUTED = "var(--band)", "var(--inner)", "var(--ink)", "var(--muted)"
HIT, MISS, FAR_FILL = "var(--hit)", "var(--miss)", "var(--far)"


@dataclass(frozen=True)
class Figure:
    """A picture by its name, under which templates have its words and numbers."""

    name: str
    traces: list[Trace]
    layout: dict[str, Any]
    labels: Sequence[str] = ()  # the places on an axis that has names instead of numbers


def runs(inside: Mask) -> list[Indices]:
    """The places of each stretch that is inside."""
    places = np.flatnonzero(inside)
    parts = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    return parts if len(places) else []


def ribbon(x: Array, ends: Array, name: str, fill: str) -> Trace:
    """A filled band; it has a gap where an end is infinite."""
    gap = np.array([np.nan])
    outline: list[tuple[Array, Array]] = []
    finite: Mask = np.all(np.isfinite(ends), axis=1)
    for part in runs(finite):
        outline += [(x[part], ends[part, 1]), (x[part][::-1], ends[part, 0][::-1]), (gap, gap)]
    outline_x, outline_y = (
        map(np.concatenate, zip(*outline, strict=True)) if outline else (gap, gap)
    )
    look = {"fill": "toself", "fillcolor": fill, "line": {"width": 0}, "hoverinfo": "skip"}
    return scatter("lines", name, outline_x, outline_y, **look)


def scatter(mode: str, name: str, x: Array, y: Array, **look: Any) -> Trace:
    """What all lines and dots have in common, and how these look."""
    return {"type": "scatter", "mode": mode, "name": name, "x": compact(x), "y": compact(y), **look}


def far_away(x: Array, far: Mask) -> list[Trace]:
    """A grey background over each stretch of x where the model guesses."""
    look: Trace = {"type": "rect", "xref": "x", "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    look |= {"fillcolor": FAR_FILL, "line": {"width": 0}}
    return [{**look, "x0": float(x[part[0]]), "x1": float(x[part[-1]])} for part in runs(far)]


def line(x: Array, y: Array, name: str, color: str, *, dash: str = "solid") -> Trace:
    """A curve."""
    look, hover = {"color": color, "width": 2, "dash": dash}, "%{x:.4g}: %{y:.4g}<extra></extra>"
    return scatter("lines", name, x, y, line=look, hovertemplate=hover)


def dots(x: Array, y: Array, covered: Mask) -> list[Trace]:
    """Rows inside their interval, and those outside, in another colour and form."""
    return [
        cloud(x[covered], y[covered], "covered", HIT, "circle"),
        cloud(x[~covered], y[~covered], "missed", MISS, "x"),
    ]


def cloud(x: Array, y: Array, name: str, color: str, symbol: str) -> Trace:
    """Dots of one form."""
    look = {"color": color, "symbol": symbol, "size": 5 if symbol == "circle" else 7}
    return scatter("markers", name, x, y, marker=look, hovertemplate="%{x:.4g}, %{y:.4g}")


def points(
    x: Sequence[float] | Sequence[str],
    parts: Sequence[LevelCoverage] | Sequence[PartCoverage],
    texts: Sequence[str],
) -> Trace:
    """Observed shares with their bounds as whiskers."""
    y = np.array([part.coverage for part in parts])
    low, high = np.array([part.bounds for part in parts]).T
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "observed",
        "x": list(x),
        "y": y.round(5).tolist(),
        "text": list(texts),
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": HIT, "size": 9},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": (high - y).round(5).tolist(),
            "arrayminus": (y - low).round(5).tolist(),
            "color": HIT,
            "thickness": 1.5,
            "width": 4,
        },
    }


def layout(x: str, y: str, *, height: int) -> dict[str, Any]:
    """Two axes with titles, in which names were escaped."""
    axis = {
        "automargin": True,
        "gridcolor": "var(--grid)",
        "linecolor": MUTED,
        "zerolinecolor": "var(--grid)",
    }
    return {
        "height": height,
        "margin": {"l": 8, "r": 12, "t": 30, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": INK, "size": 13},
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": "var(--paper)", "font": {"color": INK}},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": MUTED, "activecolor": INK},
        "legend": {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
        "xaxis": {**axis, "title": {"text": x}},
        "yaxis": {**axis, "title": {"text": y}},
    }


def compact(values: Array) -> list[float | None]:
    """Numbers rounded to what a screen can show, with None where there is none."""
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return [None] * len(values)
    size = float(np.ptp(finite)) or float(np.abs(finite).max()) or 1.0
    rounded = np.round(values, 5 - int(np.floor(np.log10(size))))
    return [v if np.isfinite(v) else None for v in rounded.tolist()]
