"""The dual on any subset of rows: value, gradient, curvature and primal recovery.

With Γ the multipliers of the coverage constraints and θ that of ‖m‖² ≤ s, the dual is

    D(Γ, θ) = min_z { base(z) + Σ Γᵢ requirementᵢ(z) + θ(‖z‖² − s) } − Σ_sides Ω*(M(Γ)),
    M(Γ) = M₀ + Φᵀ diag(Γ) Φ,      Ω*(M) = ‖[M]₊‖² / (4λ₂)                    (Prop. 2),

where ``base`` and M₀ = −λ₁I − (b/n)ΦᵀΦ + … collect everything that does not move. Its gradient is
the constraint violation: ∂D/∂Γᵢ = requirementᵢ − f(xᵢ) and ∂D/∂θ = ‖m‖² − s.

A smoothing μ > 0 replaces A = [M]₊ / (2λ₂) by the solution of A (2λ₂A − M) = μI, that is, it adds
the barrier −μ log det A to the primal problem: path following then sees an analytic function.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, Protocol

import numpy as np
from scipy.linalg import eigh, lapack, solve_triangular

from sosbands.core.problem import BandProblem, Basis
from sosbands.types import Array, Indices

# Up to this many features the curvature is one product of all pairs of features; beyond it, a sum
# of a few Hadamard products (the matrix 1/(sₖ + sₗ) has a tiny numerical rank) is cheaper, to an
# accuracy at which Newton's method gains three digits a step.
_PAIRWISE_FEATURES = 96
_CAUCHY_TOLERANCE = 1e-3


@dataclass(frozen=True)
class ScaleTerm:
    """−Ω*(M₀ + Φᵀ diag(Γ) Φ) for one side of the band, on the rows of Φ."""

    rows: Array
    base: Array
    ridge: float

    def at(self, gamma: Array, smoothing: float = 0.0) -> ScaleState:
        """Evaluate at Γ: one symmetric eigendecomposition."""
        M = (self.rows.T * gamma) @ self.rows + self.base
        eigenvalues, vectors = spectrum(M)
        return ScaleState(self, gamma, smoothing, eigenvalues, vectors)


@dataclass(frozen=True)
class ScaleState:
    """M(Γ) = U diag(m) Uᵀ and what follows from it."""

    term: ScaleTerm
    gamma: Array
    smoothing: float
    eigenvalues: Array
    vectors: Array

    def smoothed(self, smoothing: float) -> ScaleState:
        """The same Γ with another μ, at no cost."""
        return ScaleState(self.term, self.gamma, smoothing, self.eigenvalues, self.vectors)

    @cached_property
    def roots(self) -> Array:
        """s = √(m² + 8λ₂μ)."""
        return np.hypot(self.eigenvalues, np.sqrt(8 * self.term.ridge * self.smoothing))

    @cached_property
    def weights(self) -> Array:
        """Eigenvalues of A: (m + s) / (4λ₂), without cancellation where m < 0."""
        m, s = self.eigenvalues, self.roots
        positive = m > 0
        other = 2 * self.smoothing / np.where(positive, 1.0, np.maximum(s - m, 1e-300))
        return np.where(positive, (m + s) / (4 * self.term.ridge), other)

    @cached_property
    def images(self) -> Array:
        """G = ΦU, the rows in the eigenbasis."""
        return self.term.rows @ self.vectors

    @cached_property
    def values(self) -> Array:
        """f = φᵀAφ at the rows."""
        return (self.images**2) @ self.weights

    @property
    def penalty(self) -> float:
        """Ω*(M), not smoothed: the dual value subtracts it."""
        return float(np.sum(np.maximum(self.eigenvalues, 0.0) ** 2)) / (4 * self.term.ridge)

    @property
    def suboptimality(self) -> float:
        """λ₂‖A‖² − ⟨M, A⟩ + Ω*(M) ≥ 0: what smoothing costs, summed without cancellation."""
        m, alpha, ridge = self.eigenvalues, self.weights, self.term.ridge
        above = ridge * (alpha - m / (2 * ridge)) ** 2
        below = alpha * (ridge * alpha - m)
        return float(np.sum(np.where(m > 0, above, below)))

    @property
    def factor(self) -> Array:
        """R with A = RRᵀ."""
        return self.vectors * np.sqrt(self.weights)

    @property
    def pairs(self) -> int:
        """Columns of `curvature_factor`: the number of pairs of features."""
        return len(self.eigenvalues) * (len(self.eigenvalues) + 1) // 2

    def curvature(self) -> Array:
        """−∂²D/∂Γ∂Γ = Σₖₗ Θₖₗ (GᵢₖGᵢₗ)(GⱼₖGⱼₗ) with the divided differences Θ of m ↦ α.

        Θₖₗ = (αₖ + αₗ) / (sₖ + sₗ), from α = (m + s) / (4λ₂) and s² = m² + const.
        """
        if len(self.eigenvalues) > _PAIRWISE_FEATURES:
            return self._hadamard_curvature()
        factor = self.curvature_factor()
        return factor @ factor.T

    def curvature_factor(self) -> Array:
        """E with EEᵀ = curvature, one column √Θₖₗ GᵢₖGᵢₗ for each pair of features."""
        alpha, s = self.weights, self.roots
        k, ell, times = _pairs(len(s))
        theta = times * (alpha[k] + alpha[ell]) / (s[k] + s[ell])
        columns = np.ascontiguousarray(self.images.T)  # whole rows are gathered faster
        factor = columns[k]
        factor *= columns[ell]
        factor *= np.sqrt(theta)[:, None]
        return factor.T

    def _hadamard_curvature(self, tol: float = _CAUCHY_TOLERANCE) -> Array:
        G, alpha = self.images, self.weights
        out = np.zeros((len(G), len(G)))
        for e in cauchy_factor(self.roots, tol).T:
            out += ((G * (2 * alpha * e)) @ G.T) * ((G * e) @ G.T)
        return out


def spectrum(M: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of a symmetric matrix.

    LAPACK's divide and conquer is the fastest method, but fails on rare matrices whose eigenvalues
    differ by many orders of magnitude; those are left to the one with robust representations.
    """
    try:
        eigenvalues, vectors = np.linalg.eigh(M)
    except np.linalg.LinAlgError:
        eigenvalues, vectors = eigh(M, driver="evr")
    return eigenvalues, vectors


