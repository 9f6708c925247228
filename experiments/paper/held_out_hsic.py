"""HSIC between out-of-fold r² and f, for one lengthscale: appendix 'Cross-validation', 5 folds."""

from __future__ import annotations

from joblib import Parallel
from sklearn.model_selection import KFold

from sosbands import BandProblem, Newton
from sosbands.learning.cross_fitting import CrossFit, cross_fit

FOLDS, TOL = 5, 1e-4


def held_out(problem: BandProblem, seed: int) -> CrossFit:
    """Residuals and scales of every row, by bands that have not seen the row's fold."""
    folds = list(KFold(FOLDS, shuffle=True, random_state=seed).split(problem.X))
    return cross_fit(problem, folds, [Newton(tol=TOL)] * FOLDS, Parallel(n_jobs=1))[0]


def hsic(problem: BandProblem, seed: int) -> float:
    """The paper's criterion."""
    return held_out(problem, seed).dependence("hsic", power=2)
