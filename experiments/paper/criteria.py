"""HSIC and mutual information as criteria for θᶠ, shared by items 2 and 3: case 2, n = 100.

Out-of-fold r² and f of ten folds are pooled (appendix 'Cross-validation'). Intervals come from
half-samples: drawn without repetition, since repeated rows are neighbours at distance zero and ruin
estimates of mutual information; the variance of half-samples is that of the whole sample. A band
solved with all rows and calibrated with many says how good a lengthscale really is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from experiments.figures import mark_places
from experiments.methods._scores import rescaled
from sosbands import BandProblem, Newton, Solution
from sosbands.datasets import Case, case
from sosbands.dependence import distance_correlation, hsic, mutual_information
from sosbands.metrics import exact_local_coverage, mean_width
from sosbands.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CASE, ROWS, FOLDS, LEVEL = 2, 100, 10, 0.9
HALF_SAMPLES, NEW_ROWS = 200, 1000
TOL = 1e-4
LENGTHSCALES = tuple(round(l, 3) for l in np.geomspace(0.1, 6.4, 13).tolist())
CRITERIA = {"hsic": "HSIC", "mi": "mutual information"}


def grid(width_weights: tuple[float, ...], full: bool) -> list[dict[str, Any]]:
    """Data sets (the paper has one), values of b, and θᶠ from far too small to nearly constant."""
    return [
        {"seed": seed, "width_weight": b, "lengthscale": lengthscale}
        for seed in range(20 if full else 5)
        for b in width_weights
        for lengthscale in LENGTHSCALES
    ]


def data(seed: int) -> tuple[Case, Array, Array]:
    """The case, and the rows that a band is learned from."""
    truth = case(CASE)
    return truth, *truth.sample(ROWS, random_state=seed)


def held_out(problem: BandProblem, seed: int) -> tuple[Array, Array]:
    """r² and f at every row, by bands that have not seen the row's fold."""
    squares, scales = np.empty(problem.n), np.empty(problem.n)
    folds = KFold(FOLDS, shuffle=True, random_state=seed)
    for train, test in folds.split(problem.X):
        solution = Newton(tol=TOL).solve(problem.subset(train))
        squares[test] = (problem.y[test] - solution.mean(problem.X[test])) ** 2
        scales[test] = solution.scale(problem.X[test]) ** 2
    return squares, scales


def criteria(squares: Array, scales: Array, seed: int, names: tuple[str, ...]) -> dict[str, Any]:
    """The criteria of the pooled sample, with 90 % intervals."""
    measures: dict[str, Callable[[Array, Array], float]] = {
        "hsic": hsic,
        "dcor": distance_correlation,
        "mi": lambda u, v: mutual_information(u, v, random_state=0),
    }
    rng, n = np.random.default_rng(seed), len(squares)
    halves = [rng.permutation(n)[: n // 2] for _ in range(HALF_SAMPLES)]
    found: dict[str, Any] = {}
    for name in names:
        value = measures[name](squares, scales)
        draws = np.array([measures[name](squares[half], scales[half]) for half in halves])
        low, high = np.quantile(draws - draws.mean(), [0.05, 0.95])
        found |= {name: value, f"{name}_low": value + low, f"{name}_high": value + high}
    return found


def quality(problem: BandProblem, truth: Case, seed: int) -> dict[str, Any]:
    """Mean width and mean |local coverage − 0.9| of the band of all rows, well calibrated."""
    solution = Newton(tol=TOL).solve(problem)
    X, y = truth.sample(NEW_ROWS, random_state=seed + 10_000)
    C = calibrated(solution, X, y, X)
    return {
        "width": mean_width(C),
        "local_error": np.abs(exact_local_coverage(truth, C, X) - LEVEL).mean(),
    }


def calibrated(solution: Solution, X_cal: Array, y_cal: Array, X: Array) -> Array:
    """Split-conformal intervals of level 0.9, shape (n, 2)."""

    def predict(X: Array) -> tuple[Array, Array]:
        return solution.mean(X), np.maximum(solution.scale(X), np.finfo(float).tiny)

    return rescaled(predict, X_cal, y_cal, [LEVEL]).intervals(X)[:, :, 0]


def chosen(results: pd.DataFrame, criterion: str) -> pd.DataFrame:
    """For each seed and b, the row whose criterion is largest."""
    best = results.groupby(["seed", "width_weight"])[criterion].idxmax()
    return results.loc[best].reset_index(drop=True)


def local_maxima(curves: Array) -> Array:
    """The number of points of each row that exceed their neighbours."""
    padded = np.pad(curves, ((0, 0), (1, 1)), constant_values=-np.inf)
    return ((curves > padded[:, :-2]) & (curves > padded[:, 2:])).sum(axis=1)


def draw_criterion(axes: Axes, results: pd.DataFrame, criterion: str, title: str) -> None:
    """One curve for each b, its interval, and its maximum as a dashed line."""
    best = {}
    curves = list(results.groupby("width_weight"))
    for place, (b, curve) in enumerate(curves):
        x, color = curve["lengthscale"], f"C{place}"
        # Small b hardly differ: thinner lines on wider ones leave all of them visible.
        width = 1.2 * 1.4 ** (len(curves) - 1 - place)
        axes.plot(x, curve[criterion], color=color, lw=width, label=f"b = {b:g}")
        axes.fill_between(
            x, curve[f"{criterion}_low"], curve[f"{criterion}_high"], color=color, alpha=0.15
        )
        best[color] = x[curve[criterion].idxmax()]
    mark_places(axes, best)
    axes.set(title=title, xlabel="lengthscale θᶠ", ylabel=CRITERIA[criterion])
    logarithmic_lengthscales(axes)


def logarithmic_lengthscales(axes: Axes) -> None:
    """θᶠ on a logarithmic axis with plain numbers."""
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 5]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:g}")
