"""Which pictures a report has, in which order, and all that its templates tell of."""

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from sosbands.estimator import BandRegressor
from sosbands.evaluation import Evaluation, PredictedRows
from sosbands.evaluation.coverage_counts import falls_short
from sosbands.evaluation.drawn_rows import DrawnRows
from sosbands.evaluation.tuning_path import SearchPicture
from sosbands.quoting import shortened
from sosbands.report import figures
from sosbands.report.formats import number, one_line

# Rows in clouds of dots: more would hide each other.
_CLOUD = 1500
# Lengthscales that are listed, and characters of a parameter.
_LENGTHSCALES, _LONGEST_VALUE = 12, 160
_BADGES = {"as asked": "good", "too high": "fair", "too low": "poor", "infinite": "poor"}


def contents(model: BandRegressor, X: Any, rows: PredictedRows) -> dict[str, Any]:
    """The whole report on these rows; X are the same rows as the user gave them."""
    evaluation, drawn, tuning = rows.evaluation(), DrawnRows.of(rows), model.tuning_
    cloud, band = drawn[:_CLOUD], drawn.band_along(model, X)
    search = None if tuning is None else SearchPicture.of(tuning.to_frame(), tuning.criterion)
    if band is not None:
        shown = [figures.band_figure(drawn, band)]
    else:  # by width, and over the most important inputs
        over = [figures.input_figure(drawn, j) for j in drawn.important]
        shown = [figures.sorted_figure(cloud), *over]
    shown.append(figures.level_figure(evaluation))
    if len(evaluation.by_width) > 1:
        shown.append(figures.width_figure(evaluation))
    if evaluation.by_cluster and evaluation.outcome != "infinite":
        shown.append(figures.cluster_figure(evaluation))
    if evaluation.n_infinite < evaluation.n_rows:
        shown.append(figures.unknown_figure(cloud))
    if search is not None:
        shown.append(figures.tuning_figure(search))
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
        "data": [{"name": f.name, "traces": f.traces, "layout": f.layout} for f in shown],
        "badge": _badge(evaluation),
        "guarantee": model.calibration_.promise(evaluation.level),
        "status": model.certificate_.status,
        "lengthscales": list(_lengthscales(model, rows.names)),
        "parameters": list(_parameters(model)),
    }


def _badge(evaluation: Evaluation) -> str:
    """The colour of the verdict; coverage that holds on average alone is no more than fair."""
    parts = evaluation.by_width, evaluation.by_cluster
    if evaluation.outcome == "as asked" and any(falls_short(evaluation.level, p) for p in parts):
        return "fair"
    return _BADGES[evaluation.outcome]


def _lengthscales(model: BandRegressor, inputs: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The shortest ones: over a short lengthscale the width varies much."""
    found, sees = np.atleast_1d(model.lengthscale_), model.band_.scale_inputs
    if len(found) == 1:
        yield "lengthscale", number(float(found[0]))
        return
    names = [one_line(inputs[j]) for j in sees.inputs.columns]
    names += ["(the prediction)"] if sees.predictions is not None else []
    names += ["(error of a level)"] * len(sees.sizes)
    names += ["(first guess of the error)"] if sees.difficulty is not None else []
    order = np.argsort(found, kind="stable")
    for j in order[:_LENGTHSCALES]:
        yield f"lengthscale of {names[j]}", number(float(found[j]))
    if len(order) > _LENGTHSCALES:
        yield "other lengthscales", f"{len(order) - _LENGTHSCALES}, all longer"


def _parameters(model: BandRegressor) -> Iterator[dict[str, Any]]:
    """Every parameter beside its default."""
    defaults = inspect.signature(type(model)).parameters
    for name, given in model.get_params(deep=False).items():
        value, default = _value(given), _value(defaults[name].default)
        yield {"name": name, "value": value, "default": default, "changed": value != default}


def _value(value: Any) -> str:
    return shortened(" ".join(repr(value).split()), _LONGEST_VALUE)
