"""What is solved: the band problem, stated in raw units.

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
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from sosbands.core.features import (
    FeatureRows,
    factorize,
    full_features,
    landmark_features,
    principal_features,
)
from sosbands.core.kernels import Kernel
from sosbands.types import Array, Indices

# Sizes of numbers whose fourth powers neither overflow nor underflow.
_SMALLEST, _LARGEST = 1e-60, 1e60


@dataclass(frozen=True, eq=False)
class Basis:
    """Features of the mean (None if it is given) and of each side of the band."""

    mean: FeatureRows | None
    scales: tuple[FeatureRows, ...]

    @property
    def trace_residual(self) -> float:
        """Largest fraction of a kernel's trace that its features leave out."""
        return max(part.trace_residual for part in (self.mean, *self.scales) if part is not None)


@dataclass(frozen=True, eq=False, repr=False)
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
        if mean_kernel is not None and not isinstance(mean_kernel, Kernel):
            raise ValueError(f"mean_kernel must be a Kernel, got {mean_kernel!r}")
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
            mean_weight=mean_weight,
            width_weight=width_weight,
            trace_penalty=trace_penalty,
            ridge_penalty=ridge_penalty,
            training_coverage=training_coverage,
            feature_tol=feature_tol,
            max_rank=max_rank,
            landmarks=None if landmarks is None else _checked_landmarks(landmarks, X),
        )

    def __post_init__(self) -> None:
        """Refuse weights and settings that define no problem."""
        for name in ("mean_weight", "width_weight", "trace_penalty", "ridge_penalty"):
            object.__setattr__(self, name, _checked_number(name, getattr(self, name), least=0))
        if not 0 < self.training_coverage <= 1:
            raise ValueError(
                f"training_coverage must be in (0, 1], got {self.training_coverage!r}: "
                "90 % is written 0.9"
            )
        if self.soft and self.width_weight == 0:
            raise ValueError(
                f"training_coverage={self.training_coverage!r} < 1 (a soft band) needs "
                "width_weight > 0, got 0: set width_weight, or training_coverage=1"
            )
        if not 0 < self.feature_tol < 1:
            raise ValueError(f"feature_tol must be in (0, 1), got {self.feature_tol!r}")
        whole = isinstance(self.max_rank, Integral)
        if self.max_rank is not None and not (whole and self.max_rank > 0):
            raise ValueError(f"max_rank must be at least 1 and whole, got {self.max_rank!r}")
        size = float(np.abs(self.targets).max(initial=0.0))
        if size and not _SMALLEST < size < _LARGEST:
            raise ValueError(
                f"y (less the mean) is of size {size:.0e}: rescale it, to 1 for example"
            )

    def __repr__(self) -> str:
        """One line: size and kind."""
        kind = "symmetric" if self.symmetric else "two-sided"
        mean = "given" if self.mean_kernel is None else f"{self.mean_kernel!r}"
        return (
            f"BandProblem(n={self.n}, d={self.X.shape[1]}, {kind}, mean={mean}, "
            f"scale={', '.join(map(repr, self.scale_kernels))}, τ={self.training_coverage:g})"
        )

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
            if self.max_rank is not None:
                return principal_features(kernel, self.X, tol=self.feature_tol, rank=self.max_rank)
            return factorize(kernel, self.X, tol=self.feature_tol)

        return self._basis(rows)

    @cached_property
    def full_basis(self) -> Basis:
        """The paper's full Cholesky factors V, of rank n."""
        if self.max_rank is not None or self.landmarks is not None:
            raise ValueError(
                "SDP and Accelerated work with all n features: state the problem without max_rank "
                "and landmarks, or use Newton"
            )
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

    def variant(self, *, symmetric: bool | None = None, **weights: float) -> BandProblem:
        """The same rows and kernel with other weights or sides, sharing this one's features.

        `weights` are fields such as `width_weight` or `training_coverage`.
        """
        kernels, scales = self.scale_kernels, self.basis.scales
        if symmetric is not None and symmetric != self.symmetric:
            if len(set(kernels)) > 1:
                raise ValueError("each side has a kernel of its own: state the problem anew")
            sides = 1 if symmetric else 2
            kernels, scales = kernels[:1] * sides, scales[:1] * sides
        other = replace(self, scale_kernels=kernels, **weights)  # type: ignore[arg-type]
        other.__dict__["basis"] = Basis(self.basis.mean, scales)
        return other

    def _basis(self, rows: Callable[[Kernel], FeatureRows]) -> Basis:
        made: dict[Kernel, FeatureRows] = {}  # both sides of a band often share one kernel
        for kernel in self.scale_kernels:
            if kernel not in made:
                made[kernel] = rows(kernel)
        mean = rows(self.mean_kernel) if self.mean_kernel is not None else None
        return Basis(mean, tuple(made[kernel] for kernel in self.scale_kernels))


