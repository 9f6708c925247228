"""What the scale sees of a row: its inputs, its prediction, and a first guess of its difficulty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sosbands.learning.difficulty import Difficulty
from sosbands.learning.encoding import Encoded
from sosbands.learning.levels import LevelMeans
from sosbands.learning.plan import Rules
from sosbands.learning.progress import SILENT, Progress
from sosbands.learning.standardize import Affine, VaryingInputs
from sosbands.types import Array, Folds, Indices


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
class LevelSizes:
    """How large residuals are in each level of a column: means of √|r|, in units of their own.

    Attributes
    ----------
    means : LevelMeans
    units : Affine
    """

    means: LevelMeans
    units: Affine

    def __call__(self, codes: Indices) -> Array:
        """At rows of these levels."""
        return self.units(self.means(codes))

    @classmethod
    def learn(cls, codes: Indices, residuals: Array, folds: Folds) -> tuple[LevelSizes, Array]:
        """The sizes, and those at the training rows without the fold that holds a row."""
        known = np.isfinite(residuals)
        roots = np.sqrt(np.abs(np.where(known, residuals, 0.0)))
        roots[~known] = roots[known].mean()
        means, at_rows = LevelMeans.learn(codes, int(codes.max()) + 1, roots, folds)
        units = Affine.of(at_rows)
        return cls(means, units), units(at_rows)


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
    sizes : tuple of LevelSizes
        For each column of X with many levels.
    """

    inputs: VaryingInputs
    predictions: Affine | None
    difficulty: Difficulty | None
    sizes: tuple[LevelSizes, ...] = ()

    def __call__(self, seen: Encoded, prediction: Array | None) -> Seen:
        """What the scale sees of new rows."""
        sizes = [size(codes) for size, codes in zip(self.sizes, seen.levels.T, strict=True)]
        Z = self._without_difficulty(seen.B, prediction, sizes)
        if self.difficulty is None:
            return Seen(Z, None)
        guess = self.difficulty(Z)
        return Seen(np.column_stack([Z, guess]), guess)

    def _without_difficulty(
        self, B: Array, prediction: Array | None, sizes: Sequence[Array]
    ) -> Array:
        known = self.predictions is not None and prediction is not None
        extra = [self.predictions(prediction)] if known else []  # type: ignore[misc, arg-type]
        return np.column_stack([self.inputs(B), *extra, *sizes])

    def weights(self, rules: Rules) -> Array:
        """How much each column of Z counts if all lengthscales are equal."""
        extra = [rules.prediction_weight] * (self.predictions is not None)
        extra += [1.0] * (len(self.sizes) + (self.difficulty is not None))
        return np.concatenate([np.ones(len(self.inputs.columns)), extra])

    @classmethod
    def learn(
        cls,
        encoded: Encoded,
        predictions: Array,
        residuals: Array,
        *,
        inputs: VaryingInputs,
        folds: Folds,
        rules: Rules,
        n_jobs: int | None,
        row_weights: Array | None = None,
        guesses: Array | None = None,
        progress: Progress = SILENT,
    ) -> tuple[ScaleInputs, Seen]:
        """From out-of-fold predictions and residuals (NaN where there is none), and what it sees.

        The guesses at the training rows are out of fold, too, and may be known.
        """
        known = np.isfinite(residuals)
        units = Affine.of(predictions[known]) if rules.prediction_weight > 0 else None
        learned = [LevelSizes.learn(codes, residuals, folds) for codes in encoded.levels.T]
        plain = cls(inputs, units, None, tuple(sizes for sizes, _ in learned))
        Z = plain._without_difficulty(encoded.B, predictions, [values for _, values in learned])
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
            guesses=guesses,
            n_jobs=n_jobs,
            progress=progress,
        )
        return replace(plain, difficulty=difficulty), Seen(np.column_stack([Z, guess]), guess)
