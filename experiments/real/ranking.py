"""Who is first: average ranks, and geometric means of the ratio to the best, over data sets.

On each data set the means over the splits of our entry are compared. Those methods are ranked that
take part and have all these splits on all data sets. A variant is shown beside them: its rank is
the one that it would have in the place of the method that it is a variant of. Splits are drawn
anew, with repetition and for all methods alike, to see how much of a rank is chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from experiments.methods import Array, load
from experiments.real.measure import COLUMNS
from sosbands.metrics import cluster_count

OURS = "sosbands"
# Metrics, and whether larger is better.
METRICS = {
    "interval_score": False,
    "mean_width": False,
    "coverage_gap": False,
    "rank_gap": False,
    "ert": False,
    "worst_slab": True,
    "crps": False,
    "fit_seconds": False,
    "predict_seconds": False,
}
# Those of clusters: a single one is all rows, where every split calibration does the same.
CLUSTERED = ("coverage_gap", "rank_gap")
# Those that may be zero or less have no ratio.
SIGNED = ("ert",)
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

DRAWS = 500
# Columns of a summary: of every method, and of every method and metric.
_ABOUT = ("method", "title", "ranked", "sets")
_STANDING = ("_rank", "_rank_error", "_behind_error", "_ratio")

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


def at_level(tables: Tables, level: float) -> Tables:
    """The rows of one level; data sets without it are left out."""
    found = {name: rows[np.isclose(rows["level"], level)] for name, rows in tables.items()}
    return {name: rows for name, rows in found.items() if len(rows)}


def telling(tables: Tables, metric: str) -> Tables:
    """The data sets on which a metric says something of methods: with two clusters or more."""
    if metric not in CLUSTERED:
        return tables
    sizes = {name: int(rows["n"].iloc[0]) for name, rows in tables.items()}
    tests = {name: n - n // 2 - n // 4 for name, n in sizes.items()}
    return {name: rows for name, rows in tables.items() if cluster_count(tests[name]) > 1}


def summary(tables: Tables, level: float) -> pd.DataFrame:
    """A row for each method: rank (± its standard error) and ratio of each metric.

    `_behind_error` is the standard error of how far the rank is behind the best one.

    Methods that lack a metric, as those without a distribution lack the CRPS, have no rank in it
    and are no rivals there.
    """
    tables = at_level(tables, level)
    methods = present(tables)
    rows = {
        m: {"title": load(m).title, "ranked": load(m).ranked, "sets": len(tables)} for m in methods
    }
    for metric in METRICS:
        for method, found in standing(tables, metric, level, methods).items():
            rows[method] |= {metric + name: value for name, value in found.items()}
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("method").reset_index()
    frame = frame.reindex(columns=[*_ABOUT, *(m + s for m in METRICS for s in _STANDING)])
    return frame.sort_values(["ranked", "interval_score_rank"], ascending=[False, True])


def standing(
    tables: Tables, metric: str, level: float, methods: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Rank, its errors and the ratio of each method that has the metric."""
    tables = telling(tables, metric)
    if not tables:
        return {}
    measured = matrix(tables, metric, level)[list(methods)].dropna(how="all")
    having = [m for m in methods if len(measured) and measured[m].notna().all()]
    if not having:  # no set has enough rows for this metric
        return {}
    values, again = measured[having].to_numpy(), redrawn(tables, metric, level, having)
    if METRICS[metric]:
        values, again = 1 / values, 1 / again
    rivals = {
        own: [
            j
            for j, m in enumerate(having)
            if load(m).ranked and m not in (method, load(method).variant_of)
        ]
        for own, method in enumerate(having)
    }
    ranks = [float(average_rank(values, own, rivals[own])) for own in rivals]
    draws = [average_rank(again, own, rivals[own]) for own in rivals]
    taking_part = [j for j, m in enumerate(having) if load(m).ranked]
    first = min(taking_part, key=ranks.__getitem__, default=0)
    return {
        method: {
            "_rank": ranks[own],
            "_rank_error": float(draws[own].std()),
            "_behind_error": float((draws[own] - draws[first]).std()),
            "_ratio": np.nan if metric in SIGNED else ratio_to_best(values, own, rivals[own]),
        }
        for own, method in enumerate(having)
    }


def average_rank(costs: Array, own: int, rivals: Sequence[int]) -> Array:
    """Average over the data sets of the rank of a column; ties count half.

    Parameters
    ----------
    costs : array of shape (..., sets, methods)
    own : int
        The column of the method.
    rivals : sequence of int
    """
    mine, theirs = costs[..., [own]], costs[..., list(rivals)]
    better = (theirs < mine).sum(axis=-1) + (theirs == mine).sum(axis=-1) / 2
    return np.asarray(1 + better.mean(axis=-1))


def ratio_to_best(costs: Array, own: int, rivals: Sequence[int]) -> float:
    """The geometric mean over the data sets."""
    best = costs[:, [own, *rivals]].min(axis=1)
    return float(np.exp(np.log(costs[:, own] / best).mean()))


def redrawn(tables: Tables, metric: str, level: float, methods: Sequence[str]) -> Array:
    """Means over as many splits, drawn from those that there are: (draws, sets, methods)."""
    rng = np.random.default_rng(0)
    means = []
    for rows in tables.values():
        chosen = rows[np.isclose(rows["level"], level)]
        values = chosen.pivot(index="seed", columns="method", values=metric)[methods].to_numpy()
        drawn = rng.integers(len(values), size=(DRAWS, len(values)))
        means.append(values[drawn].mean(axis=1))
    return np.stack([part for part in means if not np.isnan(part).all()], axis=1)


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
    names = [name for name in COLUMNS if name != "n"]
    table = chosen.groupby("method")[names].mean()
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
    return float(max(0, expected - 3 * error)), float(min(1, expected + 3 * error))
