"""HSIC between out-of-fold r² and f, for one lengthscale: appendix 'Cross-validation', 5 folds."""

from __future__ import annotations

from joblib import Parallel
from sklearn.model_selection import KFold

from experiments.paper.preliminary import joint_mean
from sosbands import BandProblem, Gaussian, Newton
from sosbands.tuning import CrossFit, cross_fit
from sosbands.types import Array

FOLDS, TOL = 5, 1e-4


def problems(
    X: Array, y: Array, lengthscales: list[float], *, width_weight: float
) -> list[BandProblem]:
    """The paper's problem with a = 0 and λ₁ = λ₂ = 1, one for each θᶠ."""
    mean = joint_mean(X, y)
    return [
        BandProblem.from_data(
            X, y, **mean, scale_kernel=Gaussian(lengthscale), width_weight=width_weight
        )
        for lengthscale in lengthscales
    ]


def held_out(problem: BandProblem, seed: int) -> CrossFit:
    """Residuals and scales of every row, by bands that have not seen the row's fold."""
    folds = list(KFold(FOLDS, shuffle=True, random_state=seed).split(problem.X))
    return cross_fit(problem, folds, [Newton(tol=TOL)] * FOLDS, Parallel(n_jobs=1))[0]


def hsic(problem: BandProblem, seed: int) -> float:
    """The paper's criterion."""
    return held_out(problem, seed).dependence("hsic", power=2)
