"""What is drawn over: a fitted model, and which column of X is the axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_array, check_is_fitted

from sosbands.estimator import BandRegressor
from sosbands.learning.encoding import is_frame
from sosbands.quoting import listed, quoted
from sosbands.types import Array


def check_model(estimator: object) -> None:
    """Refuse what is not a fitted `BandRegressor`."""
    if not isinstance(estimator, BandRegressor):
        raise TypeError(
            f"estimator must be a BandRegressor, got {type(estimator).__name__}: put other models "
            "and pipelines inside one, BandRegressor(model)"
        )
    check_is_fitted(estimator)


def table(X: Any) -> Any:
    """X with rows and columns: a data frame as it is, anything else as an array."""
    return X if is_frame(X) else check_array(X, dtype=None, ensure_all_finite=False)


def column_names(model: BandRegressor, X: Any) -> list[str]:
    """The names of the columns, or x0, x1, …; one unnamed column is x."""
    if is_frame(X):
        return [str(name) for name in X.columns]
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        d = X.shape[1]
        return ["x"] if d == 1 else [f"x{j}" for j in range(d)]
    return [str(name) for name in names]


def chosen_column(model: BandRegressor, X: Any, feature: int | str | None) -> int:
    """The position of the feature; None stands for the one that the scale depends on most."""
    if feature is None:
        return _most_telling_column(model, X)
    names, d = column_names(model, X), int(X.shape[1])
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(
                f"feature must be a column of X, got {quoted(feature)}: choose from "
                f"{listed(names, 20)}"
            )
        return names.index(feature)
    if not -d <= feature < d:
        raise ValueError(f"feature must be from 0 to {d - 1}, got {feature}: X has {d} columns")
    return int(feature) % d


def column(X: Any, position: int, name: str) -> Array:
    """The numbers of one column."""
    values = _safe_indexing(X, position, axis=1)
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        first = np.asarray(values).tolist()[0]
        raise ValueError(
            f"feature {quoted(name)} must hold numbers to be an axis, got {quoted(first)} in its "
            "first row: choose another with feature="
        ) from None
    if not np.all(np.isfinite(numbers)):
        raise ValueError(
            f"feature {quoted(name)} must be finite to be an axis, got NaN: drop those rows"
        )
    return numbers


def single_column(X: Any, values: Array) -> Any:
    """These values as rows of one input, of the kind and with the name that X has."""
    return type(X)({X.columns[0]: values}) if is_frame(X) else values[:, None]


def _most_telling_column(model: BandRegressor, X: Any) -> int:
    """Where θᶠ is shortest, in units of the spread of the input; the first of equals."""
    if X.shape[1] == 1:
        return 0
    inputs = model.band_.encoding
    if inputs.transformer is not None:
        raise ValueError(
            "with a band_transformer the inputs of the scale are not columns of X: choose the "
            "column to draw over with feature="
        )
    seen = model.band_.scale_inputs.inputs
    # Beyond these inputs, θᶠ may have entries for the prediction and for the difficulty.
    lengthscales = np.ravel(model.lengthscale_)[: len(seen.columns)]
    if model.band is not None and not model.band.standardize:
        spread = seen(inputs(X)).std(axis=0)
        lengthscales = lengthscales / np.where(spread > 0, spread, np.finfo(float).tiny)
    place = int(seen.columns[np.argmin(lengthscales)])
    return place if inputs.positions is None else inputs.positions[place]
