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
from sosbands.learning.stacking_weights import stacking_weights
from sosbands.types import Array

# A smaller weight of the kernel mean is none: it changes no digit that counts.
_LEAST_SHARE = 1e-6
# How much the ranks of inputs count beside their numbers, with fewer rows than these and with more.
# .7 instead of .5: 50 and 90 % intervals around boosting score .967 and .967 on airfoil, .997 and
# .993 on concrete (seeds 0–7), 1.00 and .993 on 1500 rows of bike_uci, 1.001 and .999 of california
# (seeds 0–2); 1.09 ± .13 on yacht, which has 154. 1 instead of .7: 1.08 on airfoil at .5.
_MANY_ROWS, _RANK_SHARES = 500, (0.5, 0.7)
# The kernel, likewise. Matérn's instead of the Gaussian one: 50 and 90 % intervals around boosting
# score .960 and .965 on concrete (seeds 0–7), .881 and .906 on airfoil (seeds 0–3), .991 and .995
# on 1500 rows of bike_uci, .967 and .969 of california (seeds 0–2); 1.02 ± .06 and 1.08 ± .09 on
# yacht (seeds 0–7).
_KERNELS = "gaussian", "matern32"


@dataclass(frozen=True, eq=False)
class Blend:
    """c = (1 − w) m + w k, with the prediction m of a given model and a kernel mean k of y.

    Attributes
    ----------
    kernel_mean : KernelMean
        k, of inputs between their numbers and their ranks.
    ranks : InputRanks
    weight : float
        w, in (0, 1].
    rank_share : float
        How much the ranks count beside the numbers, in [0, 1].
    """

    kernel_mean: KernelMean
    ranks: InputRanks
    weight: float
    rank_share: float = _RANK_SHARES[0]

    def __call__(self, prediction: Array, Z: Array) -> Array:
        """c at rows with these predictions and these inputs, as `VaryingInputs` has them."""
        other = self.kernel_mean.predict(_between(Z, self.ranks, self.rank_share))
        return np.asarray((1 - self.weight) * prediction + self.weight * other)


def kernel_of_blend(n: int) -> str:
    """The kernel of the kernel mean beside a model of n rows: many show what is rough."""
    return _KERNELS[n >= _MANY_ROWS]


def blended(
    rows: PreparedRows, model: KernelMean, *, exchangeable: bool, **limits: int
) -> tuple[PreparedRows, Blend | None]:
    """Rows with what a blend predicts for them in place of the mean, and the blend, if it helps.

    The kernel mean is fitted, within `Rules.blend_limits`. Rows that are not `exchangeable` are
    predicted without their folds.
    """
    Z, y, weights = rows.inputs(rows.B), rows.y, rows.weights
    ranks, rank_share = InputRanks.of(Z), _RANK_SHARES[len(y) >= _MANY_ROWS]
    inputs, folds = _between(Z, ranks, rank_share), None if exchangeable else rows.folds
    model.fit_by(inputs, y, weights, **limits)
    held_out = model.held_out(inputs, y, folds, weights, max_rank=limits["max_rank"])
    P = np.column_stack([rows.mean.predictions, held_out])
    known = np.all(np.isfinite(P), axis=1)
    counts = None if weights is None else weights[known]
    share = float(stacking_weights(P[known], y[known], counts)[1])
    if share < _LEAST_SHARE:
        return rows, None
    mean = replace(rows.mean, predictions=(1 - share) * P[:, 0] + share * held_out)
    return replace(rows, mean=mean), Blend(model, ranks, share, rank_share)


def _between(Z: Array, ranks: InputRanks, share: float) -> Array:
    """Standardised inputs between their numbers and their ranks."""
    return np.asarray((1 - share) * Z + share * np.sqrt(12) * ranks(Z))  # ranks vary by 1/12
