"""One threshold for all rows, and a predictive distribution: split conformal prediction."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sosbands.conformal.calibration import BandRows, Calibration, Companion
from sosbands.conformal.ranks import (
    NOTHING_TO_DRAW,
    ascending,
    checked_levels,
    order_rank,
    picked,
    quantile_rank,
    quantile_shortage,
)
from sosbands.types import Array, Indices


class SignedCalibration(Calibration):
    """Quantiles of signed scores: a predictive distribution of Y, calibrated at every level.

    Examples
    --------
    >>> from sosbands.conformal import SignedCalibration
    >>> SignedCalibration([-2.0, -1.0, 0.0, 1.0, 2.0]).quantiles([0.2, 0.5, 0.8]).tolist()
    [-2.0, 0.0, 2.0]
    """

    asked_for = "quantile", "quantiles"

    def __init__(self, scores: ArrayLike) -> None:
        (self.scores,) = ascending(scores, signed=True)

    def quantiles(self, levels: Sequence[float], *beside: Any) -> Array:
        """The ⌊p(m + 1)⌋-th smallest for p < 0.5, the ⌈p(m + 1)⌉-th for p ≥ 0.5; ±∞ beyond.

        Rounding away from the median makes the interval between the quantiles of p and 1 − p cover
        with probability ≥ 1 − 2p.
        """
        m = len(self.scores)
        scores = np.concatenate([[-np.inf], self.scores, [np.inf]])
        given, _ = checked_levels(levels, name="levels")
        quantiles: Array = scores[[quantile_rank(level, m) for level in given]]
        return quantiles

    def shortage(self, levels: Sequence[float]) -> int | None:
        """The rows that finite quantiles of all levels need; None if they are there."""
        return quantile_shortage(levels, len(self.scores))

    def quantiles_at(self, rows: BandRows, levels: Sequence[float]) -> Array:
        """Quantiles of Y at new rows, shape (n, len(levels))."""
        return rows.family.quantiles(levels, self.quantiles(levels))

    def counts_at(self, rows: BandRows, y: Array) -> Indices:
        """How many calibration rows have a score of at most that of y."""
        raised = rows.family.signed_scores(rows.family.raised(y))
        return np.searchsorted(self.scores, raised, side="right")

    def drawn_at(self, rows: BandRows, shares: Array) -> Array:
        """Outputs with the scores of calibration rows, drawn by uniform numbers, shape (n, k)."""
        finite = self.scores[np.isfinite(self.scores)]
        if not len(finite):
            raise ValueError(NOTHING_TO_DRAW)
        return rows.family.points(finite[(shares * len(finite)).astype(np.intp)])


class SplitCalibration(Calibration):
    """One q for all rows: P(Y ∈ C(X)) ≥ level, on average over inputs and calibration rows.

    Attributes
    ----------
    distribution : SignedCalibration or None
        Of the same rows, if their intervals have a centre.

    Examples
    --------
    >>> from sosbands.conformal import SplitCalibration
    >>> SplitCalibration(range(1, 10)).quantiles([0.8, 0.9, 0.95]).tolist()
    [8.0, 9.0, inf]
    """

    name: ClassVar = "split"
    closed: ClassVar = None

    def __init__(self, scores: ArrayLike, distribution: Calibration | None = None) -> None:
        super().__init__(scores)
        self.distribution = distribution

    @classmethod
    def of(cls, rows: BandRows, y: Array, companion: Companion, seed: int) -> Self:
        """With signed scores."""
        return cls(rows.family.scores(y), SignedCalibration(rows.family.signed_scores(y)))

    def with_rows(self, rows: BandRows, y: Array, companion: Companion) -> Self:
        """Signed scores as well, if there are some."""
        signed = self.distribution
        more = None if signed is None else signed.extended(rows.family.signed_scores(y))
        return type(self)(np.concatenate([self.scores, rows.family.scores(y)]), more)

    def quantiles(self, levels: Sequence[float], *beside: Any) -> Array:
        """The k-th smallest score of each level, k = ⌈level·(m + 1)⌉, shape (len(levels),)."""
        given, _ = checked_levels(levels, name="levels")
        ranks = [order_rank(level, len(self.scores)) for level in given]
        return picked(self.scores, np.minimum(ranks, len(self.scores) + 1) - 1)
