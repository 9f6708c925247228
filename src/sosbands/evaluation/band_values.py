"""A band at some places along an axis: what pictures of bands are drawn from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sosbands.datasets import Case
from sosbands.estimator import BandRegressor
from sosbands.learning.encoding import is_frame
from sosbands.metrics import coverage
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
    """

    x: Array
    mean: Array
    intervals: Array
    truth: Array | None = None
    extrapolation: Array | None = None


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
