"""A learned band with the rows that calibrate it: step 4 of algorithm 1, of every kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from sosbands.conformal import (
    ClusteredCalibration,
    GroupCalibration,
    LocalizedCalibration,
    PlusCalibration,
    SignedCalibration,
    SplitCalibration,
    WeightedCalibration,
    effective_bandwidth,
    named,
)
from sosbands.learning.encoding import row_blocks
from sosbands.learning.fitted_band import FittedBand
from sosbands.learning.folds import check_partition
from sosbands.learning.learner import BandLearner, Learned
from sosbands.types import Array, Indices

LikelihoodRatio: TypeAlias = Callable[[Any], Array]


@dataclass(frozen=True, eq=False)
class Calibrator:
    """The intervals of a band, and what makes them cover.

    Attributes
    ----------
    learned : FittedBand
    typical : array of shape (p, d)
        Inputs of pre-training rows, which choose the bandwidth of a localized calibration.
    seed : int
        Of the draws of a localized calibration.
    calibration : Calibration, PlusCalibration or None
        None before there are rows.
    signed : SignedCalibration or None
        For quantiles: the same rows, if the band is symmetric and the calibration plain.
    ratio : callable or None
        X ↦ the weights of its rows, if the calibration is weighted by a function.
    folds : sequence of FittedBand
        The bands without each fold, of CV+.
    """

    learned: FittedBand
    typical: Array
    seed: int
    calibration: Any = None
    signed: SignedCalibration | None = None
    ratio: LikelihoodRatio | None = None
    folds: Sequence[FittedBand] = ()

    @classmethod
    def of(cls, learned: FittedBand, seed: int) -> Calibrator:
        """Without calibration rows."""
        return cls(learned, learned.typical_inputs, seed)

    def with_folds(self, folds: Sequence[FittedBand], calibration: PlusCalibration) -> Calibrator:
        """Calibrated by the bands without each fold; see `learn_folds`."""
        return Calibrator(self.learned, self.typical, self.seed, calibration, folds=folds)

    def calibrated(
        self,
        X: Any,
        y: Array,
        *,
        localized: bool,
        clusters: Indices | None = None,
        groups: Any = None,
        weights: ArrayLike | None = None,
        ratio: LikelihoodRatio | None = None,
    ) -> Calibrator:
        """With these rows and no others; groups or weights come before `localized`.

        Rows of one cluster belong together, those of one group get a guarantee of their own.
        """
        family, inputs = self.learned.family_and_inputs(X)
        scores = family.scores(y)
        signed = None
        if groups is not None:
            calibration: Any = GroupCalibration(scores, named(groups))
        elif weights is not None:
            calibration = WeightedCalibration(scores, np.asarray(weights, dtype=np.float64))
        elif localized:
            bandwidth = effective_bandwidth(self.typical, len(scores))
            calibration = LocalizedCalibration(scores, inputs, bandwidth, self.seed)
        elif clusters is not None:
            calibration = ClusteredCalibration(scores, clusters)
        else:
            calibration = SplitCalibration(scores)
            if self.learned.symmetric:
                signed = SignedCalibration(family.signed_scores(y))
        return Calibrator(self.learned, self.typical, self.seed, calibration, signed, ratio)

    def extended(self, X: Any, y: Array, companions: Sequence[Array]) -> Calibrator:
        """With these rows as well, and what `companions` says of them."""
        family, inputs = self.learned.family_and_inputs(X)
        calibration, signed = self.calibration, self.signed
        if isinstance(calibration, LocalizedCalibration):
            calibration = calibration.extended(family.scores(y), inputs)
            bandwidth = effective_bandwidth(self.typical, len(calibration.scores))
            calibration = replace(calibration, bandwidth=bandwidth)
        else:
            calibration = calibration.extended(family.scores(y), *companions)
        if signed is not None:
            signed = signed.extended(family.signed_scores(y))
        return replace(self, calibration=calibration, signed=signed)

    def companions(self, X: Any, groups: Any, weights: Any) -> list[Any]:
        """What the calibration wants to know of rows beside their scores; X as the user gave it."""
        weighted = isinstance(self.calibration, WeightedCalibration)
        if weighted and weights is None:
            weights = self.ratio
        for name, value, needed in (
            ("groups", groups, isinstance(self.calibration, GroupCalibration)),
            ("weights", weights, weighted),
        ):
            if needed and value is None:
                raise ValueError(f"conformalize had {name}: pass the {name} of these rows as well")
            if value is not None and not needed:
                raise ValueError(f"{name} are of no use here: conformalize had none")
        if groups is not None:
            return [_one_per_row("groups", named(groups), X)]
        if weights is not None:
            given = weights(X) if callable(weights) else weights
            return [_one_per_row("weights", np.asarray(given, dtype=np.float64), X)]
        return []

    def intervals(self, X: Any, levels: Sequence[float], companions: Sequence[Array]) -> Array:
        """Intervals of shape (n, 2, k)."""
        out = np.empty((X.shape[0], 2, len(levels)))
        for rows in row_blocks(X):
            parts = [companion[rows] for companion in companions]
            out[rows] = self._block_intervals(_safe_indexing(X, rows), levels, parts)
        return out

    def _block_intervals(
        self, X: Any, levels: Sequence[float], companions: Sequence[Array]
    ) -> Array:
        family, inputs = self.learned.family_and_inputs(X)
        calibration = self.calibration
        if isinstance(calibration, PlusCalibration):
            centre = 0.5 * (family.lower + family.upper)
            return calibration.intervals([f.family(X) for f in self.folds], levels, centre)
        if isinstance(calibration, LocalizedCalibration):
            q = calibration.quantiles(levels, inputs)
        else:
            q = calibration.quantiles(levels, *companions)
        return family.intervals(q)


def learn_folds(
    learner: BandLearner, X: Any, y: Array, groups: Indices | None
) -> tuple[list[Learned], PlusCalibration]:
    """CV+: everything is learned anew without each fold, whose rows it then scores."""
    folds = learner.folds(X, y, groups)
    check_partition(folds, len(y))
    bands, scores = [], []
    for train, test in folds:
        kept = None if groups is None else groups[train]
        bands.append(learner.learn(_safe_indexing(X, train), y[train], kept))
        scores.append(bands[-1].band.family(_safe_indexing(X, test)).scores(y[test]))
    return bands, PlusCalibration(tuple(scores))


def _one_per_row(name: str, values: Any, X: Any) -> Any:
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if values.shape != (rows,):
        raise ValueError(
            f"{name} must have one entry for each of the {rows} rows, got {values.shape}"
        )
    return values
