"""Who is first: average ranks, and geometric means of the ratio to the best, over data sets.

On each data set the means over the splits of our entry are compared. Those methods are ranked that
take part and have all these splits on all data sets. A variant of ours is shown beside them: its
rank is the one that it would have in the place of our entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from experiments.methods import load

OURS = "sosbands"
# Metrics, and whether larger is better.
METRICS = {
    "interval_score": False,
    "mean_width": False,
    "coverage_gap": False,
    "rank_gap": False,
    "worst_slab": True,
    "fit_seconds": False,
    "predict_seconds": False,
}
# The sets on which defaults were chosen; the others are reported as they come out.
DEVELOPMENT = (
    "mcycle",
    "lidar",
    "triceps",
    "yacht",
    "concrete",
    "airfoil",
    "california",
    "bike_uci",
)

Tables = Mapping[str, pd.DataFrame]


def comparable(tables: Tables) -> Tables:
    """The splits on which our entry was measured; data sets without any are left out."""
    kept = {}
    for name, rows in tables.items():
        splits = rows.loc[rows["method"] == OURS, "seed"].unique()
        if len(splits):
            kept[name] = rows[rows["seed"].isin(splits)]
    return kept


def groups(tables: Tables) -> dict[str, Tables]:
    """The data sets on which defaults were chosen, the others, and, if there are both, all."""
    parts = {
        "development": {name: t for name, t in tables.items() if name in DEVELOPMENT},
        "other": {name: t for name, t in tables.items() if name not in DEVELOPMENT},
    }
    found = {name: part for name, part in parts.items() if part}
    return {**found, "all": tables} if len(found) > 1 else found


def summary(tables: Tables, level: float) -> pd.DataFrame:
    """A row for each method: rank and ratio of each metric, and whether the method is ranked."""
    methods = present(tables)
    taking_part = [m for m in methods if load(m).ranked]
    rows = {
        m: {"title": load(m).title, "ranked": m in taking_part, "sets": len(tables)}
        for m in methods
    }
    for metric, larger in METRICS.items():
        values = matrix(tables, metric, level)[methods].dropna(how="all")
        costs = 1 / values if larger else values
        for method in methods:
            rivals = [m for m in taking_part if m != OURS or not method.startswith(OURS)]
            rank, ratio = standing(costs, method, [m for m in rivals if m != method])
            rows[method] |= {f"{metric}_rank": rank, f"{metric}_ratio": ratio}
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("method").reset_index()
    return frame.sort_values(["ranked", "interval_score_rank"], ascending=[False, True])


def standing(costs: pd.DataFrame, method: str, rivals: Sequence[str]) -> tuple[float, float]:
    """Average rank of a method among its rivals, and geometric mean of its ratio to the best."""
    own, theirs = costs[method], costs[list(rivals)]
    better = theirs.lt(own, axis=0).sum(axis=1) + theirs.eq(own, axis=0).sum(axis=1) / 2
    best = np.minimum(own, theirs.min(axis=1)) if len(rivals) else own
    return float(1 + better.mean()), float(np.exp(np.log(own / best).mean()))


def present(tables: Tables) -> list[str]:
    """The methods that have all splits of all data sets."""
    found = []
    for rows in tables.values():
        splits = rows.groupby("method")["seed"].nunique()
        found.append(set(splits[splits == rows["seed"].nunique()].index))
    return sorted(set.intersection(*found))


def matrix(tables: Tables, metric: str, level: float) -> pd.DataFrame:
    """The mean over the splits: a row for each data set, a column for each method."""
    means = {}
    for name, rows in tables.items():
        chosen = rows[np.isclose(rows["level"], level)]
        means[name] = chosen.groupby("method")[metric].mean()
    return pd.DataFrame(means).T


def of_set(rows: pd.DataFrame, level: float) -> pd.DataFrame:
    """A data set: all means; score_ratio is the mean of score ÷ ours, split by split."""
    chosen = rows[np.isclose(rows["level"], level)]
    names = ["interval_score", "mean_width", "coverage", "coverage_gap", "rank_gap"]
    more = ["worst_slab", "infinite", "fit_seconds", "predict_seconds"]
    table = chosen.groupby("method")[names + more].mean()
    table.insert(0, "splits", chosen.groupby("method").size())
    scores = chosen.pivot(index="seed", columns="method", values="interval_score")
    ratios = scores.div(scores[OURS], axis=0)
    table.insert(2, "score_ratio", ratios.mean())
    table.insert(3, "ratio_error", ratios.sem())
    return table.sort_values("interval_score").reset_index()


def exact_coverage(n: int, level: float, splits: int) -> tuple[float, float]:
    """Where the mean coverage of a split calibration lies: its expectation ± 3 standard errors.

    With m calibration rows the coverage of one split is a Beta(k, m + 1 − k), k = ⌈level (m + 1)⌉,
    if no scores are equal; the test rows are drawn from that.
    """
    m = n // 4
    tests = n - n // 2 - m
    k = np.ceil(level * (m + 1) - 1e-9)
    expected = k / (m + 1)
    variance = expected * (1 - expected) / (m + 2)
    variance += (expected * (1 - expected) - variance) / tests
    error = float(np.sqrt(variance / splits))
    return float(expected - 3 * error), float(expected + 3 * error)
