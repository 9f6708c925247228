"""The paper's five test cases, with their exact conditional means and quantiles.

Every case is Y = m(X) + σ(X) ε with ε independent of X, as in the paper's appendix ("Additional
test cases and results", "Non-symmetric intervals"); the formulas are in the classes below.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from sosbands.types import Array

__all__ = ["Case", "case"]

Generator = np.random.Generator
Seed = int | np.integer | Generator | None


@dataclass(frozen=True)
class Noise:
    """The law of ε: E[ε], draws, F⁻¹(p) and F⁻¹(1 − p), the last without rounding 1 − p."""

    mean: float
    draw: Callable[[Generator, int], Array]
    quantile: Callable[[Array], Array]
    upper_quantile: Callable[[Array], Array]


_NORMAL = Noise(0.0, Generator.standard_normal, ndtri, lambda p: -ndtri(p))
_EXPONENTIAL = Noise(
    1.0, Generator.standard_exponential, lambda p: -np.log1p(-p), lambda p: -np.log(p)
)


@dataclass(frozen=True)
class Case(ABC):
    """A test case Y = m(X) + σ(X) ε with d inputs; `case` makes them.

    Attributes
    ----------
    number : int
        The number of the case in the paper.
    name : str
        What sets the case apart, for titles and tables.
    dimension : int
        The number d of inputs.

    Examples
    --------
    >>> from sosbands.datasets import Case, case
    >>> isinstance(case(1), Case), case(2, dimension=3).sample(10, random_state=0)[0].shape
    (True, (10, 3))
    """

    dimension: int = 1

    number: ClassVar[int]
    name: ClassVar[str]
    noise: ClassVar[Noise] = _NORMAL

    def __post_init__(self) -> None:
        """Refuse a dimension that is not a whole number ≥ 1."""
        _check_count("dimension", self.dimension)

    @abstractmethod
    def _inputs(self, rng: Generator, n: int) -> Array: ...

    @abstractmethod
    def _terms(self, X: Array) -> tuple[Array, Array]:
        """m(X) and σ(X)."""

    def sample(self, n: int, random_state: Seed = None) -> tuple[Array, Array]:
        """Draw n independent pairs: X of shape (n, d) and y of shape (n,)."""
        rng = _generator(random_state)
        X = self.sample_inputs(n, rng)
        return X, self.sample_outputs(X, rng)

    def sample_inputs(self, n: int, random_state: Seed = None) -> Array:
        """Draw n inputs, shape (n, d)."""
        _check_count("n", n)
        return self._inputs(_generator(random_state), n)

    def sample_outputs(self, X: npt.ArrayLike, random_state: Seed = None) -> Array:
        """Draw one output per row of X, shape (n,); repeat a row to draw several there."""
        m, σ = self._terms(self._rows(X))
        return m + σ * self.noise.draw(_generator(random_state), len(m))

    def location(self, X: npt.ArrayLike) -> Array:
        """m(X), shape (n,)."""
        return self._terms(self._rows(X))[0]

    def scale(self, X: npt.ArrayLike) -> Array:
        """σ(X), shape (n,); negative in case 5 for X < −1/4."""
        return self._terms(self._rows(X))[1]

    def mean(self, X: npt.ArrayLike) -> Array:
        """E[Y | X] = m(X) + σ(X) E[ε], shape (n,)."""
        m, σ = self._terms(self._rows(X))
        return m + σ * self.noise.mean

    def quantile(self, X: npt.ArrayLike, level: npt.ArrayLike) -> Array:
        """The exact conditional quantiles of Y given X.

        At level p this is m + σ F⁻¹(p) where σ ≥ 0, and m + σ F⁻¹(1 − p) where σ < 0.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Where to condition.
        level : float or sequence of k floats
            One or more levels in (0, 1).

        Returns
        -------
        ndarray of shape (n,) for one level, (n, k) for a sequence
            The quantiles.
        """
        X, p = self._rows(X), _levels(level)
        m, σ = (term.reshape(len(X), *(1,) * p.ndim) for term in self._terms(X))
        return m + σ * np.where(σ >= 0, self.noise.quantile(p), self.noise.upper_quantile(p))

    def interval(self, X: npt.ArrayLike, level: float) -> Array:
        """The oracle's central interval, shape (n, 2): the quantiles of levels (1 ± level)/2."""
        p = float(_levels(level))
        return self.quantile(X, [(1 - p) / 2, (1 + p) / 2])

    def _rows(self, X: npt.ArrayLike) -> Array:
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.dimension:
            raise ValueError(
                f"X must have shape (n, {self.dimension}), got {X.shape}: "
                "give one row per point and one column per input"
            )
        return X


