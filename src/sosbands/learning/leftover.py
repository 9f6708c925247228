"""The residuals that a band is learned from: in units of their size, wild ones cut off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sosbands.conformal.families import ROUNDING
from sosbands.learning.plan import Rules
from sosbands.learning.standardize import Affine
from sosbands.types import Array, Mask

# A residual is wild beyond so many times what one per cent of all residuals exceed.
_COMMON, _WILD = 0.99, 10.0


@dataclass(frozen=True, eq=False)
class Leftover:
    """What the mean leaves: residuals ÷ unit, which of them count, and their units."""

    residuals: Array
    inliers: Mask
    outputs: Affine
    unit: float

    @classmethod
    def of(cls, y: Array, predictions: Array, *, threshold: float | None, rules: Rules) -> Leftover:
        """In units of their own size; those beyond `threshold` do not count."""
        standardize = bool(rules.band.standardize)
        outputs = Affine.of(y, active=standardize)
        residuals = _without_rounding(y - predictions, y) / outputs.scale
        inliers = _inliers(residuals, threshold)
        if not rules.joint and rules.soft:
            residuals = _tamed(residuals, inliers)
        unit = 1.0
        if standardize and not rules.joint:
            unit = float(np.sqrt(np.mean(residuals[inliers] ** 2))) or 1.0
        return cls(residuals / unit, inliers, outputs, unit)

    @property
    def size(self) -> float:
        """The unit of the residuals, in the units of y."""
        return self.unit * float(self.outputs.scale)

    @property
    def n_outliers(self) -> int:
        """Rows with a residual that does not count."""
        return int(np.isfinite(self.residuals).sum() - self.inliers.sum())


def _without_rounding(residuals: Array, y: Array) -> Array:
    """Zero where a prediction is as near to y as floats are."""
    return np.where(np.abs(residuals) <= ROUNDING * np.abs(y), 0.0, residuals)


def _tamed(residuals: Array, inliers: Mask) -> Array:
    """Residuals with wild ones cut off.

    The optimum does not see how far a soft band misses a row, but units, tuning and solver do:
    single outputs of 10⁶ would leave no digits for the others.
    """
    limit = _WILD * float(np.quantile(np.abs(residuals[inliers]), _COMMON, method="lower"))
    return np.clip(residuals, -limit, limit) if limit > 0 else residuals


def _inliers(residuals: Array, threshold: float | None) -> Mask:
    """Known residuals, but for those beyond `threshold` robust standard deviations of them."""
    known = np.isfinite(residuals)
    if threshold is None:
        return known
    centred = np.abs(residuals - np.median(residuals[known]))
    deviation = 1.4826 * float(np.median(centred[known]))
    inliers = known & ~((centred > threshold * deviation) & (deviation > 0))
    if inliers.sum() < min(5, known.sum()):
        raise ValueError(
            f"remove_outliers={threshold!r} leaves {inliers.sum()} of {len(residuals)} rows "
            "to learn from, at least 5 are needed: raise it"
        )
    return inliers
