"""Average the learned scale with a constant, where out-of-fold scores cannot tell the two apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sosbands.types import Array

_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class Evenness:
    """A constant, with which the scale is averaged geometrically.

    A scale that is learned from few rows, or from noise of one size, goes up and down for nothing.
    The loss in interval score grows with the square of these ups and downs (their logarithms):
    halving them leaves a quarter of it.

    Attributes
    ----------
    typical : float
        The logarithm of the constant: the median width over training rows, of those with a width.
    weight : float
        Of the constant in the average.
    """

    typical: float
    weight: float

    @classmethod
    def of(cls, spread: Array, *, weight: float) -> Evenness:
        """From the scale, or the widths, at some training rows."""
        logs = log_widths(spread)
        known = logs[logs > np.log(_TINY)]
        return cls(float(np.median(known)) if len(known) else 0.0, weight)

    def averaged(self, spread: Array) -> Array:
        """The weighted geometric mean of widths and constant; levels and sides keep their ratios.

        Where there is no width there is none afterwards.
        """
        return weighed(spread, self.typical - log_widths(spread), self.weight)


def weighed(spread: Array, log_ratio: Array, weight: float) -> Array:
    """Widths times ratio^weight of each row; levels and sides keep their own ratios."""
    return np.asarray((spread.T * np.exp(weight * log_ratio)).T)


def log_widths(spread: Array) -> Array:
    """log of the scale, of shape (n,), or of the mean width of both sides of the last level."""
    width = spread if spread.ndim == 1 else spread[:, -1].mean(axis=1)
    return np.asarray(np.log(np.maximum(width, _TINY)))
