"""What the core refuses to work with: every check of data, kernels, weights and settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike

from sosbands.core.kernels import Kernel
from sosbands.types import Array, Mask

# Sizes of numbers whose fourth powers neither overflow nor underflow.
SMALLEST, LARGEST = 1e-60, 1e60
# Positive weights of rows are no less than this share of their mean; not measured.
_LEAST_WEIGHT = 1e-6


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


def checked_rows(X: Array, y: Array) -> tuple[Array, Array]:
    """X of shape (n, d) and y of shape (n,), at least one row and one column."""
    X, y = checked_array("X", X, ndim=2), checked_array("y", y, ndim=1)
    if X.shape[1] == 0:
        raise ValueError(f"X must have shape (n, d) with d >= 1, got {X.shape}")
    if len(y) != len(X):
        raise ValueError(f"y must have shape ({len(X)},) to match X, got {y.shape}")
    if len(y) == 0:
        raise ValueError("X and y have no rows: at least one is needed")
    return X, y


def checked_coverages(levels: Sequence[float]) -> tuple[float, ...]:
    """Training coverages of nested bands: increasing, in (0, 1)."""
    given = tuple(number(level) for level in levels)
    if not given or not all(low < high for low, high in pairwise((0.0, *given, 1.0))):
        raise ValueError(
            f"levels of nested bands must increase between 0 and 1, got {tuple(levels)!r}: "
            "write (0.5, 0.9)"
        )
    return given


def checked_inner(inner: ArrayLike, n: int) -> Array:
    """Widths of inner bands, not negative, of shape (2, n)."""
    widths = checked_array("inner", inner, ndim=2)
    if widths.shape != (2, n) or np.any(widths < 0):
        raise ValueError(
            f"inner must hold the widths >= 0 of inner bands in the shape (2, {n}), got shape "
            f"{widths.shape} and a least value of {widths.min(initial=0.0):g}"
        )
    return widths


def checked_scale_kernels(
    scale_kernel: Kernel | Sequence[Kernel], symmetric: bool | None
) -> tuple[Kernel, ...]:
    """One kernel for each side of the band."""
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


def checked_number(name: str, value: object, *, least: float, positive: bool = False) -> float:
    """A finite number ≥ least (> least if positive) that can be squared without overflow."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = np.nan
    if not (number > least or (number == least and not positive)) or number > LARGEST:
        sign = ">" if positive else ">="
        hint = "; for λ2 = 0 use the solver SDP" if name == "ridge_penalty" else ""
        raise ValueError(f"{name} must be finite and {sign} {least:g}, got {value!r}{hint}")
    return number


def check_mean_kernel(mean_kernel: object, mean: object) -> None:
    """Raise if the mean is to be learned by what is no kernel, or given as well."""
    if mean_kernel is not None and not isinstance(mean_kernel, Kernel):
        raise ValueError(f"mean_kernel must be a Kernel, got {mean_kernel!r}")
    if mean_kernel is not None and mean is not None:
        raise ValueError("give mean_kernel (joint mean) or mean (given mean), not both")


def checked_bound(mean_bound: float | None, *, joint: bool) -> float:
    """s of a joint mean; infinite for a given one."""
    if not joint:
        if mean_bound is not None:
            raise ValueError("mean_bound needs mean_kernel: a given mean is not bounded")
        return np.inf
    if mean_bound is None:
        raise ValueError(
            "mean_kernel needs mean_bound, the bound s on the squared norm of the mean"
        )
    return checked_number("mean_bound", mean_bound, least=0, positive=True)


def checked_mean(
    mean: Array | Callable[[Array], Array] | None, X: Array, *, joint: bool
) -> tuple[Array | None, Callable[[Array], Array] | None]:
    """A given mean at the rows and as a function, each None where it is not known."""
    if joint:
        return None, None
    if mean is None:
        return None, zero_mean
    function = mean if callable(mean) else None
    values = checked_array("mean", mean(X) if callable(mean) else mean, ndim=1)
    if len(values) != len(X):
        raise ValueError(f"mean must give {len(X)} values, one per row of X, got {values.shape}")
    return values, function


