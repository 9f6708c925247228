"""Words of the columns, and Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

WORDS = {
    "interval_score": "interval score",
    "mean_width": "mean width",
    "coverage": "coverage",
    "coverage_gap": "cluster coverage gap",
    "rank_gap": "the same, clusters of ranks",
    "ert": "ERT",
    "worst_slab": "worst-slab coverage",
    "crps": "CRPS",
    "infinite": "infinite",
    "fit_seconds": "fit, s",
    "predict_seconds": "predict, s",
    "score_ratio": "score ÷ ours",
    "ratio_error": "± s.e.",
}


def markdown(frame: pd.DataFrame) -> str:
    """A Markdown table."""
    lines: list[Iterable[str]] = [frame.columns, ["---"] * frame.shape[1]]
    lines += [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "–" if np.isnan(value) else f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"
    return str(value)