@lru_cache(maxsize=8)
def _pairs(size: int) -> tuple[Indices, Indices, Array]:
    """Pairs k ≤ l, and how often each occurs among all ordered pairs."""
    k, ell = np.triu_indices(size)
    return k, ell, np.where(k == ell, 1.0, 2.0)


def cauchy_factor(s: Array, tol: float) -> Array:
    """E with EEᵀ = [1 / (sₖ + sₗ)] to a relative diagonal error of tol; few columns suffice."""
    # The diagonal scaling √s makes every diagonal entry 1/2, so that tol is relative in each entry.
    root = np.sqrt(s)
    scaled = np.outer(root, root) / np.add.outer(s, s)
    packed, order, rank, _ = lapack.dpstrf(scaled, tol=0.5 * tol, lower=1, overwrite_a=1)
    E = np.empty((len(s), rank))
    E[order - 1] = np.tril(packed)[:, :rank]
    return E / root[:, None]


class MeanState(Protocol):
    """The minimiser z(Γ, θ) and what it requires of f."""

    @property
    def requirements(self) -> Array:
        """What f must reach at each row: r², or ±r."""

    @property
    def value(self) -> float:
        """The minimum."""

    @property
    def z(self) -> Array | None:
        """Coefficients of the mean; None if it is given."""

    @property
    def slack(self) -> float:
        """s − ‖z‖²."""

    @property
    def excess(self) -> float:
        """What z, shrunk onto the ball, costs beyond the minimum."""

    @property
    def fit(self) -> float:
        """(a/n)‖y − m‖² over all rows."""

    @property
    def theta(self) -> float:
        """The multiplier of the ball."""

    def curvature_factor(self) -> Array | None:
        """F of shape (rows + 1, p) with FFᵀ = −∂²D in (Γ, θ); None where D is linear."""


class MeanTerm(Protocol):
    """The part of the dual that comes from the mean."""

    @property
    def bounded(self) -> bool:
        """Whether θ is a variable."""

    def at(self, gamma: Array, theta: float) -> MeanState:
        """Evaluate at (Γ, θ)."""


@dataclass(frozen=True)
class GivenMean:
    """Nothing to minimise: Σ Γᵢ requirementᵢ + const."""

    requirements: Array
    base_value: float
    fit: float

    bounded: ClassVar[bool] = False

    def at(self, gamma: Array, theta: float) -> GivenState:
        """The value is linear in Γ."""
        return GivenState(
            self.requirements, self.base_value + float(gamma @ self.requirements), self.fit
        )


