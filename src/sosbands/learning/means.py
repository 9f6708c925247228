"""The mean of a band: at new rows, and at training rows by models that did not see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, get_tags

from sosbands.core.threads import one_openmp_thread
from sosbands.learning.encoding import BandInputs, Encoded, TableEncoder
from sosbands.learning.fit_parameters import NOTHING_TOLD, FitParameters
from sosbands.learning.gaussian_process import GaussianProcess
from sosbands.learning.kernel_mean import KernelMean
from sosbands.learning.parameters import seed_of
from sosbands.learning.progress import SILENT, Progress
from sosbands.learning.stacking import StackedMean
from sosbands.quoting import quoted
from sosbands.types import Array, Folds, Indices


@dataclass(frozen=True, eq=False)
class Mean:
    """A fitted regressor, and what it sees of a row.

    Attributes
    ----------
    model : regressor
    sees_encoding : bool
        Whether it sees what the band sees, rather than X as the user gave it.
    """

    model: Any
    sees_encoding: bool

    def __call__(self, X: Any, B: Array) -> Array:
        """m in the units of y, of shape (n,); B are the numbers that the band sees of X."""
        return checked_prediction(self.model, B if self.sees_encoding else X)


@dataclass(frozen=True, eq=False)
class OutOfSample:
    """A mean with its predictions of rows that it was not fitted to.

    Attributes
    ----------
    mean : Mean
        Fitted to all rows.
    predictions : array of shape (n,)
        Of every row by a model that did not see it; NaN where there is none.
    process : GaussianProcess or None
        The Gaussian process behind it, if there is one.
    sizes : array of shape (n,) or None
        A first guess of |y − m| at every row, by bands that did not see it, if there are some.
    """

    mean: Mean
    predictions: Array
    process: GaussianProcess | None = None
    sizes: Array | None = None

    def take(self, rows: Indices) -> OutOfSample:
        """The same mean, with what is known of some of the rows."""
        sizes = None if self.sizes is None else self.sizes[rows]
        return replace(self, predictions=self.predictions[rows], sizes=sizes)


def mean_named(estimator: Any) -> Any:
    """The regressor that a name, or None, stands for."""
    if isinstance(estimator, str) and estimator != "auto":
        raise ValueError(f'estimator must be "auto", a regressor or None, got {quoted(estimator)}')
    if isinstance(estimator, str):
        return StackedMean()
    return KernelMean() if estimator is None else estimator


def with_input_tags(tags: Any, estimator: Any, transformer: Any) -> Any:
    """Tags of scikit-learn, with those of whoever sees X first: a mean, or what encodes it."""
    sees = estimator
    if estimator is None or isinstance(estimator, str | KernelMean):
        sees = TableEncoder() if transformer is None else transformer
    if hasattr(sees, "__sklearn_tags__") and not isinstance(sees, type):
        inner = get_tags(sees).input_tags
        tags.input_tags.allow_nan, tags.input_tags.categorical = inner.allow_nan, inner.categorical
    return tags


def kernel_mean(
    model: KernelMean,
    B: Array,
    y: Array,
    *,
    folds: Folds | None,
    seed: int,
    weights: Array | None = None,
    search_rows: int | None = None,
) -> OutOfSample:
    """A kernel mean, whose predictions without each row, or without its fold, are cheap."""
    seeded = {} if model.random_state is not None else {"random_state": seed}
    fitted = clone(model).set_params(**seeded)
    fitted.fit_by(B, y, weights, search_rows=search_rows)
    held_out = fitted.held_out(B, y, folds, weights)
    return OutOfSample(Mean(fitted, True), held_out, fitted.process_)


def stacked_mean(
    model: StackedMean,
    X: Any,
    y: Array,
    *,
    folds: Folds,
    seed: int,
    weights: Array | None,
    n_jobs: int | None,
    progress: Progress = SILENT,
) -> tuple[OutOfSample, BandInputs, Encoded]:
    """Several regressors, which share the folds and one encoding with the band; and both."""
    drawn = seed if model.random_state is None else seed_of(model.random_state)
    mean = clone(model).set_params(n_jobs=n_jobs if model.n_jobs is None else model.n_jobs)
    predictions, seen = mean.fit_held_out(
        X, y, folds, weights=weights, seed=drawn, progress=progress
    )
    return OutOfSample(Mean(mean, False), predictions), BandInputs(mean.encoder_), seen


def given_mean(
    estimator: Any,
    X: Any,
    y: Array,
    *,
    folds: Folds,
    n_jobs: int | None,
    told: FitParameters = NOTHING_TOLD,
    progress: Progress = SILENT,
) -> OutOfSample:
    """Any regressor: cross-fitted, then fitted to all rows; a frozen one predicts as it is."""
    if isinstance(estimator, FrozenEstimator):
        return OutOfSample(Mean(estimator, False), checked_prediction(estimator, X))
    made = cross_fitted(
        estimator, X, y, folds=folds, n_jobs=n_jobs, told=told, progress=progress, phase="mean"
    )
    return OutOfSample(Mean(made[0], False), made[1])


def cross_fitted(
    estimator: Any,
    X: Any,
    y: Array,
    *,
    folds: Folds,
    n_jobs: int | None,
    told: FitParameters,
    progress: Progress,
    phase: str,
) -> tuple[Any, Array]:
    """A model of all rows, and what models that did not see a row predict for it.

    NaN for rows that no fold holds out.
    """
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    parts = parallel(delayed(_fold_predictions)(estimator, X, y, told, fold) for fold in folds)
    predictions = np.full(len(y), np.nan)
    with progress.phase(phase, len(folds) + 1):
        for (_, test), part in zip(folds, parts, strict=True):
            predictions[test] = part
            progress.step()
        model = told.fit(estimator, X, y)
        progress.step()
    return model, predictions


def means_by_folds(
    estimator: Any,
    X: Any,
    y: Array,
    *,
    folds: Folds,
    n_jobs: int | None,
    told: FitParameters = NOTHING_TOLD,
    progress: Progress = SILENT,
) -> tuple[OutOfSample, list[OutOfSample]]:
    """The mean of all rows and that without each fold, with their predictions out of sample.

    A model that sees neither fold j nor fold k predicts j for the mean without k, and k for the
    mean without j: K folds, a partition of the rows, take 1 + K(K + 1)/2 fits instead of (K + 1)².
    """
    if isinstance(estimator, FrozenEstimator):
        frozen = OutOfSample(Mean(estimator, False), checked_prediction(estimator, X))
        return frozen, [frozen] * len(folds)
    numbers = range(len(folds))
    left_out = [(), *((k,) for k in numbers), *combinations(numbers, 2)]
    fits = {}
    with progress.phase("means", len(left_out)):
        tests = [[folds[k][1] for k in left] for left in left_out]
        parallel = Parallel(n_jobs=n_jobs, return_as="generator")
        made = parallel(delayed(_without)(estimator, X, y, told, parts) for parts in tests)
        for left, fit in zip(left_out, made, strict=True):
            fits[left] = fit
            progress.step()

    def out_of_sample(*left: int) -> OutOfSample:
        """Of the rows outside `left`, each by a model without its own fold as well."""
        predictions = np.full(len(y), np.nan)
        for k in set(numbers) - set(left):
            test = folds[k][1]
            predictions[test] = fits[tuple(sorted((*left, k)))][1][test]
        return OutOfSample(Mean(fits[left][0], False), predictions)

    return out_of_sample(), [out_of_sample(k) for k in numbers]


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


def _without(
    estimator: Any, X: Any, y: Array, told: FitParameters, left_out: Sequence[Indices]
) -> tuple[Any, Array]:
    """A model of all other rows, and its predictions of these."""
    predictions = np.full(len(y), np.nan)
    left = np.concatenate([*left_out, np.arange(0)])
    train = np.setdiff1d(np.arange(len(y)), left)
    with one_openmp_thread():
        model = told.fit(estimator, X, y, train)
        if len(left):
            predictions[left] = checked_prediction(model, _safe_indexing(X, left))
    return model, predictions


def _fold_predictions(
    estimator: Any, X: Any, y: Array, told: FitParameters, fold: tuple[Indices, Indices]
) -> Array:
    train, test = fold
    with one_openmp_thread():  # this may be another thread or process than that of the fit
        model = told.fit(estimator, X, y, train)
        return checked_prediction(model, _safe_indexing(X, test))
