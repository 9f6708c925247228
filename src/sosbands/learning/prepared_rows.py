"""Rows that a band is learned from, with what is known of them before the band."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sosbands.learning.encoding import BandInputs, Encoded
from sosbands.learning.folds import fold_numbers, renumbered
from sosbands.learning.means import OutOfSample
from sosbands.learning.row_order import row_order
from sosbands.learning.standardize import VaryingInputs
from sosbands.types import Array, Folds, Indices


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """Pre-training rows in an order of their own, with what is known before the band.

    Attributes
    ----------
    encoding : BandInputs
        X ↦ B.
    inputs : VaryingInputs
        Units of B.
    seen : Encoded
        B, and what else there is to see of the rows.
    y : array of shape (n,)
    folds : sequence of (train, test)
    mean : OutOfSample
        The mean, and its predictions of these rows, or those of what the bands go around.
    weights : array of shape (n,) or None
        How much each row counts.
    """

    encoding: BandInputs
    inputs: VaryingInputs
    seen: Encoded
    y: Array
    folds: Folds
    mean: OutOfSample
    weights: Array | None

    @property
    def B(self) -> Array:
        """The rows as numbers."""
        return self.seen.B

    def take(self, rows: Indices) -> PreparedRows:
        """Some of the rows, in this order, with the same mean."""
        return replace(
            self,
            seen=self.seen.take(rows),
            y=self.y[rows],
            folds=renumbered(self.folds, rows, len(self.y)),
            mean=self.mean.take(rows),
            weights=None if self.weights is None else self.weights[rows],
        )

    @property
    def order(self) -> Indices:
        """The rows in an order of their own."""
        numbers = fold_numbers(self.folds, len(self.y))
        Z = self.inputs(self.B)
        return row_order(Z, self.y, self.mean.predictions, numbers, self.weights)
