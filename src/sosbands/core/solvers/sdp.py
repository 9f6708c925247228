"""The band problem as a semidefinite program, stated in CVXPY: the slow twin of every other solver.

Form A (Theorem 2) has the unknown A ∈ S₊ⁿ and f = diag(ΦAΦᵀ), with Φ the full Cholesky factor of
K = ΦΦᵀ. Form B (Theorem 1) has B ∈ S₊ⁿ and f = diag(KBK); then A = ΦᵀBΦ, tr A = tr KB and
‖A‖² = tr KBKB. Both have n²/2 unknowns per side, so that n is limited to a few hundred rows; in
return λ₂ may be 0. Form B squares the condition number of K: for smooth kernels, prefer form A.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from sosbands.core.dual import shrunk
from sosbands.core.features import Basis
from sosbands.core.primal import Point, evaluate
from sosbands.core.problem import BandProblem
from sosbands.core.solvers.base import Candidate, Clock, Solver
from sosbands.core.solvers.extras import import_cvxpy
from sosbands.core.solvers.solution import Status
from sosbands.types import Array

# An interior point never reaches f = 0: below this fraction of the largest requirement it is meant.
_ZERO_SCALE = 1e-7

_ITERATION_OPTION = {"CLARABEL": "max_iter", "SCS": "max_iters"}
_ACCURATE: dict[str, dict[str, float]] = {
    "CLARABEL": {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10},
    "SCS": {"eps_abs": 1e-7, "eps_rel": 1e-7},
}


@dataclass(frozen=True)
class SDP(Solver):
    """An off-the-shelf conic solver on the primal problem.

    The backend runs once, on outputs brought to unit size; its point is repaired and certified like
    that of any other solver. Beside the phases "statement" (the translation into cones) and "solve"
    (what CVXPY adds to the backend), ``certificate.seconds["backend"]`` is the time that the
    backend itself reports.

    Parameters
    ----------
    form : {"A", "B"}, default="A"
        Which matrix is the unknown.
    backend : {"CLARABEL", "SCS"}, default="CLARABEL"
        An interior-point method, accurate; or the first-order method that the paper uses.
    tol : float, default=1e-6
        Certified relative gap asked for; it does not set the backend's tolerances.
    max_iter : int, default=100000
        Iterations of the backend.
    options : mapping, optional
        Options for the backend, instead of tolerances of 1e-10 (Clarabel) or 1e-7 (SCS). An empty
        mapping leaves the backend its own defaults.
    verbose : bool, default=False
        Show the backend's own log.

    Examples
    --------
    >>> from sosbands import SDP, BandProblem, Gaussian, Newton
    >>> problem = BandProblem.from_data([0, 1, 2], [0.1, -0.4, 1.5], scale_kernel=Gaussian(1.0))
    >>> slow, fast = SDP().solve(problem), Newton().solve(problem)
    >>> abs(slow.primal_value / fast.primal_value - 1) < 1e-5
    True
    """

    form: Literal["A", "B"] = "A"
    backend: Literal["CLARABEL", "SCS"] = "CLARABEL"
    tol: float = 1e-6
    max_iter: int = 100_000
    options: Mapping[str, Any] | None = field(default=None, hash=False)
    verbose: bool = False
    needs_ridge: ClassVar[bool] = False
    takes_likeness: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse settings that do not exist, and a missing CVXPY."""
        self._check_settings()
        if self.form not in ("A", "B"):
            raise ValueError(f'form must be "A" or "B", got {self.form!r}')
        if self.backend not in tuple(_ACCURATE):  # a list could not be looked up
            raise ValueError(f'backend must be "CLARABEL" or "SCS", got {self.backend!r}')
        if self.options is not None and not isinstance(self.options, Mapping):
            raise ValueError(
                f"options must map names of the backend's options to values, got {self.options!r}"
            )
        if not isinstance(self.verbose, bool):
            raise ValueError(f"verbose must be True or False, got {self.verbose!r}")
        import_cvxpy()

    def candidates(self, problem: BandProblem, clock: Clock) -> Iterator[Candidate]:
        """Yield the backend's only point."""
        with clock.phase("features"):
            basis = problem.full_basis
        with clock.phase("statement"):
            units = Units.of(problem)
            program = Program.of(problem, basis, units, self.form)
            program.compile(self.backend, self._backend_options())
        with clock.phase("solve"):
            report = program.solve(self.backend, self._backend_options())
        # Phases add up to the total, so the backend's share moves out of "solve".
        clock.seconds["backend"] = report.seconds
        clock.seconds["solve"] = max(clock.seconds["solve"] - report.seconds, 0.0)
        if not report.has_point:
            yield Candidate.zero(
                problem, basis, iterations=report.iterations, verdict=report.verdict
            )
            return
        with clock.phase("recovery"):
            candidate = program.candidate(problem, basis, units, report)
        yield candidate

    def _backend_options(self) -> dict[str, Any]:
        chosen = _ACCURATE[self.backend] if self.options is None else self.options
        limit = {_ITERATION_OPTION[self.backend]: self.max_iter}
        return {"verbose": self.verbose, **limit, **chosen}


