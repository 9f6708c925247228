"""Write the comparison on real data into the README: ``python docs/readme_table.py``.

It is read from experiments/results/real/summary.csv, which ``python -m experiments.real`` makes.
"""

import re
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
SUMMARY = ROOT / "experiments" / "results" / "real" / "summary.csv"
LEVEL = 0.9
BEGIN, END = "<!-- real-data: made by docs/readme_table.py -->\n", "<!-- real-data: end -->"
WHERE = (
    "More: [what is compared](experiments/real/README.md), [all ranks]"
    "(experiments/results/real/summary.md), [what follows and what does not](docs/real-data.md).\n"
)
# Around the kernel mean alone.
ALONE = "sosbands, kernel mean"
NOTES = (
    "Smaller is better; defaults were chosen on the development sets. The interval score is the "
    "width plus a fine for misses, the coverage gap how far coverage is from 90 % in clusters of "
    "the inputs. Methods that take a mean get the same one, boosted trees: all this was measured "
    "before the average of models became the default mean."
)
COLUMNS = {
    "interval_score_rank": "interval score, average rank",
    "interval_score_ratio": "÷ best",
    "coverage_gap_rank": "coverage gap, average rank",
}


def comparison(summary: Path) -> str:
    """What stands between the marks: ranked methods at one level, by group of data sets."""
    if not summary.exists():
        return WHERE
    found = pd.read_csv(summary)
    chosen = found[found["ranked"] & (found["level"] == LEVEL)]
    groups = [name for name in ("development", "other") if (chosen["group"] == name).any()]
    heads = [
        f"{int(chosen.loc[chosen['group'] == group, 'sets'].iloc[0])} {group} sets: {words}"
        for group in groups
        for words in COLUMNS.values()
    ]
    lines = [["method, 90 % intervals", *heads], ["---"] * (1 + len(heads))]
    for title in chosen.loc[chosen["group"] == groups[0], "title"]:
        rows = chosen[chosen["title"] == title].set_index("group")
        cells = [
            f"{rows.loc[group, name]:.2f}" if group in rows.index else "–"
            for group in groups
            for name in COLUMNS
        ]
        lines.append([title, *cells])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\n{NOTES}{_alone(found, groups)}\n{WHERE}"


def _alone(found: pd.DataFrame, groups: list[str]) -> str:
    """What our band does around its own mean."""
    rows = found[(found["title"] == ALONE) & (found["level"] == LEVEL)].set_index("group")
    if rows.empty:
        return ""
    ranks = " and ".join(f"{rows.loc[group, 'interval_score_rank']:.2f}" for group in groups)
    return (
        " If `BandRegressor(None)`, around the kernel mean, stood in the place of ours, its "
        f"average ranks in interval score would be {ranks}."
    )


def rewritten(readme: str, summary: Path) -> str:
    """The README with the comparison that is stored."""
    made = f"{BEGIN}{comparison(summary)}{END}"
    return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: made, readme, flags=re.DOTALL)


if __name__ == "__main__":
    page = ROOT / "README.md"
    page.write_text(rewritten(page.read_text(), SUMMARY))
