"""The paper's test case 1 with a joint mean, the problem of most benchmarks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sosbands import BandProblem, Gaussian, Kernel
from sosbands.datasets import case

Array = npt.NDArray[np.float64]

SCALE_KERNEL = Gaussian(0.3)
MEAN_KERNEL = Gaussian(0.15)


def problem(n: int, seed: int, *, width_weight: float) -> BandProblem:
    """A hard band with θᶠ = 0.3 and a = 0 around a mean that is learned jointly."""
    X, y = case(1).sample(n, random_state=seed)
    return BandProblem.from_data(
        X,
        y,
        mean_kernel=MEAN_KERNEL,
        mean_bound=ridge_norm(X, y, MEAN_KERNEL),
        scale_kernel=SCALE_KERNEL,
        width_weight=width_weight,
    )


def ridge_norm(X: Array, y: Array, kernel: Kernel) -> float:
    """s = ‖m‖² = αᵀKα of the ridge fit α = (K + 0.3 I)⁻¹ y to the first rows, at most 1000."""
    K, y = kernel(X[:1000], X[:1000]), y[:1000]
    alpha = np.linalg.solve(K + 0.3 * np.eye(len(K)), y)
    return float(alpha @ K @ alpha)