@dataclass(frozen=True)
class Units:
    """The same problem with outputs c·y, c = 1/√mean(y²): backends stop at absolute tolerances.

    Symmetric: s → c²s, λ₂ → λ₂/c², A = A′/c², θ = θ′. Two-sided: f is in units of y, so a → a/c,
    λ₂ → λ₂/c, A = A′/c, θ = cθ′. Γ and z/√s stay as they are.
    """

    c: float
    power: int

    @classmethod
    def of(cls, problem: BandProblem) -> Units:
        """Outputs of unit root mean square."""
        return cls(float(1 / np.sqrt(np.mean(problem.targets**2))), 2 if problem.symmetric else 1)

    @property
    def scale(self) -> float:
        """f′ / f."""
        return self.c**self.power

    @property
    def fit(self) -> float:
        """a′ / a."""
        return self.scale / self.c**2


@dataclass(frozen=True)
class BackendReport:
    """What the backend reports."""

    has_point: bool
    verdict: Status
    iterations: int
    seconds: float


@dataclass(frozen=True)
class Program:
    """The program in CVXPY, with the expressions and constraints that are read off afterwards."""

    program: Any
    form: str
    matrices: tuple[Any, ...]
    z: Any
    coverage: tuple[Any, ...]
    ball: Any

    @classmethod
    def of(cls, problem: BandProblem, basis: Basis, units: Units, form: str) -> Program:
        """State the problem for the unknown A or B of each side."""
        cp = import_cvxpy()
        z, residuals, ball = _mean_part(problem, basis, units)
        constraints = [] if ball is None else [ball]
        terms: list[Any] = []  # a term of weight 0 would still cost the backend its variables
        if problem.mean_weight:
            terms.append(
                problem.mean_weight * units.fit / problem.total_weight * cp.sum_squares(residuals)
            )
        matrices, coverage = [], []
        for side, part in enumerate(basis.scales):
            matrix = cp.Variable((problem.n, problem.n), PSD=True)
            f, trace = _scale_part(matrix, part.rows, form)
            terms.append(problem.width_weight / problem.total_weight * cp.sum(f))
            terms.append(problem.trace_penalty * trace)
            if problem.ridge_penalty:
                squared, definitions = _squared_norm(matrix, part.rows, form)
                terms.append(problem.ridge_penalty / units.scale * squared)
                constraints += definitions
            if problem.soft:
                slack = cp.Variable(problem.n, nonneg=True)
                terms.append(problem.multiplier_bound * cp.sum(slack))
                f = f + slack
            matrices.append(matrix)
            required = _required(residuals, side, problem)
            if problem.reached is not None:
                required = required - units.scale * problem.reached[side]
            coverage.append(f >= required)
        program = cp.Problem(cp.Minimize(sum(terms)), [*coverage, *constraints])
        return cls(program, form, tuple(matrices), z, tuple(coverage), ball)

    def compile(self, backend: str, options: Mapping[str, Any]) -> None:
        """Let CVXPY translate the program into the backend's cones, and keep the result."""
        self.program.get_problem_data(backend, solver_opts=dict(options))

    def solve(self, backend: str, options: Mapping[str, Any]) -> BackendReport:
        """Run the backend; its failures become verdicts, never exceptions or warnings."""
        cp = import_cvxpy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.program.solve(solver=backend, **options)
            except cp.SolverError:
                return BackendReport(False, Status.STALLED, 0, 0.0)
        stats = self.program.solver_stats
        seconds = float(stats.solve_time or 0.0) + float(stats.setup_time or 0.0)
        has_point = all(matrix.value is not None for matrix in self.matrices)
        verdicts = {
            cp.INFEASIBLE: Status.INFEASIBLE,
            cp.INFEASIBLE_INACCURATE: Status.INFEASIBLE,
            cp.USER_LIMIT: Status.ITERATION_LIMIT,
        }
        verdict = verdicts.get(self.program.status, Status.STALLED)
        return BackendReport(has_point, verdict, int(stats.num_iters or 0), seconds)

    def candidate(
        self, problem: BandProblem, basis: Basis, units: Units, report: BackendReport
    ) -> Candidate:
        """The backend's point and multipliers in the units of the problem."""
        factors = []
        for matrix, part in zip(self.matrices, basis.scales, strict=True):
            R = _psd_root(np.asarray(matrix.value)) / np.sqrt(units.scale)
            factors.append(R if self.form == "A" else part.rows.T @ R)
        z = None if self.z is None else np.asarray(self.z.value) / units.c
        point = _without_noise(problem, Point(basis, z, tuple(factors)))
        multipliers = np.stack([np.asarray(covered.dual_value) for covered in self.coverage])
        multipliers = np.clip(multipliers, 0.0, problem.multiplier_bound)
        theta = 0.0 if self.ball is None else max(float(np.sum(self.ball.dual_value)), 0.0)
        theta *= units.c**2 / units.scale
        if problem.ridge_penalty == 0:
            multipliers, theta = shrunk(problem, basis, multipliers, theta)
        return Candidate(point, multipliers, theta, report.iterations, verdict=report.verdict)