class _OneInput(Case):
    """X ~ U[-1, 1]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dimension != 1:
            raise ValueError(
                f"dimension must be 1 in case {self.number}, got {self.dimension}: "
                "cases 2, 3 and 4 take any"
            )

    def _inputs(self, rng: Generator, n: int) -> Array:
        return rng.uniform(-1.0, 1.0, (n, 1))


class _Oscillation(_OneInput):
    """m = sin(πu) + 0.2 cos(4πu), u = 2X + 1/5, if 10X + 1 ≤ 9.6, else X − 9/10; σ² = 0.1 + 2X²."""

    number = 1
    name = "oscillating mean"

    def _terms(self, X: Array) -> tuple[Array, Array]:
        x = X[:, 0]
        u = 2 * x + 1 / 5
        wave = np.sin(np.pi * u) + 0.2 * np.cos(4 * np.pi * u)
        return np.where(10 * x + 1 <= 9.6, wave, x - 9 / 10), np.sqrt(0.1 + 2 * x**2)


class _NormalInputs(Case):
    """X ~ N(0, I_d)."""

    def _inputs(self, rng: Generator, n: int) -> Array:
        return rng.standard_normal((n, self.dimension))


class _SineScale(_NormalInputs):
    """m = 0.5 Σᵢ Xᵢ, σ = Σᵢ |sin Xᵢ|."""

    number = 2
    name = "sine scale"

    def _terms(self, X: Array) -> tuple[Array, Array]:
        return 0.5 * X.sum(axis=1), np.abs(np.sin(X)).sum(axis=1)


class _BellScale(_NormalInputs):
    """m = 0.5 Σᵢ Xᵢ, σ = Σᵢ (4/3) φ(2Xᵢ/3), φ the standard normal density."""

    number = 3
    name = "bell scale"

    def _terms(self, X: Array) -> tuple[Array, Array]:
        φ = np.exp(-((2 * X / 3) ** 2) / 2) / np.sqrt(2 * np.pi)
        return 0.5 * X.sum(axis=1), (4 / 3 * φ).sum(axis=1)


@dataclass(frozen=True)
class _SingleIndex(Case):
    """X ~ U[0, 1]^d, m = 2 sin(π βᵀX) + π βᵀX, σ = √(1 + (βᵀX)²)."""

    number = 4
    name = "single index"

    beta: tuple[float, ...] = (1.0,)

    def _inputs(self, rng: Generator, n: int) -> Array:
        return rng.uniform(0.0, 1.0, (n, self.dimension))

    def _terms(self, X: Array) -> tuple[Array, Array]:
        t = (X * self.beta).sum(axis=1)
        return 2 * np.sin(np.pi * t) + np.pi * t, np.sqrt(1 + t**2)


class _Exponential(_OneInput):
    """m = sin(2X), σ = 0.5 + 2X of either sign, ε ~ Exp(1)."""

    number = 5
    name = "exponential noise"
    noise = _EXPONENTIAL

    def _terms(self, X: Array) -> tuple[Array, Array]:
        return np.sin(2 * X[:, 0]), 0.5 + 2 * X[:, 0]


_CASES: dict[int, type[Case]] = {
    kind.number: kind for kind in (_Oscillation, _SineScale, _BellScale, _SingleIndex, _Exponential)
}


def case(number: int, *, dimension: int | None = None, beta: npt.ArrayLike | None = None) -> Case:
    """Make one of the paper's test cases.

    Parameters
    ----------
    number : int
        1 to 5, as in the paper's appendix.
    dimension : int, optional
        The number d of inputs: 1 in cases 1 and 5, any in cases 2, 3 and 4. By default 1, or the
        length of `beta`.
    beta : sequence of d floats, optional
        β in case 4. By default (1, 0.1, …, 0.1), which is the paper's for d = 1 and d = 5.

    Returns
    -------
    Case
        The case, ready to sample.

    Examples
    --------
    >>> from sosbands import datasets
    >>> X, y = datasets.case(4, beta=(1, 0.1, 0.1, 0.1, 0.1)).sample(150, random_state=0)
    >>> X.shape, y.shape
    ((150, 5), (150,))
    """
    if not isinstance(number, Real) or number not in _CASES:  # a list could not be looked up
        raise ValueError(f"number must be 1, 2, 3, 4 or 5, got {number!r}: choose one of them")
    if number == _SingleIndex.number:
        return _single_index(dimension, beta)
    if beta is not None:
        raise ValueError(f"beta belongs to case 4, got {beta!r} in case {number}: leave it out")
    return _CASES[number](1 if dimension is None else dimension)


def _single_index(dimension: int | None, beta: npt.ArrayLike | None) -> Case:
    if beta is None:
        d = 1 if dimension is None else dimension
        _check_count("dimension", d)
        return _SingleIndex(d, (1.0,) + (0.1,) * (d - 1))
    β = np.asarray(beta, dtype=np.float64)
    if β.ndim != 1 or β.size == 0 or not np.all(np.isfinite(β)):
        raise ValueError(
            f"beta must be a flat sequence of one or more finite numbers, got {beta!r}: "
            "give one for each input"
        )
    if dimension not in (None, β.size):
        raise ValueError(
            f"beta must have one number for each of the {dimension} inputs, got {β.size}: "
            "leave dimension out, or make them agree"
        )
    return _SingleIndex(β.size, tuple(β.tolist()))


def _levels(level: npt.ArrayLike) -> Array:
    p = np.asarray(level, dtype=np.float64)
    if p.ndim > 1 or not np.all((p > 0) & (p < 1)):
        raise ValueError(
            f"level must be one number in (0, 1) or a flat sequence of them, got {level!r}: "
            "write 90 % as 0.9"
        )
    return p


def _check_count(name: str, count: object) -> None:
    if not isinstance(count, int | np.integer) or count < 1:
        raise ValueError(f"{name} must be a whole number ≥ 1, got {count!r}: give at least 1")


def _generator(random_state: Seed) -> Generator:
    if random_state is None or isinstance(random_state, int | np.integer | Generator):
        return np.random.default_rng(random_state)
    raise TypeError(
        "random_state must be None, a whole number or a numpy.random.Generator, "
        f"got {random_state!r}: make one with numpy.random.default_rng"
    )
