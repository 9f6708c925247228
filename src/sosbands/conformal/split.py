"""One threshold for all rows, and a predictive distribution: split conformal prediction."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sosbands.conformal.calibration import BandRows, Calibration, Companion
from sosbands.conformal.ranks import (
    ascending,
    checked_levels,
    exact_level,
    order_rank,
    picked,
    row_shortage,
)
from sosbands.types import Array


class SignedCalibration(Calibration):
    """Quantiles of signed scores: a predictive distribution of Y, calibrated at every level."""

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
        exact = [exact_level(level) * (m + 1) for level in given]
        ranks = [math.floor(k) if 2 * k < m + 1 else math.ceil(k) for k in exact]
        quantiles: Array = scores[np.minimum(ranks, m + 1)]
        return quantiles

    def shortage(self, levels: Sequence[float]) -> int | None:
        """The rows that finite quantiles of all levels need; None if they are there."""
        outer = [float(max(exact_level(p), 1 - exact_level(p))) for p in levels]
        return row_shortage(outer, len(self.scores))


class SplitCalibration(Calibration):
    """One q for all rows: P(Y ∈ C(X)) ≥ level, on average over inputs and calibration rows.

    Attributes
    ----------
    distribution : SignedCalibration or None
        Of the same rows, if the band is symmetric.
    """

    name: ClassVar = "split"
    closed: ClassVar = None

    def __init__(self, scores: ArrayLike, distribution: Calibration | None = None) -> None:
        super().__init__(scores)
        self.distribution = distribution

    @classmethod
    def of(cls, rows: BandRows, y: Array, companion: Companion, seed: int) -> Self:
        """With signed scores, if the band has them."""
        scores, symmetric = rows.family.scores(y), rows.band.symmetric
        return cls(scores, SignedCalibration(rows.family.signed_scores(y)) if symmetric else None)

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
