"""Which inputs matter most to a model: those that pictures show first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from sosbands.dependence import distance_correlation
from sosbands.types import Array, Indices

if TYPE_CHECKING:
    from sosbands.estimator import BandRegressor
    from sosbands.evaluation.judged_rows import PredictedRows

Target: TypeAlias = Literal["width", "prediction"]


def ranked_inputs(rows: PredictedRows, place: Indices) -> tuple[Target, Indices]:
    """The inputs of the band, the one that the width depends on most first.

    Judged by distance correlation on the sampled rows at `place`. If their widths are all equal or
    infinite, it is the prediction that the inputs are compared with.
    """
    index, inputs = rows.sample[place], rows.inputs[place]
    widths = rows.widths[index]
    finite = np.isfinite(widths)
    if finite.sum() > 1 and np.ptp(widths[finite]) > 0:
        return "width", _by_dependence(inputs[finite], widths[finite])
    return "prediction", _by_dependence(inputs, rows.mean[index])


def _by_dependence(inputs: Array, target: Array) -> Indices:
    strength = np.zeros(inputs.shape[1])
    if len(target) > 1:
        strength = np.array([distance_correlation(column, target) for column in inputs.T])
    return np.argsort(-strength, kind="stable")


def shortest_lengthscale_column(model: BandRegressor, X: Any) -> int:
    """The column of X where θᶠ is shortest, in units of its spread; the first of equals.

    Unlike `ranked_inputs` it needs no predictions, but a band that sees columns of X.
    """
    if X.shape[1] == 1:
        return 0
    inputs = model.band_.encoding
    if inputs.transformer is not None:
        raise ValueError(
            "with a band_transformer the inputs of the scale are not columns of X: choose the "
            "column to draw over with feature="
        )
    seen = model.band_.scale_inputs.inputs
    # Beyond the inputs, θᶠ may have entries for the prediction and for the difficulty.
    lengthscales = np.ravel(model.lengthscale_)[: len(seen.columns)] * seen.units.scale
    known = model.band_.inputs
    spread = dict(zip(known.columns.tolist(), known.units.scale, strict=True))  # of what varies
    relative = lengthscales / [spread.get(j, np.finfo(float).tiny) for j in seen.columns.tolist()]
    place = int(seen.columns[np.argmin(relative)])
    return place if inputs.positions is None else inputs.positions[place]
