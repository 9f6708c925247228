"""Tables and a picture from the results on disk alone: ``python -m experiments.real``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.methods import load
from experiments.real.figure import LEVEL, draw
from experiments.real.measure import LEVELS
from experiments.real.ranking import (
    METRICS,
    Tables,
    comparable,
    exact_coverage,
    groups,
    of_set,
    summary,
)
from experiments.real.results import Results

SUMMARY = "summary"
WORDS = {
    "interval_score": "interval score",
    "mean_width": "mean width",
    "coverage": "coverage",
    "coverage_gap": "cluster coverage gap",
    "rank_gap": "the same, clusters of ranks",
    "worst_slab": "worst-slab coverage",
    "infinite": "infinite",
    "fit_seconds": "fit, s",
    "predict_seconds": "predict, s",
    "score_ratio": "score ÷ ours",
    "ratio_error": "± s.e.",
}


def write(results: Path, figures: Path) -> list[Path]:
    """A table for each data set, the summary of each group of them, the picture of the ranks."""
    tables = comparable(
        {
            path.stem: Results(path).load()
            for path in sorted(results.glob("*.csv"))
            if path.stem != SUMMARY
        }
    )
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
    }
    written.append(results / f"{SUMMARY}.csv")
    together = [
        frame.assign(group=group, level=level) for (group, level), frame in summaries.items()
    ]
    pd.concat(together).to_csv(written[-1], index=False, float_format="%.4g")
    written.append(results / f"{SUMMARY}.md")
    written[-1].write_text(summary_page(tables, summaries))
    return [*written, draw({g: f for (g, p), f in summaries.items() if p == LEVEL}, figures)]


def set_page(name: str, rows: pd.DataFrame) -> str:
    """One data set: a table for each level."""
    parts = [f"# {name}"]
    for level in LEVELS:
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


def summary_page(tables: Tables, summaries: dict[tuple[str, float], pd.DataFrame]) -> str:
    """Average rank / geometric mean of the ratio to the best, by group and level."""
    parts = [
        "# Ranks",
        "Average rank over the data sets ± its standard error, from splits drawn anew / geometric "
        "mean of the ratio to the best method. Those that are not ranked are variants, with the "
        "rank they would have in the place of ours.",
    ]
    for (group, level), frame in summaries.items():
        sets = ", ".join(sorted(groups(tables)[group]))
        shown = pd.DataFrame({"method": frame["title"]})
        for metric in METRICS:
            shown[WORDS[metric]] = [
                f"{rank:.2f} ± {error:.2f} / {ratio:.3f}"
                for rank, error, ratio in frame[
                    [f"{metric}_rank", f"{metric}_rank_error", f"{metric}_ratio"]
                ].itertuples(index=False)
            ]
        shown["ranked"] = np.where(frame["ranked"], "yes", "no")
        parts.append(
            f"## {group.capitalize()} sets, level {level:g}\n\n{sets}\n\n{markdown(shown)}"
        )
    return "\n\n".join(parts) + "\n"


def markdown(frame: pd.DataFrame) -> str:
    """A Markdown table."""
    lines: list[Iterable[str]] = [frame.columns, ["---"] * frame.shape[1]]
    lines += [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "–" if np.isnan(value) else f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"
    return str(value)
