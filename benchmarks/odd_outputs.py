"""Simulated outputs that no mean ± scale can follow, each with its true conditional quantiles.

Inputs are uniform on the unit square. Half of the probability of a count is at zero, two modes
lie where the mean does not, and a cap leaves many rows at one value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtr, ndtri
from scipy.stats import poisson

Array: TypeAlias = npt.NDArray[np.float64]

CAP = 2.0
BISECTIONS = 60


@dataclass(frozen=True)
class OddOutput:
    """Y = Q(x, U) with U uniform.

    `quantile` is Q: it takes the rows of X, shape (n, 2), and p, shape (n,), to shape (n,).
    """

    name: str
    quantile: Callable[[Array, Array], Array]

    def sample(self, n: int, random_state: int) -> tuple[Array, Array]:
        """Rows with their outputs."""
        rng = np.random.default_rng(random_state)
        X = rng.uniform(size=(n, 2))
        return X, self.quantile(X, rng.uniform(size=n))

    def interval(self, X: Array, level: float) -> Array:
        """From the quantile of (1 − level)/2 to that of (1 + level)/2, shape (n, 2)."""
        tails = (1 - level) / 2, (1 + level) / 2
        return np.stack([self.quantile(X, np.full(len(X), p)) for p in tails], axis=1)


def zero_inflated(X: Array, p: Array) -> Array:
    """Zero with probability π(x) from .2 to .8, one more than a Poisson count otherwise."""
    π = expit(4 * (X[:, 1] - 0.5)) * 0.79 + 0.105
    rest = np.clip((p - π) / (1 - π), 0, 1 - 1e-12)
    return np.where(p <= π, 0.0, 1.0 + poisson.ppf(rest, 2 + 8 * X[:, 0]))


def bimodal(X: Array, p: Array) -> Array:
    """m(x) ± a(x) with probabilities w(x) and 1 − w(x), plus normal noise of deviation .3."""
    m, a, σ = np.sin(2 * np.pi * X[:, 0]), 0.5 + 1.5 * X[:, 0], 0.3
    w = 0.3 + 0.4 * X[:, 1]
    low, high = m - a - 9 * σ, m + a + 9 * σ
    for _ in range(BISECTIONS):
        y = (low + high) / 2
        below = w * ndtr((y - m - a) / σ) + (1 - w) * ndtr((y - m + a) / σ) < p
        low, high = np.where(below, y, low), np.where(below, high, y)
    return (low + high) / 2


def capped(X: Array, p: Array) -> Array:
    """min(m(x) + σ(x) ε, 2), ε normal: nearly no row at the cap on the left, most on the right."""
    return np.minimum(3 * X[:, 0] + (0.3 + 0.7 * X[:, 1]) * ndtri(p), CAP)


OUTPUTS = {
    output.name: output
    for output in (
        OddOutput("zero-inflated", zero_inflated),
        OddOutput("bimodal", bimodal),
        OddOutput("capped", capped),
    )
}
