"""Intervals of four levels and whole distributions, beside rivals that learn each level apart.

``python -m benchmarks all_levels --data FOLDER`` wants the CSV files of the eight development sets;
without them only simulated outputs are measured. Splits have development seeds. What rivals score
is stored, so that only our own is measured again when the package changes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.any_table import FEW_ROWS, LEAST_RATIO, SPLITS, parts
from benchmarks.odd_outputs import OUTPUTS
from benchmarks.outcomes import Key, collect
from benchmarks.record import Record
from benchmarks.stability import DEVELOPMENT, VARIABLE
from experiments.methods import load
from experiments.methods._scores import additive
from experiments.real.measure import rows_of, spread
from experiments.real.ranking import average_rank, matrix, redrawn
from sosbands.metrics import cluster_count, coverage, coverage_gap, crps, interval_score

Array = npt.NDArray[np.float64]

LEVELS, ODD_LEVELS = (0.5, 0.8, 0.9, 0.95), (0.5, 0.9)
# Splits of a set of few rows, whose test parts make scores noisy.
MANY_SPLITS = 8
# Ours, what its intervals go around, and the targets of the geometric mean and the largest ratio.
OURS = {"sosbands_boosted": ("boosted trees", 1.0, 1.05), "sosbands": ('"auto"', 0.97, 1.03)}
RIVALS = ("boosted_quantiles", "boosted_scale", "quantile_forest_cqr", "catboost_cqr")
# Further methods whose coverage is compared cluster by cluster.
OTHERS = (
    *("boosted_cqr", "boosted_split", "catboost_uncertainty", "gibbs_conditional"),
    *("knn_difficulty", "mondrian", "ngboost_scale", "residual_normalised", "rlcp"),
)
DISTRIBUTIONS = ("ngboost_scale", "quantile_forest_cqr", "catboost_cqr")
# Simulated rows that train, calibrate and test; the draws.
ODD_ROWS, ODD_SEEDS = (1400, 600, 5000), range(4)


def run(full: bool) -> Iterator[Record]:
    """Simulated outputs, then interval scores, coverage in clusters and distributions."""
    yield from odd_outputs()
    folder = Path(os.environ.get(VARIABLE, "nowhere"))
    if not all((folder / f"{name}.csv").exists() for name in DEVELOPMENT):
        print(f"      simulated outputs alone: name the folder of CSV files, --data or {VARIABLE}")
        return
    found = collect("all_levels_intervals", keys((*OURS, *RIVALS, *OTHERS)), interval_outcome)
    for ours in OURS:
        yield from beside_the_best(found, ours)
    for ours in OURS:
        yield from gap_ranks(found, ours)
    yield from distributions()


def keys(methods: Sequence[str]) -> list[Key]:
    """Every method on every split of every set."""
    splits = []
    for name in DEVELOPMENT:
        few = len(rows_of(Path(os.environ[VARIABLE]) / f"{name}.csv")[1]) < FEW_ROWS
        splits += [(name, seed) for seed in range(MANY_SPLITS if few else SPLITS)]
    return [
        {"data": name, "seed": seed, "method": method}
        for method, (name, seed) in product(methods, splits)
    ]


def clipped(C: Array, y: Array) -> Array:
    """Bounds at most one range of the training outputs beyond their extremes."""
    low, high = y.min(), y.max()
    return np.clip(C, 2 * low - high, 2 * high - low)


def by_level(values: Mapping[str, Array], levels: Sequence[float]) -> dict[str, float]:
    """A column for each value and level."""
    return {
        f"{name}_{level:g}": float(value)
        for name, found in values.items()
        for level, value in zip(levels, found, strict=True)
    }


def interval_outcome(data: str, seed: int, method: str) -> dict[str, float]:
    """Score, coverage and, if there are two clusters of test rows, the gap at every level."""
    X, y = rows_of(Path(os.environ[VARIABLE]) / f"{data}.csv")
    train, cal, test = parts(len(y), seed)
    with threadpool_limits(1):
        fitted = load(method).fit(X[train], y[train], X[cal], y[cal], levels=LEVELS, seed=seed)
        C = clipped(fitted.intervals(X[test]), y[train])
    Z, gap = ((X - X.mean(axis=0)) / spread(X))[test], np.full(len(LEVELS), np.nan)
    if cluster_count(len(test)) > 1:
        gap = coverage_gap(Z, y[test], C, LEVELS, random_state=seed)
    score, share = interval_score(y[test], C, LEVELS), coverage(y[test], C)
    return by_level({"score": score, "coverage": share, "coverage_gap": gap}, LEVELS)


def beside_the_best(found: pd.DataFrame, ours: str) -> Iterator[Record]:
    """Our mean score on each set ÷ that of the best rival there."""
    mean, usual, largest = OURS[ours]
    for level in LEVELS:
        scores = found.pivot_table(index="data", columns="method", values=f"score_{level:g}")
        what = f"{mean}: interval score at {level:g} ÷ the best of {len(RIVALS)} rivals"
        yield from ratios_to_best(what, scores, ours, RIVALS, (usual, largest))


def ratios_to_best(
    what: str,
    costs: pd.DataFrame,
    ours: str,
    rivals: Sequence[str],
    targets: tuple[float | None, float | None],
) -> Iterator[Record]:
    """Geometric mean and largest over the sets, the rows of `costs`."""
    best = costs[list(rivals)].min(axis=1)
    ratios = (costs[ours] / best).loc[list(DEVELOPMENT)]
    notes = ", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items())
    mean = float(np.exp(np.log(ratios.clip(lower=LEAST_RATIO)).mean()))
    figures = ("geometric mean", "largest")
    for figure, value, target in zip(figures, (mean, float(ratios.max())), targets, strict=True):
        yield Record(
            f"{what}, {figure}",
            value,
            None if target is None else "<=",
            target,
            seeds=range(MANY_SPLITS),
            notes=notes,
            details={"scores": costs.to_dict("index")},
        )


def gap_ranks(found: pd.DataFrame, ours: str) -> Iterator[Record]:
    """How far our average rank in the coverage gap is from the first place, in its errors."""
    rivals = [*RIVALS, *OTHERS]
    methods = [ours, *rivals]
    counted = found[found["method"].isin(methods)]
    for level in LEVELS:
        rows = counted.assign(level=level, gap=counted[f"coverage_gap_{level:g}"])
        tables = dict(list(rows.dropna(subset="gap").groupby("data")))
        values = matrix(tables, "gap", level)[methods].to_numpy()
        again = redrawn(tables, "gap", level, methods)
        others = [[j for j in range(len(methods)) if j != own] for own in range(len(methods))]
        ranks = [float(average_rank(values, own, others[own])) for own in range(len(methods))]
        error = float(average_rank(again, 0, others[0]).std())
        best = int(np.argmin(ranks[1:]))
        yield Record(
            f"{OURS[ours][0]}: average rank in cluster coverage gap at {level:g} − the best "
            "rival's, in s.e.",
            (ranks[0] - ranks[1 + best]) / error,
            "<=" if ours == "sosbands_boosted" else None,
            1.0 if ours == "sosbands_boosted" else None,
            unit="",
            seeds=range(MANY_SPLITS),
            notes=f"{ranks[0]:.2f} ± {error:.2f} of {len(methods)} on {len(tables)} sets; "
            f"{rivals[best]} {ranks[1 + best]:.2f}",
            details={"ranks": dict(zip(methods, ranks, strict=True))},
        )


def distribution_outcome(data: str, seed: int, method: str) -> dict[str, float]:
    """CRPS of the quantiles; "both" if rivals learn from the calibration rows as well."""
    X, y = rows_of(Path(os.environ[VARIABLE]) / f"{data}.csv")
    train, cal, test = parts(len(y), seed)
    scores = {}
    with threadpool_limits(1):
        for name, rows in (("crps", train), ("both", np.concatenate([train, cal]))):
            if name == "both" and method in OURS:  # it has learned from both already
                scores[name] = scores["crps"]
                continue
            fitted = load(method).fit(X[rows], y[rows], X[cal], y[cal], levels=LEVELS, seed=seed)
            scores[name] = crps(y[test], fitted.quantiles(X[test]))
    return scores


def distributions() -> Iterator[Record]:
    """CRPS around "auto" ÷ that of the best rival on each set."""
    ours = "sosbands"
    found = collect("all_levels_distributions", keys((ours, *DISTRIBUTIONS)), distribution_outcome)
    what = f"{OURS[ours][0]}: CRPS ÷ the best of {len(DISTRIBUTIONS)} rivals"
    for name, rows, targets in (
        ("crps", "", (0.97, None)),
        ("both", " that learn from the calibration rows too", (None, None)),
    ):
        costs = found.pivot_table(index="data", columns="method", values=name)
        yield from ratios_to_best(what + rows, costs, ours, DISTRIBUTIONS, targets)


def odd_outcome(data: str, seed: int, method: str) -> dict[str, float]:
    """Scores of a method and of the oracle, calibrated by the same rows."""
    output = OUTPUTS[data]
    X, y = output.sample(sum(ODD_ROWS), seed)
    (A, B, T), (a, b, t) = (np.split(v, np.cumsum(ODD_ROWS)[:-1]) for v in (X, y))

    def truth(X: Array) -> tuple[Array, Array]:
        C = np.stack([output.interval(X, p) for p in ODD_LEVELS], axis=2)
        return C[:, 0], C[:, 1]

    with threadpool_limits(1):
        fitted = load(method).fit(A, a, B, b, levels=ODD_LEVELS, seed=seed)
    oracle = additive(truth, B, b, ODD_LEVELS)
    scores = {
        "score": interval_score(t, clipped(fitted.intervals(T), a), ODD_LEVELS),
        "oracle": interval_score(t, clipped(oracle.intervals(T), a), ODD_LEVELS),
    }
    return by_level(scores, ODD_LEVELS)


def odd_outputs() -> Iterator[Record]:
    """Mean score ÷ the oracle's, beside that of the rivals."""
    found = collect(
        "all_levels_odd_outputs",
        [
            {"data": data, "seed": seed, "method": method}
            for method, data, seed in product((*OURS, *RIVALS), OUTPUTS, ODD_SEEDS)
        ],
        odd_outcome,
    )
    means = found.drop(columns=["seed", "code"]).groupby(["data", "method"]).mean()
    for data, level, ours in product(OUTPUTS, ODD_LEVELS, OURS):
        ratios = (means[f"score_{level:g}"] / means[f"oracle_{level:g}"])[data]
        yield Record(
            f"{data} output, n = {sum(ODD_ROWS[:2])}, {OURS[ours][0]}: interval score at {level:g} "
            "÷ the oracle's",
            float(ratios[ours]),
            "<=",
            1.05,
            seeds=ODD_SEEDS,
            notes=", ".join(f"{name} {ratios[name]:.3f}" for name in RIVALS),
        )
