"""`FittedBand`: from rows to their mean and scale, and nothing of training beside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sosbands.conformal import BandRows, Family, IntervalFamily, NestedFamily
from sosbands.core.expansions import BandFunctions
from sosbands.core.threads import few_threads
from sosbands.learning.blend import Blend
from sosbands.learning.difficulty import SecondOpinion
from sosbands.learning.encoding import BandInputs, Encoded
from sosbands.learning.evenness import Evenness
from sosbands.learning.extrapolation import Extrapolation, wider
from sosbands.learning.means import Mean
from sosbands.learning.output_limits import OutputLimits
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
        The mean, unless that is learned jointly, and the prediction that the scale may see.
    scale_inputs : ScaleInputs
        What the scale sees of a row.
    functions : BandFunctions
        The bands, in standardised units, with a joint mean or what their centre differs by from m
        or from the blend.
    joint : bool
        Whether the mean is learned together with the band.
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
    blend : Blend or None
        What takes the place of the mean in the intervals, and of the prediction in the scale.
    limits : OutputLimits or None
        Where intervals end.
    evenness : Evenness or None
        The constant that the scale is averaged with.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands import BandRegressor
    >>> from sosbands.datasets import case
    >>> model = BandRegressor(None, random_state=0).fit(*case(1).sample(60, random_state=0))
    >>> model.band_.mean(np.array([[0.0], [0.5]])).shape, model.band_.symmetric
    ((2,), True)
    """

    encoding: BandInputs
    mean_model: Mean
    scale_inputs: ScaleInputs
    functions: BandFunctions
    joint: bool
    second_opinion: SecondOpinion | None
    outputs: Affine
    unit: float
    extrapolation: Extrapolation
    inputs: VaryingInputs
    caution: float
    shift_power: float
    blend: Blend | None = None
    limits: OutputLimits | None = None
    evenness: Evenness | None = None

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
            if not self.joint:
                return self.mean_model(X, encoded.B)
            return self._joint_mean(self._seen(X, encoded).Z)

    def mean_and_scale(self, X: Any) -> tuple[Array, Array]:
        """m, and √f or the widths of the outermost band, (low, up), in the units of y."""
        with few_threads(X.shape[0]):
            mean, _, spread, _ = self._located(X, self.encoding.encoded(X))
        return mean, spread if self.symmetric else spread[:, -1]

    def at(self, X: Any) -> BandRows:
        """The nested intervals at the rows of X, before calibration, and where the rows are."""
        with few_threads(X.shape[0]):
            encoded = self.encoding.encoded(X)
            mean, centre, spread, sizes = self._located(X, encoded)
        family, inputs = self._family(centre, spread), self.inputs(encoded.B)
        return BandRows(self, X, mean, family, inputs, sizes)

    def _family(self, centre: Array, spread: Array) -> Family:
        """The nested intervals of bands with these centres, scales or widths."""
        family: IntervalFamily | NestedFamily
        if self.symmetric:
            family = IntervalFamily.around(centre, spread)
        else:
            typical = self.residual_size
            family = NestedFamily.of(centre, spread, power=self.shift_power, typical=typical)
        return family if self.limits is None else self.limits.bounded(family)

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

    def _located(self, X: Any, encoded: Encoded) -> tuple[Array, Array, Array, Array | None]:
        """Mean, centre of the bands, √f or their widths, wider far from the data, and the guess.

        That is the first guess of |y − m|, in the units of y, if there is one.
        """
        if self.joint:
            seen = self._seen(X, encoded)
            mean = centre = self._joint_mean(seen.Z)
            spread = self.functions.spread(seen.Z)
        else:
            mean = centre = self.mean_model(X, encoded.B)
            if self.blend is not None:
                centre = self.blend(mean, self.inputs(encoded.B))
            seen = self.scale_inputs(encoded, centre)
            moved, spread = self.functions.centre_and_spread(seen.Z)
            if moved is not None:
                centre = centre + self.residual_size * moved
        if self.second_opinion is not None and seen.guess is not None:
            spread = self.second_opinion.averaged(seen.guess, spread)
        if self.evenness is not None:
            spread = self.evenness.averaged(spread)
        spread, sizes = spread * self.residual_size, None
        if self.scale_inputs.difficulty is not None and seen.guess is not None:
            units = self.scale_inputs.difficulty.units
            sizes = self.residual_size * np.exp(units.undo(seen.guess))
        if self.caution:
            spread = wider(spread, self._distance(encoded), self.caution)
        return mean, centre, spread, sizes

    def _seen(self, X: Any, encoded: Encoded) -> Seen:
        """What a joint scale sees: the preliminary prediction, too, if it counts."""
        sees = self.scale_inputs.predictions is not None
        return self.scale_inputs(encoded, self.mean_model(X, encoded.B) if sees else None)

    def _joint_mean(self, Z: Array) -> Array:
        joint: Any = self.functions.mean
        return self.outputs.undo(joint.sums(Z))
