"""`FittedBand`: from rows to their mean and scale, and nothing of training beside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sosbands.conformal import BandRows, IntervalFamily
from sosbands.core.expansions import BandFunctions
from sosbands.core.threads import few_threads
from sosbands.learning.difficulty import SecondOpinion
from sosbands.learning.encoding import BandInputs, Encoded
from sosbands.learning.extrapolation import Extrapolation
from sosbands.learning.means import Mean
from sosbands.learning.scale_inputs import ScaleInputs, Seen
from sosbands.learning.standardize import Affine, VaryingInputs
from sosbands.types import Array

# Pre-training rows that choose the bandwidth of a localized calibration.
_TYPICAL_ROWS = 1000
# How far away, in units of usual distances, a cell is that is like none of the training rows.
_STRANGE = 2.0


@dataclass(frozen=True, eq=False)
class FittedBand:
    """The way of a row: X → B → prediction → what the scale sees → scale → interval.

    Attributes
    ----------
    encoding : BandInputs
        X ↦ B, the numbers that the band sees.
    mean_model : Mean
        The prediction that the scale may see; also the mean, unless that is learned jointly.
    scale_inputs : ScaleInputs
        What the scale sees of a row.
    functions : BandFunctions
        The scale, and perhaps a joint mean, in standardised units.
    second_opinion : SecondOpinion or None
        What the scale is averaged with.
    outputs : Affine
        Units of the output.
    unit : float
        The size of the residuals in units of the output.
    extrapolation : Extrapolation
        How far rows are from the pre-training rows.
    inputs : VaryingInputs
        The columns of B in units of their own, in which rows are near or far.
    caution : float
        How much wider the distance from the pre-training rows makes the band.
    shift_power : float
        How much the calibrating shift of a two-sided band follows its width.
    """

    encoding: BandInputs
    mean_model: Mean
    scale_inputs: ScaleInputs
    functions: BandFunctions
    second_opinion: SecondOpinion | None
    outputs: Affine
    unit: float
    extrapolation: Extrapolation
    inputs: VaryingInputs
    caution: float
    shift_power: float

    @property
    def symmetric(self) -> bool:
        """Whether the scale is √f, rather than f_low and f_up."""
        return self.functions.symmetric

    @property
    def residual_size(self) -> float:
        """The root mean square of the residuals, in the units of y."""
        return self.unit * float(self.outputs.scale)

    def mean(self, X: Any) -> Array:
        """m at the rows of X, in the units of y."""
        with few_threads(X.shape[0]):
            encoded = self.encoding.encoded(X)
            if self.functions.joint_mean is None:
                return self.mean_model(X, encoded.B)
            return self._joint_mean(self._seen(X, encoded).Z)

    def mean_and_scale(self, X: Any) -> tuple[Array, Array]:
        """m and √f, or m and (f_low, f_up), in the units of y; wider far from the data."""
        with few_threads(X.shape[0]):
            return self._mean_and_scale(X, self.encoding.encoded(X))

    def at(self, X: Any) -> BandRows:
        """The nested intervals at the rows of X, before calibration, and where the rows are."""
        with few_threads(X.shape[0]):
            encoded = self.encoding.encoded(X)
            mean, scale = self._mean_and_scale(X, encoded)
        if self.symmetric:
            family = IntervalFamily.around(mean, scale)
        else:
            typical = self.residual_size
            family = IntervalFamily.between(mean, scale, power=self.shift_power, typical=typical)
        return BandRows(self, X, mean, family, self.inputs(encoded.B))

    def distance(self, X: Any) -> Array:
        """How far rows are from the pre-training rows, in units of usual distances."""
        return self._distance(self.encoding.encoded(X))

    def _distance(self, encoded: Encoded) -> Array:
        """A cell that is like none of the training rows counts like a row that is far away."""
        distance = self.extrapolation.distance(encoded.B)
        return np.asarray(np.hypot(distance, _STRANGE * encoded.strange))

    @property
    def typical_inputs(self) -> Array:
        """Inputs of some pre-training rows, in the units of `BandRows.local_inputs`."""
        return self.extrapolation.rows[:_TYPICAL_ROWS, self.inputs.columns]

    def _mean_and_scale(self, X: Any, encoded: Encoded) -> tuple[Array, Array]:
        if self.functions.joint_mean is None:
            mean = self.mean_model(X, encoded.B)
            seen = self.scale_inputs(encoded, mean)
        else:
            seen = self._seen(X, encoded)
            mean = self._joint_mean(seen.Z)
        scale = self.functions.scale(seen.Z)
        if self.second_opinion is not None and seen.guess is not None:
            scale = self.second_opinion.averaged(seen.guess, scale)
        scale = scale * self.residual_size
        if not self.caution:
            return mean, scale
        # Like d²/2 near the data and √d far away, where nobody knows how wrong a mean can be.
        distance = self._distance(encoded)
        wider = 1 + self.caution * 2 * (np.sqrt(np.hypot(1, distance)) - 1)
        return mean, (scale.T * wider).T

    def _seen(self, X: Any, encoded: Encoded) -> Seen:
        """What a joint scale sees: the preliminary prediction, too, if it counts."""
        sees = self.scale_inputs.predictions is not None
        return self.scale_inputs(encoded, self.mean_model(X, encoded.B) if sees else None)

    def _joint_mean(self, Z: Array) -> Array:
        joint: Any = self.functions.joint_mean
        return self.outputs.undo(joint.sums(Z))
