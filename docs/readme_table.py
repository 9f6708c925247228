"""Write the comparison on real data into the README: ``python docs/readme_table.py``.

It is read from experiments/results/real/summary.csv, which ``python -m experiments.real`` makes.
The README shows ours with both means, the four of the others that come closest in either column of
quality, and the constant width that most people know; all of them are in
experiments/results/real/summary.md.
"""

import re
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
SUMMARY = ROOT / "experiments" / "results" / "real" / "summary.csv"
# At this level, on the data sets that no default was chosen by.
LEVEL, GROUP = 0.9, "other"
BEGIN, END = "<!-- real-data: made by docs/readme_table.py -->\n", "<!-- real-data: end -->"
METHODS = {
    "sosbands": "sosbands, as it comes",
    "sosbands_boosted": "sosbands, around boosted trees",
    "quantile_forest_cqr": "conformalized quantiles, forest",
    "boosted_quantiles": "boosted quantiles of the residual",
    "boosted_scale": "boosted scale of the residual",
    "boosted_cqr": "conformalized quantiles (MAPIE)",
    "boosted_split": "constant width (MAPIE)",
}
COLUMNS = {
    "interval_score_ratio": "width and misses",
    "coverage_gap_ratio": "coverage off in regions",
    "fit_seconds_ratio": "time to fit",
}
NOTES = (
    "Each number is a ratio to the best of {methods} methods, on average over {sets} tables: 1 is "
    "the best on every table, and smaller is better. *Width and misses* is the interval score of "
    "90 % intervals: the mean width plus a fine for each miss. *Coverage off in regions* is how "
    "far from 90 % the coverage is in clusters of similar rows, on the tables with at least two "
    "clusters. Ours as it comes goes around an average of models; around boosted trees it goes "
    "around their average with a kernel mean, if there are fewer than 5000 rows. The others are "
    "made of boosted trees alone, or of a forest. Times are rough: methods were measured on "
    "different days. [All methods and tables]"
    "(experiments/results/real/summary.md), "
    "[what is compared](experiments/real/README.md), "
    "[what follows and what does not](docs/real-data.md).\n"
)


def comparison(summary: Path) -> str:
    """What stands between the marks: a few methods at one level, on one group of data sets."""
    found = pd.read_csv(summary)
    chosen = found[(found["level"] == LEVEL) & (found["group"] == GROUP)].set_index("method")
    lines = [["", *COLUMNS.values()], ["---", *["---:"] * len(COLUMNS)]]
    for method, words in METHODS.items():
        if method in chosen.index:
            row = chosen.loc[method]
            lines.append([words, *(_ratio(row[name]) for name in COLUMNS)])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    sets, methods = int(chosen["sets"].iloc[0]), int(chosen["ranked"].sum())
    return f"{table}\n\n{NOTES.format(sets=sets, methods=methods)}"


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def rewritten(readme: str, summary: Path) -> str:
    """The README with the comparison that is stored."""
    made = f"{BEGIN}{comparison(summary)}{END}"
    return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: made, readme, flags=re.DOTALL)


if __name__ == "__main__":
    page = ROOT / "README.md"
    page.write_text(rewritten(page.read_text(), SUMMARY))
