"""The paper's problem, after step 1 of its algorithm 1: a Gaussian process fixes θᵐ and ‖m_GP‖²."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sosbands import BandProblem, Gaussian
from sosbands.learning.gaussian_process import fit_gaussian_process
from sosbands.types import Array


def joint_mean(X: Array, y: Array) -> dict[str, Any]:
    """kᵐ and s of a mean that is learned with the band, as `BandProblem.from_data` takes them."""
    process = fit_gaussian_process(X, y, random_state=0)
    return {
        "mean_kernel": Gaussian(process.kernel.lengthscale),
        "mean_bound": process.squared_norm,
    }


def problems(
    X: Array, y: Array, lengthscales: Sequence[float], *, width_weight: float
) -> list[BandProblem]:
    """The paper's problem with a = 0 and λ₁ = λ₂ = 1, one for each θᶠ."""
    mean = joint_mean(X, y)
    return [
        BandProblem.from_data(
            X, y, **mean, scale_kernel=Gaussian(lengthscale), width_weight=width_weight
        )
        for lengthscale in lengthscales
    ]
