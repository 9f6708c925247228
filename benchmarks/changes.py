"""Changes of the data that must not change intervals, and means that do not react to them.

What is compared are the intervals of new rows, changed along, in the original units. Equal values
stay equal under every change. Boosted trees choose between equal splits by rounding, so that the
boosted mean is computed once, from the unchanged rows, and looked up by the number of the row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sosbands import BandRegressor, KernelBand

Array = npt.NDArray[np.float64]

LEVEL = 0.9
FOLDS = 5
MEANS = ("kernel mean", "ridge", "boosting, held fixed")
# Its trees choose between equal splits by rounding of the rows.
AUTO = "auto"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that learn, calibrate and are new, by number; and what a change has made of them.

    Attributes
    ----------
    X, y : arrays of shapes (n, d) and (n,)
        As they were.
    train, calibration, new : arrays of int
        Numbers of rows.
    folds : array of shape (len(train),)
        The number of the fold that holds each training row out.
    given_inputs, given_outputs : arrays
        X and y as the estimator gets them.
    unit : float
        One unit of y, in units of `given_outputs`.
    """

    X: Array
    y: Array
    train: npt.NDArray[np.intp]
    calibration: npt.NDArray[np.intp]
    new: npt.NDArray[np.intp]
    folds: npt.NDArray[np.intp]
    given_inputs: Array
    given_outputs: Array
    unit: float = 1.0

    @classmethod
    def of(cls, X: Array, y: Array, seed: int, most: int = 500) -> Rows:
        """At most so many rows learn and calibrate; a fifth as many are new."""
        # Numbers of 32 bits, so that they can be given in 32 bits as well.
        X, y = X.astype(np.float32).astype(float), y.astype(np.float32).astype(float)
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(y))[: round(1.2 * most)]
        cuts = np.cumsum([round(0.6 * len(rows)), round(0.23 * len(rows))])
        train, calibration, new = np.split(rows, cuts)
        folds = np.empty(len(train), dtype=np.intp)
        for number, (_, test) in enumerate(
            KFold(FOLDS, shuffle=True, random_state=seed).split(train)
        ):
            folds[test] = number
        return cls(X, y, train, calibration, new, folds, X, y)

    def part(self, share: float, draw: int) -> Rows:
        """A random part of the training rows; calibration and new rows stay."""
        count = round(share * len(self.train))
        kept = np.sort(np.random.default_rng(draw).permutation(len(self.train))[:count])
        return replace(self, train=self.train[kept], folds=self.folds[kept])

    def table(self, rows: npt.NDArray[np.intp], *, numbered: bool) -> Array:
        """The inputs of some rows as the estimator gets them, perhaps with their numbers."""
        made = self.given_inputs[rows]
        return np.column_stack([made, rows]) if numbered else made


class HeldFixed(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Boosted trees of the unchanged rows; the last column of X numbers the rows.

    Parameters
    ----------
    rows : Rows
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def fit(self, X: Array, y: Array) -> Self:
        """Learn from the unchanged rows of these numbers, whatever their order."""
        numbers = tuple(sorted(np.asarray(X)[:, -1].astype(int).tolist()))
        self.predictions_ = _predictions(_Unchanged(self.rows.X, self.rows.y), numbers)
        return self

    def predict(self, X: Array) -> Array:
        """Look the predictions up."""
        return self.predictions_[np.asarray(X)[:, -1].astype(int)] * self.rows.unit

    def __deepcopy__(self, memo: dict[int, Any]) -> HeldFixed:
        return HeldFixed(self.rows)


@dataclass(frozen=True, eq=False)
class _Unchanged:
    X: Array
    y: Array

    def __hash__(self) -> int:
        return hash((self.X.shape, float(self.y.sum())))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unchanged) and np.array_equal(self.y, other.y)


@lru_cache(maxsize=64)
def _predictions(data: _Unchanged, numbers: tuple[int, ...]) -> Array:
    learn = np.array(numbers)
    model = HistGradientBoostingRegressor(random_state=0).fit(data.X[learn], data.y[learn])
    return np.asarray(model.predict(data.X))


def _all_but_last(X: Any) -> Array:
    return np.asarray(X)[:, :-1]


