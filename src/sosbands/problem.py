"""What is solved: the band problem, its primal value, feasibility repair and certificate.

Symmetric band (Theorem 2 of the paper, τ = 1), with rᵢ = yᵢ − m(xᵢ):

    min   (a/n) Σ rᵢ² + (b/n) Σ f(xᵢ) + λ₁ tr A + λ₂ ‖A‖²      f(x) = φ(x)ᵀ A φ(x),  A ⪰ 0
    s.t.  f(xᵢ) ≥ rᵢ²   and   ‖m‖² ≤ s

Two-sided band: f_low(xᵢ) ≥ −rᵢ and f_up(xᵢ) ≥ rᵢ, penalties and widths summed over the sides.
Soft band (τ < 1): the constraints become C Σ max(requirementᵢ − f(xᵢ), 0) in the objective, with
C = b / (n(1 − τ)), twice that per side for a two-sided band.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from sosbands.features import FeatureRows, factorize, full_features, landmark_features
from sosbands.kernels import Kernel
from sosbands.types import Array, Indices

# A band below this fraction of the trivial one's value counts as 0: its gap is absolute.
_ZERO_OPTIMUM = 1e-5


@dataclass(frozen=True)
class Basis:
    """Features of the mean (None if it is given) and of each side of the band."""

    mean: FeatureRows | None
    scales: tuple[FeatureRows, ...]

    @property
    def trace_residual(self) -> float:
        """Largest fraction of a kernel's trace that its features leave out."""
        return max(part.trace_residual for part in (self.mean, *self.scales) if part is not None)