@dataclass(frozen=True)
class GivenState:
    """A given mean at Γ."""

    requirements: Array
    value: float
    fit: float
    z: Array | None = None
    slack: float = 0.0
    excess: float = 0.0
    theta: float = 0.0

    def curvature_factor(self) -> Array | None:
        """None: the value is linear."""
        return None


@dataclass(frozen=True)
class JointMean:
    """min_z base(z) + Σ Γᵢ requirementᵢ(y − Lz) + θ(‖z‖² − s).

    base(z) = value − 2⟨linear, z⟩ + ‖root z‖² holds the fit (a/n)‖y − Lz‖² over all rows and the
    rows whose multiplier is fixed at C. ``signs`` is None for a symmetric band, else −1 (low) or
    +1 (up) for each row. θ counts from ``least_theta`` on: without a fit, z loses its digits as
    θ → 0, and the dual loses no more than least_theta · s. ``fit_*`` is (a/n)‖y − Lz‖² alone, in
    the same form.
    """

    rows: Array
    targets: Array
    signs: Array | None
    root: Array
    linear: Array
    base_value: float
    bound: float
    least_theta: float
    fit_gram: Array | None
    fit_linear: Array
    fit_value: float

    bounded: ClassVar[bool] = True

    def at(self, gamma: Array, theta: float) -> JointState:
        """Evaluate by one QR factorisation R of the stacked rows, RᵀR = C."""
        p, theta = self.rows.shape[1], theta + self.least_theta
        ridge = np.sqrt(theta) * np.eye(p)
        if self.signs is None:
            weighted = np.sqrt(gamma)[:, None] * self.rows
            stacked = np.vstack([weighted, self.root, ridge])
            right = self.linear + self.rows.T @ (gamma * self.targets)
            constant = float(gamma @ self.targets**2)
        else:
            stacked = np.vstack([self.root, ridge])
            delta = self.signs * gamma
            right = self.linear + self.rows.T @ (0.5 * delta)
            constant = float(delta @ self.targets)
        R = np.asarray(np.linalg.qr(stacked, mode="r"))
        half = solve_triangular(R, right, trans=1, check_finite=False)
        z = solve_triangular(R, half, check_finite=False)
        value = self.base_value + constant - float(half @ half) - theta * self.bound
        residuals = self.targets - self.rows @ z
        return JointState(self, theta, R, z, residuals, value)


@dataclass(frozen=True)
class JointState:
    """The mean z = C⁻¹(…) at (Γ, θ), with C = RᵀR."""

    term: JointMean
    theta: float
    R: Array
    z: Array
    residuals: Array
    value: float

    @cached_property
    def requirements(self) -> Array:
        """rᵢ², or ±rᵢ."""
        signs = self.term.signs
        return self.residuals**2 if signs is None else signs * self.residuals

    @property
    def slack(self) -> float:
        """s − ‖z‖²."""
        return self.term.bound - float(self.z @ self.z)

    @property
    def excess(self) -> float:
        """θ(s − ‖cz‖²) + (1 − c)² zᵀCz with the largest c ≤ 1 that the ball permits."""
        if self.slack >= 0:
            return self.theta * self.slack
        c = np.sqrt(self.term.bound / float(self.z @ self.z))
        return float(np.sum(((1 - c) * (self.R @ self.z)) ** 2))

    @property
    def fit(self) -> float:
        """(a/n)‖y − Lz‖² over all rows."""
        term = self.term
        if term.fit_gram is None:
            return 0.0
        quadratic = float(self.z @ term.fit_gram @ self.z)
        return max(term.fit_value - 2 * float(term.fit_linear @ self.z) + quadratic, 0.0)

    def curvature_factor(self) -> Array | None:
        """√2 (vᵢ R⁻ᵀLᵢ; −R⁻ᵀz) with v = r, or ±½ for a two-sided band.

        Its square has the blocks 2vᵢ[LC⁻¹Lᵀ]ᵢⱼvⱼ, −2vᵢ(LC⁻¹z)ᵢ and 2zᵀC⁻¹z.
        """
        signs = self.term.signs
        v = self.residuals if signs is None else 0.5 * signs
        columns = np.column_stack([self.term.rows.T * v, -self.z])
        half = solve_triangular(self.R, columns, trans=1, check_finite=False)
        return np.asarray(np.sqrt(2.0) * half.T)


def matrix_root(gram: Array) -> Array:
    """R with RᵀR = gram, for a positive semi-definite matrix."""
    eigenvalues, vectors = spectrum(gram)
    return np.asarray(np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T)