def model_of(
    rows: Rows,
    mean: str,
    give: Callable[[Array], Any] = np.asarray,
    *,
    fixed: dict[str, Any] | None = None,
    **parameters: Any,
) -> BandRegressor:
    """A fitted and calibrated model; `fixed` parameters of the band are not chosen."""
    numbered, estimator = mean == MEANS[2], None
    if mean == AUTO:
        estimator = AUTO
    elif mean == MEANS[1]:
        estimator = make_pipeline(StandardScaler(), Ridge())
    elif numbered:
        estimator = HeldFixed(rows)
        parameters["band_transformer"] = FunctionTransformer(_all_but_last)
    settings = {"calibration": None, "cv": PredefinedSplit(rows.folds), "random_state": 0}
    band = KernelBand(**fixed) if fixed else None
    model = BandRegressor(estimator, band=band, **{**settings, **parameters})
    train, calibration = (
        give(rows.table(part, numbered=numbered)) for part in (rows.train, rows.calibration)
    )
    model.fit(train, rows.given_outputs[rows.train])
    return model.conformalize(calibration, rows.given_outputs[rows.calibration])


def ends(
    rows: Rows, mean: str, give: Callable[[Array], Any] = np.asarray, **parameters: Any
) -> Array:
    """Intervals of the new rows, in the units of `rows.y`."""
    model = model_of(rows, mean, give, **parameters)
    new = give(rows.table(rows.new, numbered=mean == MEANS[2]))
    return np.asarray(model.predict_interval(new, LEVEL)) / rows.unit


def move(intervals: Array, reference: Array) -> float:
    """The largest move of an end, in widths of its interval."""
    widths = np.maximum(reference[:, 1] - reference[:, 0], 1e-9 * np.ptp(reference))
    return float(np.max(np.abs(intervals - reference) / widths[:, None]))


def perturbed(rows: Rows, draw: int, size: float = 1e-13) -> Rows:
    """Every distinct value of X and y times 1 + size · noise."""
    rng = np.random.default_rng(draw)

    def shaken(values: Array) -> Array:
        distinct, place = np.unique(values, return_inverse=True)
        return (distinct * (1 + size * rng.normal(size=len(distinct))))[place.ravel()]

    X = np.column_stack([shaken(column) for column in rows.X.T])
    return replace(rows, given_inputs=X, given_outputs=shaken(rows.y))


def reordered_rows(rows: Rows, draw: int) -> Rows:
    """The training rows, with their folds, and the calibration rows in another order."""
    rng = np.random.default_rng(draw)
    order = rng.permutation(len(rows.train))
    return replace(
        rows,
        train=rows.train[order],
        folds=rows.folds[order],
        calibration=rng.permutation(rows.calibration),
    )


def reordered_columns(rows: Rows, draw: int) -> Rows:
    """The columns of X in another order."""
    order = np.random.default_rng(draw).permutation(rows.X.shape[1])
    return replace(rows, given_inputs=rows.X[:, order])


def with_constant(rows: Rows, draw: int) -> Rows:
    """A constant column among the others."""
    place = np.random.default_rng(draw).integers(rows.X.shape[1] + 1)
    return replace(rows, given_inputs=np.insert(rows.X, place, 7.3, axis=1))


def other_units(rows: Rows, draw: int) -> Rows:
    """Powers of ten times every column of X, and times y."""
    powers = np.random.default_rng(draw).integers(-6, 7, size=rows.X.shape[1] + 1)
    unit = 10.0 ** powers[-1]
    return replace(
        rows, given_inputs=rows.X * 10.0 ** powers[:-1], given_outputs=rows.y * unit, unit=unit
    )


CHANGES: dict[str, Callable[[Rows, int], Rows]] = {
    "1e-13": perturbed,
    "order of rows": reordered_rows,
    "order of columns": reordered_columns,
    "constant column": with_constant,
    "units": other_units,
}


def frame(X: Array) -> pd.DataFrame:
    """With names."""
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


FORMS: dict[str, Callable[[Array], Any]] = {
    "Fortran order": np.asfortranarray,
    "32 bits": lambda X: X.astype(np.float32),
    "frame": frame,
}
