"""Item 18: does HSIC tune other scores as well?

The score |y − m(x)|/s(x) with the mean m of a Gaussian process and s(x), the average of |residual|
over training rows near x, as in normalised conformal prediction. How near is the bandwidth h: of a
rule of thumb, of HSIC by `tune_score`, or, in hindsight, the one with the best local coverage.
Cases 1 to 4, n = 100, as many rows to calibrate.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, RegressorMixin

from experiments.experiment import Experiment
from experiments.methods._scores import rescaled
from experiments.paper.adaptivity import FIRST_SEED, LEVEL, TEST_ROWS
from sosbands import KernelMean, datasets, tune_score
from sosbands.metrics import exact_local_coverage, mean_width
from sosbands.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CASES, ROWS = (1, 2, 3, 4), 100
BOUNDS, EVALUATIONS, TRIED = (0.05, 5.0), 16, 13
RULE, HSIC, BEST, CONSTANT = "rule of thumb", "HSIC", "best in hindsight", "constant scale"
CHOICES = (RULE, HSIC, BEST, CONSTANT)


class LocalScale(RegressorMixin, BaseEstimator):
    """m(x), and the average of |residual| with weights exp(−‖x − xᵢ‖²/(2h²)), x standardised."""

    def __init__(self, bandwidth: float = 1.0) -> None:
        self.bandwidth = bandwidth

    def fit(self, X: Array, y: Array) -> Self:
        """Residuals are those of the training rows."""
        self.mean_ = KernelMean(random_state=0).fit(X, y)
        self.centre_, self.unit_ = X.mean(axis=0), X.std(axis=0)
        self.rows_, self.sizes_ = self._standardised(X), np.abs(y - self.mean_.predict(X))
        return self

    def predict(self, X: Array, return_std: bool = False) -> Any:
        """The mean, and the scale if asked for."""
        mean = self.mean_.predict(X)
        if not return_std:
            return mean
        squares = cdist(self._standardised(X), self.rows_, "sqeuclidean")
        squares -= squares.min(axis=1, keepdims=True)  # the nearest row weighs one
        weights = np.exp(-squares / (2 * self.bandwidth**2))
        return mean, weights @ self.sizes_ / weights.sum(axis=1)

    def _standardised(self, X: Array) -> Array:
        return (X - self.centre_) / self.unit_


def keys(full: bool) -> list[dict[str, Any]]:
    """Cases and replications; each unit has all choices."""
    seeds = range(FIRST_SEED, FIRST_SEED + (100 if full else 20))
    return [{"case": case, "seed": seed} for case, seed in product(CASES, seeds)]


def measure(case: int, seed: int) -> list[dict[str, Any]]:
    """A row for each choice of the bandwidth."""
    truth = datasets.case(case)
    X, y = truth.sample(2 * ROWS, random_state=seed)
    X_new = truth.sample(TEST_ROWS, random_state=seed + 10_000)[0]
    train, rest = (X[:ROWS], y[:ROWS]), (X[ROWS:], y[ROWS:])
    model = LocalScale().fit(*train)

    def outcome(bandwidth: float) -> dict[str, Any]:
        model.set_params(bandwidth=bandwidth)
        fitted = rescaled(lambda X: model.predict(X, return_std=True), *rest, [LEVEL])
        C = fitted.intervals(X_new)[:, :, 0]
        return {
            "bandwidth": bandwidth,
            "width": mean_width(C),
            "local_error": np.abs(exact_local_coverage(truth, C, X_new) - LEVEL).mean(),
        }

    tuned = tune_score(LocalScale(), *train, {"bandwidth": BOUNDS}, max_evaluations=EVALUATIONS)
    tried = [outcome(h) for h in np.geomspace(*BOUNDS, TRIED).tolist()]
    found = {
        RULE: outcome(1.06 * ROWS ** (-1 / 5)),
        HSIC: outcome(tuned.best_params["bandwidth"]),
        BEST: min(tried, key=lambda row: row["local_error"]),
        CONSTANT: outcome(1e3),
    }
    return [{"choice": choice, **found[choice]} for choice in CHOICES]


def figure(results: pd.DataFrame) -> Figure:
    """Bandwidth, width and error of local coverage of each choice, by case."""
    from matplotlib.figure import Figure

    labels = {
        "bandwidth": "bandwidth (standard deviations of x)",
        "width": "mean width (units of y)",
        "local_error": "mean |local coverage − 0.9|",
    }
    drawing = Figure(figsize=(15, 7))
    grid = drawing.subplots(len(labels), len(CASES), sharey=True)
    for (row, metric), (column, number) in product(enumerate(labels), enumerate(CASES)):
        axes, part = grid[row, column], results[results["case"] == number]
        groups = [part.loc[part["choice"] == choice, metric] for choice in CHOICES]
        drawn = axes.boxplot(groups, orientation="horizontal", patch_artist=True, widths=0.6)
        for box, middle in zip(drawn["boxes"], drawn["medians"], strict=True):
            box.set(facecolor="C0", alpha=0.6)
            middle.set(color="black")
        axes.set_yticks(range(1, len(CHOICES) + 1), CHOICES)
        axes.set_xlabel(labels[metric])
        if metric == "bandwidth":
            axes.set(title=f"case {number}", xscale="log", xlim=(BOUNDS[0], 2 * BOUNDS[1]))
    grid[0, 0].invert_yaxis()
    return drawing


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Means, and paired differences to the rule of thumb."""
    rows = []
    for number, choice in product(CASES, CHOICES):
        runs = results[results["case"] == number].pivot(index="seed", columns="choice")
        wider = runs["width"][choice] - runs["width"][RULE]
        worse = runs["local_error"][choice] - runs["local_error"][RULE]
        rows.append(
            {
                "case": number,
                "bandwidth by": choice,
                "median bandwidth": runs["bandwidth"][choice].median(),
                "width": runs["width"][choice].mean(),
                "− rule": wider.mean(),
                "s.e.": wider.sem(),
                "local error": runs["local_error"][choice].mean(),
                "− rule ": worse.mean(),
                "s.e. ": worse.sem(),
            }
        )
    return pd.DataFrame(rows)


EXPERIMENT = Experiment(
    name="tuned_scores",
    item=18,
    title="HSIC as the criterion of another score",
    claims=("Sections 1 and 3.2: the HSIC criterion tunes other score functions as well.",),
    keys=keys,
    measure=measure,
    figure=figure,
    summary=summary,
    minutes=(2, 8),
)
