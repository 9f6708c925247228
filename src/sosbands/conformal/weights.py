"""Rows that count by a likelihood ratio: conformal prediction under covariate shift."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sosbands.conformal.calibration import BandRows, Calibration, Companion
from sosbands.conformal.ranks import SLACK, ascending, checked_levels, picked
from sosbands.types import Array


def _checked_weights(weights: ArrayLike) -> Array:
    w = np.asarray(weights, dtype=np.float64)
    if w.ndim != 1 or not np.all(np.isfinite(w)) or np.any(w < 0):
        worst = w[~(np.isfinite(w) & (w >= 0))][:1]
        seen = f"{worst[0]}" if len(worst) else f"shape {w.shape}"
        raise ValueError(
            f"weights must be finite and ≥ 0, one per row, got {seen}: clip the ratios"
        )
    return w


class WeightedCalibration(Calibration):
    """Covariate shift: rows count by their likelihood ratio (Tibshirani et al., 2019).

    Attributes
    ----------
    weights : array of shape (m,)
        dQ/dP at each row, up to a factor: new rows come from Q, these from P.
    ratio : callable or None
        X ↦ the weights of its rows, if it is known.

    Examples
    --------
    >>> from sosbands.conformal import WeightedCalibration
    >>> shifted = WeightedCalibration([1.0, 2.0, 3.0], [1.0, 1.0, 10.0])
    >>> shifted.quantiles([0.5], [1.0]).tolist()  # the third row counts ten times
    [[3.0]]
    """

    takes: ClassVar = "weights"
    covered: ClassVar = "whose likelihood ratio the weights are"
    closed: ClassVar = None
    column = staticmethod(_checked_weights)

    def __init__(
        self, scores: ArrayLike, weights: ArrayLike, ratio: Callable[[Any], Any] | None = None
    ) -> None:
        given = _checked_weights(weights)
        if not np.any(given):
            raise ValueError("weights must not all be zero: then no row resembles the new ones")
        self.scores, self.weights = ascending(scores, weights=given)
        self.ratio = ratio
        self.needs = "an array of weights" if ratio is None else None
        # In units of the largest, equal weights are ones and their sums exact.
        self._mass: Array = np.cumsum(self.weights / given.max())

    @classmethod
    def of(cls, rows: BandRows, y: Array, companion: Companion, seed: int) -> Self:
        """The companion weighs the rows."""
        return cls(rows.family.scores(y), companion.values, companion.function)

    def extended(self, scores: ArrayLike, weights: ArrayLike) -> Self:
        """With the scores and the weights of further rows."""
        joined = np.concatenate([self.weights, weights])
        return type(self)(np.concatenate([self.scores, scores]), joined, self.ratio)

    def quantiles(self, levels: Sequence[float], weights: ArrayLike) -> Array:
        """The smallest t with Σ wᵢ 1{sᵢ ≤ t} ≥ level·(Σ wᵢ + w), or +∞, shape (n, len(levels)).

        The weights w ≥ 0 are those of the n new rows.
        """
        with np.errstate(over="ignore"):
            own = _checked_weights(weights) / self.weights.max()
        given, _ = checked_levels(levels, name="levels")
        target = (self._mass[-1] + own)[:, None] * np.array(given)
        index = np.searchsorted(self._mass, target * (1 - SLACK))
        return picked(self.scores, index)

    def told_anew(self, X: Any, **given: Any) -> Companion:
        """By the function that told of the first rows, unless weights are given."""
        weights = given.pop("weights", None)
        return super().told_anew(X, weights=self.ratio if weights is None else weights, **given)
