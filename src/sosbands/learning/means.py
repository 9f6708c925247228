"""The mean of a band, and its values out of sample: a Gaussian process, or any regressor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from sosbands.core.threads import one_openmp_thread
from sosbands.learning.gaussian_process import GaussianProcess, fit_gaussian_process
from sosbands.learning.settings import BandSettings
from sosbands.types import Array, Folds, Indices

# Columns that vary by a smaller share of their size are constant but for rounding: 0.1 + 0.2, 0.3.
_ROUNDING = 10 * float(np.finfo(np.float64).eps)


class Mean(Protocol):
    """m at new rows: X as the user gave it, B the numbers that the band sees of it."""

    def values(self, X: Any, B: Array) -> Array:
        """m in the units of y, of shape (n,)."""


@dataclass(frozen=True, eq=False)
class Affine:
    """Columns to mean zero and variance one; constant columns to zero."""

    centre: Array
    scale: Array

    @classmethod
    def of(cls, values: Array, *, active: bool = True) -> Affine:
        """Centre and scale of the rows; nothing happens if not `active`."""
        if not active:
            return cls(np.zeros(values.shape[1:]), np.ones(values.shape[1:]))
        size = np.abs(values).max(axis=0)
        size = np.where(size > 0, size, 1.0)  # with |values| ≤ 1 no square over- or underflows
        shares = values / size
        spread = np.std(shares, axis=0)
        scale = np.where(spread > _ROUNDING, spread, 1.0) * size
        return cls(np.mean(shares, axis=0) * size, np.where(scale > 0, scale, 1.0))

    def __call__(self, values: Array) -> Array:
        """Standardised values."""
        standardised: Array = (values - self.centre) / self.scale
        return standardised

    def undo(self, values: Array) -> Array:
        """Values in their own units."""
        original: Array = values * self.scale + self.centre
        return original


@dataclass(frozen=True, eq=False)
class VaryingInputs:
    """The columns of B that vary, in units of their own: a constant column changes nothing.

    Attributes
    ----------
    columns : array of shape (d,)
        Their numbers; all columns if nothing is standardised, or if none varies.
    units : Affine
    """

    columns: Indices
    units: Affine

    @classmethod
    def of(cls, B: Array, *, active: bool = True) -> VaryingInputs:
        """From training rows; if not `active`, columns and units stay as they are."""
        units = Affine.of(B, active=active)
        columns = np.arange(B.shape[1])
        if active:
            varying = np.flatnonzero(np.ptp(units(B), axis=0) > _ROUNDING)
            columns = varying if len(varying) else columns
        return cls(columns, Affine(units.centre[columns], units.scale[columns]))

    def __call__(self, B: Array) -> Array:
        """Standardised values."""
        return self.units(B[:, self.columns])

    def entries(self, name: str, values: Any, n_columns: int) -> Any:
        """Of a parameter with one entry per column of B, those of the columns that count."""
        if np.ndim(values) == 0:
            return values
        if len(np.asarray(values)) != n_columns:
            raise ValueError(
                f"{name} has {len(np.asarray(values))} entries but the band sees {n_columns} "
                "inputs; give one number, or one per input"
            )
        return np.asarray(values, dtype=np.float64)[self.columns]


@dataclass(frozen=True, eq=False)
class KernelMean:
    """The mean of the Gaussian process."""

    process: GaussianProcess
    inputs: VaryingInputs
    outputs: Affine

    def values(self, X: Any, B: Array) -> Array:
        """m in the units of y."""
        return self.outputs.undo(self.process.mean(self.inputs(B)))


@dataclass(frozen=True, eq=False)
class EstimatorMean:
    """The prediction of a fitted regressor."""

    estimator: Any

    def values(self, X: Any, B: Array) -> Array:
        """Its prediction, checked."""
        return checked_prediction(self.estimator, X)


@dataclass(frozen=True, eq=False)
class Preliminary:
    """What is known of the mean before the band is learned.

    Attributes
    ----------
    predictions : array of shape (n,)
        Of every row by a model that did not see it; NaN where there is none.
    mean : Mean
        The mean at new rows.
    process : GaussianProcess or None
        The Gaussian process behind it, if there is one.
    """

    predictions: Array
    mean: Mean
    process: GaussianProcess | None = None


def gaussian_process(
    B: Array, y: Array, settings: BandSettings, *, folds: Folds | None, seed: int
) -> Preliminary:
    """Step 1 of algorithm 1: θᵐ by maximum likelihood, the mean and its values out of sample.

    These are the closed-form leave-one-out means, or, with `folds`, those without the row's fold:
    leaving one row out of a group or a time series hides too little.
    """
    inputs, outputs = units(B, y, settings)
    known: Any = None if isinstance(settings.mean_lengthscale, str) else settings.mean_lengthscale
    Z = inputs(B)
    process = fit_gaussian_process(
        Z,
        outputs(y),
        lengthscale=inputs.entries("mean_lengthscale", known, B.shape[1]),
        isotropic=known is None and settings.mean_lengthscale == "gp-isotropic",
        random_state=seed,
    )
    held_out = process.leave_one_out
    if folds is not None:
        held_out = np.full(len(y), np.nan)
        for train, test in folds:
            part = fit_gaussian_process(
                Z[train],
                outputs(y)[train],
                lengthscale=process.kernel.lengthscale,
                random_state=seed,
            )
            held_out[test] = part.mean(Z[test])
    mean = KernelMean(process, inputs, outputs)
    return Preliminary(outputs.undo(held_out), mean, process)


def cross_fitted(estimator: Any, X: Any, y: Array, folds: Folds, n_jobs: int | None) -> Preliminary:
    """Predictions of held-out rows fold by fold, then the regressor fitted on all rows."""
    predictions = held_out_predictions(estimator, X, y, folds, Parallel(n_jobs=n_jobs))
    return Preliminary(predictions, EstimatorMean(clone(estimator).fit(X, y)))


def held_out_predictions(
    estimator: Any, X: Any, y: Array, folds: Folds, parallel: Parallel
) -> Array:
    """What models that did not see a row predict for it; NaN for rows that no fold holds out."""
    parts = parallel(delayed(_held_out)(estimator, X, y, train, test) for train, test in folds)
    predictions = np.full(len(y), np.nan)
    for (_, test), part in zip(folds, parts, strict=True):
        predictions[test] = part
    return predictions


def frozen(estimator: Any, X: Any) -> Preliminary:
    """The predictions of a regressor that was trained elsewhere."""
    return Preliminary(checked_prediction(estimator, X), EstimatorMean(estimator))


def checked_prediction(estimator: Any, X: Any) -> Array:
    """What a regressor predicts, as a vector of finite numbers."""
    name = type(estimator).__name__
    raw = estimator.predict(X)
    try:
        prediction = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the prediction of {name} is not numeric: {error}") from error
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if prediction.shape == (rows, 1):
        prediction = prediction[:, 0]
    if prediction.shape != (rows,):
        raise ValueError(
            f"{name} predicted an array of shape {prediction.shape} for {rows} rows: "
            "a regressor with one output is needed"
        )
    if not np.all(np.isfinite(prediction)):
        bad = int(np.sum(~np.isfinite(prediction)))
        raise ValueError(
            f"{name} predicted NaN or infinity for {bad} of {rows} rows: check its training"
        )
    return prediction


def units(B: Array, y: Array, settings: BandSettings) -> tuple[VaryingInputs, Affine]:
    """Units of inputs and output: mean zero and variance one, or as they are."""
    active = bool(settings.standardize)
    return VaryingInputs.of(B, active=active), Affine.of(y, active=active)


def _held_out(estimator: Any, X: Any, y: Array, train: Indices, test: Indices) -> Array:
    with one_openmp_thread():  # this may be another thread or process than that of the fit
        model = clone(estimator).fit(_safe_indexing(X, train), y[train])
        return checked_prediction(model, _safe_indexing(X, test))