def dual_value(problem: BandProblem, basis: Basis, multipliers: Array, theta: float) -> float:
    """D(Γ, θ) over all rows, for any solver's multipliers of shape (sides, n).

    For λ₂ = 0 it is −∞ unless M ⪯ 0; `shrunk` multipliers have that. Gaps are measured by
    `sosbands.core.gap`, which does not subtract the fit from itself.
    """
    value = mean_value(problem, basis, multipliers, theta)
    for part, gamma in zip(basis.scales, multipliers, strict=True):
        value -= penalty(problem, gamma, part.rows, width_cost(problem, part.rows))
    return value


def penalty(problem: BandProblem, gamma: Array, rows: Array, cost: Array) -> float:
    """Ω*(M) of one side, M = Φᵀ diag(Γ) Φ − cost."""
    active = np.flatnonzero(gamma)
    rounding = np.finfo(float).eps * len(cost) * float(np.abs(cost).max())
    root = np.sqrt(gamma[active])[:, None] * rows[active]
    if problem.width_weight == 0 and len(active) < rows.shape[1]:  # cost = λ₁I: few rows will do
        eigenvalues = np.linalg.eigvalsh(root @ root.T) - problem.trace_penalty
    else:
        eigenvalues = np.linalg.eigvalsh(root.T @ root - cost)
    excess = eigenvalues[eigenvalues > 4 * rounding]
    if problem.ridge_penalty > 0:
        return float(np.sum(excess**2)) / (4 * problem.ridge_penalty)
    return np.inf if len(excess) else 0.0


def shrunk(
    problem: BandProblem, basis: Basis, multipliers: Array, theta: float
) -> tuple[Array, float]:
    """(Γ, θ) scaled down until Φᵀ diag(Γ) Φ ⪯ λ₁I + (b/n)ΦᵀΦ on every side.

    There Ω* vanishes, whatever λ₂ is: the dual point to take where λ₂ is 0 or as good as 0.
    """
    largest = 1.0
    for part, gamma in zip(basis.scales, multipliers, strict=True):
        rows = part.rows
        stacked = np.vstack(
            [
                np.sqrt(problem.width_weight / problem.n) * rows,
                np.sqrt(problem.trace_penalty) * np.eye(rows.shape[1]),
            ]
        )
        R = np.asarray(np.linalg.qr(stacked, mode="r"))  # RᵀR = λ₁I + (b/n)ΦᵀΦ
        pivots = np.abs(np.diag(R))
        if pivots.min() <= np.finfo(float).eps * len(rows) * pivots.max():
            return np.zeros_like(multipliers), 0.0
        active = np.flatnonzero(gamma)
        white = solve_triangular(R, rows[active].T, trans=1, check_finite=False)
        largest = max(largest, float(np.linalg.eigvalsh((white * gamma[active]) @ white.T)[-1]))
    largest *= 1 + 1e-12  # so that rounding does not undo it
    return multipliers / largest, theta / largest


def width_cost(problem: BandProblem, rows: Array) -> Array:
    """λ₁I + (b/n)ΦᵀΦ."""
    cost = problem.trace_penalty * np.eye(rows.shape[1])
    if problem.width_weight:
        cost += problem.width_weight / problem.n * (rows.T @ rows)
    return cost


def mean_value(problem: BandProblem, basis: Basis, multipliers: Array, theta: float) -> float:
    """min_z of the mean's part of the Lagrangian; −∞ where it has no minimum."""
    y, a = problem.targets, problem.mean_weight / problem.n
    if problem.symmetric:
        weights, linear = a + multipliers[0], (a + multipliers[0]) * y
        constant = float(weights @ y**2)
    else:
        delta = multipliers[1] - multipliers[0]
        weights, linear = np.full(problem.n, a), a * y + 0.5 * delta
        constant = a * float(y @ y) + float(delta @ y)
    if basis.mean is None:
        return constant
    rows = basis.mean.rows
    used = np.flatnonzero(weights)
    gram = (rows[used].T * weights[used]) @ rows[used]
    eigenvalues, vectors = spectrum(gram)
    curvature = np.maximum(eigenvalues, 0.0) + theta
    slope = vectors.T @ (rows.T @ linear)
    noise = np.finfo(float).eps * len(gram) * max(float(curvature[-1]), np.finfo(float).tiny)
    flat = curvature <= noise
    if np.any(np.abs(slope[flat]) > np.sqrt(noise) * (1 + np.abs(slope).max(initial=0.0))):
        return -np.inf
    gain = float(np.sum(slope[~flat] ** 2 / curvature[~flat]))
    return constant - gain - (theta * problem.mean_bound if theta else 0.0)
