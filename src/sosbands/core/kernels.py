"""Kernels kᵐ and kᶠ: Gram blocks, diagonals, and the offset that keeps bands from collapsing.

A kernel is k(x, x′) + offset; ``offset=0`` is the paper. With an offset c > 0 the scale f keeps a
floor away from the data, where a Gaussian kernel alone would let it fall to zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.spatial.distance import cdist

from sosbands.types import Array

# Above this half squared norm (in lengthscales) ‖x‖² + ‖z‖² − 2xᵀz cancels too many digits.
_EXPANSION_LIMIT = 500.0
# Arithmetic with subnormal numbers is many times slower; e⁻¹⁰⁰ is as good as zero.
_NEGLIGIBLE = 100.0


@dataclass(frozen=True)
class Kernel(ABC):
    """A positive semi-definite kernel with one lengthscale, or one per input.

    Parameters
    ----------
    lengthscale : float or sequence of float
        θ in the paper; every entry must be positive and finite.
    offset : float, default=0.0
        A constant c ≥ 0 added to the kernel.

    Examples
    --------
    >>> from sosbands import Gaussian, Kernel
    >>> isinstance(Gaussian(0.5), Kernel)
    True
    >>> Gaussian([0.5, 2.0]).lengthscale
    (0.5, 2.0)
    """

    lengthscale: float | tuple[float, ...] = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        """Refuse lengthscales and offsets that define no kernel."""
        try:
            scales = np.atleast_1d(np.asarray(self.lengthscale, dtype=float))
        except (TypeError, ValueError):
            scales = np.empty(0)
        if scales.ndim != 1 or scales.size == 0 or not np.all((scales > 0) & np.isfinite(scales)):
            raise ValueError(
                f"lengthscale must be a positive number or one per input, got {self.lengthscale!r}"
            )
        if not (isinstance(self.offset, Real) and np.isfinite(self.offset) and self.offset >= 0):
            raise ValueError(f"offset must be finite and >= 0, got {self.offset!r}")
        # A tuple keeps the frozen dataclass hashable and comparable.
        plain = float(scales[0]) if np.ndim(self.lengthscale) == 0 else tuple(scales.tolist())
        object.__setattr__(self, "lengthscale", plain)

    def check_inputs(self, X: Array) -> None:
        """Raise if there is not one lengthscale per column of X."""
        if isinstance(self.lengthscale, tuple) and len(self.lengthscale) != X.shape[1]:
            raise ValueError(
                f"lengthscale has {len(self.lengthscale)} entries but X has {X.shape[1]} columns; "
                "give one number, or one per column"
            )

    def __call__(self, X: Array, Z: Array) -> Array:
        """Gram block [k(xᵢ, zⱼ)] of shape (n, m)."""
        gram = self._gram(X / np.asarray(self.lengthscale), Z / np.asarray(self.lengthscale))
        if self.offset:
            gram += self.offset
        return gram

    def diagonal(self, X: Array) -> Array:
        """k(xᵢ, xᵢ) for every row, without the Gram matrix."""
        return self._diagonal(X / np.asarray(self.lengthscale)) + self.offset

    @abstractmethod
    def _gram(self, X: Array, Z: Array) -> Array:
        """Gram block of inputs already divided by the lengthscale, offset not yet added."""

    def _diagonal(self, X: Array) -> Array:
        return np.ones(len(X))


@dataclass(frozen=True)
class Smooth(Kernel):
    """A kernel of the distance whose slopes exist everywhere: what a likelihood needs."""

    @abstractmethod
    def profile(self, exponent: Array) -> tuple[Array, Array]:
        """k and dk/de as functions of e = −‖x − x′‖²/2, in units of the lengthscale.

        So ∂k/∂log θⱼ = dk/de · (xⱼ − x′ⱼ)². The array of exponents may be overwritten.
        """


@dataclass(frozen=True)
class Gaussian(Smooth):
    """k(x, x′) = exp(−‖x − x′‖² / 2) in units of the lengthscale.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands import Gaussian
    >>> Gaussian(2.0)(np.array([[0.0], [2.0]]), np.array([[0.0]])).round(3).tolist()
    [[1.0], [0.607]]
    """

    def _gram(self, X: Array, Z: Array) -> Array:
        return self.profile(exponents(X, Z))[0]

    def profile(self, exponent: Array) -> tuple[Array, Array]:
        """exp(e), which is its own slope."""
        gram = np.exp(np.maximum(exponent, -_NEGLIGIBLE, out=exponent), out=exponent)
        return gram, gram


@dataclass(frozen=True)
class Matern(Smooth):
    """Matérn kernel of smoothness ν ∈ {1/2, 3/2, 5/2}, with the usual √(2ν) inside.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands import Matern
    >>> Matern(2.0, nu=0.5)(np.array([[0.0], [2.0]]), np.array([[0.0]])).round(3).tolist()
    [[1.0], [0.368]]
    """

    nu: float = 2.5

    def __post_init__(self) -> None:
        """Refuse a smoothness without a closed form."""
        super().__post_init__()
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5, got {self.nu!r}")

    def _gram(self, X: Array, Z: Array) -> Array:
        # Not from an expanded square, which turns rounding of 1e-16 into distances of 1e-8.
        u = cdist(X, Z)
        u *= np.sqrt(2 * self.nu)
        np.minimum(u, _NEGLIGIBLE, out=u)
        gram = np.exp(-u)
        gram *= self._polynomial(u)
        return gram

    def profile(self, exponent: Array) -> tuple[Array, Array]:
        """(1 + u) exp(−u) or (1 + u + u²/3) exp(−u) with u² = −4νe.

        An error of 1e-8 in u does no harm here: both begin with 1 − u²/2 or 1 − u²/6.
        """
        if self.nu == 0.5:
            raise ValueError("nu=0.5 has no slope at distance zero: take 1.5 or 2.5")
        u = np.minimum(np.sqrt(-4 * self.nu * np.minimum(exponent, 0.0)), _NEGLIGIBLE)
        decay = np.exp(-u)
        slope = 3 * decay if self.nu == 1.5 else 5 / 3 * (1 + u) * decay
        return self._polynomial(u) * decay, slope

    def _polynomial(self, u: Array) -> Array:
        if self.nu == 0.5:
            return np.ones(1)
        return 1 + u if self.nu == 1.5 else 1 + u + u * u / 3


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, x′) = xᵀx′ in units of the lengthscale.

    As kᶠ it makes f a non-negative quadratic form; with an offset, any non-negative quadratic.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands import Linear
    >>> Linear(2.0, offset=1.0)(np.array([[4.0]]), np.array([[6.0]])).tolist()
    [[7.0]]
    """

    def _gram(self, X: Array, Z: Array) -> Array:
        return np.asarray(X @ Z.T)

    def _diagonal(self, X: Array) -> Array:
        return np.asarray(np.einsum("ij,ij->i", X, X))


def exponents(X: Array, Z: Array) -> Array:
    """−‖xᵢ − zⱼ‖²/2."""
    centre = Z.mean(axis=0)
    X, Z = X - centre, Z - centre
    x2, z2 = (0.5 * np.einsum("ij,ij->i", rows, rows) for rows in (X, Z))
    if max(x2.max(initial=0.0), z2.max(initial=0.0)) > _EXPANSION_LIMIT:
        return np.asarray(-0.5 * cdist(X, Z, "sqeuclidean"))
    # One product of (x, −‖x‖²/2, 1) and (z, 1, −‖z‖²/2).
    left = np.column_stack([X, -x2, np.ones(len(X))])
    return np.asarray(left @ np.vstack([Z.T, np.ones(len(Z)), -z2]))
