"""Six real data sets: our interval score around a boosted mean ÷ that of boosted rivals.

``SOSBANDS_DATA=FOLDER python -m benchmarks real_data``, or ``--data FOLDER``: one CSV file for each
set, with a header and y in the last column. Of at most 6000 shuffled rows one half trains, a
quarter calibrates and the rest tests. y is in units of its standard deviation; means are over ten
seeds that were never used to choose a default. Nothing is timed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.outcomes import collect
from benchmarks.record import Record
from experiments.methods import load
from sosbands.metrics import coverage, interval_score, mean_width

VARIABLE = "SOSBANDS_DATA"
SETS = ("california", "bike_uci", "concrete", "airfoil", "yacht", "triceps")
OURS = "sosbands_boosted"
PEERS = ("boosted_cqr", "boosted_split", "boosted_scale", "boosted_quantiles")
LEVEL = 0.9
MAX_ROWS = 6000
SEEDS = tuple(range(100, 110))


def run(full: bool) -> Iterator[Record]:
    """Each set against conformalized quantiles and plain split; all against the better rival."""
    if not os.environ.get(VARIABLE):
        print(
            f"      skipped: name the folder of its CSV files, --data FOLDER or {VARIABLE}=FOLDER"
        )
        return
    keys = [
        {"data": name, "seed": seed, "method": method}
        for seed, name, method in product(SEEDS, SETS, (OURS, *PEERS))
    ]
    outcomes = collect("real_data", keys, outcome)
    means = outcomes.groupby(["data", "method"])[["interval_score", "width", "coverage"]].mean()
    for name, peer in product(SETS, ("boosted_cqr", "boosted_split")):
        yield against(peer, name, means.loc[name])
    yield against_better(means["interval_score"].unstack())


def outcome(data: str, seed: int, method: str) -> dict[str, float]:
    """Interval score, mean width and coverage of one run."""
    table = np.loadtxt(Path(os.environ[VARIABLE]) / f"{data}.csv", delimiter=",", skiprows=1)
    X, y = table[:, :-1], table[:, -1] / table[:, -1].std()
    rows = np.random.default_rng(seed).permutation(len(y))[:MAX_ROWS]
    train, cal, test = np.split(rows, np.cumsum([len(rows) // 2, len(rows) // 4]))
    fitted = load(method).fit(X[train], y[train], X[cal], y[cal], levels=[LEVEL], seed=seed)
    C = fitted.intervals(X[test])[:, :, 0]
    return {
        "interval_score": float(interval_score(y[test], C, LEVEL)),
        "width": float(mean_width(C)),
        "coverage": float(coverage(y[test], C)),
    }


def against(peer: str, name: str, means: pd.DataFrame) -> Record:
    """Our mean interval score on one set ÷ that of a peer."""
    ours, theirs = means.loc[OURS], means.loc[peer]
    return Record(
        f"{name}: mean interval score ÷ that of {peer.replace('_', ' ')}",
        float(ours["interval_score"] / theirs["interval_score"]),
        "<=",
        1.0,
        seeds=SEEDS,
        notes=f"scores {ours['interval_score']:.3f} and {theirs['interval_score']:.3f}, "
        f"widths {ours['width']:.3f} and {theirs['width']:.3f}, "
        f"coverage {ours['coverage']:.3f} and {theirs['coverage']:.3f}",
        details={"means": means.to_dict("index")},
    )


def against_better(scores: pd.DataFrame) -> Record:
    """Geometric mean over the sets of our mean score ÷ the better of the two rivals'."""
    better = scores[["boosted_scale", "boosted_quantiles"]].min(axis=1)
    ratios = (scores[OURS] / better).loc[list(SETS)]
    return Record(
        f"{len(SETS)} sets: mean interval score ÷ the better of boosted scale and quantiles",
        float(np.exp(np.log(ratios).mean())),
        "<=",
        1.0,
        seeds=SEEDS,
        notes="geometric mean of "
        + ", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items()),
        details={"ratios": ratios.to_dict(), "scores": scores.to_dict("index")},
    )
