"""The mean's part of the dual: the best mean z(Γ, θ), its value, gradient and curvature.

A mean that is given leaves nothing to minimise; a joint one is a ridge regression in z. Both are
evaluated at the multipliers Γ of some rows and at θ, that of the ball ‖z‖² ≤ s.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np
from scipy.linalg import solve_triangular

from sosbands.types import Array


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
    """A given mean at Γ; what `JointState` has beside it is None or 0."""

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


MeanTerm: TypeAlias = GivenMean | JointMean
MeanState: TypeAlias = GivenState | JointState
