"""Tables and a picture from the results on disk alone: ``python -m experiments.real``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from experiments.methods import load
from experiments.real.figure import LEVEL, draw
from experiments.real.measure import LEVELS
from experiments.real.ranking import (
    METRICS,
    Tables,
    at_level,
    comparable,
    exact_coverage,
    groups,
    of_set,
    summary,
)
from experiments.real.results import Results
from experiments.real.standing import standing_page
from experiments.real.wording import WORDS, markdown

SUMMARY, RANKS = "summary", "ranks"


def write(results: Path, figures: Path) -> list[Path]:
    """A table for each data set, the ranks and who is first, and the picture of the ranks."""
    tables = comparable({path.stem: Results(path).load() for path in data_sets(results)})
    if not tables:
        return []
    written = []
    for name, rows in tables.items():
        written.append(results / f"{name}.md")
        written[-1].write_text(set_page(name, rows))
    summaries = {
        (group, level): summary(part, level)
        for group, part in groups(tables).items()
        for level in LEVELS
        if at_level(part, level)
    }
    together = [
        frame.assign(group=group, level=level) for (group, level), frame in summaries.items()
    ]
    written += [results / f"{SUMMARY}.csv", results / f"{SUMMARY}.md", results / f"{RANKS}.md"]
    pd.concat(together).to_csv(written[-3], index=False, float_format="%.4g")
    written[-2].write_text(standing_page(tables, summaries))
    written[-1].write_text(ranks_page(tables, summaries))
    return [*written, draw({g: f for (g, p), f in summaries.items() if p == LEVEL}, figures)]


def data_sets(results: Path) -> list[Path]:
    """The files of what was measured."""
    return [path for path in sorted(results.glob("*.csv")) if path.stem != SUMMARY]


def set_page(name: str, rows: pd.DataFrame) -> str:
    """One data set: a table for each level."""
    parts = [f"# {name}"]
    for level in (p for p in LEVELS if at_level({name: rows}, p)):
        table = of_set(rows, level)
        titles = [load(method).title for method in table["method"]]
        shown = table.drop(columns="method").rename(columns=WORDS)
        shown.insert(0, "method", titles)
        low, high = exact_coverage(int(rows["n"].iloc[0]), level, int(rows["seed"].nunique()))
        shown["in bounds"] = np.where(table["coverage"].between(low, high), "yes", "no")
        parts.append(
            f"## Level {level:g}\n\nThree standard errors around the exact coverage of a split "
            f"calibration: {low:.3f} to {high:.3f}.\n\n{markdown(shown)}"
        )
    return "\n\n".join(parts) + "\n"


def ranks_page(tables: Tables, summaries: dict[tuple[str, float], pd.DataFrame]) -> str:
    """Average rank / geometric mean of the ratio to the best, by group and level."""
    parts = [
        "# Ranks",
        "Average rank over the data sets ± its standard error, from splits drawn anew / geometric "
        "mean of the ratio to the best method. Those that are not ranked are variants, with the "
        "rank they would have in the place of the method that takes part for them.",
    ]
    for (group, level), frame in summaries.items():
        sets = ", ".join(sorted(groups(tables)[group]))
        shown = pd.DataFrame({"method": frame["title"]})
        for metric in METRICS:
            columns = frame[[f"{metric}_rank", f"{metric}_rank_error", f"{metric}_ratio"]]
            shown[WORDS[metric]] = [_standing(*row) for row in columns.itertuples(index=False)]
        shown["ranked"] = np.where(frame["ranked"], "yes", "no")
        parts.append(
            f"## {group.capitalize()} sets, level {level:g}\n\n{sets}\n\n{markdown(shown)}"
        )
    return "\n\n".join(parts) + "\n"


def _standing(rank: float, error: float, ratio: float) -> str:
    if np.isnan(rank):
        return "–"
    return f"{rank:.2f} ± {error:.2f}" + ("" if np.isnan(ratio) else f" / {ratio:.3f}")
