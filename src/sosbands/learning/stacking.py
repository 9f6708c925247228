"""`StackedMean`: regressors, weighed by how well they predict rows that they did not see."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, validate_data

from sosbands.core.threads import one_openmp_thread
from sosbands.learning.base_regressors import BASES, LARGEST
from sosbands.learning.encoding import Encoded, TableEncoder
from sosbands.learning.fit_parameters import FitParameters
from sosbands.learning.folds import cross_fitting_folds, fold_numbers, renumbered
from sosbands.learning.input_ranks import InputRanks
from sosbands.learning.kernel_mean import KernelMean
from sosbands.learning.parameters import seed_of
from sosbands.learning.progress import SILENT, Progress
from sosbands.learning.row_order import row_order
from sosbands.learning.stacking_weights import stacking_weights
from sosbands.learning.standardize import Affine, VaryingInputs
from sosbands.learning.validation import labelled_rows, new_rows
from sosbands.types import Array, Folds, Indices

# Digits of what trees see of kernel means: far more than these are worth.
_GRID_BITS = 20
# Codes that boosting takes for names: so many are bins of a column.
_MOST_NAMES = 255


class StackedMean(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The mean of ``BandRegressor(estimator="auto")``: an average of five regressors.

    A kernel mean, a rougher one of the ranks of the inputs, boosted trees, extra trees of what the
    kernel means leave, and a ridge, each fitted once to all rows and once without each fold. The
    average predicts the rows of the folds best, in weights that are not negative and add up to one;
    a few wild rows do not decide. Nothing is nested: K folds take K + 1 fits of each regressor.
    With fewer than 500 rows there are no ranks, and extra trees are of the outputs; beyond 20 000
    rows there are neither ranks nor extra trees, and beyond 50 000 no kernel mean.

    Any table will do: kernel mean and ridge see what a `TableEncoder` makes of it, trees its codes
    and missing values.

    Parameters
    ----------
    cv : int or splitter
        The folds.
    n_jobs : int or None
        Fits in parallel, through joblib.
    random_state : int, RandomState or None
        Decides the folds, and the draws of trees.

    Attributes
    ----------
    weights_ : dict
        The weight of each regressor by name.
    centre_ : dict
        What extra trees go around: the share of each kernel mean by name. Empty if they go around
        nothing, or have no weight.
    estimators_ : dict
        Those with a positive weight or share, fitted to all rows.
    unit_ : float
        The unit of what they predict: a power of two near the spread of y, so that nothing is
        rounded.
    encoder_ : TableEncoder
    units_ : VaryingInputs
        In which kernel mean and ridge see what the encoder makes.
    ranks_ : InputRanks or None
        If one of the estimators sees ranks.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands import StackedMean
    >>> X = np.linspace(0, 1, 60)[:, None]
    >>> mean = StackedMean(random_state=0).fit(X, np.sin(6 * X[:, 0]))
    >>> max(mean.weights_, key=mean.weights_.get)
    'kernel mean'
    """

    band_transformer = None  # what `validation` asks of whoever sees tables

    def __init__(self, *, cv: Any = 5, n_jobs: int | None = None, random_state: Any = None) -> None:
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit all regressors, and weigh them.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            At least ten rows; numbers, texts, dates, some of them missing.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            How much each row counts, in the regressors and in their weights.
        """
        X, outputs = labelled_rows(self, X, y, reset=True)
        told = FitParameters.of_checked(sample_weight, len(outputs))
        if (counted := told.counted(len(outputs))) is not None:
            X, outputs, told = _safe_indexing(X, counted), outputs[counted], told.take(counted)
        seed = seed_of(self.random_state)
        folds = cross_fitting_folds(X, outputs, cv=self.cv, groups=None, seed=seed)
        self.fit_held_out(X, outputs, folds, weights=told.weights, seed=seed)
        if self.encoder_.notices_:
            warnings.warn("; ".join(self.encoder_.notices_), stacklevel=2)
        return self

    def fit_held_out(
        self,
        X: Any,
        y: Array,
        folds: Folds,
        *,
        weights: Array | None,
        seed: int,
        progress: Progress = SILENT,
    ) -> tuple[Array, Encoded]:
        """Fit to checked rows; what the average predicts for each without its fold, and the rows.

        NaN for rows that no fold holds out.
        """
        validate_data(self, X, skip_check_array=True)
        n = len(y)
        self.encoder_, B = TableEncoder().fit_transform_folds(X, y, folds)
        self.units_ = VaryingInputs.of(B)
        Z, T = self.units_(B), self._codes(X)
        # In an order of their own, so that nothing depends on that of the table.
        order = row_order(Z, y, np.full(n, np.nan), fold_numbers(folds, n), weights)
        told = FitParameters.of_weights(None if weights is None else weights[order])
        ranks = InputRanks.of(Z)
        seen = {"codes": T[order], "numbers": Z[order], "ranks": ranks(Z)[order]}
        # Trees know gradients and kernel means in 32 bits, and take numbers for equal that are less
        # than 1e-7 apart: outputs of 1e-40 would all be equal, those of 1e40 infinite.
        self.unit_ = float(2.0 ** np.round(np.log2(Affine.of(y).scale)))
        rows = _Rows(seen, y[order] / self.unit_, renumbered(folds, order, n), told)
        names = self.encoder_.categorical_ & (np.nanmax(T, axis=0, initial=0) < _MOST_NAMES)
        models = {
            name: base.make(n, seed, names)
            for name, base in BASES.items()
            if base.least_rows <= n <= base.most_rows
        }
        P, fitted, centre = rows.cross_fitted(models, self.n_jobs, progress)
        shares = rows.shares(P)
        self.weights_ = dict(zip(models, shares.tolist(), strict=True))
        positive = {name for name, weight in self.weights_.items() if weight > 0}
        around = any(BASES[name].least_around <= n for name in positive)
        self.centre_ = {name: s for name, s in centre.items() if s > 0} if around else {}
        self.estimators_ = {
            name: fitted[name] for name in models if name in positive or name in self.centre_
        }
        self.ranks_ = ranks if self._ranked else None
        average = np.empty(n)
        average[order] = self.unit_ * (np.column_stack(P) @ shares)
        return average, self.encoder_.encoded(X)._replace(B=B)

    def predict(self, X: Any) -> Array:
        """The average of the predictions."""
        check_is_fitted(self)
        X = new_rows(self, X)
        Z, T = self.units_(self.encoder_.encoded(X).B), self._codes(X)
        seen, total, centre = {"codes": T, "numbers": Z}, np.zeros(len(Z)), np.zeros(len(Z))
        if self._ranked:
            ranks: Any = self.ranks_
            seen["ranks"] = ranks(Z)
        for name, model in self.estimators_.items():
            base = BASES[name]
            if self.centre_ and base.least_around < np.inf:
                prediction = centre + model.predict(_beside(seen[base.sees], centre))
            else:
                prediction = model.predict(seen[base.sees])
            centre += self.centre_.get(name, 0.0) * prediction
            total += self.weights_[name] * prediction
        return self.unit_ * total

    def _codes(self, X: Any) -> Array:
        """What trees see of the columns of X."""
        return np.clip(self.encoder_.codes(X), -LARGEST, LARGEST)

    @property
    def _ranked(self) -> bool:
        return any(BASES[name].sees == "ranks" for name in self.estimators_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = TableEncoder().__sklearn_tags__().input_tags
        tags.input_tags.allow_nan = inner.allow_nan
        tags.input_tags.categorical, tags.input_tags.string = inner.categorical, inner.string
        return tags


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows as the regressors see them, outputs in units of their spread, folds, weights."""

    seen: Mapping[str, Array]
    y: Array
    folds: Folds
    told: FitParameters

    def cross_fitted(
        self, models: Mapping[str, Any], n_jobs: int | None, progress: Progress
    ) -> tuple[list[Array], dict[str, Any], dict[str, float]]:
        """What each model predicts for each row without its fold, the models, and the centre.

        All models are fitted to all rows. The centre is the share of each kernel mean in their
        average.
        """
        kernels = [name for name, model in models.items() if isinstance(model, KernelMean)]
        # A kernel mean needs no fits without the folds: it finds its lengthscales once.
        parts = [(k, name) for name in models if name not in kernels for k in range(self.count)]
        P, fitted, means = {name: np.full(len(self.y), np.nan) for name in models}, {}, []
        parallel = Parallel(n_jobs=n_jobs, return_as="generator")
        with progress.phase("means", len(kernels) + len(parts)):
            made = parallel(delayed(self._kernel)(name, models[name]) for name in kernels)
            for name, (fitted[name], by_part) in zip(kernels, made, strict=True):
                means.append(by_part)
                for part, (_, test) in zip(by_part[1:], self.folds, strict=True):
                    P[name][test] = part[test]
                progress.step()
            shares = self.shares([P[name] for name in kernels])
            centre = sum(share * by_part for share, by_part in zip(shares, means, strict=True))
            around = centre if kernels else [None] * self.count
            made = parallel(
                delayed(self._part)(name, models[name], k, around[k]) for k, name in parts
            )
            for (k, name), (model, predictions) in zip(parts, made, strict=True):
                if k == 0:
                    fitted[name] = model
                else:
                    P[name][self.folds[k - 1][1]] = predictions
                progress.step()
        average = dict(zip(kernels, map(float, shares), strict=True))
        return list(P.values()), fitted, average

    @property
    def count(self) -> int:
        """Fits of a regressor: with all rows, and without each fold."""
        return 1 + len(self.folds)

    def shares(self, predictions: Sequence[Array]) -> Array:
        """The weight of each of several predictions in the average that predicts best."""
        if not predictions:
            return np.empty(0)
        P = np.column_stack(predictions)
        known = np.all(np.isfinite(P), axis=1)
        counts = None if self.told.weights is None else self.told.weights[known]
        return stacking_weights(P[known], self.y[known], counts)

    def _kernel(self, name: str, model: KernelMean) -> tuple[KernelMean, Array]:
        """A kernel mean of all rows, and its means of each of them, of shape (1 + K, n).

        By all other rows, then by those that each fold trains with.
        """
        seen = self.seen[BASES[name].sees]
        with one_openmp_thread():  # this may be another thread or process than that of the fit
            fitted = self.told.fit(model, seen, self.y)
            parts = fitted.without_folds(seen, self.y, self.folds, self.told.weights)
        return fitted, np.vstack([fitted.left_out, parts])

    def _part(
        self, name: str, model: Any, k: int, centre: Array | None
    ) -> tuple[Any, Array | None]:
        """A model of all rows, if k is 0, or what one without fold k predicts for it."""
        base = BASES[name]
        seen, y, start = self.seen[base.sees], self.y, np.zeros(len(self.y))
        if centre is not None and base.least_around <= len(y):
            seen, start = _beside(seen, _on_grid(centre)), centre
            y = _on_grid(y - centre)
        with one_openmp_thread():
            if k == 0:
                return self.told.fit(model, seen, y), None
            train, test = self.folds[k - 1]
            seen = _without_empty_columns(seen, train)
            return None, start[test] + self.told.fit(model, seen, y, train).predict(seen[test])


def _without_empty_columns(seen: Array, train: Indices) -> Array:
    """Columns that hold no value in the training rows are all zero: boosted trees refuse them."""
    empty = np.isnan(seen[train]).all(axis=0)
    return np.where(empty, 0.0, seen) if empty.any() else seen


def _on_grid(values: Array) -> Array:
    """Values to 2⁻²⁰ of the unit.

    Trees choose between splits that part the rows alike by rounding, and what kernel means predict
    differs by rounding from one processor to the next. Sums of such numbers are exact.
    """
    return np.asarray(np.round(values * 2.0**_GRID_BITS) / 2.0**_GRID_BITS)


def _beside(seen: Array, centre: Array) -> Array:
    """One more column."""
    return np.column_stack([seen, centre])
