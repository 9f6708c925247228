"""What bands around a given model go around: its prediction, averaged with a kernel mean of y.

On few rows no single model is the best everywhere, and what a model leaves of a smooth y is hardly
smooth itself: a second model of y says more than one of the residuals. Both are weighed by how well
they predict rows that they did not see.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sosbands.learning.input_ranks import InputRanks
from sosbands.learning.kernel_mean import KernelMean
from sosbands.learning.prepared_rows import PreparedRows
from sosbands.learning.stacking import stacking_weights
from sosbands.types import Array

# A smaller weight of the kernel mean is none: it changes no digit that counts.
_LEAST_SHARE = 1e-6


@dataclass(frozen=True, eq=False)
class Blend:
    """c = (1 − w) m + w k, with the prediction m of a given model and a kernel mean k of y.

    Attributes
    ----------
    kernel_mean : KernelMean
        k, of inputs halfway between their numbers and their ranks.
    ranks : InputRanks
    weight : float
        w, in (0, 1].
    """

    kernel_mean: KernelMean
    ranks: InputRanks
    weight: float

    def __call__(self, prediction: Array, Z: Array) -> Array:
        """c at rows with these predictions and these inputs, as `VaryingInputs` has them."""
        other = self.kernel_mean.predict(_halfway(Z, self.ranks))
        return np.asarray((1 - self.weight) * prediction + self.weight * other)


def blended(
    rows: PreparedRows, model: KernelMean, *, exchangeable: bool, **limits: int
) -> tuple[PreparedRows, Blend | None]:
    """Rows with what a blend predicts for them in place of the mean, and the blend, if it helps.

    The kernel mean is fitted, within `Rules.blend_limits`. Rows that are not `exchangeable` are
    predicted without their folds.
    """
    Z, y, weights = rows.inputs(rows.B), rows.y, rows.weights
    ranks = InputRanks.of(Z)
    inputs, folds = _halfway(Z, ranks), None if exchangeable else rows.folds
    model.fit_by(inputs, y, weights, **limits)
    held_out = model.held_out(inputs, y, folds, weights, max_rank=limits["max_rank"])
    P = np.column_stack([rows.mean.predictions, held_out])
    known = np.all(np.isfinite(P), axis=1)
    counts = None if weights is None else weights[known]
    share = float(stacking_weights(P[known], y[known], counts)[1])
    if share < _LEAST_SHARE:
        return rows, None
    mean = replace(rows.mean, predictions=(1 - share) * P[:, 0] + share * held_out)
    return replace(rows, mean=mean), Blend(model, ranks, share)


def _halfway(Z: Array, ranks: InputRanks) -> Array:
    """Standardised inputs between their numbers and their ranks, which count alike."""
    return np.asarray(0.5 * (Z + np.sqrt(12) * ranks(Z)))  # equally likely ranks vary by 1/12
