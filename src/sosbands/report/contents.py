"""Which pictures a report has, in which order, and all that its templates tell of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sosbands.evaluation import Evaluation, PredictedRows
from sosbands.evaluation.band_values import BandValues
from sosbands.evaluation.drawn_rows import DrawnRows
from sosbands.evaluation.tuning_path import SearchPicture
from sosbands.report import band_figures, diagnostic_figures, sections
from sosbands.report.traces import Figure

if TYPE_CHECKING:
    from sosbands.estimator import BandRegressor

# Rows in clouds of dots: more would hide each other.
_CLOUD = 1500


def contents(model: BandRegressor, X: Any, rows: PredictedRows) -> dict[str, Any]:
    """The whole report on these rows; X are the same rows as the user gave them."""
    evaluation, drawn, tuning = rows.evaluation(), DrawnRows.of(rows), model.tuning_
    cloud, band = drawn.thinned(_CLOUD), drawn.band_along(model, X)
    search = None if tuning is None else SearchPicture.of(tuning.to_frame(), tuning.criterion)
    shown = [*_band_figures(drawn, cloud, band), *_coverage_figures(evaluation)]
    if evaluation.n_infinite < evaluation.n_rows:
        shown.append(band_figures.unknown_figure(cloud))
    if search is not None:
        shown.append(diagnostic_figures.tuning_figure(search))
    return {
        "model": model,
        "rows": rows,
        "evaluation": evaluation,
        "drawn": drawn,
        "cloud": cloud,
        "band": band,
        "eleven_places": [] if band is None else np.linspace(0, len(band.x) - 1, 11).astype(int),
        "search": search,
        "figures": {figure.name: figure for figure in shown},
        "data": [figure.to_dict() for figure in shown],
        **sections.words(model, evaluation, rows),
    }


def _band_figures(drawn: DrawnRows, cloud: DrawnRows, band: BandValues | None) -> list[Figure]:
    """The band along the only input; otherwise by width, and over the most important inputs."""
    if band is not None:
        return [band_figures.band_figure(drawn, band)]
    over = [band_figures.input_figure(drawn, j) for j in drawn.important]
    return [band_figures.sorted_figure(cloud), *over]


def _coverage_figures(evaluation: Evaluation) -> list[Figure]:
    """By level; by width if widths differ, and by region, unless all intervals are infinite."""
    made = [diagnostic_figures.level_figure(evaluation)]
    if len(evaluation.by_width) > 1:
        made.append(diagnostic_figures.width_figure(evaluation))
    if evaluation.by_cluster and evaluation.outcome != "infinite":
        made.append(diagnostic_figures.cluster_figure(evaluation))
    return made