@dataclass(frozen=True, eq=False)
class BandProblem:
    """A band problem in raw units; state it with `from_data`.

    Attributes
    ----------
    X, y : arrays of shape (n, d) and (n,)
        The training rows.
    scale_kernels : tuple of Kernel
        kᶠ; two of them (low, up) for a two-sided band.
    mean_kernel : Kernel or None
        kᵐ; None if the mean is given.
    mean_values : array of shape (n,) or None
        The given mean at the rows of X.
    mean_function : callable or None
        The given mean at new points.
    mean_bound, mean_weight, width_weight, trace_penalty, ridge_penalty, training_coverage : float
        s, a, b, λ₁, λ₂ and τ.
    """

    X: Array
    y: Array
    scale_kernels: tuple[Kernel, ...]
    mean_kernel: Kernel | None
    mean_values: Array | None
    mean_function: Callable[[Array], Array] | None
    mean_bound: float
    mean_weight: float
    width_weight: float
    trace_penalty: float
    ridge_penalty: float
    training_coverage: float
    feature_tol: float = 1e-10
    max_rank: int | None = None
    landmarks: Array | None = field(default=None, repr=False)

    @classmethod
    def from_data(
        cls,
        X: Array,
        y: Array,
        *,
        scale_kernel: Kernel | Sequence[Kernel],
        mean_kernel: Kernel | None = None,
        mean: Array | Callable[[Array], Array] | None = None,
        mean_bound: float | None = None,
        mean_weight: float = 0.0,
        width_weight: float = 10.0,
        trace_penalty: float = 1.0,
        ridge_penalty: float = 1.0,
        training_coverage: float = 1.0,
        symmetric: bool | None = None,
        feature_tol: float = 1e-10,
        max_rank: int | None = None,
        landmarks: Array | None = None,
    ) -> BandProblem:
        """State a band problem; impossible ones are refused here.

        Parameters
        ----------
        X : array of shape (n, d)
            Inputs; a vector of length n is read as one input.
        y : array of shape (n,)
            Outputs.
        scale_kernel : Kernel or pair of Kernel
            kᶠ. A pair gives each side of a two-sided band its own: (low, up).
        mean_kernel : Kernel, optional
            kᵐ: the mean is learned jointly, with ‖m‖² ≤ `mean_bound` in its norm.
        mean : array of shape (n,) or callable, optional
            A given mean: its values at X, or a function of X such as ``model.predict``. Without
            it and without `mean_kernel`, y holds residuals and the mean is zero.
        mean_bound : float, optional
            s > 0, needed with `mean_kernel`.
        mean_weight : float, default=0
            a ≥ 0, weight of the mean squared error.
        width_weight : float, default=10
            b ≥ 0, weight of the mean of f.
        trace_penalty, ridge_penalty : float, default=1
            λ₁ ≥ 0 and λ₂ ≥ 0 (only the solver `SDP` takes λ₂ = 0).
        training_coverage : float, default=1
            τ in (0, 1]; 1 is the paper's hard band. It is not the confidence level.
        symmetric : bool, optional
            False asks for a two-sided band. Default: True unless two kernels are given.
        feature_tol : float, default=1e-10
            Largest residual of the features on the diagonal of the kernel matrix.
        max_rank : int, optional
            Largest number of features per kernel.
        landmarks : array of shape (r, d), optional
            Points that span the features, instead of pivots chosen among the rows.
        """
        X, y = _checked_rows(X, y)
        kernels = _checked_kernels(scale_kernel, symmetric)
        if mean_kernel is not None and mean is not None:
            raise ValueError("give mean_kernel (joint mean) or mean (given mean), not both")
        for kernel in (*kernels, *([mean_kernel] if mean_kernel is not None else [])):
            kernel.check_inputs(X)
        values, function = _checked_mean(mean, X, joint=mean_kernel is not None)
        return cls(
            X=X,
            y=y,
            scale_kernels=kernels,
            mean_kernel=mean_kernel,
            mean_values=values,
            mean_function=function,
            mean_bound=_checked_bound(mean_bound, joint=mean_kernel is not None),
            mean_weight=float(mean_weight),
            width_weight=float(width_weight),
            trace_penalty=float(trace_penalty),
            ridge_penalty=float(ridge_penalty),
            training_coverage=float(training_coverage),
            feature_tol=feature_tol,
            max_rank=max_rank,
            landmarks=None if landmarks is None else _checked_landmarks(landmarks, X),
        )

    def __post_init__(self) -> None:
        """Refuse weights and settings that define no problem."""
        for name in ("mean_weight", "width_weight", "trace_penalty", "ridge_penalty"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                hint = "; for λ2 = 0 use the solver SDP" if name == "ridge_penalty" else ""
                raise ValueError(f"{name} must be finite and >= 0, got {value!r}{hint}")
        if not 0 < self.training_coverage <= 1:
            raise ValueError(f"training_coverage must be in (0, 1], got {self.training_coverage!r}")
        if self.soft and self.width_weight == 0:
            raise ValueError(
                f"training_coverage={self.training_coverage!r} < 1 (a soft band) needs "
                "width_weight > 0, got 0: set width_weight, or training_coverage=1"
            )
        if not 0 < self.feature_tol < 1:
            raise ValueError(f"feature_tol must be in (0, 1), got {self.feature_tol!r}")
        if self.max_rank is not None and self.max_rank < 1:
            raise ValueError(f"max_rank must be at least 1, got {self.max_rank!r}")

    @property
    def n(self) -> int:
        """Number of training rows."""
        return len(self.y)

    @property
    def symmetric(self) -> bool:
        """Whether one f bounds rᵢ² (True) or f_low and f_up bound ∓rᵢ."""
        return len(self.scale_kernels) == 1

    @property
    def sides(self) -> int:
        """1 for a symmetric band, 2 for a two-sided one."""
        return len(self.scale_kernels)

    @property
    def soft(self) -> bool:
        """Whether rows may be missed at a price."""
        return self.training_coverage < 1

    @property
    def multiplier_bound(self) -> float:
        """C, the price of a missed row and the upper end of the dual box; infinite for τ = 1."""
        if not self.soft:
            return np.inf
        return self.sides * self.width_weight / (self.n * (1 - self.training_coverage))

    @cached_property
    def targets(self) -> Array:
        """What the mean is subtracted from: y for a joint mean, y − mean for a given one."""
        return self.y if self.mean_values is None else self.y - self.mean_values

    @cached_property
    def basis(self) -> Basis:
        """Low-rank features of all rows, exact to `feature_tol`; computed once."""

        def rows(kernel: Kernel) -> FeatureRows:
            if self.landmarks is not None:
                return landmark_features(kernel, self.X, self.landmarks, tol=self.feature_tol)
            return factorize(kernel, self.X, tol=self.feature_tol, max_rank=self.max_rank)

        return self._basis(rows)

    @cached_property
    def full_basis(self) -> Basis:
        """The paper's full Cholesky factors V, of rank n."""
        return self._basis(lambda kernel: full_features(kernel, self.X))

    def subset(self, rows: Indices) -> BandProblem:
        """The same problem on some of its rows, sharing this one's features.

        The span of all rows contains that of any subset, so that nothing is lost: folds and coarse
        problems need no factorisation of their own.
        """
        values = None if self.mean_values is None else self.mean_values[rows]
        part = replace(self, X=self.X[rows], y=self.y[rows], mean_values=values)
        made = {id(side): side.take(rows) for side in self.basis.scales}
        shared = Basis(
            None if self.basis.mean is None else self.basis.mean.take(rows),
            tuple(made[id(side)] for side in self.basis.scales),
        )
        part.__dict__["basis"] = shared  # where cached_property keeps its value
        return part

    def _basis(self, rows: Callable[[Kernel], FeatureRows]) -> Basis:
        made: dict[Kernel, FeatureRows] = {}  # both sides of a band often share one kernel
        for kernel in self.scale_kernels:
            if kernel not in made:
                made[kernel] = rows(kernel)
        mean = rows(self.mean_kernel) if self.mean_kernel is not None else None
        return Basis(mean, tuple(made[kernel] for kernel in self.scale_kernels))


@dataclass(frozen=True)
class Point:
    """A primal point: m(x) = ⟨z, φᵐ(x)⟩ and, per side, f(x) = ‖Rᵀφᶠ(x)‖², so that A = RRᵀ."""

    basis: Basis
    z: Array | None
    factors: tuple[Array, ...]

    @classmethod
    def zero(cls, basis: Basis) -> Point:
        """m = 0 and f = 0."""
        z = None if basis.mean is None else np.zeros(basis.mean.rows.shape[1])
        return cls(basis, z, tuple(np.zeros((side.rows.shape[1], 1)) for side in basis.scales))


@dataclass(frozen=True)
class Fit:
    """A point at the training rows: residuals yᵢ − m(xᵢ), and f of shape (sides, n)."""

    point: Point
    residuals: Array
    scales: Array

    @cached_property
    def requirements(self) -> Array:
        """What f must reach: r² of shape (1, n), or (−r, r) of shape (2, n)."""
        if len(self.scales) == 1:
            return (self.residuals**2)[None, :]
        return np.stack([-self.residuals, self.residuals])


def evaluate(problem: BandProblem, point: Point) -> Fit:
    """A point at the training rows, in one pass over them."""
    scales = [
        squared_norms(part.rows, R)
        for part, R in zip(point.basis.scales, point.factors, strict=True)
    ]
    return Fit(point, _residuals(problem, point), np.stack(scales))


def _residuals(problem: BandProblem, point: Point) -> Array:
    if point.basis.mean is None or point.z is None:
        return problem.targets
    return problem.targets - point.basis.mean.rows @ point.z


@dataclass(frozen=True)
class Value:
    """A primal value and its parts."""

    fit: float
    width: float
    penalty: float
    hinge: float

    @property
    def total(self) -> float:
        """The objective."""
        return self.fit + self.band

    @property
    def band(self) -> float:
        """The objective without the fit of the mean: what gaps are measured against."""
        return self.width + self.penalty + self.hinge


def squared_norms(rows: Array, R: Array, block: int = 8192) -> Array:
    """‖Rᵀφᵢ‖² for every row, in blocks."""
    out = np.empty(len(rows))
    for start in range(0, len(rows), block):
        image = rows[start : start + block] @ R
        out[start : start + block] = np.einsum("ij,ij->i", image, image)
    return out


def primal_value(problem: BandProblem, fit: Fit) -> Value:
    """The objective at a point."""
    trace = sum(float(np.sum(R * R)) for R in fit.point.factors)
    squared = sum(float(np.sum((R.T @ R) ** 2)) for R in fit.point.factors)
    hinge = 0.0
    if problem.soft:
        missed = np.maximum(fit.requirements - fit.scales, 0.0)
        hinge = problem.multiplier_bound * float(missed.sum())
    return Value(
        fit=problem.mean_weight / problem.n * float(fit.residuals @ fit.residuals),
        width=problem.width_weight / problem.n * float(fit.scales.sum()),
        penalty=problem.trace_penalty * trace + problem.ridge_penalty * squared,
        hinge=hinge,
    )


@dataclass(frozen=True)
class Feasible:
    """A feasible point, its value, and how far the point it was repaired from missed."""

    point: Point
    value: Value
    violation: float


def repair(problem: BandProblem, fit: Fit) -> Feasible:
    """The nearest cheap feasible point: z shrunk onto the ball, then A scaled or lifted.

    A hard band takes the cheaper of A · max(requirement / f) and A + I · max(requirement − f)/‖φ‖²;
    its value is infinite where neither exists. `violation` is the largest requirement left unmet
    before the repair, as a fraction of the largest requirement.
    """
    fit = _onto_ball(problem, fit)
    missing = np.maximum(fit.requirements - fit.scales, 0.0)
    size = max(float(fit.requirements.max()), np.finfo(float).tiny)
    violation = float(missing.max()) / size
    if problem.soft or not missing.any():
        return Feasible(fit.point, primal_value(problem, fit), violation)
    options = [
        Feasible(moved.point, primal_value(problem, moved), violation)
        for moved in (_scaled(fit), _lifted(fit, missing))
        if moved is not None
    ]
    if not options:
        nowhere = Value(fit=0.0, width=0.0, penalty=np.inf, hinge=0.0)
        return Feasible(fit.point, nowhere, violation)
    return min(options, key=lambda option: option.value.total)


def _onto_ball(problem: BandProblem, fit: Fit) -> Fit:
    z = fit.point.z
    if z is None or float(z @ z) <= problem.mean_bound:
        return fit
    shrunk = replace(fit.point, z=z * np.sqrt(problem.mean_bound / float(z @ z)))
    return Fit(shrunk, _residuals(problem, shrunk), fit.scales)


def _scaled(fit: Fit) -> Fit | None:
    """A · t with the smallest t per side that covers every row."""
    if np.any((fit.requirements > 0) & (fit.scales <= 0)):
        return None
    tiny = np.finfo(float).tiny
    with np.errstate(over="ignore"):
        t = np.maximum(np.max(fit.requirements / np.maximum(fit.scales, tiny), axis=1), 1.0)
    if not np.all(np.isfinite(t)):
        return None
    factors = tuple(np.sqrt(ti) * R for ti, R in zip(t, fit.point.factors, strict=True))
    return Fit(replace(fit.point, factors=factors), fit.residuals, t[:, None] * fit.scales)


def _lifted(fit: Fit, missing: Array) -> Fit | None:
    """A + ε I with the smallest ε per side that covers every row."""
    point, factors, scales = fit.point, [], []
    parts = zip(point.basis.scales, point.factors, missing, fit.scales, strict=True)
    for part, R, short, f in parts:
        squared = part.squared_norms
        if np.any((short > 0) & (squared <= np.finfo(float).tiny)):
            return None
        lift = float(np.max(short / np.maximum(squared, np.finfo(float).tiny)))
        factors.append(np.hstack([R, np.sqrt(lift) * np.eye(len(R))]) if lift else R)
        scales.append(f + lift * squared)
    return Fit(replace(point, factors=tuple(factors)), fit.residuals, np.stack(scales))


def uncoverable(problem: BandProblem, basis: Basis) -> bool:
    """Whether a hard band has rows with φ = 0, where f = 0 whatever A is.

    A joint mean would have to pass exactly through them, which leaves no feasible point inside.
    """
    if problem.soft:
        return False
    for side, sign in zip(basis.scales, (-1.0, 1.0), strict=False):
        blank = side.squared_norms <= 1e-12 * max(float(side.squared_norms.max()), 1e-300)
        y = problem.targets[blank]
        needed = np.abs(y) if problem.symmetric else sign * y
        if np.any(needed > 0) or (basis.mean is not None and len(y)):
            return True
    return False


def relative_gap(problem: BandProblem, value: Value, dual_value: float) -> float:
    """(p − d) / (p − (a/n)‖r‖²); absolute, in units of `zero_level`, where the optimum is 0."""
    if not np.isfinite(value.total):
        return np.inf
    reference = max(value.band, zero_level(problem))
    if reference <= 0:
        return 0.0 if value.total <= dual_value else np.inf
    return max(value.total - dual_value, 0.0) / reference


def zero_level(problem: BandProblem) -> float:
    """The value below which a band counts as 0: 1e-5 of f = mean(y²) around a mean of 0.

    Such bands occur where the mean passes through all rows; relative gaps would measure rounding.
    """
    size = float(np.mean(problem.targets**2))
    if not problem.symmetric:
        size = float(np.sqrt(size))
    weight = problem.width_weight + problem.trace_penalty
    return _ZERO_OPTIMUM * problem.sides * (weight * size + problem.ridge_penalty * size**2)


def _checked_rows(X: Array, y: Array) -> tuple[Array, Array]:
    X = np.asarray(X, dtype=float)
    X = np.ascontiguousarray(X[:, None] if X.ndim == 1 else X)
    y = np.ascontiguousarray(np.asarray(y, dtype=float))
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(f"X must have shape (n, d) with d >= 1, got {X.shape}")
    if y.ndim != 1 or len(y) != len(X):
        raise ValueError(f"y must have shape ({len(X)},) to match X, got {y.shape}")
    if len(y) == 0:
        raise ValueError("X and y have no rows: at least one is needed")
    for name, values in (("X", X), ("y", y)):
        if not np.all(np.isfinite(values)):
            bad = int(np.sum(~np.isfinite(values)))
            raise ValueError(f"{name} holds {bad} NaN or infinite values: remove or impute them")
    return X, y


def _checked_kernels(
    scale_kernel: Kernel | Sequence[Kernel], symmetric: bool | None
) -> tuple[Kernel, ...]:
    kernels = (scale_kernel,) if isinstance(scale_kernel, Kernel) else tuple(scale_kernel)
    if not all(isinstance(kernel, Kernel) for kernel in kernels) or len(kernels) not in (1, 2):
        raise ValueError(f"scale_kernel must be a Kernel or a pair (low, up), got {scale_kernel!r}")
    if symmetric and len(kernels) == 2:
        raise ValueError("a symmetric band has one scale_kernel, got two: pass symmetric=False")
    if symmetric is False and len(kernels) == 1:
        return kernels * 2
    return kernels


def _checked_bound(mean_bound: float | None, *, joint: bool) -> float:
    if not joint:
        if mean_bound is not None:
            raise ValueError("mean_bound needs mean_kernel: a given mean is not bounded")
        return np.inf
    if mean_bound is None:
        raise ValueError(
            "mean_kernel needs mean_bound, the bound s on the squared norm of the mean"
        )
    if not (np.isfinite(mean_bound) and mean_bound > 0):
        raise ValueError(f"mean_bound must be finite and > 0, got {mean_bound!r}")
    return float(mean_bound)


def _checked_mean(
    mean: Array | Callable[[Array], Array] | None, X: Array, *, joint: bool
) -> tuple[Array | None, Callable[[Array], Array] | None]:
    if joint:
        return None, None
    if mean is None:
        return None, lambda rows: np.zeros(len(rows))
    function = mean if callable(mean) else None
    values = np.asarray(function(X) if function is not None else mean, dtype=float)
    if values.shape != (len(X),):
        raise ValueError(f"mean must give {len(X)} values, one per row of X, got {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ValueError("mean holds NaN or infinite values at rows of X")
    return values, function


def _checked_landmarks(landmarks: Array, X: Array) -> Array:
    landmarks = np.asarray(landmarks, dtype=float)
    if landmarks.ndim != 2 or landmarks.shape[1] != X.shape[1] or not len(landmarks):
        raise ValueError(
            f"landmarks must have shape (r, {X.shape[1]}) with r >= 1, got {landmarks.shape}"
        )
    if not np.all(np.isfinite(landmarks)):
        raise ValueError("landmarks hold NaN or infinite values")
    return landmarks
