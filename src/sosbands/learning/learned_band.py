"""A band with what it sees of X, and how the two are learned: steps 1 to 3 of algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from sosbands.conformal import BandRows, IntervalFamily
from sosbands.core.threads import few_threads
from sosbands.learning.band import Band, learn_band
from sosbands.learning.encoding import BandInputs, Extrapolation
from sosbands.learning.folds import cross_fitting_folds, fold_numbers, renumbered
from sosbands.learning.means import (
    Preliminary,
    VaryingInputs,
    cross_fitted,
    frozen,
    gaussian_process,
)
from sosbands.learning.row_order import row_order
from sosbands.learning.settings import BandSettings
from sosbands.types import Array, Folds, Indices

# Pre-training rows that choose the bandwidth of a localized calibration.
_TYPICAL_ROWS = 1000


@dataclass(frozen=True, eq=False)
class LearnedBand:
    """A band with what it sees of X.

    Attributes
    ----------
    inputs : BandInputs
    band : Band
    extrapolation : Extrapolation
        How far rows are from the pre-training rows, as a function of what the band sees.
    caution : float
        How much wider that makes the band.
    shift_power : float
        How much the calibrating shift of a two-sided band follows its width.
    """

    inputs: BandInputs
    band: Band
    extrapolation: Extrapolation
    caution: float
    shift_power: float

    def mean(self, X: Any) -> Array:
        """m at the rows of X."""
        with few_threads(X.shape[0]):
            return self.band.mean(X, self.inputs(X))

    def mean_and_scale(self, X: Any, B: Array | None = None) -> tuple[Array, Array]:
        """m and √f, or m and (f_low, f_up), wider where no pre-training row is near.

        B is what the band sees of X, where it is known.
        """
        with few_threads(X.shape[0]):
            B = self.inputs(X) if B is None else B
            mean, scale = self.band.mean_and_scale(X, B)
        if not self.caution:
            return mean, scale
        # Like d²/2 near the data and √d far away, where nobody knows how wrong a mean can be.
        distance = self.extrapolation.distance(B)
        wider = 1 + self.caution * 2 * (np.sqrt(np.hypot(1, distance)) - 1)
        return mean, (scale.T * wider).T

    @property
    def symmetric(self) -> bool:
        """Whether intervals are as wide below as above the mean."""
        return self.band.symmetric

    @property
    def typical_inputs(self) -> Array:
        """Inputs of some pre-training rows, in the units of the band."""
        known = self.extrapolation
        return self.band.sees.inputs(known.inputs.undo(known.rows[:_TYPICAL_ROWS]))

    def at(self, X: Any) -> BandRows:
        """The nested intervals at the rows of X, and their inputs in the units of the band."""
        with few_threads(X.shape[0]):
            B = self.inputs(X)
        mean, scale = self.mean_and_scale(X, B)
        if self.symmetric:
            family = IntervalFamily.around(mean, scale)
        else:
            typical = self.band.residual_size
            family = IntervalFamily.between(mean, scale, power=self.shift_power, typical=typical)
        return BandRows(self, X, family, self.band.sees.inputs(B))


@dataclass(frozen=True, eq=False)
class BandLearner:
    """Rows ↦ a band: all that `BandRegressor` says about learning, but the rows.

    Attributes
    ----------
    estimator : regressor or None
        The model to put a band around; None for a kernel mean.
    transformer : transformer or None
        What the band sees of X; None for its numeric columns.
    cv : int or splitter
    settings : BandSettings
    seed : int
    """

    estimator: Any
    transformer: Any
    cv: Any
    settings: BandSettings
    seed: int

    def folds(self, X: Any, y: Array, groups: Indices | None) -> Folds:
        """(train, test) of every fold of these rows."""
        return cross_fitting_folds(X, y, cv=self.cv, groups=groups, seed=self.seed)

    def learn(self, X: Any, y: Array, groups: Indices | None) -> LearnedBand:
        """The mean and the scale, from all of these rows."""
        folds = self.folds(X, y, groups)
        exchangeable = groups is None and isinstance(self.cv, Integral)
        with few_threads(len(y)):
            inputs = BandInputs.learn(X, y, self.transformer)
            B = inputs(X)
            given = self._given_mean(X, y, folds)
            predictions = np.full(len(y), np.nan) if given is None else given.predictions
            order = row_order(VaryingInputs.of(B)(B), y, predictions, fold_numbers(folds, len(y)))
            B, y, folds = B[order], y[order], renumbered(folds, order)
            if given is None:
                held_out = None if exchangeable else folds
                preliminary = gaussian_process(B, y, self.settings, folds=held_out, seed=self.seed)
            else:
                preliminary = replace(given, predictions=predictions[order])
            band = learn_band(
                B, y, preliminary, folds=folds, settings=self.settings, seed=self.seed
            )
        n_inputs = len(band.sees.inputs.columns)
        caution = self.settings.caution_for(n_inputs, own_mean=self.estimator is None)
        extrapolation = Extrapolation.of(B, np.random.default_rng(self.seed))
        shift_power = self.settings.shift_power_for(len(y))
        return LearnedBand(inputs, band, extrapolation, caution, shift_power)

    def _given_mean(self, X: Any, y: Array, folds: Folds) -> Preliminary | None:
        """The mean of a regressor, and its values out of sample; None for a kernel mean."""
        if self.estimator is None:
            return None
        if isinstance(self.estimator, FrozenEstimator):
            return frozen(self.estimator, X)
        return cross_fitted(self.estimator, X, y, folds, self.settings.n_jobs)
