"""What the scale sees of a row: its inputs, its prediction, and a first guess of its difficulty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel
from sklearn.base import clone

from sosbands.learning.means import Affine, VaryingInputs, checked_prediction, held_out_predictions
from sosbands.learning.settings import BandSettings
from sosbands.types import Array, Folds, Indices

# A guess below these fractions of the median and of the mean one says no more than "small". The
# mean counts where a model is exact on most rows, so that the median guess is nothing.
_LEAST_GUESS, _LEAST_OF_MEAN = 0.05, 0.02
# Trees choose between equal splits by rounding, and by the order of the columns: they are given
# rounded numbers, and the columns in an order of their own.
_DIGITS = 6
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class Difficulty:
    """x, m(x) ↦ the logarithm of a guess of |y − m(x)|, in standardised units.

    Trees find interactions of many inputs that a smooth kernel needs many rows for; the kernel
    then only has to learn where the guess is wrong.
    """

    model: Any
    columns: Indices
    least: float
    units: Affine
    limits: tuple[float, float]

    @classmethod
    def learn(
        cls, model: Any, Z: Array, sizes: Array, folds: Folds, parallel: Parallel
    ) -> tuple[Difficulty, Array]:
        """The guess, and its values at the training rows by models that did not see them."""
        # Rows are in an order of their own, so that this orders the columns by what they hold.
        columns = np.argsort(np.arange(len(Z)) @ Z, kind="stable")
        Z, sizes = np.round(Z[:, columns], _DIGITS), np.round(sizes, _DIGITS)
        held_out = held_out_predictions(model, Z, sizes, folds, parallel)
        known = np.isfinite(held_out)
        guesses = np.maximum(held_out[known], 0.0)
        least = max(_LEAST_GUESS * np.median(guesses), _LEAST_OF_MEAN * np.mean(guesses))
        least = float(least) or 1e-12
        logs = np.log(np.maximum(held_out, least))
        units = Affine.of(logs[known])
        values = units(logs)
        limits = float(values[known].min()), float(values[known].max())
        return cls(clone(model).fit(Z, sizes), columns, least, units, limits), values

    def __call__(self, Z: Array) -> Array:
        """The guess at new rows, within the range it had at the training rows."""
        guesses = checked_prediction(self.model, np.round(Z[:, self.columns], _DIGITS))
        logs = np.log(np.maximum(guesses, self.least))
        return np.clip(self.units(logs), *self.limits)


@dataclass(frozen=True, eq=False)
class GuessedScale:
    """The guess of the difficulty as a second opinion on the scale.

    A smooth f and a local guess err in different places: their geometric mean errs less.

    Attributes
    ----------
    units : Affine
        Of the logarithm of the guess, which is the last thing that the scale sees.
    excess : float
        The median of log(guess ÷ scale) over training rows.
    """

    units: Affine
    excess: float

    @classmethod
    def of(cls, difficulty: Difficulty, Z: Array, scale: Array) -> GuessedScale:
        """From what the scale sees of some training rows, and the scale there."""
        guess = cls(difficulty.units, 0.0)
        return cls(difficulty.units, float(np.median(guess._log_ratio(Z, scale))))

    def averaged(self, Z: Array, scale: Array) -> Array:
        """The geometric mean of scale and guess; two sides keep their ratio."""
        factor = np.exp(0.5 * self._log_ratio(Z, scale))
        averaged: Array = (scale.T * factor).T
        return averaged

    def _log_ratio(self, Z: Array, scale: Array) -> Array:
        width = scale if scale.ndim == 1 else scale.mean(axis=1)
        return self.units.undo(Z[:, -1]) - np.log(np.maximum(width, _TINY)) - self.excess


@dataclass(frozen=True, eq=False)
class ScaleInputs:
    """(B, prediction) ↦ the inputs of kᶠ.

    Attributes
    ----------
    inputs : VaryingInputs
        The columns of B.
    predictions : Affine or None
        Units of the prediction, if it is an input.
    difficulty : Difficulty or None
    """

    inputs: VaryingInputs
    predictions: Affine | None
    difficulty: Difficulty | None

    def __call__(self, B: Array, prediction: Array | None) -> Array:
        """What the scale sees of new rows."""
        Z = self._without_difficulty(B, prediction)
        return Z if self.difficulty is None else np.column_stack([Z, self.difficulty(Z)])

    def _without_difficulty(self, B: Array, prediction: Array | None) -> Array:
        if self.predictions is None or prediction is None:
            return self.inputs(B)
        return np.column_stack([self.inputs(B), self.predictions(prediction)])

    @classmethod
    def learn(
        cls,
        B: Array,
        predictions: Array,
        residuals: Array,
        *,
        inputs: VaryingInputs,
        own_mean: bool,
        folds: Folds,
        settings: BandSettings,
    ) -> tuple[ScaleInputs, Array, Array]:
        """From out-of-fold predictions and residuals; NaN where there is none.

        Returns
        -------
        ScaleInputs
        array of shape (n, d)
            The inputs of the training rows, out of fold.
        array of shape (d,)
            How much each of them counts if all lengthscales are equal.
        """
        weight = settings.prediction_weight_for(own_mean=own_mean)
        known = np.isfinite(residuals)
        seen = cls(inputs, Affine.of(predictions[known]) if weight > 0 else None, None)
        Z = seen._without_difficulty(B, predictions)
        weights = np.ones(Z.shape[1])
        if weight > 0:
            weights[-1] = weight
        model = settings.difficulty_for(
            int(known.sum()),
            least_fold=min(len(train) for train, _ in folds),
            own_mean=own_mean,
        )
        if model is None or not known.all():
            return seen, Z, weights
        with Parallel(n_jobs=settings.n_jobs) as parallel:
            difficulty, guesses = Difficulty.learn(model, Z, np.abs(residuals), folds, parallel)
        return (
            cls(inputs, seen.predictions, difficulty),
            np.column_stack([Z, guesses]),
            np.append(weights, 1.0),
        )
