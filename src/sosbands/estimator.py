"""`BandRegressor`: calibrated adaptive prediction intervals as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted

from sosbands.conformal import (
    ClusteredCalibration,
    GroupCalibration,
    PlusCalibration,
    checked_levels,
)
from sosbands.core.solvers import Solution
from sosbands.learning.calibrator import Calibrator, learn_folds
from sosbands.learning.checks import check_number
from sosbands.learning.encoding import row_blocks
from sosbands.learning.folds import calibration_split, numbered
from sosbands.learning.kernel_band import KernelBand
from sosbands.learning.kernel_mean import KernelMean
from sosbands.learning.learner import BandLearner, Learned
from sosbands.learning.validation import check_limits, fitting_rows, new_rows
from sosbands.notices import warn_of_frozen, warn_of_shortage, warn_of_status, warn_of_unseen
from sosbands.types import Array, Indices

_MODES = ("split", "cv+", "localized", None)


class BandRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Adaptive prediction intervals with guaranteed coverage: a kernel sum-of-squares band.

    `fit` holds part of the rows back, learns a mean m(x) and a scale f(x) = φ(x)ᵀAφ(x), A ⪰ 0, from
    the others, and calibrates m ± q√f on the part held back. Whatever the distribution, an interval
    of level 0.9 then covers a new exchangeable row with probability at least 0.9, on average over
    all rows (it is not a promise for each x).

    Three parts are composed: a mean (`estimator`), a band around it (`band`) and a calibration.

    Parameters
    ----------
    estimator : regressor or None
        The model to put intervals around. None: a kernel mean, `KernelMean()`. Any scikit-learn
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
    cv : int or splitter
        Folds of cross-fitting, tuning and "cv+". A `TimeSeriesSplit` also makes the last rows the
        calibration rows; ``fit(..., groups=...)`` keeps groups together throughout. With a
        splitter or groups, residuals of a kernel mean are out of fold instead of leave-one-out.
    band_transformer : transformer or None
        What the band sees of X. Default: the numeric columns; a kernel mean sees the same, and has
        to see all columns.
    remove_outliers : float or None
        Leave rows out of the band whose preliminary residual is further from the median than this
        many robust standard deviations. They still calibrate.
    y_min, y_max : float or None
        Intervals are clipped to what is possible.
    n_jobs : int or None
        Folds in parallel, through joblib. The result does not depend on it.
    random_state : int, RandomState or None
        Decides the split, the folds, samples of rows, and the draws of "localized".
    verbose : int
        Positive: a progress line on standard error.

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
    calibration_ : Calibration, PlusCalibration or None
    n_train_ : int
        Rows that the mean and the band were learned from.
    n_outliers_ : int
        Rows that `remove_outliers` left out.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    `fit` takes no ``sample_weight``: weighted training rows would be no harm, but weighted
    calibration rows change what is guaranteed, and for whom. State such a shift in
    `conformalize`, with ``weights=``.

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

    def __init__(
        self,
        estimator: Any = None,
        *,
        band: KernelBand | None = None,
        calibration: str | None = "split",
        calibration_size: float | int = 0.3,
        cv: Any = 5,
        band_transformer: Any = None,
        remove_outliers: float | None = None,
        y_min: float | None = None,
        y_max: float | None = None,
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
            KernelMean(standardize=False), band=KernelBand.as_published(), calibration_size=0.5
        )
        return published.set_params(**parameters)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the parts by ``band__name`` and ``estimator__name``."""
        for part, default in (("band", "KernelBand()"), ("estimator", "KernelMean()")):
            inner = [name for name in params if name.startswith(f"{part}__")]
            if inner and params.get(part, getattr(self, part)) is None:
                raise ValueError(
                    f"{inner[0]} is a parameter of {part}, which is None: pass "
                    f"{part}={default} first"
                )
        super().set_params(**params)
        return self

    def fit(self, X: Any, y: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Split, tune, solve, calibrate.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            At least ten rows.
        y : array-like of shape (n,)
        groups : array-like of shape (n,), optional
            Rows of one group, such as a patient, stay together: in a fold, and in the calibration
            part. Each calibration group then counts as one, however many rows it has, and "split"
            guarantees the level for rows of groups that are new; a level of 0.9 needs nine
            calibration groups. "cv+" and "localized" guarantee nothing for new groups.

        Returns
        -------
        self
        """
        # All attributes at once: a fit that fails, or is interrupted, leaves an earlier one whole.
        fresh = copy(self)
        solutions = fresh._fit(X, y, groups)
        self.__dict__ = fresh.__dict__
        for solution in solutions:
            warn_of_status(solution)
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
        if groups is not None and weights is not None:
            raise ValueError("give groups or weights to conformalize, not both")
        check_is_fitted(self)
        given = weights(X) if callable(weights) else weights
        X, y = fitting_rows(self, X, y, reset=False)
        ratio = weights if callable(weights) else None
        self._calibrate(X, y, groups=groups, weights=given, ratio=ratio)
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
        if isinstance(self.calibration_, PlusCalibration):
            raise ValueError(
                'calibration="cv+" has no rows to add to: all of them trained; use conformalize '
                "with the new rows alone"
            )
        if isinstance(self.calibration_, ClusteredCalibration):
            raise ValueError(
                "fit had groups, which calibrate as a whole, so that there are no rows to add to; "
                "use conformalize with the new rows alone"
            )
        companions = self._calibrator.companions(X, groups, weights)
        X, y = fitting_rows(self, X, y, reset=False)
        self._record(self._calibrator.extended(X, y, companions))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """The mean, and the scale if `return_std`.

        Parameters
        ----------
        X : array-like of shape (n, d)
        return_std : bool
            Also return √f, or (f_low + f_up)/2 for a two-sided band: one number per row that is
            larger where the mean is less certain, not calibrated.

        Returns
        -------
        array of shape (n,), or two of them
        """
        check_is_fitted(self)
        X = new_rows(self, X)
        if not return_std:
            return self.band_.mean(X)
        mean, scale = self.band_.mean_and_scale(X)
        return mean, scale if scale.ndim == 1 else scale.mean(axis=1)

    def predict_scale(self, X: Any) -> Array:
        """√f of shape (n,), or f_low and f_up of shape (n, 2) for a two-sided band."""
        check_is_fitted(self)
        return self.band_.mean_and_scale(new_rows(self, X))[1]

    def predict_interval(
        self,
        X: Any,
        confidence_level: float | Sequence[float] = 0.9,
        *,
        groups: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Array:
        """Intervals that hold y with the given probability.

        Parameters
        ----------
        X : array-like of shape (n, d)
        confidence_level : float or sequence of float
            In (0, 1). Intervals of several levels are nested.
        groups, weights : array-like of shape (n,), optional
            Those of the rows of X, if `conformalize` had them.

        Returns
        -------
        array of shape (n, 2), or (n, 2, k) for a sequence of k levels
            Lower and upper ends, infinite where too few rows calibrate.
        """
        check_is_fitted(self)
        levels, scalar = checked_levels(confidence_level)
        self._check_calibrated("predict_interval")
        companions = self._calibrator.companions(X, groups, weights)
        X = new_rows(self, X)
        warn_of_shortage(self.calibration_, levels)
        if isinstance(self.calibration_, GroupCalibration):
            warn_of_unseen(self.calibration_, companions[0])
        out = self._clipped(self._calibrator.intervals(X, levels, companions))
        return out[:, :, 0] if scalar else out

    def predict_quantiles(self, X: Any, quantiles: float | Sequence[float]) -> Array:
        """Quantiles of a conformal predictive distribution: m + √f · (quantile of signed scores).

        Quantiles below one half are rounded down in rank and the others up, so that the interval
        between those of p and 1 − p holds y with probability at least 1 − 2p.

        Parameters
        ----------
        X : array-like of shape (n, d)
        quantiles : float or sequence of float
            In (0, 1).

        Returns
        -------
        array of shape (n,), or (n, k) for a sequence of k quantiles
        """
        check_is_fitted(self)
        levels, scalar = checked_levels(quantiles, name="quantiles")
        self._check_calibrated("predict_quantiles")
        signed = self._calibrator.signed
        if signed is None:
            raise ValueError(
                "predict_quantiles needs a symmetric band and a plain split calibration, got "
                f"symmetric_={self.symmetric_} and {type(self.calibration_).__name__}: fit with "
                'band=KernelBand(symmetric=True) and calibration="split"'
            )
        X = new_rows(self, X)
        warn_of_shortage(signed, levels)
        found = self.band_.family(X).quantiles(levels, signed.quantiles(levels))
        out = self._clipped(found)
        return out[:, 0] if scalar else out

    def extrapolation(self, X: Any) -> Array:
        """How far each row is from the pre-training rows, in [0, 1): near 1, the model guesses.

        1 − exp(−d²/2), with d the distance to the nearest of at most 5000 pre-training rows, in
        units of twice the distance to the nearest neighbour that 5 % of those rows exceed among
        themselves; rows that are the same but for a jitter count as one there.
        """
        check_is_fitted(self)
        X = new_rows(self, X)
        return np.concatenate(
            [
                self.band_.extrapolation.share(self.band_.distance(_safe_indexing(X, rows)))
                for rows in row_blocks(X)
            ]
        )

    def _fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None) -> list[Solution]:
        """Check, learn, calibrate and record; the solved problems."""
        learner = self._learner()
        if self.calibration not in _MODES:
            raise ValueError(f"calibration must be one of {_MODES}, got {self.calibration!r}")
        check_limits(self.y_min, self.y_max)
        X, y = fitting_rows(self, X, y, reset=True)
        together = None if groups is None else numbered(groups)
        if together is not None and len(together) != len(y):
            raise ValueError(f"groups must name all {len(y)} rows, got {len(together)} names")
        if isinstance(self.estimator, FrozenEstimator):
            warn_of_frozen()
        if self.calibration == "cv+":
            return self._fit_folds(X, y, together, learner)
        return self._fit_split(X, y, together, learner)

    def _learner(self) -> BandLearner:
        """The parameters that concern learning, checked."""
        band = KernelBand() if self.band is None else self.band
        if not isinstance(band, KernelBand):
            raise ValueError(f"band must be a KernelBand or None, got {band!r}")
        band.check()
        if self.remove_outliers is not None:
            check_number("remove_outliers", self.remove_outliers, positive=True)
        learner = BandLearner(
            estimator=KernelMean() if self.estimator is None else self.estimator,
            band=band,
            transformer=self.band_transformer,
            cv=self.cv,
            remove_outliers=self.remove_outliers,
            n_jobs=self.n_jobs,
            verbose=self.verbose > 0,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        learner.check()
        return learner

    def _fit_split(
        self, X: Any, y: Array, groups: Indices | None, learner: BandLearner
    ) -> list[Solution]:
        """Some rows train and the others calibrate, or all train."""
        train, held_out = np.arange(len(y)), None
        if self.calibration is not None:
            train, held_out = calibration_split(
                len(y), self.calibration_size, cv=self.cv, groups=groups, seed=learner.seed
            )
        part, kept = _safe_indexing(X, train), None if groups is None else groups[train]
        learned = learner.learn(part, y[train], kept)
        self._keep(learned, len(train), learner.seed)
        if held_out is not None:
            clusters = None if groups is None else groups[held_out]
            self._calibrate(_safe_indexing(X, held_out), y[held_out], clusters=clusters)
        return [learned.solution]

    def _fit_folds(
        self, X: Any, y: Array, groups: Indices | None, learner: BandLearner
    ) -> list[Solution]:
        """CV+: all rows train, and those of each fold calibrate the band without it."""
        folds, calibration = learn_folds(learner, X, y, groups)
        learned = learner.learn(X, y, groups)
        self._keep(learned, len(y), learner.seed)
        self._record(self._calibrator.with_folds([fold.band for fold in folds], calibration))
        return [part.solution for part in (learned, *folds)]

    def _keep(self, learned: Learned, n_train: int, seed: int) -> None:
        """Record what was learned, not calibrated yet."""
        solution = learned.solution
        self.band_ = learned.band
        self.estimator_ = learned.band.mean_model.model
        self.symmetric_ = learned.band.symmetric
        self.lengthscale_ = solution.problem.scale_kernels[0].lengthscale
        self.width_weight_ = solution.problem.width_weight
        self.certificate_ = solution.certificate
        self.tuning_ = learned.tuning
        self.n_train_ = n_train
        self.n_outliers_ = learned.n_outliers
        self._record(Calibrator.of(learned.band, seed))

    def _calibrate(self, X: Any, y: Array, **companions: Any) -> None:
        """Calibrate with checked rows."""
        localized = self.calibration == "localized"
        self._record(self._calibrator.calibrated(X, y, localized=localized, **companions))

    def _record(self, calibrator: Calibrator) -> None:
        self._calibrator = calibrator
        self.calibration_ = calibrator.calibration

    def _check_calibrated(self, method: str) -> None:
        if self.calibration_ is None:
            raise NotFittedError(
                f"{method} needs calibration rows: call conformalize(X_cal, y_cal) first, "
                'or fit with calibration="split"'
            )

    def _clipped(self, values: Array) -> Array:
        low = -np.inf if self.y_min is None else self.y_min
        high = np.inf if self.y_max is None else self.y_max
        return np.clip(values, low, high, out=values)
