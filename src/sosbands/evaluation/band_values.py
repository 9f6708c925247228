"""What pictures need of a model: its inputs by name, and its band along one of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_array, check_is_fitted

from sosbands.datasets import Case
from sosbands.estimator import BandRegressor
from sosbands.learning.encoding import TableEncoder
from sosbands.learning.tables import is_frame
from sosbands.metrics import coverage
from sosbands.quoting import listed, quoted
from sosbands.types import Array

Truth: TypeAlias = Callable[[Any, float], ArrayLike]

# Points of a curve.
_POINTS = 400


@dataclass(frozen=True, eq=False)
class BandValues:
    """A band at n places.

    Attributes
    ----------
    x : array of shape (n,)
        The input on the axis, ascending.
    mean : array of shape (n,)
    intervals : array of shape (n, 2, k)
        Of k levels; ends may be infinite.
    truth : array of shape (n, 2, k) or None
        The true intervals.
    extrapolation : array of shape (n,) or None
        How far from the training rows each place is, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.plotting import BandValues
    >>> intervals = np.array([[[-1.0], [1.0]], [[-2.0], [2.0]]])
    >>> BandValues(np.array([0.0, 1.0]), np.zeros(2), intervals).intervals.shape
    (2, 2, 1)
    """

    x: Array
    mean: Array
    intervals: Array
    truth: Array | None = None
    extrapolation: Array | None = None


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
    encoder = model.band_.encoding.transformer
    if isinstance(encoder, TableEncoder):
        return tuple(map(str, encoder.get_feature_names_out(_columns(encoder))))
    try:
        names = () if encoder is None else encoder.get_feature_names_out()
    except (AttributeError, ValueError):  # many transformers do not name what they make
        names = ()
    if len(names) != d:
        return tuple(f"input {j + 1}" for j in range(d))
    return tuple(str(name) for name in names)


def _columns(encoder: TableEncoder) -> list[str]:
    known = getattr(encoder, "feature_names_in_", None)
    if known is None:
        return [f"input {j + 1}" for j in range(encoder.n_features_in_)]
    return [str(name) for name in known]


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


def band_at(
    model: BandRegressor,
    levels: Sequence[float],
    x: Array,
    X: Any,
    *,
    truth: Case | Truth | None = None,
    extrapolation: bool = False,
    **companions: Any,
) -> BandValues:
    """The band at the rows of X, which stand at x; companions are their groups or weights."""
    true_intervals = None
    if truth is not None:
        interval = truth if callable(truth) else truth.interval
        true_intervals = np.stack([np.asarray(interval(X, level)) for level in levels], axis=2)
    return BandValues(
        x=x,
        mean=np.asarray(model.predict(X)),
        intervals=model.predict_interval(X, levels, **companions),
        truth=true_intervals,
        extrapolation=model.extrapolation(X) if extrapolation else None,
    )


def places_along(X: Any, low: float, high: float) -> tuple[Array, Any]:
    """Places from low to high, and rows of the kind of X with these in their only column."""
    x = np.linspace(low, high, _POINTS)
    return x, type(X)({X.columns[0]: x}) if is_frame(X) else x[:, None]


def checked_intervals(y: ArrayLike | None, intervals: ArrayLike) -> Array:
    """Intervals of any model, of shape (n, 2, k); raise an error if they or y are wrong."""
    ends = np.asarray(intervals, dtype=np.float64)
    ends = ends[:, :, None] if ends.ndim == 2 else ends
    if y is not None:
        coverage(y, ends)  # says what is wrong with either
    return ends


def checked_band(
    x: ArrayLike, y: ArrayLike | None, mean: ArrayLike, intervals: ArrayLike, n_levels: int
) -> tuple[BandValues, Array | None]:
    """Predictions of any model and the outputs, if there are some, by ascending x."""
    places, means = np.asarray(x, dtype=np.float64), np.asarray(mean, dtype=np.float64)
    ends, n = checked_intervals(None, intervals), len(places)
    if places.ndim != 1 or means.shape != (n,) or ends.shape != (n, 2, n_levels):
        raise ValueError(
            f"x, mean and intervals must have shapes (n,), (n,) and (n, 2, {n_levels}), got "
            f"{places.shape}, {means.shape} and {ends.shape}: give one row of each per place, and "
            "one set of intervals per level"
        )
    checked_intervals(y, ends)
    order = np.argsort(places, kind="stable")
    outputs = None if y is None else np.asarray(y, dtype=np.float64)[order]
    return BandValues(places[order], means[order], ends[order]), outputs


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
    encoder = model.band_.encoding.transformer
    if not isinstance(encoder, TableEncoder | None):
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
    columns = seen.columns
    if encoder is not None:
        columns = np.array(encoder.places_)[columns]
        # Only numbers that are all known make an axis.
        usable = [getattr(encoder.columns_[at], "complete", False) for at in columns]
        relative = np.where(usable, relative, np.inf)
    return int(columns[np.argmin(relative)])


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
