"""What the templates cannot say by themselves: lengthscales, parameters."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sosbands.evaluation import Evaluation, PredictedRows
from sosbands.evaluation.coverage_counts import falls_short
from sosbands.quoting import shortened
from sosbands.report.formats import number, one_line

if TYPE_CHECKING:
    from sosbands.estimator import BandRegressor

# Lengthscales that are listed, and characters of a parameter.
_LENGTHSCALES, _LONGEST_VALUE = 12, 160
_BADGES = {"as asked": "good", "too high": "fair", "too low": "poor", "infinite": "poor"}


def words(model: BandRegressor, evaluation: Evaluation, rows: PredictedRows) -> dict[str, Any]:
    """All of it, by the names that templates use."""
    return {
        "badge": badge(evaluation),
        "guarantee": model.calibration_.promise(evaluation.level),
        "status": model.certificate_.status,
        "lengthscales": list(lengthscales(model, rows.names)),
        "parameters": list(parameters(model)),
    }


def badge(evaluation: Evaluation) -> str:
    """The colour of the verdict; coverage that holds on average alone is no more than fair."""
    parts = evaluation.by_width, evaluation.by_cluster
    if evaluation.outcome == "as asked" and any(falls_short(evaluation.level, p) for p in parts):
        return "fair"
    return _BADGES[evaluation.outcome]


def lengthscales(model: BandRegressor, inputs: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The shortest ones: over a short lengthscale the width varies much."""
    found, sees = np.atleast_1d(model.lengthscale_), model.band_.scale_inputs
    if len(found) == 1:
        yield "lengthscale", number(float(found[0]))
        return
    names = [one_line(name) for name in inputs]
    names += ["(the prediction)"] if sees.predictions is not None else []
    names += ["(first guess of the error)"] if sees.difficulty is not None else []
    order = np.argsort(found, kind="stable")
    for j in order[:_LENGTHSCALES]:
        yield f"lengthscale of {names[j]}", number(float(found[j]))
    if len(order) > _LENGTHSCALES:
        yield "other lengthscales", f"{len(order) - _LENGTHSCALES}, all longer"


def parameters(model: BandRegressor) -> Iterator[dict[str, Any]]:
    """Every parameter beside its default."""
    defaults = inspect.signature(type(model)).parameters
    for name, given in model.get_params(deep=False).items():
        value, default = _value(given), _value(defaults[name].default)
        yield {"name": name, "value": value, "default": default, "changed": value != default}


def _value(value: Any) -> str:
    return shortened(" ".join(repr(value).split()), _LONGEST_VALUE)
