"""The parts that pictures are made of: plotly's traces and layouts in plain dictionaries.

Colours are CSS variables: the page's script resolves them, so that one file suits light screens,
dark screens and paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from sosbands.types import Array, Mask

Trace: TypeAlias = dict[str, Any]

BAND, INNER, INK, MUTED = "var(--band)", "var(--inner)", "var(--ink)", "var(--muted)"
HIT, MISS, FAR_FILL = "var(--hit)", "var(--miss)", "var(--far)"


@dataclass(frozen=True)
class Figure:
    """A picture, how to read it, what it shows for those who cannot see it, and its numbers."""

    name: str
    title: str
    reading: str
    alt: str
    traces: list[Trace]
    layout: dict[str, Any]
    numbers: str = ""

    def to_dict(self) -> dict[str, Any]:
        """What the page's script needs."""
        return {"name": self.name, "traces": self.traces, "layout": self.layout}


def runs(x: Array, inside: Mask) -> Iterator[tuple[float, float]]:
    """The ends of each stretch of x that is inside."""
    places = np.flatnonzero(inside)
    for part in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
        if len(part):
            yield float(x[part[0]]), float(x[part[-1]])


def ribbon(x: Array, ends: Array, name: str, fill: str) -> Trace:
    """A filled band; it has a gap where an end is infinite."""
    finite = np.isfinite(ends).all(axis=1)
    places = np.flatnonzero(finite)
    outline_x: list[Array] = []
    outline_y: list[Array] = []
    for part in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
        outline_x += [x[part], x[part][::-1], np.array([np.nan])]
        outline_y += [ends[part, 1], ends[part, 0][::-1], np.array([np.nan])]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": compact(np.concatenate(outline_x)),
        "y": compact(np.concatenate(outline_y)),
        "fill": "toself",
        "fillcolor": fill,
        "line": {"width": 0},
        "hoverinfo": "skip",
    }


def line(x: Array, y: Array, name: str, color: str, *, dash: str = "solid") -> Trace:
    """A curve."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": compact(x),
        "y": compact(y),
        "line": {"color": color, "width": 2, "dash": dash},
        "hovertemplate": "%{x:.4g}: %{y:.4g}<extra></extra>",
    }


def dots(x: Array, y: Array, covered: Mask) -> list[Trace]:
    """Rows inside their interval, and those outside, in another colour and form."""
    return [
        cloud(x[covered], y[covered], "covered", HIT, "circle"),
        cloud(x[~covered], y[~covered], "missed", MISS, "x"),
    ]


def cloud(x: Array, y: Array, name: str, color: str, symbol: str) -> Trace:
    """Dots of one form."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": compact(x),
        "y": compact(y),
        "marker": {"color": color, "symbol": symbol, "size": 5 if symbol == "circle" else 7},
        "hovertemplate": "%{x:.4g}, %{y:.4g}",
    }


def points(
    x: Sequence[float] | Sequence[str],
    y: Sequence[float],
    bounds: Sequence[tuple[float, float]],
    texts: Sequence[str],
) -> Trace:
    """Observed shares with their bounds as whiskers."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "observed",
        "x": list(x),
        "y": [round(share, 5) for share in y],
        "text": list(texts),
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": HIT, "size": 9},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [round(high - share, 5) for share, (_, high) in zip(y, bounds, strict=True)],
            "arrayminus": [
                round(share - low, 5) for share, (low, _) in zip(y, bounds, strict=True)
            ],
            "color": HIT,
            "thickness": 1.5,
            "width": 4,
        },
    }


def layout(x: str, y: str, *, height: int) -> dict[str, Any]:
    """Two axes with titles, which are HTML already."""
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
