"""Bands over one input as rows of a table, and the picture of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sosbands.datasets import Case
from sosbands.types import Array

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

LEVEL = 0.9
# Shares of the inputs that a curve leaves out at either end, and points on the curve.
TAIL, _POINTS = 0.002, 161


def grid(truth: Case) -> Array:
    """Inputs of a curve, shape (n, 1): all but the outermost of those that are likely."""
    X = truth.sample_inputs(10_000, random_state=0)[:, 0]
    return np.linspace(*np.quantile(X, [TAIL, 1 - TAIL]), _POINTS)[:, None]


def curve(
    truth: Case, X: Array, mean: Array, scale: Array | None = None, intervals: Array | None = None
) -> list[dict[str, Any]]:
    """One row for each x: mean, band before calibration, calibrated interval, and the truth.

    `scale` is √f, or f_low and f_up of shape (n, 2); `intervals` have shape (n, 2).
    """
    columns = {"x": X[:, 0], "mean": mean, "true_mean": truth.mean(X)}
    columns |= _ends("true", truth.interval(X, LEVEL))
    if scale is not None:
        down, up = scale.T if scale.ndim == 2 else (scale, scale)
        columns |= _ends("band", np.column_stack([mean - down, mean + up]))
    if intervals is not None:
        columns |= _ends("interval", intervals)
    values = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [{"kind": "curve", **dict(zip(columns, row, strict=True))} for row in values]


def points(X: Array, y: Array, count: int) -> list[dict[str, Any]]:
    """One row for each of the first `count` training rows."""
    pairs = zip(X[:count, 0].tolist(), y[:count].tolist(), strict=True)
    return [{"kind": "point", "x": x, "y": value} for x, value in pairs]


def draw(axes: Axes, rows: pd.DataFrame) -> None:
    """Training rows, the learned mean and its bands, and dashed what is true."""
    dots, line = rows[rows["kind"] == "point"], rows[rows["kind"] == "curve"]
    axes.plot(dots["x"], dots["y"], ".", color="0.6", ms=3, zorder=0, label="training rows")
    if _known(line, "band_low"):
        axes.fill_between(
            line["x"],
            line["band_low"],
            line["band_high"],
            color="C0",
            alpha=0.2,
            linewidth=0,
            label="band before calibration",
        )
    if _known(line, "interval_low"):
        axes.plot(line["x"], line["interval_low"], color="C0", lw=1.2, label="calibrated to 90 %")
        axes.plot(line["x"], line["interval_high"], color="C0", lw=1.2)
    axes.plot(line["x"], line["mean"], color="C3", lw=1.5, label="learned mean")
    axes.plot(line["x"], line["true_mean"], "k--", lw=0.9, label="truth: mean, central 90 %")
    axes.plot(line["x"], line["true_low"], "k--", lw=0.9)
    axes.plot(line["x"], line["true_high"], "k--", lw=0.9)


def _known(rows: pd.DataFrame, column: str) -> bool:
    return column in rows and bool(rows[column].notna().all())


def _ends(name: str, intervals: Array) -> dict[str, Array]:
    return {f"{name}_low": intervals[:, 0], f"{name}_high": intervals[:, 1]}
