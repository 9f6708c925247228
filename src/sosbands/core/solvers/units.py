"""Units in which a band problem is solved: outputs and features of size one.

y → y/t leaves the problem the same with s → s/t² and λ₂ → λ₂t² (two-sided: a → at, λ₂ → λ₂t), and
φ → φ/κ with λ₁ → λ₁/κ², λ₂ → λ₂/κ⁴. Solving in such units makes rounding errors, and so the
solution, independent of the units of the data. The multipliers Γ keep their values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sosbands.core.features import FeatureRows
from sosbands.core.primal import Fit, Point
from sosbands.core.problem import BandProblem
from sosbands.types import Array


@dataclass(frozen=True)
class ScaleUnits:
    """One side of the band: its feature rows and penalties.

    A ridge that is lost in the rounding of λ₁I + (b/n)ΦᵀΦ is ``raised`` to where A can be recovered
    from M; the solution changes by as little, and the certificate is still that of the problem.
    """

    rows: Array
    trace: float
    ridge: float
    raised: bool
    back: Coordinates
    part: FeatureRows

    @property
    def gram(self) -> Array:
        """ΦᵀΦ."""
        if self.back.rotation is not None:
            return np.asarray(self.rows.T @ self.rows)
        return self.part.gram / self.back.kappa**2


@dataclass(frozen=True)
class Coordinates:
    """How to get back to the features: multiply by the rotation, divide by κ."""

    kappa: float
    rotation: Array | None

    def restore(self, V: Array) -> Array:
        """Vectors in the coordinates of the original features, still to be divided by κ."""
        return V if self.rotation is None else self.rotation @ V


@dataclass(frozen=True)
class Normalised:
    """A band problem with outputs and features of size one.

    ``demands`` is what f must reach beside the targets themselves, of shape (sides, n): beside a
    given mean, that is.
    """

    problem: BandProblem
    t: float
    targets: Array
    demands: Array
    mean_rows: Array | None
    mean_back: Coordinates
    bound: float
    fit_weight: float
    width_weight: float
    upper: float
    scales: tuple[ScaleUnits, ...]

    @classmethod
    def of(cls, problem: BandProblem, *, least_ridge: float = 0.0) -> Normalised:
        """Choose the units of a problem; λ₂ is at least ``least_ridge`` · (λ₁ + b) in them."""
        basis = problem.basis
        t = float(np.sqrt(np.mean(problem.targets**2))) or 1.0
        sided = t if problem.symmetric else 1.0
        scales = []
        for side in basis.scales:
            rows, back = _normalised(side)
            trace = problem.trace_penalty / back.kappa**2
            ridge = problem.ridge_penalty * t * sided / back.kappa**4
            least = least_ridge * (trace + problem.width_weight)
            scales.append(ScaleUnits(rows, trace, max(ridge, least), ridge < least, back, side))
        mean_rows, mean_back = None, Coordinates(1.0, None)
        if basis.mean is not None:
            mean_rows, mean_back = _normalised(basis.mean)
        return cls(
            problem=problem,
            t=t,
            targets=problem.targets / t,
            demands=problem.requirements(problem.targets) / (t * sided),
            mean_rows=mean_rows,
            mean_back=mean_back,
            bound=problem.mean_bound * mean_back.kappa**2 / t**2,
            fit_weight=problem.mean_weight * (t / sided) / problem.total_weight,
            width_weight=problem.width_weight / problem.total_weight,
            upper=problem.multiplier_bound,
            scales=tuple(scales),
        )

    @property
    def perturbed(self) -> bool:
        """Whether a ridge was raised: dual values then need `shrunk` multipliers."""
        return any(side.raised for side in self.scales)

    @property
    def value(self) -> float:
        """One unit of the objective: t², or t for a two-sided band."""
        return self.t**2 if self.problem.symmetric else self.t

    def point(self, z: Array | None, factors: list[Array]) -> Point:
        """A point in the problem's own units."""
        raw = [
            np.sqrt(self.value) / side.back.kappa * side.back.restore(R)
            for side, R in zip(self.scales, factors, strict=True)
        ]
        if z is not None:
            z = self.mean_back.restore(z) * (self.t / self.mean_back.kappa)
        return Point(self.problem.basis, z, tuple(raw))

    def theta(self, theta: float) -> float:
        """θ in the problem's own units."""
        return theta * self.mean_back.kappa**2 * self.value / self.t**2

    def own_theta(self, theta: float) -> float:
        """θ from the problem's units."""
        return theta / self.theta(1.0)

    def fit(self, point: Point, residuals: Array, scales: Array) -> Fit:
        """Residuals and scales in the problem's own units."""
        return Fit.of(self.problem, point, residuals * self.t, scales * self.value)


def _normalised(part: FeatureRows) -> tuple[Array, Coordinates]:
    """Feature rows of size one, rotated into their span where there are more features than rows.

    A and z have no component outside that span (Theorem 2).
    """
    rows, rotation = part.rows, None
    if rows.shape[1] > len(rows):
        rotation, triangle = np.linalg.qr(rows.T)
        rows = triangle.T
    mean = float(np.mean(part.squared_norms))
    if mean == 0 or 1e-2 < mean < 1e2:  # near one already: no copy
        return rows, Coordinates(1.0, rotation)
    kappa = float(np.sqrt(mean))
    return rows / kappa, Coordinates(kappa, rotation)