def _mean_part(problem: BandProblem, basis: Basis, units: Units) -> tuple[Any, Any, Any]:
    """z, r = y − Lz and the constraint ‖z‖² ≤ s; z and the constraint are None for a given mean."""
    cp = import_cvxpy()
    targets = units.c * problem.targets
    if basis.mean is None:
        return None, targets, None
    z = cp.Variable(basis.mean.rows.shape[1])
    return z, targets - basis.mean.rows @ z, cp.sum_squares(z) <= units.c**2 * problem.mean_bound


def _scale_part(matrix: Any, rows: Array, form: str) -> tuple[Any, Any]:
    """f at the rows and tr A, for matrix = A or B."""
    cp = import_cvxpy()
    if form == "A":
        # diag(ΦAΦᵀ) without the n² entries of ΦAΦᵀ
        return cp.sum(cp.multiply(rows @ matrix, rows), axis=1), cp.trace(matrix)
    K = rows @ rows.T
    return cp.sum(cp.multiply(K @ matrix, K), axis=1), cp.sum(cp.multiply(K, matrix))


def _squared_norm(matrix: Any, rows: Array, form: str) -> tuple[Any, list[Any]]:
    """‖A‖² for matrix = A or B, and the constraints that define its variables."""
    cp = import_cvxpy()
    # The squares of a vector: of a symmetric matrix, CVXPY 1.6 and 1.7.0 lose them without a word.
    if form == "A":
        return cp.sum_squares(cp.vec(matrix, order="F")), []
    # A = ΦᵀBΦ in two steps has 2n³ coefficients, in one step n⁴; and the second step is stated for
    # one triangle alone, because redundant equations make the backend fail.
    half, A = cp.Variable(rows.shape), cp.Variable(rows.shape, symmetric=True)
    definitions = [
        half == rows.T @ matrix,
        cp.upper_tri(half @ rows) == cp.upper_tri(A),
        cp.diag(half @ rows) == cp.diag(A),
    ]
    return cp.sum_squares(cp.vec(A, order="F")), definitions


def _required(residuals: Any, side: int, problem: BandProblem) -> Any:
    """r², or −r for the low side and r for the up side."""
    if problem.symmetric:
        return residuals**2
    return problem.signs[side] * residuals


def _psd_root(matrix: Array) -> Array:
    """R with RRᵀ = the positive part of the matrix."""
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    positive = eigenvalues > 0
    return np.asarray(vectors[:, positive] * np.sqrt(eigenvalues[positive]))


def _without_noise(problem: BandProblem, point: Point) -> Point:
    """A = 0 on those sides of a soft band where f is nothing but the backend's error."""
    if not problem.soft:
        return point
    fit = evaluate(problem, point)
    floor = _ZERO_SCALE * float(np.abs(fit.requirements).max())
    factors = tuple(
        R if float(f.max()) > floor else np.zeros((len(R), 1))
        for R, f in zip(point.factors, fit.scales, strict=True)
    )
    return Point(point.basis, point.z, factors)
