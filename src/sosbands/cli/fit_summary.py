"""What ``sosbands fit`` and ``calibrate`` tell of a model, by subject."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from sosbands.cli.column_kinds import Names
from sosbands.cli.row_splits import RowSplit
from sosbands.cli.table_columns import Columns
from sosbands.cli.table_rows import LabelledRows
from sosbands.estimator import BandRegressor
from sosbands.evaluation.coverage_counts import binomial_bounds, inside
from sosbands.learning.stacking import StackedMean
from sosbands.metrics import mean_width
from sosbands.quoting import shortened
from sosbands.types import Array

_TOLD = 20  # columns that are named
# Parts of the time that judges, and the least rows of each.
_PARTS, _LEAST = 5, 20


def fit_summary(
    model: BandRegressor, rows: LabelledRows, split: RowSplit, level: float
) -> dict[str, str]:
    """Rows, columns and model, and how good the intervals are on the rows that judge."""
    return {
        "rows": _rows(model, rows, split),
        **columns_told(rows.columns, rows.left_out),
        "model": model_told(model),
        **limits_told(model),
        **_judged(model, rows, split, level),
        "certificate": certificate_told(model),
    }


def columns_told(columns: Columns, left_out: Mapping[str, str]) -> dict[str, str]:
    """What the columns are, and which were left out."""
    told = {"columns": _columns(columns)}
    return {**told, "left out": _left_out(left_out)} if left_out else told


def model_told(model: BandRegressor) -> str:
    """Sides, mean and calibration."""
    sides = "symmetric" if model.symmetric_ else "two-sided"
    return f"{sides} band around {_mean(model.estimator_)}, {model.calibration} calibration"


def limits_told(model: BandRegressor) -> dict[str, str]:
    """Where intervals end, if outputs pile up somewhere."""
    limits = model.band_.limits
    if limits is None:
        return {}
    ends = (("below", limits.low), ("above", limits.high))
    where = " and ".join(f"{side} {end:.6g}" for side, end in ends if end is not None)
    return {"limits": f"intervals do not go {where}, where outputs pile up"}


def certificate_told(model: BandRegressor) -> str:
    """How far the band is from the optimum."""
    return f"relative gap {model.certificate_.gap:.1e}, rank {model.certificate_.rank}"


def _rows(model: BandRegressor, rows: LabelledRows, split: RowSplit) -> str:
    n, calibrate = len(rows.y), len(split.train) - model.n_train_
    parts = f"{model.n_train_} learn, {calibrate} calibrate"
    if model.calibration_.by_folds:
        parts = f"{model.n_train_} learn and calibrate"
    dropped = "".join(f"; {count} with {why} left out" for why, count in rows.dropped.items())
    lacking = int(rows.X.isna().any(axis=1).sum())
    missing = f"; missing inputs in {lacking}" if lacking else ""
    return f"{n}: {parts}, {len(split.test)} judge{dropped}{missing}"


def _columns(columns: Columns) -> str:
    counts = Counter(kind.called for kind in columns.inputs.values())
    said = [f"{n} of {what}" for what, n in counts.items() if what != Names.called]
    known = {name: k for name, k in columns.inputs.items() if isinstance(k, Names)}
    if known:
        some = [f"{shortened(name)} ({kind.count})" for name, kind in islice(known.items(), _TOLD)]
        listed = ", ".join([*some, "…"] if len(known) > _TOLD else some)
        said.append(f"{len(known)} of categories: {listed}")
    return ", ".join(said)


def _left_out(columns: Mapping[str, str]) -> str:
    reasons: dict[str, list[str]] = {}
    for name, why in columns.items():
        reasons.setdefault(why, []).append(shortened(name) or "(no name)")
    return "; ".join(
        f"{', '.join([*names[:_TOLD], *['…'] * (len(names) > _TOLD)])} ({why})"
        for why, names in reasons.items()
    )


def _judged(
    model: BandRegressor, rows: LabelledRows, split: RowSplit, level: float
) -> dict[str, str]:
    if not len(split.test):
        return {"coverage": "not measured: no rows were held out"}
    judges = rows.take(split.test)
    intervals = model.predict_interval(judges.X, level)
    y, hits = judges.y, inside(judges.y, intervals)
    unit = f" {rows.columns.output.unit}" if rows.columns.output.unit else ""
    target = shortened(str(rows.columns.target))
    told = {
        "coverage": f"{hits.mean():.3f} of the rows held out, asked for {level:g}",
        "mean width": f"{mean_width(intervals):.4g}{unit}; {target} goes from {y.min():.4g} to "
        f"{y.max():.4g}",
    }
    if rows.order is not None:
        told["over time"] = over_time(hits.astype(float), level)
    return told


def over_time(hits: Array, level: float) -> str:
    """What happens to coverage from the first of the rows that judge to the last."""
    n = min(_PARTS, len(hits) // _LEAST)
    if n < 2:
        return f"not measured: {2 * _LEAST} rows are needed, {len(hits)} judge"
    parts = np.array_split(hits, n)
    shares = ", ".join(f"{part.mean():.3f}" for part in parts)
    # As many looks as parts: each bound is so much wider.
    bounds = [
        binomial_bounds(int(part.sum()), len(part), confidence=1 - 0.05 / n) for part in parts
    ]
    short = [at for at, (_, high) in enumerate(bounds) if high < level]
    verdict = "nowhere below what was asked by more than chance"
    if short:
        verdict = (
            "falls short in the last part: calibrate with newer rows, sosbands calibrate"
            if short == [n - 1]
            else f"falls short in {len(short)} of {n} parts: calibrate with newer rows, sosbands "
            "calibrate"
        )
    return f"{shares} from the earliest to the latest rows; {verdict}"


def _mean(fitted: Any) -> str:
    """What a model is, or of what it is the average."""
    if isinstance(fitted, StackedMean):
        shares = sorted(((w, name) for name, w in fitted.weights_.items()), reverse=True)
        return " + ".join(f"{100 * w:.0f} % {name}" for w, name in shares if w >= 0.005)
    return type(fitted[-1] if hasattr(fitted, "steps") else fitted).__name__
