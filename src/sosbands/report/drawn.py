"""What the pictures show: a sample of the rows, and the inputs that matter most."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sosbands.dependence import distance_correlation
from sosbands.evaluation import PredictedRows
from sosbands.evaluation.judged_rows import FAR
from sosbands.learning.encoding import is_frame
from sosbands.types import Array, Indices, Mask

if TYPE_CHECKING:
    from sosbands.estimator import BandRegressor

# More rows make pictures slower, not clearer.
_MOST_ROWS, _RANKED_ROWS = 3000, 2000
_MOST_INPUTS = 4
_GRID, _MARGIN = 400, 0.05


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """A sample of the rows that were predicted, at most 3000.

    Attributes
    ----------
    rows : PredictedRows
        All of them.
    place : array of shape (k,)
        Where the drawn ones are in `rows.sample`, in random order.
    index : array of shape (k,)
        Where they are among all rows.
    important : tuple of int
        The inputs that `target` depends on most, by distance correlation; the first one first.
    target : {"width", "prediction"}
        Which of the two; the prediction if widths are all equal, or infinite.
    """

    rows: PredictedRows
    place: Indices
    index: Indices
    important: tuple[int, ...]
    target: Literal["width", "prediction"]

    @classmethod
    def of(cls, rows: PredictedRows) -> DrawnRows:
        """Chosen by the seed of the rows."""
        order = np.random.default_rng(rows.seed).permutation(len(rows.sample))
        place = order[:_MOST_ROWS]
        target, strength = _strength(rows, order[:_RANKED_ROWS])
        important = np.argsort(-strength, kind="stable")[:_MOST_INPUTS]
        index = rows.sample[place]
        return cls(rows, place, index, tuple(int(j) for j in important), target)

    @property
    def n_inputs(self) -> int:
        """Columns that the band sees."""
        return int(self.rows.inputs.shape[1])

    def input(self, j: int) -> Array:
        """One input of the drawn rows, in its own units."""
        values: Array = self.inputs(self.place)[:, j]
        return values

    def inputs(self, place: Indices) -> Array:
        """All inputs of sampled rows, in their own units."""
        return self.rows.units.undo(self.rows.inputs[place])


@dataclass(frozen=True, eq=False)
class Grid:
    """The band along the only input, a little beyond the rows.

    Attributes
    ----------
    x, mean : array of shape (g,)
    intervals : array of shape (g, 2, k)
    far : boolean array of shape (g,)
        Whether the model guesses there.
    """

    x: Array
    mean: Array
    intervals: Array
    far: Mask


def band_along(model: BandRegressor, X: Any, drawn: DrawnRows) -> Grid | None:
    """The band along the only column of X; None if there are others, or a transformer."""
    if np.shape(X)[1] != 1 or model.band_transformer is not None:
        return None
    x = drawn.inputs(np.arange(len(drawn.rows.sample)))[:, 0]
    margin = _MARGIN * float(np.ptp(x)) or 1.0
    points = np.linspace(x.min() - margin, x.max() + margin, _GRID)
    rows = type(X)({next(iter(X.columns)): points}) if is_frame(X) else points[:, None]
    with warnings.catch_warnings():
        # Said in the report: it counts infinite intervals.
        warnings.filterwarnings("ignore", message="a level of .* needs at least")
        intervals = model.predict_interval(rows, drawn.rows.levels)
    far = model.extrapolation(rows) > FAR
    return Grid(points, np.asarray(model.predict(rows)), intervals, far)


def _strength(rows: PredictedRows, place: Indices) -> tuple[Literal["width", "prediction"], Array]:
    """What the inputs are compared with, and how strongly it depends on each."""
    index = rows.sample[place]
    widths, inputs = rows.widths[index], rows.inputs[place]
    finite = np.isfinite(widths)
    if finite.sum() > 1 and np.ptp(widths[finite]) > 0:
        return "width", _correlations(inputs[finite], widths[finite])
    return "prediction", _correlations(inputs, rows.mean[index])


def _correlations(inputs: Array, target: Array) -> Array:
    if len(target) < 2:
        return np.zeros(inputs.shape[1])
    return np.array([distance_correlation(column, target) for column in inputs.T])
