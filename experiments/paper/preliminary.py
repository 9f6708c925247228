"""Step 1 of the paper's algorithm 1: a Gaussian process fixes θᵐ and s = ‖m_GP‖²."""

from __future__ import annotations

from typing import Any

from sosbands import Gaussian
from sosbands.gaussian_process import fit_gaussian_process
from sosbands.types import Array


def joint_mean(X: Array, y: Array) -> dict[str, Any]:
    """kᵐ and s of a mean that is learned with the band, as `BandProblem.from_data` takes them."""
    process = fit_gaussian_process(X, y, random_state=0)
    return {
        "mean_kernel": Gaussian(process.kernel.lengthscale),
        "mean_bound": process.squared_norm,
    }
