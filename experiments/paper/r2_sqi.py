"""Item 12: R²_SQI explained, with bands on top and quantile plots below.

Case 1, n = 100 rows to learn from and as many to calibrate with. As in the paper's figure, the
quantiles come from 100 random locations with 1000 outputs each, in 50 bins of equal size by width:
for each bin the 0.9-quantile of |y − m(x)| and the median width, and a line through the origin. The
numbers are over many seeds; R²_SQI of 1000 test rows, as in the paper's other figures, is beside,
and the correlation of the two columns, which does not ask the line to go through the origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from experiments import methods
from experiments.experiment import Experiment
from experiments.methods import Fitted
from experiments.paper import band_curves
from experiments.paper.adaptivity import METHODS as TITLES
from experiments.paper.adaptivity import bounds
from experiments.paper.band_curves import LEVEL
from sosbands import metrics
from sosbands.datasets import case
from sosbands.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METHODS = ("homoscedastic_gp", "heteroscedastic_gp", "sosbands_published", "sosbands_kernel_mean")
N, LOCATIONS, OUTPUTS, BINS, TEST_ROWS = 100, 100, 1000, 50, 1000
FIRST_SEED = 3000


def keys(full: bool) -> list[dict[str, Any]]:
    """The methods with a mean, on every sample."""
    seeds = range(FIRST_SEED, FIRST_SEED + (100 if full else 20))
    return [{"method": method, "seed": seed} for method, seed in product(METHODS, seeds)]


def measure(method: str, seed: int) -> list[dict[str, Any]]:
    """The numbers, and for the first seed the curves and the bins."""
    truth = case(1)
    X, y = truth.sample(2 * N, random_state=seed)
    fitted = methods.load(method).fit(X[:N], y[:N], X[N:], y[N:], levels=[LEVEL], seed=seed)
    locations = truth.sample_inputs(LOCATIONS, seed + 10_000)
    repeated = np.repeat(locations, OUTPUTS, axis=0)
    y_dense = truth.sample_outputs(repeated, seed + 20_000)
    dense = Sample.of(fitted, locations, y_dense, OUTPUTS)
    test = Sample.of(fitted, *truth.sample(TEST_ROWS, random_state=seed + 30_000), 1)
    widths = np.ptp(bounds(fitted, locations), axis=1)
    numbers = {
        "r2_sqi": dense.r2_sqi(),
        "r2_sqi_test": test.r2_sqi(),
        "correlation": np.corrcoef(np.transpose(dense.bins()))[0, 1],
        "width_variation": widths.std() / widths.mean(),
    }
    rows: list[dict[str, Any]] = [{"kind": "number", **numbers}]
    if seed == FIRST_SEED:
        x = band_curves.grid(truth)
        rows += band_curves.curve(truth, x, fitted.mean(x), None, bounds(fitted, x))
        rows += band_curves.points(X, y, N)
        rows += [{"kind": "bin", "error": q, "width": w} for q, w in dense.bins()]
    return rows


@dataclass(frozen=True)
class Sample:
    """New outputs, with the mean and the interval of a method at each."""

    y: Array
    mean: Array
    intervals: Array

    @classmethod
    def of(cls, fitted: Fitted, X: Array, y: Array, repeats: int) -> Sample:
        """`repeats` outputs at every row of X, one after the other."""
        mean, C = fitted.mean(X), bounds(fitted, X)
        return cls(y, np.repeat(mean, repeats), np.repeat(C, repeats, axis=0))

    def r2_sqi(self) -> float:
        """How well the widths follow the errors."""
        value = metrics.r2_sqi(self.y, self.mean, self.intervals, n_bins=BINS, level=LEVEL)
        return float(value)

    def bins(self) -> list[tuple[float, float]]:
        """For each bin of the width, the 0.9-quantile of |y − m(x)| and the median width."""
        widths, errors = np.ptp(self.intervals, axis=1), np.abs(self.y - self.mean)
        parts = np.array_split(np.argsort(widths, kind="stable"), BINS)
        return [(float(np.quantile(errors[p], LEVEL)), float(np.median(widths[p]))) for p in parts]


def figure(results: pd.DataFrame) -> Figure:
    """A column for each method: its band, and the widths over the quantiles of the errors."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(3.2 * len(METHODS), 7.5))
    top, bottom = drawing.subplots(2, len(METHODS), sharex="row", sharey="row")
    first = results[results["seed"] == FIRST_SEED]
    for upper, lower, method in zip(top, bottom, METHODS, strict=True):
        here = first[first["method"] == method]
        band_curves.draw(upper, here)
        upper.set(title=TITLES[method], xlabel="x", xticks=(-1, -0.5, 0, 0.5, 1))
        draw_bins(lower, here)
    top[0].set_ylabel("y")
    bottom[0].set_ylabel("median width of the bin")
    drawing.suptitle(f"case 1, n = {N}, one data set (seed {FIRST_SEED})")
    drawing.legend(
        handles=[h for axes in (top[0], bottom[0]) for h in axes.get_legend_handles_labels()[0]],
        loc="outside lower center",
        ncols=3,
    )
    return drawing


def draw_bins(axes: Axes, rows: pd.DataFrame) -> None:
    """The bins, and the line through the origin that R²_SQI is about."""
    q, w = (rows.loc[rows["kind"] == "bin", column].to_numpy() for column in ("error", "width"))
    axes.plot(q, w, "k.", ms=5, label=f"one of {BINS} bins of the width")
    end = 1.05 * q.max()
    slope = (q @ w) / (q @ q)
    axes.plot([0, end], [0, end * slope], "C1-.", lw=1.8, label="line through 0, for R²_SQI")
    value = rows.loc[rows["kind"] == "number", "r2_sqi"].iloc[0]
    digits = 2 if value > -10 else 0
    title = f"R²_SQI = {value:.{digits}f}".replace("-", "−")
    axes.set(xlabel="0.9-quantile of |y − m(x)|", title=title)


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Quantiles over the seeds, and how often R²_SQI is negative."""
    rows = []
    for method in METHODS:
        part = results[(results["method"] == method) & (results["kind"] == "number")]
        rows.append(
            {
                "method": TITLES[method],
                "median R²_SQI": part["r2_sqi"].median(),
                "lower quartile": part["r2_sqi"].quantile(0.25),
                "upper quartile": part["r2_sqi"].quantile(0.75),
                "negative": (part["r2_sqi"] < 0).mean(),
                "median with 1000 rows": part["r2_sqi_test"].median(),
                "negative with 1000 rows": (part["r2_sqi_test"] < 0).mean(),
                "median correlation": part["correlation"].median(),
                "width, s.d. ÷ mean": part["width_variation"].median(),
                "seeds": len(part),
            }
        )
    return pd.DataFrame(rows)


EXPERIMENT = Experiment(
    name="r2_sqi",
    item=12,
    title="R²_SQI explained: bands and quantile plots, case 1",
    claims=(
        "Appendix B.4: homoscedastic GP has bands of constant width, so that R²_SQI is negative.",
        "Appendix B.4: heteroscedastic GP is more adaptive, with a positive R²_SQI.",
        "Appendix B.4: kernel SoS has the better linear fit.",
    ),
    keys=keys,
    measure=measure,
    figure=figure,
    summary=summary,
    minutes=(0.5, 8),
)
