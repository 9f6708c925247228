"""The page that says who is first, by how much, and whether by the mean or by the band."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from experiments.methods import load
from experiments.real.comparisons import (
    BOOSTED,
    beside_best,
    beside_ours,
    coverage_places,
    geometric_mean,
    mean_by_band,
    places,
    with_both_means,
)
from experiments.real.measure import LEVELS
from experiments.real.ranking import OURS, Tables, at_level, groups, telling
from experiments.real.wording import WORDS, markdown

RANKED_BY = ("interval_score", "coverage_gap", "ert")
# How bands around both means are compared: the average over the sets, and its words.
COMPARED_BY = {
    "interval_score": (
        beside_ours,
        "geometric mean over the sets of the ratio to ours as it comes",
    ),
    "coverage_gap": (pd.DataFrame.mean, "mean over the sets"),
}
# At this level scores are set beside the best rival's.
LEVEL = 0.9

Summaries = Mapping[tuple[str, float], pd.DataFrame]


def standing_page(tables: Tables, summaries: Summaries) -> str:
    """Ranks at every level, ratios to the best, means by bands, coverage."""
    parts = [
        "# Who is first",
        *(rank_section(tables, summaries, metric) for metric in RANKED_BY),
        best_section(tables),
        *(band_section(tables, metric) for metric in COMPARED_BY),
        coverage_section(tables),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def rank_section(tables: Tables, summaries: Summaries, metric: str) -> str:
    """A table for each group of data sets: methods by levels; nothing if no set has the metric."""
    parts = []
    for group, part in groups(tables).items():
        levels = {p: frame for (g, p), frame in summaries.items() if g == group}
        found = places(levels, metric)
        if found.empty:
            continue
        found["cell"] = [
            f"**{row.rank:.2f} ± {row.error:.2f}**"
            if row.first
            else f"{row.rank:.2f} ± {row.error:.2f}"
            for row in found.itertuples()
        ]
        order = found.drop_duplicates("title")[["title", "ranked"]]
        cells = found.pivot(index="title", columns="level", values="cell").fillna("–")
        shown = cells.loc[order["title"]].reset_index(names="method")
        shown["ranked"] = ["yes" if ranked else "no" for ranked in order["ranked"]]
        shown.columns = [f"{c:g}" if isinstance(c, float) else c for c in shown.columns]
        ranked = telling(part, metric).items()
        having = {name: rows for name, rows in ranked if rows[metric].notna().any()}
        parts.append(f"### {_named(group, having)}\n\n{markdown(shown)}")
    if not parts:
        return ""
    return "\n\n".join(
        [
            f"## Average rank by {WORDS[metric]}",
            "± its standard error, from splits drawn anew, at each level. Bold: behind the best of "
            "those that take part by at most one standard error of that difference, from the same "
            "draws. Those that are not ranked are variants, in the place of the method that takes "
            "part for them.",
            *parts,
        ]
    )


def best_section(tables: Tables) -> str:
    """Our score ÷ that of the best rival of each set, and the geometric mean of each group."""
    found = beside_best(tables, LEVEL)
    rows = [
        [row["set"], row["rows"], row["best"], *(_ratio(row, ours) for ours in (OURS, BOOSTED))]
        for _, row in found.iterrows()
    ]
    for group, part in groups(tables).items():
        chosen = found[found["set"].isin(list(part))]
        means = [geometric_mean(chosen[ours]) for ours in (OURS, BOOSTED)]
        rows.append([f"**{group}**", "", "geometric mean", *means])
    head = ["set", "rows", "best rival", load(OURS).title, load(BOOSTED).title]
    return (
        f"## Interval score at {LEVEL:g} beside the best rival of each set\n\n"
        "Ratio of the means over the splits ± the standard error of their difference; below 1 ours "
        f"is better.\n\n{markdown(pd.DataFrame(rows, columns=head))}"
    )


def band_section(tables: Tables, metric: str) -> str:
    """Every band around both means; nothing if they were not measured."""
    average, words = COMPARED_BY[metric]
    tables, parts = with_both_means(tables), []
    for group, part in groups(tables).items():
        columns = {}
        for level in (p for p in LEVELS if at_level(part, p)):
            found = mean_by_band(part, metric, level, average).set_index("band")
            columns |= {f"{level:g}, {mean}": found[mean] for mean in found}
        shown = pd.DataFrame(columns)
        if len(shown):
            shown = shown.map(lambda ratio: f"{ratio:.3f}").rename_axis("band").reset_index()
            parts.append(f"### {_named(group, part)}\n\n{markdown(shown)}")
    if not parts:
        return ""
    counts = ", ".join(f"{name} {rows['seed'].nunique()}" for name, rows in tables.items())
    return "\n\n".join(
        [
            f"## Mean and band: {WORDS[metric]}",
            f"Every band around boosted trees and around our default mean (auto): {words}. Down a "
            "column the band differs, along a row the mean. Of the sets and splits on which all of "
            f"them were measured: {counts}.",
            *parts,
        ]
    )


def coverage_section(tables: Tables) -> str:
    """On how many sets each method covers what its calibration promises, and where ours do not."""
    found = pd.concat([coverage_places(tables, level) for level in LEVELS])
    inside = found.assign(inside=found["place"] == "inside").groupby(["method", "level"])["inside"]
    counts = (inside.sum().astype(str) + " of " + inside.size().astype(str)).unstack(fill_value="–")
    shown = counts.rename(columns="{:g}".format, index=lambda method: load(method).title)
    outside = found[found["method"].isin([OURS, BOOSTED]) & (found["place"] != "inside")]
    listed = "; ".join(
        f"{load(row.method).title} on {row.set} at {row.level:g}: {row.coverage:.3f}, bounds "
        f"{row.low:.3f} to {row.high:.3f}"
        for row in outside.itertuples()
    )
    return (
        "## Coverage\n\n"
        "Data sets on which the mean coverage is within three standard errors of that of a split "
        "calibration (beta-binomial; equal scores may make it larger, and CV+ has another law).\n\n"
        f"{markdown(shown.reset_index(names='method'))}\n\n"
        f"Outside, of ours: {listed or 'nothing'}."
    )


def _named(group: str, part: Tables) -> str:
    return f"{group.capitalize()} sets ({len(part)})"


def _ratio(row: pd.Series, ours: str) -> str:
    ratio, error = row[ours], row[f"{ours}_error"]
    if pd.isna(ratio):
        return "–"
    return f"{ratio:.3f}" + ("" if pd.isna(error) else f" ± {error:.3f}")
