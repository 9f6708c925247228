"""What the comparison is for, as small tables: who is first, by how much, by its mean or its band.

All come from the stored results alone. Means over the splits of our entry are compared, and our
variants are nobody's rivals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from experiments.methods import AROUND_AUTO, TAKE_A_MEAN, load
from experiments.real.ranking import OURS, Tables, at_level, exact_coverage, matrix, present

BOOSTED = "sosbands_boosted"
# Each band around boosted trees and around our default mean.
BANDS = {BOOSTED: OURS, **{name: name + AROUND_AUTO for name in TAKE_A_MEAN}}


def places(summaries: Mapping[float, pd.DataFrame], metric: str) -> pd.DataFrame:
    """Average rank ± its error at each level, and whether that is the first place.

    It is if the rank is behind the best one of those that take part by at most the standard error
    of that difference.

    Parameters
    ----------
    summaries : mapping
        Of levels to what `summary` makes.
    metric : str

    Returns
    -------
    DataFrame
        A row for each method and level: title, ranked, level, rank, error, first.
    """
    parts = []
    for level, frame in summaries.items():
        found = frame[["title", "ranked"]].assign(
            level=level, rank=frame[f"{metric}_rank"], error=frame[f"{metric}_rank_error"]
        )
        behind = found["rank"] - found.loc[found["ranked"], "rank"].min()
        parts.append(found.assign(first=behind <= frame[f"{metric}_behind_error"]))
    return pd.concat(parts).dropna(subset="rank")


def beside_best(tables: Tables, level: float) -> pd.DataFrame:
    """Our mean interval score ÷ the best rival's on each set, ± its standard error.

    The error is that of the paired differences over the splits, in units of the rival's mean.
    """
    rows = []
    for name, part in at_level(tables, level).items():
        scores = part.pivot(index="seed", columns="method", values="interval_score")
        rivals = [m for m in scores.dropna(axis=1) if load(m).ranked and m != OURS]
        if not rivals:
            continue
        best = scores[rivals].mean().idxmin()
        row = {"set": name, "rows": int(part["n"].iloc[0]), "best": load(best).title}
        for ours in (OURS, BOOSTED):
            own, theirs = scores.get(ours, np.nan * scores[best]), scores[best]
            row[ours] = float(own.mean() / theirs.mean())
            row[f"{ours}_error"] = float((own - theirs).sem() / theirs.mean())
        rows.append(row)
    names = ["set", "rows", "best", OURS, f"{OURS}_error", BOOSTED, f"{BOOSTED}_error"]
    return pd.DataFrame(rows, columns=names).sort_values("rows")


def geometric_mean(ratios: pd.Series) -> float:
    """NaN if one is missing."""
    return float(np.exp(np.log(ratios).mean(skipna=False))) if len(ratios) else np.nan


def beside_ours(values: pd.DataFrame) -> pd.Series:
    """Of each method the geometric mean over the sets of its ratio to our entry."""
    return values.div(values[OURS], axis=0).apply(geometric_mean)


def with_both_means(tables: Tables) -> dict[str, pd.DataFrame]:
    """The splits of each set on which all bands that have both means somewhere have both."""
    have = {method for rows in tables.values() for method in rows["method"]}
    bands = {name for pair in BANDS.items() if have.issuperset(pair) for name in pair}
    if bands <= {OURS, BOOSTED}:  # ours alone are no comparison
        return {}
    found = {}
    for name, rows in tables.items():
        counts = rows[rows["method"].isin(bands)].groupby("seed")["method"].nunique()
        kept = rows[rows["seed"].isin(counts.index[counts == len(bands)])]
        if len(kept):
            found[name] = kept
    return found


def mean_by_band(
    tables: Tables, metric: str, level: float, average: Callable[[pd.DataFrame], pd.Series]
) -> pd.DataFrame:
    """A metric of bands by means, averaged over the sets.

    Parameters
    ----------
    tables : mapping
    metric : str
    level : float
    average : callable
        Values, sets by methods ↦ a number for each method.

    Returns
    -------
    DataFrame
        A row for each band that was measured around both means: band, boosted, auto.
    """
    tables = at_level(tables, level)
    have = present(tables)
    found = average(matrix(tables, metric, level)[have].dropna(how="all"))
    rows = [
        {"band": load(band).title, "boosted": found[band], "auto": found[around_auto]}
        for band, around_auto in BANDS.items()
        if {band, around_auto} <= set(have)
    ]
    return pd.DataFrame(rows, columns=["band", "boosted", "auto"])


def coverage_places(tables: Tables, level: float) -> pd.DataFrame:
    """Where the mean coverage of each method on each set lies: below, inside or above its bounds.

    The bounds are those of `exact_coverage`, three standard errors of a split calibration.
    """
    rows = []
    for name, part in at_level(tables, level).items():
        low, high = exact_coverage(int(part["n"].iloc[0]), level, part["seed"].nunique())
        shares = part.pivot(index="seed", columns="method", values="coverage").dropna(axis=1)
        for method, share in shares.mean().items():
            place = "below" if share < low else "above" if share > high else "inside"
            row = {"set": name, "method": method, "level": level, "coverage": share}
            rows.append({**row, "low": low, "high": high, "place": place})
    return pd.DataFrame(rows)