def checked_array(name: str, values: ArrayLike, *, ndim: int) -> Array:
    """A read-only copy as floats, so that what is stated cannot change."""
    if hasattr(values, "toarray"):
        raise ValueError(f"{name} is sparse: pass a dense array, for example {name}.toarray()")
    if np.ma.is_masked(values) or np.iscomplexobj(values):
        raise ValueError(f"{name} holds masked or complex values: pass real numbers alone")
    try:
        array = np.array(values, dtype=float, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of real numbers: {error}") from None
    if array.ndim == 1 and ndim == 2:
        array = array[:, None]
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimensions, got shape {array.shape}")
    if not np.all(np.isfinite(array)):
        bad = int(np.sum(~np.isfinite(array)))
        raise ValueError(f"{name} holds {bad} NaN or infinite values: remove or impute them")
    array.setflags(write=False)
    return array


def _checked_rows(X: Array, y: Array) -> tuple[Array, Array]:
    X, y = checked_array("X", X, ndim=2), checked_array("y", y, ndim=1)
    if X.shape[1] == 0:
        raise ValueError(f"X must have shape (n, d) with d >= 1, got {X.shape}")
    if len(y) != len(X):
        raise ValueError(f"y must have shape ({len(X)},) to match X, got {y.shape}")
    if len(y) == 0:
        raise ValueError("X and y have no rows: at least one is needed")
    return X, y


def _checked_kernels(
    scale_kernel: Kernel | Sequence[Kernel], symmetric: bool | None
) -> tuple[Kernel, ...]:
    try:
        kernels = (scale_kernel,) if isinstance(scale_kernel, Kernel) else tuple(scale_kernel)
    except TypeError:  # not a sequence either
        kernels = ()
    if len(kernels) not in (1, 2) or not all(isinstance(kernel, Kernel) for kernel in kernels):
        raise ValueError(f"scale_kernel must be a Kernel or a pair (low, up), got {scale_kernel!r}")
    if symmetric and len(kernels) == 2:
        raise ValueError("a symmetric band has one scale_kernel, got two: pass symmetric=False")
    if symmetric is False and len(kernels) == 1:
        return kernels * 2
    return kernels


def _checked_number(name: str, value: object, *, least: float, positive: bool = False) -> float:
    """A finite number ≥ least (> least if positive) that can be squared without overflow."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = np.nan
    if not (number > least or (number == least and not positive)) or number > _LARGEST:
        sign = ">" if positive else ">="
        hint = "; for λ2 = 0 use the solver SDP" if name == "ridge_penalty" else ""
        raise ValueError(f"{name} must be finite and {sign} {least:g}, got {value!r}{hint}")
    return number


def _checked_bound(mean_bound: float | None, *, joint: bool) -> float:
    if not joint:
        if mean_bound is not None:
            raise ValueError("mean_bound needs mean_kernel: a given mean is not bounded")
        return np.inf
    if mean_bound is None:
        raise ValueError(
            "mean_kernel needs mean_bound, the bound s on the squared norm of the mean"
        )
    return _checked_number("mean_bound", mean_bound, least=0, positive=True)


def _checked_mean(
    mean: Array | Callable[[Array], Array] | None, X: Array, *, joint: bool
) -> tuple[Array | None, Callable[[Array], Array] | None]:
    if joint:
        return None, None
    if mean is None:
        return None, _zero_mean
    function = mean if callable(mean) else None
    values = checked_array("mean", mean(X) if callable(mean) else mean, ndim=1)
    if len(values) != len(X):
        raise ValueError(f"mean must give {len(X)} values, one per row of X, got {values.shape}")
    return values, function


def _zero_mean(X: Array) -> Array:
    return np.zeros(len(X))


def _checked_landmarks(landmarks: Array, X: Array) -> Array:
    landmarks = checked_array("landmarks", landmarks, ndim=2)
    if landmarks.shape[1] != X.shape[1] or not len(landmarks):
        raise ValueError(
            f"landmarks must have shape (r, {X.shape[1]}) with r >= 1, got {landmarks.shape}"
        )
    return landmarks
