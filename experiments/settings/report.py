"""What a default is worth: scores and times without it, divided by those with it.

A ratio above one speaks for the default. On each set the geometric mean over its splits counts, and
all sets count alike. The standard error is that of other splits of the same sets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.settings.registry import SETTINGS
from experiments.settings.setup import LEVELS, SETUPS

BASELINE = "baseline"
FOLDER = Path(__file__).parents[1] / "results" / "settings"
KEY = ["setup", "set", "seed", "level"]
COLUMNS = ("default", "without", "around", "splits", *(f"{level:g}" for level in LEVELS))
COLUMNS += (f"smallest at {LEVELS[-1]:g}", f"largest at {LEVELS[-1]:g}", "time")


def ratios(changed: pd.DataFrame, baseline: pd.DataFrame) -> pd.DataFrame:
    """A row for each variant, set, seed and level: logarithms of without ÷ with."""
    pairs = changed.merge(baseline, on=KEY, suffixes=("", "_with"), validate="many_to_one")
    return pairs.assign(
        score=np.log(pairs["score"] / pairs["score_with"]),
        seconds=np.log(pairs["seconds"] / pairs["seconds_with"]),
    )


def summary(name: str, changed: pd.DataFrame, baseline: pd.DataFrame) -> pd.DataFrame:
    """A row for each variant of a setting that has results."""
    pairs = ratios(changed, baseline)
    rows = []
    for variant in SETTINGS[name].variants:
        chosen = (pairs["without"] == variant.without) & (pairs["setup"] == variant.setup)
        if chosen.any():
            about = {
                "default": SETTINGS[name].default,
                "without": variant.without,
                "around": around(variant.setup),
            }
            rows.append({**about, **figures(pairs[chosen])})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def around(setup: str) -> str:
    """Mean and rows, in words."""
    mean = {"boosting": "boosted trees", "auto": '`"auto"`'}.get(
        SETUPS[setup].mean, SETUPS[setup].mean
    )
    rows = ("all rows", "missing cells", "texts", "many inputs", "linear outputs", "even noise")
    return ", ".join([mean, *(special for special in rows if setup.endswith(special))])


def figures(pairs: pd.DataFrame) -> dict[str, Any]:
    """The columns of one variant."""
    found: dict[str, Any] = {"splits": pairs[["set", "seed"]].drop_duplicates().shape[0]}
    for level in LEVELS:
        part = pairs[pairs["level"] == level]
        found[f"{level:g}"] = "{:.3f} ± {:.3f}".format(*mean_and_error(part, "score"))
    sets = pairs[pairs["level"] == LEVELS[-1]].groupby("set")["score"].mean()
    for word, name in (("smallest", sets.idxmin()), ("largest", sets.idxmax())):
        found[f"{word} at {LEVELS[-1]:g}"] = f"{np.exp(sets[name]):.3f} ({name})"
    return {**found, "time": f"{mean_and_error(pairs, 'seconds')[0]:.2f}"}


def mean_and_error(pairs: pd.DataFrame, column: str) -> tuple[float, float]:
    """The geometric mean over sets, and its standard error over splits; NaN for one split."""
    sets = pairs.groupby("set")[column]
    mean = float(np.exp(sets.mean().mean()))
    variance = float((sets.var() / sets.size()).sum(skipna=False)) / sets.ngroups**2
    return mean, mean * float(np.sqrt(variance))


def tables(folder: Path = FOLDER) -> dict[str, pd.DataFrame]:
    """The summary of every setting whose results and baselines are complete."""
    baseline = folder / f"{BASELINE}.csv"
    if not baseline.exists():
        return {}
    with_defaults, texts = pd.read_csv(baseline), {"without": str}  # some look like numbers
    return {
        name: summary(name, pd.read_csv(folder / f"{name}.csv", dtype=texts), with_defaults)
        for name in SETTINGS
        if (folder / f"{name}.csv").exists()
    }


def markdown(table: pd.DataFrame) -> str:
    """As a table of Markdown."""
    rows = [list(table.columns), ["---"] * table.shape[1], *table.to_numpy().tolist()]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)
