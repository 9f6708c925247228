"""`BandRegressor`: calibrated adaptive prediction intervals as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sosbands.conformal.registry import calibration_named, calibration_of_rows
from sosbands.core.solvers import Certificate
from sosbands.explanation import WidthExplanation
from sosbands.learning.fitting import Fitted, learn_all, learn_by_folds, learn_split, status_notes
from sosbands.learning.folds import numbered
from sosbands.learning.kernel_band import KernelBand
from sosbands.learning.kernel_mean import KernelMean
from sosbands.learning.learner import BandLearner
from sosbands.learning.means import mean_named, with_input_tags
from sosbands.learning.parameters import check_jobs, check_number, check_whole
from sosbands.learning.progress import Progress
from sosbands.learning.routing import fit_parameters, router
from sosbands.learning.validation import check_limits, fitting_rows
from sosbands.prediction import BandPredictions
from sosbands.types import Array

_FROZEN = (
    "the estimator is frozen: the rows that trained it must not be among those given to fit, or "
    "the intervals will be too narrow"
)


class BandRegressor(BandPredictions, WidthExplanation, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Adaptive prediction intervals with guaranteed coverage: a kernel sum-of-squares band.

    `fit` holds part of the rows back. From the others it learns a mean, and how far outputs reach
    below and above it: functions f(x) = φ(x)ᵀAφ(x) with A ⪰ 0 (the paper's symmetric intervals are
    m ± q√f). By the rows held back it then makes all intervals wider or narrower until they cover
    as asked. Whatever the distribution, an interval of level 0.9 covers a new exchangeable row with
    probability at least 0.9, on average over all rows (it is not a promise for each x).

    Three parts are composed: a mean (`estimator`), a band around it (`band`) and a calibration.

    Parameters
    ----------
    estimator : "auto", regressor or None
        The model to put intervals around. "auto": a `StackedMean()` of kernel means, boosted trees,
        extra trees and ridge. None: the kernel mean alone, `KernelMean()`. Any scikit-learn
        regressor or pipeline: it is cross-fitted, its out-of-fold residuals train the band, then it
        is fitted on all pre-training rows. A model trained elsewhere: ``FrozenEstimator(model)``;
        the rows that trained it must not be passed to `fit`.
    band : KernelBand or None
        All that concerns the band alone: its kernel, penalties, tuning and solver. None:
        `KernelBand()`.
    calibration : {"split", "cv+", "localized"} or None
        "split": P(Y ∈ C(X)) ≥ level, and ≤ level + 1/(m + 1) without ties. "localized": the same
        guarantee, with a threshold that varies with x (randomly localized conformal prediction);
        not for few distinct inputs, whose random draws do not average out.
        "cv+": every row trains and calibrates; with K folds of n rows and α = 1 − level the
        guarantee is 1 − 2α − min{2(1 − 1/K)/(n/K + 1), (1 − K/n)/(K + 1)}, and in practice about
        the level. None: call `conformalize`.
    calibration_size : float or int
        The share, or the number, of rows that are held back. With ``fit(..., groups=...)`` that
        share of the groups, each whole.
    cv : int, splitter or list of (train, test)
        Folds of cross-fitting, tuning and "cv+". A `TimeSeriesSplit` also makes the last rows the
        calibration rows; ``fit(..., groups=...)`` keeps groups together throughout. With a
        splitter or groups, residuals of a kernel mean are out of fold instead of leave-one-out.
    band_transformer : transformer or None
        What the band and a kernel mean see of X. None: all of it, by a `TableEncoder` that makes
        numbers of missing values, categories and dates. Other estimators see X as it is.
    remove_outliers : float or None
        Leave rows out of the band whose preliminary residual is further from the median than this
        many robust standard deviations. They still calibrate.
    y_min, y_max : float, "auto" or None
        Where outputs end: intervals go no further. "auto": at the smallest and at the largest
        training output, if at least five rows share it, such as counts of zero or capped prices.
        Coverage is guaranteed all the same: outputs beyond such a limit count as misses.
    n_jobs : int or None
        Folds in parallel, through joblib. The result does not depend on it.
    random_state : int, RandomState or None
        Decides the split, the folds, samples of rows, and the draws of "localized".
    verbose : int
        Positive: a progress line on standard error for every phase of the fit.

    Attributes
    ----------
    estimator_ : regressor
        The fitted mean.
    band_ : FittedBand
        Rows ↦ mean and scale.
    symmetric_ : bool
    lengthscale_ : float or tuple of float
        θᶠ, in standardised units: of the inputs, then of the prediction and of the guess of
        `difficulty`, if the scale sees them. ``KernelBand(lengthscale=...)`` takes it.
    width_weight_ : float
        b.
    certificate_ : Certificate
        Status, duality gap, feasibility, rank, trace residual and timings of the solution.
    tuning_ : Tuning or None
        All candidates, their criteria, and the chosen one.
    calibration_ : Calibration or None
    n_train_ : int
        Rows that the mean and the band were learned from.
    n_outliers_ : int
        Rows that `remove_outliers` left out.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands import BandRegressor
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> y = np.sin(6 * X[:, 0]) + X[:, 0] * np.random.default_rng(0).normal(size=200)
    >>> model = BandRegressor(random_state=0).fit(X, y)
    >>> model.predict_interval(X[:2], confidence_level=[0.5, 0.9]).shape
    (2, 2, 2)
    """

    _seed: int

    def __init__(
        self,
        estimator: Any = "auto",
        *,
        band: KernelBand | None = None,
        calibration: str | None = "split",
        calibration_size: float | int = 0.3,
        cv: Any = 5,
        band_transformer: Any = None,
        remove_outliers: float | None = None,
        y_min: float | str | None = "auto",
        y_max: float | str | None = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.band = band
        self.calibration = calibration
        self.calibration_size = calibration_size
        self.cv = cv
        self.band_transformer = band_transformer
        self.remove_outliers = remove_outliers
        self.y_min = y_min
        self.y_max = y_max
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def as_published(cls, **parameters: Any) -> Self:
        """The paper's algorithm 1 to the letter, on the fast solver.

        A hard band, a joint mean, no offset, no standardisation, a = 0, b = 10, λ₁ = λ₂ = 1, and
        HSIC for every θᶠ. `parameters` change that: ``band__training_coverage=0.8``.
        """
        published = cls(
            KernelMean(spread=None, standardize=False),
            band=KernelBand.as_published(),
            calibration_size=0.5,
            y_min=None,
            y_max=None,
        )
        return published.set_params(**parameters)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the parts by ``band__name`` and ``estimator__name``."""
        for part, default in (("band", "KernelBand()"), ("estimator", "KernelMean()")):
            inner = [name for name in params if name.startswith(f"{part}__")]
            value = params.get(part, getattr(self, part))
            if inner and (value is None or isinstance(value, str)):
                known = "StackedMean()" if value == "auto" else default
                problem = f"{inner[0]} is a parameter of {part}, which is {value!r}"
                raise ValueError(f"{problem}: pass {part}={known}")
        super().set_params(**params)
        return self

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Split, tune, solve, calibrate.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            At least ten rows. What the estimator takes; the band takes any table.
        y : array-like of shape (n,)
        groups : array-like of shape (n,), optional
            Rows of one group, such as a patient, stay together: in a fold, and in the calibration
            part. Each calibration group then counts as one, however many rows it has, and "split"
            guarantees the level for rows of groups that are new; a level of 0.9 needs nine
            calibration groups. "cv+" and "localized" guarantee nothing for new groups.
        sample_weight : array-like of shape (n,), optional
            How much each row counts in the mean, the tuning and the band. All rows calibrate
            alike: the guarantee is for rows as they come. For a shift of X, see `conformalize`.
        **fit_params
            Parameters of the estimator's own fit; those with one entry per row are split with the
            rows. With metadata routing, what the estimator requested.

        Returns
        -------
        self
        """
        if isinstance(self.estimator, FrozenEstimator):  # nobody can see which rows trained it
            warnings.warn(_FROZEN, stacklevel=2)
        # All attributes at once: a fit that fails, or is interrupted, leaves an earlier one whole.
        fresh = copy(self)
        certificates = fresh._fit(X, y, groups, sample_weight, fit_params)
        self.__dict__ = fresh.__dict__
        if notices := self.band_.encoding.notices:
            warnings.warn("; ".join(notices), stacklevel=2)
        for certificate in certificates:
            for kind, text in status_notes(certificate):
                warnings.warn(text, kind, stacklevel=2)
        return self

    def conformalize(
        self,
        X: Any,
        y: ArrayLike,
        *,
        groups: Any = None,
        weights: ArrayLike | Callable[[Any], Array] | None = None,
    ) -> Self:
        """Calibrate with rows that `fit` has not seen; earlier calibration rows are forgotten.

        Parameters
        ----------
        X, y : array-like of shapes (m, d) and (m,)
        groups : array-like of shape (m,), optional
            A level for each group: P(Y ∈ C(X) | group) ≥ level. Pass the groups of new rows to
            `predict_interval`; groups that are unseen or too small get infinite intervals. Groups
            and weights take the place of the localized weights, if there were any.
        weights : array-like of shape (m,) or callable, optional
            Covariate shift: the likelihood ratio of new rows to these at each row, or a function
            of X that gives it. With an array, pass that of new rows to `predict_interval`.
        """
        check_is_fitted(self)
        kind = calibration_of_rows(self.calibration, groups=groups, weights=weights)
        companion = kind.told(X, groups=groups, weights=weights)
        X, y = fitting_rows(self, X, y, reset=False)
        self.calibration_ = kind.of(self.band_.at(X), y, companion, self._seed)
        return self

    def partial_conformalize(
        self,
        X: Any,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        weights: ArrayLike | Callable[[Any], Array] | None = None,
    ) -> Self:
        """Add calibration rows to those there are, of the same kind.

        Parameters
        ----------
        X, y : array-like of shapes (m, d) and (m,)
        groups, weights : array-like of shape (m,), optional
            Needed if `conformalize` had them (a callable `weights` is used again by itself).
        """
        check_is_fitted(self)
        if self.calibration_ is None:
            return self.conformalize(X, y, groups=groups, weights=weights)
        if self.calibration_.closed is not None:
            raise ValueError(self.calibration_.closed)
        companion = self.calibration_.told_anew(X, groups=groups, weights=weights)
        X, y = fitting_rows(self, X, y, reset=False)
        self.calibration_ = self.calibration_.with_rows(self.band_.at(X), y, companion)
        return self

    def get_metadata_routing(self) -> Any:
        """What `fit` uses itself, `groups` and `sample_weight`, and what it passes on."""
        return router(self)

    def __sklearn_tags__(self) -> Any:
        return with_input_tags(super().__sklearn_tags__(), self.estimator, self.band_transformer)

    def _fit(
        self,
        X: Any,
        y: ArrayLike,
        groups: ArrayLike | None,
        sample_weight: ArrayLike | None,
        passed: dict[str, Any],
    ) -> list[Certificate]:
        """Check, learn, calibrate and record; what proves each band that was learned."""
        learner, kind = self._learner(), calibration_named(self.calibration)
        check_limits(self.y_min, self.y_max)
        X, y = fitting_rows(self, X, y, reset=True)
        together = None if groups is None else numbered(groups)
        if together is not None and len(together) != len(y):
            raise ValueError(f"groups must name all {len(y)} rows, got {len(together)} names")
        told = fit_parameters(self, len(y), sample_weight, passed)
        learner.rules.check_weights(told.weights)
        if kind is None:
            fitted = learn_all(learner, X, y, together, told)
        elif kind.by_folds:
            fitted = learn_by_folds(learner, X, y, together, told, kind=kind)
        else:
            clusters = calibration_of_rows(self.calibration, clusters=together)
            fitted = learn_split(
                learner, X, y, together, told, kind=clusters, size=self.calibration_size
            )
        self._record(fitted, learner.seed)
        return fitted.certificates

    def _learner(self) -> BandLearner:
        """The parameters that concern learning, checked."""
        band = KernelBand() if self.band is None else self.band
        if not isinstance(band, KernelBand):
            raise ValueError(f"band must be a KernelBand or None, got {band!r}")
        band.check()
        if self.remove_outliers is not None:
            check_number("remove_outliers", self.remove_outliers, positive=True)
        check_jobs(self.n_jobs)
        check_whole("verbose", self.verbose)
        learner = BandLearner(
            estimator=mean_named(self.estimator),
            band=band,
            transformer=self.band_transformer,
            cv=self.cv,
            remove_outliers=self.remove_outliers,
            limits=(self.y_min, self.y_max),
            n_jobs=self.n_jobs,
            progress=Progress(self.verbose > 0),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        learner.check()
        return learner

    def _record(self, fitted: Fitted, seed: int) -> None:
        learned, problem = fitted.learned, fitted.learned.solution.problem
        self.band_ = learned.band
        self.estimator_ = learned.band.mean_model.model
        self.symmetric_ = learned.band.symmetric
        self.lengthscale_ = problem.scale_kernels[0].lengthscale
        self.width_weight_ = problem.width_weight
        self.certificate_, self.tuning_ = learned.solution.certificate, learned.tuning
        self.n_train_, self.n_outliers_ = fitted.n_train, learned.n_outliers
        self.calibration_, self._seed = fitted.calibration, seed
