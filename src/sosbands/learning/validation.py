"""The rows that users give to an estimator, checked.

Data frames are passed on as they are: what their columns hold is a matter of those who see them,
the `estimator` and the `band_transformer`. Anything else becomes an array of numbers, NaN among
them, or of whatever has rows and columns if there is a `band_transformer`.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from sosbands.learning.tables import check_names, is_frame, numbers_of, read_table
from sosbands.quoting import quoted
from sosbands.types import Array

MIN_ROWS = 10  # that a band learns from


def check_limits(low: Any, high: Any) -> None:
    """Raise an error if y_min and y_max are no limits of outputs."""
    numbers = []
    for name, value in (("y_min", low), ("y_max", high)):
        if isinstance(value, Real) and not np.isnan(float(value)):
            numbers.append(value)
        elif value is not None and not (isinstance(value, str) and value == "auto"):
            raise ValueError(f'{name} must be a number, "auto" or None, got {quoted(value)}')
    if len(numbers) == 2 and not low < high:
        raise ValueError(f"y_min must be below y_max, got {low!r} and {high!r}")


def fitting_rows(estimator: Any, X: Any, y: ArrayLike, *, reset: bool) -> tuple[Any, Array]:
    """Rows that train or calibrate: their outputs are within y_min and y_max."""
    X, outputs = labelled_rows(estimator, X, y, reset=reset)
    check_outputs_within(estimator, float(outputs.min()), float(outputs.max()))
    return X, outputs


def check_outputs_within(estimator: Any, lowest: float, highest: float) -> None:
    """Raise an error if outputs go beyond y_min and y_max: intervals, clipped, never hold them."""
    low, high = estimator.y_min, estimator.y_max
    below = isinstance(low, Real) and lowest < float(low)
    if below or (isinstance(high, Real) and highest > float(high)):
        raise ValueError(
            f"y goes from {lowest:g} to {highest:g}, beyond y_min={low!r} and "
            f"y_max={high!r}: correct the limits, or the data"
        )


def labelled_rows(estimator: Any, X: Any, y: ArrayLike, *, reset: bool) -> tuple[Any, Array]:
    """Rows with their outputs; if `reset`, those of a fit: at least ten, and they name columns."""
    if y is None:
        raise ValueError("BandRegressor requires y to be passed, but the target y is None.")
    least = MIN_ROWS if reset else 1
    X = _checked(estimator, X, reset=reset, least=least)
    outputs = _outputs(y)
    check_consistent_length(X, outputs)
    if len(outputs) < least:
        raise ValueError(f"at least {least} rows are needed, got {len(outputs)}")
    return X, outputs


def _outputs(y: ArrayLike) -> Array:
    """Finite numbers, of shape (n,); a text is named."""
    if (word := _first_word(y)) is not None:
        raise ValueError(
            f"y holds the text {quoted(word)}: intervals are for numbers, so name another column, "
            "or convert y with pandas.to_numeric"
        )
    if (kind := np.asarray(y).dtype).kind in "mM":
        raise ValueError(
            f"y holds dates or durations ({kind}): intervals are for numbers, so give y in days or "
            "hours, such as (y - y.min()) / pandas.Timedelta('1D')"
        )
    checked = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    return np.asarray(column_or_1d(checked, warn=True))


def _first_word(y: ArrayLike) -> str | None:
    """The first text that is no number; scikit-learn's own words do not say whose it is."""
    values = np.asarray(y)
    if values.dtype.kind not in "OUST":
        return None
    for value in values.ravel():
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                return str(value)
    return None


def new_rows(estimator: Any, X: Any) -> Any:
    """Rows without outputs, with the columns of those of the fit."""
    return _checked(estimator, X, reset=False, least=1)


def _checked(estimator: Any, X: Any, *, reset: bool, least: int) -> Any:
    """X as the user's models want it, its names and its number of columns checked.

    A frame stays one. Anything else is an array: of numbers, unless a transformer reads it.
    """
    encoded = estimator.band_transformer is None
    if not is_frame(X) and encoded:
        X = numbers_of(X, estimator=estimator, ensure_min_samples=least)
    elif not is_frame(X):
        X = check_array(X, dtype=None, ensure_all_finite=False)
    if X.shape[0] == 0:
        raise ValueError(f"X has no rows (shape={X.shape}): at least one is needed")
    if is_frame(X):
        check_names(X)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if reset and encoded:
        read_table(X, empty=False)  # all faulty columns at once, before anything is split
    return X
