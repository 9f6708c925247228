"""A band at some places along an axis: what pictures of bands are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sosbands.evaluation.columns import single_column
from sosbands.metrics import coverage
from sosbands.types import Array

if TYPE_CHECKING:
    from sosbands.datasets import Case
    from sosbands.estimator import BandRegressor

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


@dataclass(frozen=True, eq=False)
class BandPredictor:
    """A model with what is asked of it at every place.

    Attributes
    ----------
    model : BandRegressor
    levels : sequence of float
    truth : Case, callable or None
        Gives the true intervals, if they are wanted.
    extrapolation : bool
        Whether the distance from the training rows is wanted.
    """

    model: BandRegressor
    levels: Sequence[float]
    truth: Case | Truth | None = None
    extrapolation: bool = False

    def at(self, x: Array, X: Any, **companions: Any) -> BandValues:
        """The band at the rows of X, which stand at x; companions are their groups or weights."""
        return BandValues(
            x=x,
            mean=np.asarray(self.model.predict(X)),
            intervals=self.model.predict_interval(X, self.levels, **companions),
            truth=None if self.truth is None else self._true_intervals(self.truth, X),
            extrapolation=self.model.extrapolation(X) if self.extrapolation else None,
        )

    def along(self, X: Any, low: float, high: float) -> BandValues:
        """The band at places from low to high of the only column of X."""
        x = np.linspace(low, high, _POINTS)
        return self.at(x, single_column(X, x))

    def _true_intervals(self, truth: Case | Truth, X: Any) -> Array:
        interval = truth if callable(truth) else truth.interval
        return np.stack([np.asarray(interval(X, level)) for level in self.levels], axis=2)


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
