"""What is solved: the band problem, stated in raw units.

Symmetric band (Theorem 2 of the paper, τ = 1), with rᵢ = yᵢ − m(xᵢ):

    min   (a/n) Σ rᵢ² + (b/n) Σ f(xᵢ) + λ₁ tr A + λ₂ ‖A‖²      f(x) = φ(x)ᵀ A φ(x),  A ⪰ 0
    s.t.  f(xᵢ) ≥ rᵢ²   and   ‖m‖² ≤ s

Two-sided band: f_low(xᵢ) ≥ −rᵢ and f_up(xᵢ) ≥ rᵢ, penalties and widths summed over the sides.
Soft band (τ < 1): the constraints become C Σ max(requirementᵢ − f(xᵢ), 0) in the objective, with
C = b / (n(1 − τ)), twice that per side for a two-sided band.

A two-sided soft band may go around inner ones, whose widths `inner` it adds to: what it has to
reach is then ∓rᵢ − inner(xᵢ), and the bands never cross, anywhere (`sosbands.core.nested`). Its
sides may be alike to a degree, the likeness κ (`sosbands.core.solvers.alike`).

Rows of weight wᵢ count wᵢ times: in the sums wᵢ stands before the terms of row i, and Σ wᵢ for n.
What a hard band has to cover stays the same. Such a problem is one without weights whose row i has
the features √wᵢ φ(xᵢ) and demands wᵢ times as much: `basis` and `targets` hold these, so that
nobody else has to know of weights. The multiplier of row i is then Γᵢ / wᵢ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from sosbands.core.checks import (
    check_count,
    check_inner,
    check_likeness,
    check_mean_kernel,
    check_row_weights,
    check_size,
    check_soft_band,
    checked_bound,
    checked_inner,
    checked_landmarks,
    checked_mean,
    checked_number,
    checked_rows,
    checked_scale_kernels,
    checked_weights,
)
from sosbands.core.features import Basis, FeatureRows, few_features, full_features
from sosbands.core.kernels import Kernel
from sosbands.types import Array, Indices

# A band around residuals of less than this fraction of mean(y²) counts as 0: its gap is absolute.
_ZERO_OPTIMUM = 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class BandProblem:
    """A band problem in raw units, stated by `from_data`, whose parameters are described here.

    Parameters
    ----------
    X, y : arrays of shapes (n, d) and (n,)
        Inputs and outputs; an X of shape (n,) is read as one input.
    scale_kernel : Kernel or pair of Kernel
        kᶠ. A pair gives each side of a two-sided band its own: (low, up).
    mean_kernel : Kernel, optional
        kᵐ: the mean is learned jointly, with ‖m‖² ≤ `mean_bound` in its norm.
    mean : array of shape (n,) or callable, optional
        A given mean: its values at X, or a function of X such as ``model.predict``. Without it and
        without `mean_kernel`, y holds residuals and the mean is zero.
    mean_bound : float, optional
        s > 0, needed with `mean_kernel`.
    mean_weight, width_weight : float, defaults 0 and 10
        a ≥ 0 and b ≥ 0, the weights of the mean squared error and of the mean of f.
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
    row_weights : array of shape (n,), optional
        w ≥ 0, how much each row counts; rows of weight 0 are left out. Kept divided by their mean,
        and not below a millionth of it.
    inner : array of shape (2, n), optional
        Widths of the bands inside a two-sided soft one around a given mean, (low, up).
    likeness : float, default=0
        κ in [0, 1]: how much alike the sides of a two-sided band are, 1 for the same function.

    Attributes
    ----------
    scale_kernels : tuple of Kernel
        One for each side of the band.
    mean_values, mean_function : array of shape (n,) or None, callable or None
        The given mean at the rows of X, and at new points.
    shared_basis : Basis or None
        Unweighted features from another problem with these rows, for `subset` and `variant`.
    one_sided : bool
        Whether f has to reach rᵢ, rather than rᵢ²: see `sosbands.core.solvers.alike`.

    Examples
    --------
    >>> from sosbands import BandProblem, Gaussian
    >>> BandProblem.from_data([0, 1, 2], [0.1, -0.4, 1.5], scale_kernel=Gaussian(1.0)).n
    3
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
    landmarks: Array | None = None
    row_weights: Array | None = None
    inner: Array | None = None
    likeness: float = 0.0
    shared_basis: Basis | None = None
    one_sided: bool = False

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
        row_weights: Array | None = None,
        inner: Array | None = None,
        likeness: float = 0.0,
    ) -> BandProblem:
        """State a band problem; impossible ones are refused here."""
        X, y = checked_rows(X, y)
        kernels, joint = checked_scale_kernels(scale_kernel, symmetric), mean_kernel is not None
        check_mean_kernel(mean_kernel, mean)
        for kernel in kernels if mean_kernel is None else (*kernels, mean_kernel):
            kernel.check_inputs(X)
        values, function = checked_mean(mean, X, joint=joint)
        inner = None if inner is None else checked_inner(inner, len(y))
        if row_weights is not None:
            kept, row_weights = checked_weights("row_weights", row_weights, len(y))
            X, y, values = X[kept], y[kept], None if values is None else values[kept]
            inner = None if inner is None else inner[:, kept]
        return cls(
            X=X,
            y=y,
            scale_kernels=kernels,
            mean_kernel=mean_kernel,
            mean_values=values,
            mean_function=function,
            mean_bound=checked_bound(mean_bound, joint=joint),
            mean_weight=mean_weight,
            width_weight=width_weight,
            trace_penalty=trace_penalty,
            ridge_penalty=ridge_penalty,
            training_coverage=training_coverage,
            feature_tol=feature_tol,
            max_rank=max_rank,
            landmarks=None if landmarks is None else checked_landmarks(landmarks, X),
            row_weights=row_weights,
            inner=inner,
            likeness=likeness,
        )

    def __post_init__(self) -> None:
        """Refuse weights and settings that define no problem."""
        for name in ("mean_weight", "width_weight", "trace_penalty", "ridge_penalty"):
            object.__setattr__(self, name, checked_number(name, getattr(self, name), least=0))
        check_soft_band(self.training_coverage, self.width_weight)
        if self.row_weights is not None:
            check_row_weights(self.mean_weight, symmetric=self.symmetric)
        if self.inner is not None:
            check_inner(self.training_coverage, self.mean_kernel, symmetric=self.symmetric)
        check_likeness(self.likeness, self.scale_kernels, self.mean_kernel)
        if not 0 < self.feature_tol < 1:
            raise ValueError(f"feature_tol must be in (0, 1), got {self.feature_tol!r}")
        if self.max_rank is not None:
            check_count("max_rank", self.max_rank)
        check_size(self.targets)

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
    def total_weight(self) -> float:
        """What sums over the rows are divided by: n without weights."""
        return self.n if self.row_weights is None else float(self.row_weights.sum())

    @property
    def symmetric(self) -> bool:
        """Whether one f bounds rᵢ² (True) or f_low and f_up bound ∓rᵢ."""
        return self.sides == 1 and not self.one_sided

    @property
    def sides(self) -> int:
        """1 for a symmetric band, 2 for a two-sided one."""
        return len(self.scale_kernels)

    @property
    def signs(self) -> tuple[float, ...]:
        """The sign of the residual that each side covers; 0 stands for its square."""
        return (0.0,) if self.symmetric else (-1.0, 1.0)[-self.sides :]

    @property
    def soft(self) -> bool:
        """Whether rows may be missed at a price."""
        return self.training_coverage < 1

    @property
    def multiplier_bound(self) -> float:
        """C, the price of a missed row and the upper end of the dual box; infinite for τ = 1."""
        if not self.soft:
            return np.inf
        return self.sides * self.width_weight / (self.total_weight * (1 - self.training_coverage))

    @cached_property
    def zero_level(self) -> float:
        """The value below which a band counts as 0: that of residuals 0.3 % of the size of y.

        Such bands occur where the mean passes through all rows; relative gaps would measure
        rounding.
        """
        size = _ZERO_OPTIMUM * float(np.mean(self.targets**2))
        if not self.symmetric:
            size = float(np.sqrt(size))
        weight = self.width_weight + self.trace_penalty
        return float(self.sides * (weight * size + self.ridge_penalty * size**2))

    @cached_property
    def residuals(self) -> Array:
        """What a mean leaves to cover: y for a joint mean, y − mean for a given one."""
        return self.y if self.mean_values is None else self.y - self.mean_values

    @cached_property
    def targets(self) -> Array:
        """The same times √w, whose squares are demanded, or times w for a two-sided band."""
        return self.residuals if self._roots is None else self._roots * self.residuals

    def requirements(self, residuals: Array) -> Array:
        """What f must reach beside these residuals, which have the factors of `targets`.

        r² of shape (1, n), or (−r, r) of shape (2, n), less what inner bands reach.
        """
        if self.symmetric:
            return (residuals**2)[None, :]
        sides = np.outer(self.signs, residuals)
        return sides if self.reached is None else sides - self.reached

    @cached_property
    def reached(self) -> Array | None:
        """`inner` with the factors of `targets`."""
        if self.inner is None or self._roots is None:
            return self.inner
        return self._roots * self.inner

    @property
    def _roots(self) -> Array | None:
        """The factors of residuals and mean."""
        w = self.row_weights
        return np.sqrt(w) if w is not None and self.symmetric else w

    @cached_property
    def basis(self) -> Basis:
        """Low-rank features of all rows, exact to `feature_tol`, times √w; computed once."""
        return self._weighted(self.plain_basis)

    @cached_property
    def plain_basis(self) -> Basis:
        """The same without weights."""
        made = self.shared_basis
        return made or Basis.of(self.mean_kernel, self.scale_kernels, self._few_features)

    @property
    def features(self) -> FeatureRows:
        """Features of the first side, without weights."""
        return self.plain_basis.scales[0]

    def _weighted(self, basis: Basis) -> Basis:
        if self.row_weights is None or self._roots is None:
            return basis
        return basis.times(self._roots, np.sqrt(self.row_weights))

    @cached_property
    def full_basis(self) -> Basis:
        """The paper's full Cholesky factors V, of rank n."""
        if self.one_sided:  # it is stated with the features that its solver wants
            return self.basis
        if self.max_rank is not None or self.landmarks is not None:
            raise ValueError(
                "SDP and Accelerated work with all n features: state the problem without max_rank "
                "and landmarks, or use Newton"
            )
        features = partial(full_features, X=self.X)
        return self._weighted(Basis.of(self.mean_kernel, self.scale_kernels, features))

    def owns(self, basis: Basis) -> bool:
        """Whether a basis is this problem's `basis` or `full_basis`, without computing either."""
        return any(basis is vars(self).get(own) for own in ("basis", "full_basis"))

    def subset(self, rows: Indices) -> BandProblem:
        """The same problem on some of its rows, with the features of all: their span is larger."""
        values = None if self.mean_values is None else self.mean_values[rows]
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            mean_values=values,
            row_weights=None if self.row_weights is None else self.row_weights[rows],
            inner=None if self.inner is None else self.inner[:, rows],
            shared_basis=self.plain_basis.take(rows),
        )

    def variant(self, *, symmetric: bool | None = None, **weights: float) -> BandProblem:
        """The same rows, kernel and features with other sides, or `weights` such as b and τ."""
        kernels, scales = self.scale_kernels, self.plain_basis.scales
        if symmetric is not None and symmetric != self.symmetric:
            if len(set(kernels)) > 1:
                raise ValueError("each side has a kernel of its own: state the problem anew")
            sides = 1 if symmetric else 2
            kernels, scales = kernels[:1] * sides, scales[:1] * sides
            weights = weights if sides == 2 else {**weights, "likeness": 0.0}
        shared = Basis(self.plain_basis.mean, scales)
        return replace(self, scale_kernels=kernels, shared_basis=shared, **weights)  # type: ignore[arg-type]

    def _few_features(self, kernel: Kernel) -> FeatureRows:
        tol, rank, landmarks = self.feature_tol, self.max_rank, self.landmarks
        return few_features(kernel, self.X, tol=tol, rank=rank, landmarks=landmarks)
