"""The settings of a band, checked once; their meaning is documented in `BandRegressor`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from sosbands.core.solvers import SDP, Accelerated, Newton, Solver
from sosbands.learning.neighbours import NeighbourMean

_SOLVERS: dict[str, type[Solver]] = {"newton": Newton, "accelerated": Accelerated, "sdp": SDP}
_CHOICES = {
    "kernel_mean": ("gp", "joint"),
    "anisotropy": ("likelihood", "hsic", "none"),
    "criterion": ("hsic", "distance_correlation", "mutual_information"),
}
_AUTOMATIC = (
    "mean_weight",
    "width_weight",
    "training_coverage",
    "prediction_weight",
    "caution",
    "shift_power",
)
# The least b, and what b is multiplied with for tuning.
_LEAST_WIDTH_WEIGHT, _WIDTH_FACTORS = 10.0, (1.0, 3.0, 10.0)
# With fewer rows than these neither neighbours nor trees guess the size of residuals.
_NEIGHBOUR_ROWS, _TREE_ROWS = 100, 500
_NEIGHBOURS = 15
# With fewer rows the band around a kernel mean, and around a given one, is symmetric unless the
# user says otherwise.
_TWO_SIDED_ROWS, _LEAST_TWO_SIDED_ROWS = 300, 100
# Around a given mean and around a kernel mean, which itself is worse away from the data.
_CAUTION, _KERNEL_MEAN_CAUTION = 1.0, 2.0
# Rows that know relative widths well enough for half the power of a proportional shift.
_SHIFT_ROWS = 200
# τ of symmetric and of two-sided bands.
_COVERAGE, _TWO_SIDED_COVERAGE = 0.8, 0.9
# a for a two-sided band with a joint mean: without it the mean hides behind one of the sides.
_TWO_SIDED_MEAN_WEIGHT = 1000.0


@dataclass(frozen=True)
class BandSettings:
    """What `BandRegressor` says about the band, its mean and its tuning."""

    symmetric: Any
    lengthscale: Any
    anisotropy: str
    mean_lengthscale: Any
    kernel_mean: str
    mean_weight: Any
    width_weight: Any
    trace_penalty: float
    ridge_penalty: float
    training_coverage: Any
    prediction_weight: Any
    difficulty: Any
    caution: Any
    shift_power: Any
    offset: float
    standardize: bool
    criterion: str
    residual_power: int
    remove_outliers: float | None
    solver: Any
    tol: float
    max_rank: int | None
    n_jobs: int | None
    verbose: int

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """The settings among an estimator's parameters."""
        return cls(**{item.name: getattr(estimator, item.name) for item in fields(cls)})

    def __post_init__(self) -> None:
        """Refuse what means nothing, in one sentence each."""
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {allowed}, got {getattr(self, name)!r}")
        if not isinstance(self.standardize, bool | np.bool_):
            raise ValueError(f"standardize must be True or False, got {self.standardize!r}")
        if self.symmetric not in (True, False, "auto"):
            raise ValueError(f'symmetric must be True, False or "auto", got {self.symmetric!r}')
        if self.difficulty not in ("auto", None) and not hasattr(self.difficulty, "fit"):
            raise ValueError(
                f'difficulty must be "auto", None or a regressor, got {self.difficulty!r}'
            )
        _check_lengthscale("lengthscale", self.lengthscale, ("hsic",))
        _check_lengthscale("mean_lengthscale", self.mean_lengthscale, ("gp", "gp-isotropic"))
        for name in _AUTOMATIC:
            if getattr(self, name) != "auto":
                _check_number(name, getattr(self, name), automatic=True)
        if self.shift_power != "auto" and self.shift_power > 1:
            raise ValueError(f'shift_power must be "auto" or from 0 to 1, got {self.shift_power!r}')
        for name in ("trace_penalty", "ridge_penalty", "offset"):
            _check_number(name, getattr(self, name))
        if self.remove_outliers is not None:
            _check_number("remove_outliers", self.remove_outliers, positive=True)
        _check_number("tol", self.tol, positive=True)
        if self.residual_power not in (1, 2):
            raise ValueError(f"residual_power must be 1 or 2, got {self.residual_power!r}")
        if self.max_rank is not None and not (
            isinstance(self.max_rank, Integral) and self.max_rank > 0
        ):
            raise ValueError(f"max_rank must be a whole number >= 1, got {self.max_rank!r}")
        self.solver_with(self.tol)

    @property
    def joint(self) -> bool:
        """Whether the kernel mean is learned together with the band."""
        return self.kernel_mean == "joint"

    def sides(self, n: int, *, own_mean: bool) -> tuple[bool, ...]:
        """The values of `symmetric` to choose from.

        What a model leaves is rarely symmetric; what a Gaussian process leaves usually is, and few
        rows cannot tell.
        """
        if self.symmetric != "auto":
            return (bool(self.symmetric),)
        if not own_mean:
            return (n < _LEAST_TWO_SIDED_ROWS,)
        return (True, False) if n >= _TWO_SIDED_ROWS else (True,)

    def training_coverage_for(self, *, symmetric: bool) -> float:
        """τ: a two-sided band is calibrated by a shift, and wants to be near its final level."""
        if self.training_coverage == "auto":
            return _COVERAGE if symmetric else _TWO_SIDED_COVERAGE
        return float(self.training_coverage)

    @property
    def soft(self) -> bool:
        """Whether the band may miss training rows."""
        return self.training_coverage_for(symmetric=True) < 1

    @property
    def width_factors(self) -> tuple[float, ...]:
        """Multiples of `width_weight_for` to choose from."""
        return _WIDTH_FACTORS if self.width_weight == "auto" else (1.0,)

    def width_weight_for(self, n: int) -> float:
        """b for n rows."""
        if self.width_weight == "auto":
            return max(_LEAST_WIDTH_WEIGHT, min(0.1 * n, 5.0 * float(np.sqrt(n))))
        return float(self.width_weight)

    def mean_weight_for(self, *, symmetric: bool) -> float:
        """a for a joint mean."""
        if self.mean_weight == "auto":
            return 0.0 if symmetric else _TWO_SIDED_MEAN_WEIGHT
        return float(self.mean_weight)

    def prediction_weight_for(self, *, own_mean: bool) -> float:
        """How much the prediction counts among the inputs of the scale.

        Around a kernel mean it repeats what the inputs say; around a model it often says more.
        """
        if self.prediction_weight != "auto":
            return float(self.prediction_weight)
        if own_mean:
            return 0.0
        return 3.0 if self.anisotropy == "none" else 1.0

    def caution_for(self, n_inputs: int, *, own_mean: bool) -> float:
        """How much wider a band gets away from the data: a single input has no empty corners."""
        if self.caution != "auto":
            return float(self.caution)
        if n_inputs == 1:
            return 0.0
        return _KERNEL_MEAN_CAUTION if own_mean else _CAUTION

    def shift_power_for(self, n: int) -> float:
        """How much the shift follows the width: few rows know the width of narrow bands badly."""
        return n / (n + _SHIFT_ROWS) if self.shift_power == "auto" else float(self.shift_power)

    def difficulty_for(self, n: int, *, least_fold: int, own_mean: bool) -> Any | None:
        """The regressor that makes a first guess of the size of the residuals.

        It is fitted to n rows, and to those of the folds, which have at least `least_fold`.
        """
        if self.difficulty != "auto":
            return self.difficulty
        if own_mean or n < _NEIGHBOUR_ROWS:
            return None
        if n < _TREE_ROWS:
            return NeighbourMean(min(_NEIGHBOURS, least_fold))
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(
            loss="quantile", quantile=0.85, early_stopping=False, random_state=0
        )

    def solver_with(self, tol: float) -> Solver:
        """The solver, with this tolerance."""
        if isinstance(self.solver, Solver):
            return self.solver
        if not isinstance(self.solver, str) or self.solver not in _SOLVERS:
            raise ValueError(
                f"solver must be a Solver or one of {tuple(_SOLVERS)}, got {self.solver!r}"
            )
        return _SOLVERS[self.solver](tol=tol)  # type: ignore[call-arg]


def _check_lengthscale(name: str, value: Any, words: Sequence[str]) -> None:
    if isinstance(value, str):
        if value not in words:
            raise ValueError(f"{name} must be one of {tuple(words)} or positive, got {value!r}")
        return
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.ndim > 1 or not np.all((numbers > 0) & np.isfinite(numbers)):
        raise ValueError(
            f"{name} must be one of {tuple(words)}, a positive number or one per input, "
            f"got {value!r}"
        )


def _check_number(
    name: str, value: Any, *, positive: bool = False, automatic: bool = False
) -> None:
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    if not np.isfinite(number) or number < 0 or (positive and number == 0):
        words = '"auto" or ' if automatic else ""
        raise ValueError(
            f"{name} must be {words}a number {'>' if positive else '>='} 0, got {value!r}"
        )
