"""Adaptive, distribution-free prediction intervals with kernel sum-of-squares bands."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sosbands.core.kernels import Gaussian, Kernel, Linear, Matern
    from sosbands.core.problem import BandProblem
    from sosbands.core.solvers import (
        SDP,
        Accelerated,
        Certificate,
        Newton,
        Solution,
        Solver,
        Status,
    )
    from sosbands.estimator import BandRegressor
    from sosbands.learning.kernel_band import KernelBand
    from sosbands.learning.kernel_mean import KernelMean
    from sosbands.learning.score_tuning import tune_score
    from sosbands.learning.stacking import StackedMean
    from sosbands.persistence import load, save
    from sosbands.plotting import BandDisplay, CoverageDisplay, TuningDisplay
    from sosbands.scoring import coverage_scorer, interval_scorer

# Where each public name lives; modules are imported when a name is first used (PEP 562).
_HOMES = {
    "BandDisplay": "sosbands.plotting",
    "BandProblem": "sosbands.core.problem",
    "BandRegressor": "sosbands.estimator",
    "CoverageDisplay": "sosbands.plotting",
    "TuningDisplay": "sosbands.plotting",
    "KernelBand": "sosbands.learning.kernel_band",
    "KernelMean": "sosbands.learning.kernel_mean",
    "StackedMean": "sosbands.learning.stacking",
    "Gaussian": "sosbands.core.kernels",
    "Kernel": "sosbands.core.kernels",
    "Linear": "sosbands.core.kernels",
    "Matern": "sosbands.core.kernels",
    "Accelerated": "sosbands.core.solvers",
    "Certificate": "sosbands.core.solvers",
    "Newton": "sosbands.core.solvers",
    "SDP": "sosbands.core.solvers",
    "Solution": "sosbands.core.solvers",
    "Solver": "sosbands.core.solvers",
    "Status": "sosbands.core.solvers",
    "coverage_scorer": "sosbands.scoring",
    "interval_scorer": "sosbands.scoring",
    "load": "sosbands.persistence",
    "save": "sosbands.persistence",
    "tune_score": "sosbands.learning.score_tuning",
}

__all__ = [
    "SDP",
    "Accelerated",
    "BandDisplay",
    "BandProblem",
    "BandRegressor",
    "Certificate",
    "CoverageDisplay",
    "Gaussian",
    "Kernel",
    "KernelBand",
    "KernelMean",
    "Linear",
    "Matern",
    "Newton",
    "Solution",
    "Solver",
    "StackedMean",
    "Status",
    "TuningDisplay",
    "coverage_scorer",
    "interval_scorer",
    "load",
    "save",
    "tune_score",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its module on first use."""
    if name == "__version__":
        return import_module("importlib.metadata").version("sosbands")
    if name not in _HOMES:
        raise AttributeError(f"module 'sosbands' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted([*globals(), *__all__])
