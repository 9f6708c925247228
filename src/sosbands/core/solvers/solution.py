"""What a solver returns: a status, a certificate, and mean and scale at new points."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sosbands.core.checks import checked_array
from sosbands.core.expansions import BandFunctions
from sosbands.core.primal import Point
from sosbands.core.problem import BandProblem
from sosbands.types import Array


class Status(Enum):
    """How a solve ended; the value is advice for the user.

    Examples
    --------
    >>> from sosbands import Status
    >>> Status.CONVERGED.optimal, Status.STALLED.optimal
    (True, False)
    >>> Status.CONVERGED.value
    'the certified gap is within the tolerance'
    """

    CONVERGED = "the certified gap is within the tolerance"
    ZERO_SCALE = (
        "f = 0 is optimal: width_weight is too small beside trace_penalty for this "
        "training_coverage; raise width_weight or lower trace_penalty"
    )
    ITERATION_LIMIT = (
        "the iteration limit came first; the gap says how far the solution is: raise max_iter, or "
        "tol"
    )
    STALLED = (
        "no more progress: rounding errors, or diverging steps; the gap says how far the solution "
        "is: raise tol, or bring the weights and penalties closer to each other"
    )
    INFEASIBLE = (
        "no f can cover a row where every feature of the scale kernel vanishes; give the kernel an "
        "offset, raise max_rank, or allow misses with training_coverage < 1"
    )

    @property
    def optimal(self) -> bool:
        """Whether the solution is certified to the tolerance asked for."""
        return self in (Status.CONVERGED, Status.ZERO_SCALE)


@dataclass(frozen=True)
class Certificate:
    """What proves a solution: a dual value, a feasible primal value, and the gap between them.

    Attributes
    ----------
    status : Status
        How the solve ended.
    dual_value, primal_value : float
        D(Γ, θ) ≤ optimum ≤ the objective of the returned, feasible point. Where the fit is many
        times the band, the gap is more accurate than the difference of these two.
    gap : float
        (p − d) / (p − (a/n)‖r‖²).
    violation : float
        Largest unmet requirement before the repair, as a fraction of the largest requirement; 0
        for a soft band, where misses are part of the value.
    iterations : int
        Inner iterations in total.
    active_rows : int
        Rows with a positive multiplier.
    rank : int
        Rank of A, summed over the sides.
    trace_residual : float
        What the features leave out of the kernels' traces: the gap holds on their span.
    seconds : dict
        Time by phase.

    Examples
    --------
    >>> from sosbands import BandProblem, Gaussian, Newton
    >>> problem = BandProblem.from_data([0, 1, 2], [0.1, -0.4, 1.5], scale_kernel=Gaussian(1.0))
    >>> certificate = Newton(tol=1e-6).solve(problem).certificate
    >>> certificate.status.name, certificate.gap < 1e-6
    ('CONVERGED', True)
    """

    status: Status
    dual_value: float
    primal_value: float
    gap: float
    violation: float
    iterations: int
    active_rows: int
    rank: int
    trace_residual: float
    seconds: dict[str, float]


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """A solved band problem.

    Examples
    --------
    >>> from sosbands import BandProblem, Gaussian, Newton
    >>> problem = BandProblem.from_data([0, 1, 2], [0.1, -0.4, 1.5], scale_kernel=Gaussian(1.0))
    >>> solution = Newton().solve(problem)
    >>> solution.scale([[0.5], [1.5]]).shape
    (2,)
    >>> solution.dual_value <= solution.primal_value
    True
    """

    problem: BandProblem
    point: Point
    multipliers: Array
    theta: float
    certificate: Certificate
    history: tuple[tuple[int, float], ...]

    def __repr__(self) -> str:
        """One line: status, gap and problem."""
        return f"Solution({self.status.name}, gap={self.gap:.1e}, {self.problem!r})"

    @property
    def status(self) -> Status:
        """How the solve ended."""
        return self.certificate.status

    @property
    def dual_value(self) -> float:
        """D(Γ, θ), a lower bound of the optimum."""
        return self.certificate.dual_value

    @property
    def primal_value(self) -> float:
        """The objective of the returned feasible point."""
        return self.certificate.primal_value

    @property
    def gap(self) -> float:
        """Certified relative gap."""
        return self.certificate.gap

    def mean(self, X: Array) -> Array:
        """m at new points, of shape (n,)."""
        X = self._inputs(X)
        if self.point.basis.mean is None or self.point.z is None:
            if self.problem.mean_function is None:
                raise ValueError(
                    "the mean was given by its values at the training rows; pass a function as "
                    "BandProblem.from_data(mean=...) to have it at new points"
                )
            return checked_array("mean", self.problem.mean_function(X), ndim=1)
        return self.point.basis.mean.features.expansion(self.point.z).sums(X)

    def scale(self, X: Array) -> Array:
        """√f at new points, of shape (n,); f_low and f_up of shape (n, 2) for a two-sided band."""
        return self.functions.scale(self._inputs(X))

    @property
    def functions(self) -> BandFunctions:
        """m and f alone, without the problem and its rows."""
        parts = zip(self.point.basis.scales, self.point.factors, strict=True)
        mean = self.point.basis.mean
        return BandFunctions(
            (tuple(side.features.expansion(R) for side, R in parts),),
            None if mean is None or self.point.z is None else mean.features.expansion(self.point.z),
        )

    def _inputs(self, X: Array) -> Array:
        X = checked_array("X", X, ndim=2)
        if X.shape[1] != self.problem.X.shape[1]:
            raise ValueError(f"X must have shape (n, {self.problem.X.shape[1]}), got {X.shape}")
        return X
