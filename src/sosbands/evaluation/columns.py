"""The columns of a table by name and position, and the one that a picture is drawn over."""

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


def as_table(X: Any) -> Any:
    """X with rows and columns: a data frame as it is, anything else as an array."""
    return X if is_frame(X) else check_array(X, dtype=None, ensure_all_finite=False)


def input_names(model: BandRegressor, d: int) -> tuple[str, ...]:
    """The names of the d columns that the band sees."""
    inputs = model.band_.encoding
    names: Any = inputs.columns
    if inputs.transformer is not None:
        try:
            names = inputs.transformer.get_feature_names_out()
        except (AttributeError, ValueError):  # many transformers do not name what they make
            names = None
    elif names is None:
        names = getattr(model, "feature_names_in_", None)
    if names is None or len(names) != d:
        return tuple(f"input {j + 1}" for j in range(d))
    return tuple(str(name) for name in names)


def axis_column(
    model: BandRegressor, X: Any, feature: int | str | None = None
) -> tuple[str, Array]:
    """The name and the numbers of a column; None is the one that the scale depends on most."""
    names = X.columns if is_frame(X) else getattr(model, "feature_names_in_", None)
    if names is None:
        names = ["x"] if X.shape[1] == 1 else [f"x{j}" for j in range(X.shape[1])]
    names = [str(name) for name in names]
    position = _position(model, X, names, feature)
    return names[position], _numbers(X, position, names[position])


def _position(model: BandRegressor, X: Any, names: list[str], feature: int | str | None) -> int:
    if feature is None:
        return _shortest_lengthscale_column(model, X)
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(
                f"feature must be a column of X, got {quoted(feature)}: choose from "
                f"{listed(names, 20)}"
            )
        return names.index(feature)
    d = len(names)
    if not -d <= feature < d:
        raise ValueError(f"feature must be from 0 to {d - 1}, got {feature}: X has {d} columns")
    return int(feature) % d


def _shortest_lengthscale_column(model: BandRegressor, X: Any) -> int:
    """The column of X where θᶠ is shortest, in units of its spread; the first of equals."""
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


def _numbers(X: Any, position: int, name: str) -> Array:
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
