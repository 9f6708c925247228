"""Published scores beside ours, from the results on disk alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.published.comparison import Comparison
from experiments.real.wording import markdown
from experiments.store import FOLDER as RESULTS
from experiments.store import Store

FOLDER = RESULTS / "published"


def stored(comparison: Comparison, name: str, folder: Path = FOLDER) -> Store:
    """The results of one data set: complete once all its splits are."""
    units = [{"seed": k} for k in range(comparison.splits)]
    return Store(f"{comparison.name}_{name}", units, folder)


def beside_published(comparison: Comparison, folder: Path = FOLDER) -> pd.DataFrame:
    """A row for each data set that is complete: the published best, our mean and its error."""
    rows = []
    for name, chosen in comparison.sets.items():
        results = stored(comparison, name, folder)
        if not results.table.exists():
            continue
        found = results.load()
        score = found["interval_score"]
        rows.append(
            {
                "set": name,
                "best": chosen.best,
                "by": chosen.by,
                "mean": score.mean(),
                "error": score.sem(),
                "ratio": score.mean() / chosen.best,
                "coverage": found["coverage"].mean(),
                "seconds": found["fit_seconds"].mean(),
            }
        )
    names = ["set", "best", "by", "mean", "error", "ratio", "coverage", "seconds"]
    return pd.DataFrame(rows, columns=names)


def section(comparison: Comparison, folder: Path = FOLDER) -> str:
    """What is compared, and the table, or that there is none yet."""
    level, splits = comparison.level, comparison.splits
    about = f"## {comparison.title}\n\nInterval scores at {level:g}, means of {splits} splits."
    found = beside_published(comparison, folder)
    if found.empty:
        return f"{about} {comparison.source}\n\nNo results are stored."
    shown = pd.DataFrame(
        {
            "set": found["set"],
            "published best": [f"{r.best:.5g} ({r.by})" for r in found.itertuples()],
            "ours ± s.e.": [f"{r.mean:.5g} ± {r.error:.2g}" for r in found.itertuples()],
            "ratio": [f"{ratio:.3f}" for ratio in found["ratio"]],
            "coverage": [f"{share:.3f}" for share in found["coverage"]],
            "fit, s": [f"{seconds:.1f}" for seconds in found["seconds"]],
        }
    )
    mean = float(np.exp(np.log(found["ratio"]).mean()))
    return (
        f"{about} {comparison.source}\n\n{markdown(shown)}\n\n"
        f"Geometric mean of the ratios: {mean:.3f}, on {len(found)} of {len(comparison.sets)} sets."
    )


def write(comparisons: Iterable[Comparison], folder: Path = FOLDER) -> Path:
    """The tables of all comparisons, in one page."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "summary.md"
    sections = [section(comparison, folder) for comparison in comparisons]
    path.write_text("\n\n".join(["# Published comparisons", *sections]) + "\n")
    return path
