"""`KernelMean`: the mean of a Gaussian process, as a regressor."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sosbands.core.checks import checked_weights
from sosbands.core.kernels import Gaussian, Matern, Smooth
from sosbands.learning.gaussian_process import fit_gaussian_process
from sosbands.learning.parameters import (
    check_choice,
    check_lengthscale,
    check_number,
    check_switch,
    seed_of,
)
from sosbands.learning.standardize import Affine, VaryingInputs
from sosbands.types import Array, Folds

_KERNELS: dict[str, Smooth] = {"gaussian": Gaussian(), "matern32": Matern(nu=1.5)}
# Fewer rows for each input cannot tell lengthscales apart; set by the stability with 100 inputs.
_ROWS_FOR_AN_INPUT = 10


class KernelMean(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The mean of a Gaussian process with a nugget: step 1 of the paper's algorithm 1.

    Lengthscales and nugget are the most likely ones, by a dense or a low-rank evidence. It knows
    its predictions without each row in closed form, so that a band around it needs no
    cross-fitting.

    Parameters
    ----------
    kernel : {"gaussian", "matern32"}
        kᵐ: the Gaussian one of the paper, for smooth means, or Matérn's of ν = 3/2, for rough ones.
    lengthscale : "likelihood", float or array of shape (d,)
        θᵐ, one for all inputs or one for each; "likelihood" finds it.
    isotropic : bool
        Whether "likelihood" finds one common θᵐ.
    spread : float or None
        How much inputs are thought to differ: the standard deviation a priori of log θᵐ, around √d;
        a single input may have any longer θᵐ. None: nothing is thought, as in the paper. The
        likelihood of many lengthscales has no clear maximum: without it, rounding decides where a
        search among them ends. Less than ten rows for each input make it smaller.
    standardize : bool
        Whether inputs and output have mean zero and variance one first; lengthscales are in these
        units.
    random_state : int, RandomState or None
        Chooses the rows that the likelihood is computed with, if there are many.

    Attributes
    ----------
    process_ : GaussianProcess
        Lengthscales, nugget, evidence and ‖m‖², in the units of `standardize`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands import KernelMean
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> float(abs(KernelMean().fit(X, np.sin(6 * X[:, 0])).predict([[0.5]])[0] - np.sin(3)) < 0.01)
    1.0
    """

    def __init__(
        self,
        *,
        kernel: str = "gaussian",
        lengthscale: Any = "likelihood",
        isotropic: bool = False,
        spread: float | None = 1.0,
        standardize: bool = True,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.lengthscale = lengthscale
        self.isotropic = isotropic
        self.spread = spread
        self.standardize = standardize
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the lengthscales and condition on all rows.

        The noise of a row has a variance in proportion to 1/sample_weight; a row of weight 0 is
        left out.
        """
        return self.fit_by(X, y, sample_weight, search_rows=None)

    def fit_by(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        search_rows: int | None,
        max_rank: int | None = None,
    ) -> Self:
        """The same with less of a search, by so many rows at most, and with so many features."""
        rows, outputs = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        weights = None
        if sample_weight is not None:
            kept, weights = checked_weights("sample_weight", sample_weight, len(rows))
            rows, outputs = rows[kept], outputs[kept]
        check_choice("kernel", self.kernel, tuple(_KERNELS))
        check_lengthscale("lengthscale", self.lengthscale, ("likelihood",))
        for name in ("isotropic", "standardize"):
            check_switch(name, getattr(self, name))
        if self.spread is not None:
            check_number("spread", self.spread, positive=True)
        outputs = np.asarray(outputs, dtype=np.float64)
        known = None if self.searches else self.lengthscale
        self._inputs = VaryingInputs.of(rows, active=self.standardize)
        self._outputs = Affine.of(outputs, active=self.standardize)
        self._seed = seed_of(self.random_state)
        varying = self._inputs(rows)
        self.process_ = fit_gaussian_process(
            varying,
            self._outputs(outputs),
            lengthscale=self._inputs.entries("lengthscale", known, rows.shape[1]),
            isotropic=known is None and self.isotropic,
            family=_KERNELS[self.kernel],
            noise_shape=None if weights is None else 1 / weights,
            spread=self._prior_spread(*varying.shape) if known is None else None,
            search_rows=search_rows,
            max_rank=max_rank,
            random_state=self._seed,
        )
        return self

    @property
    def searches(self) -> bool:
        """Whether it has to find its lengthscales."""
        return isinstance(self.lengthscale, str)

    @property
    def column_lengthscales(self) -> Array:
        """θᵐ of every column; NaN for a constant one, which changes nothing."""
        out = np.full(self.n_features_in_, np.nan)
        out[self._inputs.columns] = self.process_.kernel.lengthscale
        return out

    def _prior_spread(self, n: int, d: int) -> float | None:
        few = min(1.0, float(np.sqrt(n / (_ROWS_FOR_AN_INPUT * d))))
        return None if self.spread is None else few * self.spread

    def predict(self, X: ArrayLike) -> Array:
        """m(x) of every row."""
        check_is_fitted(self)
        rows: Any = validate_data(self, X, dtype=np.float64, reset=False)
        return self._outputs.undo(self.process_.mean(self._inputs(rows)))

    def held_out(
        self,
        X: Array,
        y: Array,
        folds: Folds | None,
        weights: Array | None = None,
        *,
        max_rank: int | None = None,
    ) -> Array:
        """The means of the training rows without each row, or without its fold; NaN for no fold.

        Leaving one row out of a group or a time series hides too little. The lengthscales are those
        of all rows.
        """
        if folds is None:
            return self.left_out
        means = np.full(len(y), np.nan)
        parts = self.without_folds(X, y, folds, weights, max_rank=max_rank)
        for part, (_, test) in zip(parts, folds, strict=True):
            means[test] = part[test]
        return means

    @property
    def left_out(self) -> Array:
        """The means of the training rows, each without itself."""
        return self._outputs.undo(self.process_.leave_one_out)

    def without_folds(
        self,
        X: Array,
        y: Array,
        folds: Folds,
        weights: Array | None = None,
        *,
        max_rank: int | None = None,
    ) -> Array:
        """The means of all rows by the rows that each fold trains with, of shape (K, n).

        Those of the rows that it trains with are each without itself, in closed form.
        """
        Z, outputs, means = self._inputs(X), self._outputs(y), np.empty((len(folds), len(y)))
        for k, (train, _) in enumerate(folds):
            part = fit_gaussian_process(
                Z[train],
                outputs[train],
                lengthscale=self.process_.kernel.lengthscale,
                family=_KERNELS[self.kernel],
                noise_shape=None if weights is None else 1 / weights[train],
                max_rank=max_rank,
                random_state=self._seed,
            )
            others = np.setdiff1d(np.arange(len(y)), train)
            means[k, train], means[k, others] = part.leave_one_out, part.mean(Z[others])
        return self._outputs.undo(means)