def zero_mean(X: Array) -> Array:
    """The mean at new points where y holds residuals."""
    return np.zeros(len(X))


def checked_weights(name: str, weights: ArrayLike, n: int) -> tuple[Mask, Array]:
    """Which of n rows have a positive weight, and these weights, which are 1 on average."""
    w = checked_array(name, np.asarray(weights), ndim=1)
    if len(w) != n:
        raise ValueError(f"{name} must have shape ({n},), one for each row, got {w.shape}")
    if not w.any():
        raise ValueError(f"{name} is zero for every row: some must count")
    if w.min() < 0:
        raise ValueError(f"{name} must be ≥ 0, got {w.min():g}: give 0 to leave a row out")
    kept = w > 0
    shares = w[kept] / w.max()  # whose sum does not overflow
    return kept, np.maximum(shares / shares.mean(), _LEAST_WEIGHT)


def checked_landmarks(landmarks: Array, X: Array) -> Array:
    """Points with as many columns as X."""
    landmarks = checked_array("landmarks", landmarks, ndim=2)
    if landmarks.shape[1] != X.shape[1] or not len(landmarks):
        raise ValueError(
            f"landmarks must have shape (r, {X.shape[1]}) with r >= 1, got {landmarks.shape}"
        )
    return landmarks


def number(value: object) -> float:
    """A setting as a number; NaN, which no range holds, if it is none."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return float(value) if is_number else np.nan  # type: ignore[arg-type]


def check_count(name: str, value: object) -> None:
    """Raise an error if a setting is not a whole number from 1 on."""
    if not isinstance(value, Integral) or not number(value) >= 1:
        raise ValueError(f"{name} must be at least 1 and whole, got {value!r}")


def check_soft_band(training_coverage: float, width_weight: float) -> None:
    """τ in (0, 1]; a soft band has a price for its width."""
    if not 0 < training_coverage <= 1:
        raise ValueError(
            f"training_coverage must be in (0, 1], got {training_coverage!r}: 90 % is written 0.9"
        )
    if training_coverage < 1 and width_weight == 0:
        raise ValueError(
            f"training_coverage={training_coverage!r} < 1 (a soft band) needs width_weight > 0, "
            "got 0: set width_weight, or training_coverage=1"
        )


def check_size(targets: Array) -> None:
    """Raise if powers of what is to be covered overflow or underflow."""
    size = float(np.abs(targets).max(initial=0.0))
    if size and not SMALLEST < size < LARGEST:
        raise ValueError(f"y (less the mean) is of size {size:.0e}: rescale it, to 1 for example")


def check_row_weights(mean_weight: float, *, symmetric: bool) -> None:
    """Weighted rows of a two-sided band have no fit of the mean."""
    if mean_weight and not symmetric:
        raise ValueError(
            f"row_weights and mean_weight={mean_weight!r} > 0 need a symmetric band: set "
            "mean_weight=0, or symmetric=True"
        )


def check_likeness(likeness: float, kernels: Sequence[Kernel], mean_kernel: Kernel | None) -> None:
    """κ in [0, 1]; sides that are alike are two, of one kernel, around a given mean."""
    if not 0 <= number(likeness) <= 1:
        raise ValueError(
            f"likeness must be from 0 to 1, got {likeness!r}: 0 for sides that know nothing of "
            "each other, 1 for equal ones"
        )
    if likeness and (len(kernels) != 2 or kernels[0] != kernels[1] or mean_kernel is not None):
        raise ValueError(
            f"likeness={likeness:g} needs a two-sided band with one kernel around a given mean: "
            "set symmetric=False, pass one scale_kernel and no mean_kernel, or leave likeness at 0"
        )


def check_inner(training_coverage: float, mean_kernel: Kernel | None, *, symmetric: bool) -> None:
    """Bands around others are soft, have two sides, and a given mean."""
    if symmetric or mean_kernel is not None or training_coverage == 1:
        raise ValueError(
            "inner widths need a two-sided soft band around a given mean, got "
            f"symmetric={symmetric}, training_coverage={training_coverage:g} and mean_kernel="
            f"{mean_kernel!r}: set symmetric=False, training_coverage=0.9, say, and no mean_kernel"
        )
