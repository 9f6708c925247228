"""A first guess of how wrong a prediction is: what trees or neighbours say of |y − m(x)|."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sosbands.learning.base_regressors import LARGEST
from sosbands.learning.evenness import log_widths, weighed
from sosbands.learning.fit_parameters import FitParameters
from sosbands.learning.means import checked_prediction, cross_fitted
from sosbands.learning.progress import SILENT, Progress
from sosbands.learning.standardize import Affine
from sosbands.types import Array, Folds, Indices

# A guess below these fractions of the median and of the mean one says no more than "small". The
# mean counts where a model is exact on most rows, so that the median guess is nothing.
_LEAST_GUESS, _LEAST_OF_MEAN = 0.05, 0.02
# Trees choose between equal splits by rounding, and by the order of the columns: they are given
# rounded numbers, and the columns in an order of their own.
_DIGITS = 6


@dataclass(frozen=True, eq=False)
class Difficulty:
    """x, m(x) ↦ the logarithm of a guess of |y − m(x)|, in units of its own.

    Trees find interactions of many inputs that a smooth kernel needs many rows for; the kernel
    then only has to learn where the guess is wrong. The model learns √|r|, whose tail is short, so
    that least squares will do.
    """

    model: Any
    columns: Indices
    least: float
    units: Affine
    limits: tuple[float, float]

    @classmethod
    def learn(
        cls,
        model: Any,
        Z: Array,
        sizes: Array,
        *,
        folds: Folds,
        weights: Array | None = None,
        guesses: Array | None = None,
        n_jobs: int | None = None,
        progress: Progress = SILENT,
    ) -> tuple[Difficulty, Array]:
        """The guess, and its values at the training rows by models that did not see them.

        What others guessed there, who did not see them either, may be known.
        """
        # Rows are in an order of their own, so that this orders the columns by what they hold.
        columns = np.argsort(np.arange(len(Z)) @ Z, kind="stable")
        roots = np.asarray(np.round(np.sqrt(sizes), _DIGITS), dtype=np.float64)
        Z = _for_trees(Z[:, columns])
        fitted, held_out = cross_fitted(
            model,
            Z,
            roots,
            folds=folds if guesses is None else [],
            n_jobs=n_jobs,
            told=FitParameters.of_weights(weights),
            progress=progress,
            phase="difficulty",
        )
        held_out = _squared(held_out) if guesses is None else guesses
        known = np.isfinite(held_out)
        guesses = held_out[known]
        typical = float(np.median(guesses)), float(np.mean(guesses))
        least = max(_LEAST_GUESS * typical[0], _LEAST_OF_MEAN * typical[1]) or 1e-12
        logs = np.log(np.maximum(held_out, least))
        units = Affine.of(logs[known])
        values = units(logs)
        limits = float(values[known].min()), float(values[known].max())
        return cls(fitted, columns, least, units, limits), values

    def __call__(self, Z: Array) -> Array:
        """The guess at new rows, within the range it had at the training rows."""
        roots = checked_prediction(self.model, _for_trees(Z[:, self.columns]))
        logs = np.log(np.maximum(_squared(roots), self.least))
        return np.clip(self.units(logs), *self.limits)


@dataclass(frozen=True, eq=False)
class SecondOpinion:
    """The guess of the difficulty, with which the scale is averaged.

    A smooth f and a local guess err in different places: their geometric mean often errs less.

    Attributes
    ----------
    units : Affine
        Of the logarithm of the guess.
    excess : float
        The median of log(guess ÷ scale) over training rows.
    weight : float
        Of the guess in the average.
    """

    units: Affine
    excess: float
    weight: float

    @classmethod
    def of(cls, units: Affine, guess: Array, spread: Array, *, weight: float) -> SecondOpinion:
        """From the guess at some training rows, and the scale or the widths there."""
        ratio = units.undo(guess) - log_widths(spread)
        return cls(units, float(np.median(ratio)), weight)

    def averaged(self, guess: Array, spread: Array) -> Array:
        """The weighted geometric mean of scale and guess; levels and sides keep their ratios."""
        ratio = self.units.undo(guess) - log_widths(spread)
        return weighed(spread, ratio - self.excess, self.weight)


def _for_trees(Z: Array) -> Array:
    """Rounded numbers, none of them beyond 32 bits."""
    return np.clip(np.round(Z, _DIGITS), -LARGEST, LARGEST)


def _squared(roots: Array) -> Array:
    return np.maximum(roots, 0.0) ** 2
