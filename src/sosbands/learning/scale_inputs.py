"""What the scale sees of a row: its inputs, its prediction, and a first guess of its difficulty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sosbands.learning.difficulty import Difficulty
from sosbands.learning.plan import Rules
from sosbands.learning.progress import SILENT, Progress
from sosbands.learning.standardize import Affine, VaryingInputs
from sosbands.types import Array, Folds


@dataclass(frozen=True, eq=False)
class Seen:
    """Rows as the scale sees them.

    Attributes
    ----------
    Z : array of shape (n, d)
        The inputs of kᶠ: those of the band, then the prediction and the guess, if it sees them.
    guess : array of shape (n,) or None
        The guess of the difficulty, which is also one of the columns.
    """

    Z: Array
    guess: Array | None


@dataclass(frozen=True, eq=False)
class ScaleInputs:
    """(B, prediction) ↦ what the scale sees.

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

    def __call__(self, B: Array, prediction: Array | None) -> Seen:
        """What the scale sees of new rows."""
        Z = self._without_difficulty(B, prediction)
        if self.difficulty is None:
            return Seen(Z, None)
        guess = self.difficulty(Z)
        return Seen(np.column_stack([Z, guess]), guess)

    def _without_difficulty(self, B: Array, prediction: Array | None) -> Array:
        if self.predictions is None or prediction is None:
            return self.inputs(B)
        return np.column_stack([self.inputs(B), self.predictions(prediction)])

    def weights(self, rules: Rules) -> Array:
        """How much each column of Z counts if all lengthscales are equal."""
        extra = [rules.prediction_weight] * (self.predictions is not None)
        extra += [1.0] * (self.difficulty is not None)
        return np.concatenate([np.ones(len(self.inputs.columns)), extra])

    @classmethod
    def learn(
        cls,
        B: Array,
        predictions: Array,
        residuals: Array,
        *,
        inputs: VaryingInputs,
        folds: Folds,
        rules: Rules,
        n_jobs: int | None,
        row_weights: Array | None = None,
        progress: Progress = SILENT,
    ) -> tuple[ScaleInputs, Seen]:
        """From out-of-fold predictions and residuals (NaN where there is none), and what it sees.

        The guesses at the training rows are out of fold.
        """
        known = np.isfinite(residuals)
        units = Affine.of(predictions[known]) if rules.prediction_weight > 0 else None
        plain = cls(inputs, units, None)
        Z = plain._without_difficulty(B, predictions)
        least_fold = min(len(train) for train, _ in folds)
        model = rules.difficulty(int(known.sum()), least_fold=least_fold)
        if model is None or not known.all():
            return plain, Seen(Z, None)
        difficulty, guess = Difficulty.learn(
            model,
            Z,
            np.abs(residuals),
            folds=folds,
            weights=row_weights,
            n_jobs=n_jobs,
            progress=progress,
        )
        return cls(inputs, units, difficulty), Seen(np.column_stack([Z, guess]), guess)
