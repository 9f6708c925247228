"""`BandRegressor`: calibrated adaptive prediction intervals as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted

from sosbands.conformal import BandRows, Companion, checked_levels
from sosbands.conformal.registry import calibration_named, calibration_of_rows
from sosbands.core.solvers import Solution, Status
from sosbands.learning.encoding import row_blocks
from sosbands.learning.folds import calibration_split, check_partition, numbered
from sosbands.learning.learned_band import BandLearner, LearnedBand
from sosbands.learning.settings import BandSettings
from sosbands.learning.validation import check_limits, fitting_rows, new_rows
from sosbands.types import Array, Indices


class BandRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Adaptive prediction intervals with guaranteed coverage: a kernel sum-of-squares band.

    `fit` holds part of the rows back, learns a mean m(x) and a scale f(x) = φ(x)ᵀAφ(x), A ⪰ 0, from
    the others, and calibrates m ± q√f on the part held back. Whatever the distribution, an interval
    of level 0.9 then covers a new exchangeable row with probability at least 0.9, on average over
    all rows (it is not a promise for each x).

    Lengthscales and penalties are in standardised units: inputs, output and residuals have mean
    zero and variance one (unless ``standardize=False``). The letters are those of the paper.

    Parameters
    ----------
    estimator : regressor or None
        The model to put intervals around. None: a kernel mean. Any scikit-learn regressor or
        pipeline: it is cross-fitted, its out-of-fold residuals train the band, then it is fitted on
        all pre-training rows. A model trained elsewhere: ``FrozenEstimator(model)``; the rows that
        trained it must not be passed to `fit`.
    symmetric : bool or "auto"
        True: m ± q√f, the paper. False: [m − f_low − q, m + f_up + q]. "auto": False around a given
        `estimator` with at least 100 rows; around a kernel mean True, or, from 300 rows on,
        whichever has the better out-of-fold interval score.
    lengthscale : "hsic", float or array of shape (d,)
        θᶠ. "hsic" makes the dependence between out-of-fold residuals and scales largest.
    anisotropy : {"likelihood", "hsic", "none"}
        Where the relative lengthscales of several inputs come from: a Gaussian process for the size
        of the residuals; HSIC for each, alone and in wide bounds, as in the paper; or they are all
        equal.
    criterion : {"hsic", "distance_correlation", "mutual_information"}
        What "hsic" above stands for; the others are there for comparison.
    residual_power : {1, 2}
        HSIC of |r| and √f, or of r² and f as in the paper's appendix.
    kernel_mean : {"gp", "joint"}
        For ``estimator=None``. "gp": the mean of the preliminary Gaussian process; its closed-form
        leave-one-out residuals train the band. "joint": learned together with the band, ‖m‖² ≤ s,
        the paper.
    mean_lengthscale : "gp", "gp-isotropic", float or array of shape (d,)
        θᵐ, by maximum likelihood, one for each input or a common one.
    mean_weight : "auto" or float
        a, the weight of the squared error of a joint mean. "auto": 0, or 1000 if not symmetric.
    width_weight : "auto" or float
        b, the weight of the mean of f. "auto": once, three times or ten times min(n/10, 5√n), and
        at least 10, whichever has the better out-of-fold interval score.
    trace_penalty, ridge_penalty : float
        λ₁ and λ₂.
    training_coverage : "auto" or float
        τ in (0, 1]: the share of the rows that f aims to cover before calibration. 1.0 is the
        paper's hard band. It is not the confidence level. "auto": 0.8, or 0.9 if not symmetric.
    prediction_weight : "auto" or float
        How much the prediction counts as one more input of kᶠ; 0 is the paper. "auto": 0 around a
        kernel mean, otherwise as `anisotropy` finds.
    difficulty : "auto", regressor or None
        Makes a first guess of |y − m(x)| from the inputs and the prediction, cross-fitted; its
        logarithm is one more input of kᶠ, and the scale is the geometric mean of √f and the guess.
        None is the paper. "auto": around a given `estimator` boosted trees from 500 rows on, the
        thirty nearest neighbours from 100 rows on, otherwise None.
    caution : "auto" or float
        How much wider intervals get away from the data: the scale is multiplied by
        1 + 2 caution ((1 + d²)^¼ − 1), with the distance d of `extrapolation`. 0 is the paper.
        "auto": 1 around a given `estimator`, 2 around a kernel mean; 0 if there is one input.
    shift_power : "auto" or float
        In [0, 1]. Calibration shifts the bounds of a two-sided band in proportion to its width to
        this power: 0 by the same everywhere, 1 in proportion to the width. 0 is the paper. "auto":
        n/(n + 200) for n pre-training rows, since few rows know narrow bands badly.
    offset : float
        A constant added to kᶠ, so that bands do not collapse away from the data; 0 is the paper.
    standardize : bool
        Whether inputs and output are standardised with the pre-training rows.
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
    remove_outliers : float or None
        Leave rows out of the band whose preliminary residual is further from the median than this
        many robust standard deviations. They still calibrate.
    band_transformer : transformer or None
        What the band sees of X. Default: the numeric columns; a kernel mean sees the same, and has
        to see all columns.
    y_min, y_max : float or None
        Intervals are clipped to what is possible.
    solver : {"newton", "accelerated", "sdp"} or Solver
        Solves the band problem.
    tol : float
        Certified relative gap of the solution. A `solver` that is an instance has its own.
    max_rank : int or None
        Largest number of features of kᶠ, and of kᵐ of a joint mean. None: n/4, but 35 to 250 (no
        limit if not standardised).
    n_jobs : int or None
        Folds in parallel, through joblib. The result does not depend on it.
    random_state : int, RandomState or None
        Decides the split, the folds, samples of rows, and the draws of "localized".
    verbose : int
        Positive: a progress line on standard error.

    Attributes
    ----------
    estimator_ : regressor or None
        The fitted `estimator`.
    symmetric_ : bool
    lengthscale_ : float or tuple of float
        θᶠ, in standardised units: of the inputs, then of the prediction and of the guess of
        `difficulty`, if the scale sees them.
    width_weight_ : float
        b.
    certificate_ : Certificate
        Duality gap, feasibility, rank, trace residual and timings of the solution.
    tuning_ : Tuning or None
        All candidates, their criteria, and the chosen one.
    calibration_ : Calibration or None
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

    calibration_: Any  # a Calibration, or None before there are rows
    _seed: int

    def __init__(
        self,
        estimator: Any = None,
        *,
        symmetric: bool | str = "auto",
        lengthscale: Any = "hsic",
        anisotropy: str = "likelihood",
        criterion: str = "hsic",
        residual_power: int = 1,
        kernel_mean: str = "gp",
        mean_lengthscale: Any = "gp",
        mean_weight: Any = "auto",
        width_weight: Any = "auto",
        trace_penalty: float = 1.0,
        ridge_penalty: float = 1.0,
        training_coverage: Any = "auto",
        prediction_weight: Any = "auto",
        difficulty: Any = "auto",
        caution: Any = "auto",
        shift_power: Any = "auto",
        offset: float = 1.0,
        standardize: bool = True,
        calibration: str | None = "split",
        calibration_size: float | int = 0.3,
        cv: Any = 5,
        remove_outliers: float | None = None,
        band_transformer: Any = None,
        y_min: float | None = None,
        y_max: float | None = None,
        solver: Any = "newton",
        tol: float = 1e-4,
        max_rank: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.symmetric = symmetric
        self.lengthscale = lengthscale
        self.anisotropy = anisotropy
        self.criterion = criterion
        self.residual_power = residual_power
        self.kernel_mean = kernel_mean
        self.mean_lengthscale = mean_lengthscale
        self.mean_weight = mean_weight
        self.width_weight = width_weight
        self.trace_penalty = trace_penalty
        self.ridge_penalty = ridge_penalty
        self.training_coverage = training_coverage
        self.prediction_weight = prediction_weight
        self.difficulty = difficulty
        self.caution = caution
        self.shift_power = shift_power
        self.offset = offset
        self.standardize = standardize
        self.calibration = calibration
        self.calibration_size = calibration_size
        self.cv = cv
        self.remove_outliers = remove_outliers
        self.band_transformer = band_transformer
        self.y_min = y_min
        self.y_max = y_max
        self.solver = solver
        self.tol = tol
        self.max_rank = max_rank
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def as_published(cls, **parameters: Any) -> Self:
        """The paper's algorithm 1 to the letter, on the fast solver.

        A hard band, a joint mean, no offset, no standardisation, a = 0, b = 10, λ₁ = λ₂ = 1, and
        HSIC for every θᶠ. `parameters` change that.
        """
        published = {
            "symmetric": True,
            "anisotropy": "hsic",
            "residual_power": 2,
            "kernel_mean": "joint",
            "mean_weight": 0.0,
            "width_weight": 10.0,
            "training_coverage": 1.0,
            "prediction_weight": 0.0,
            "difficulty": None,
            "caution": 0.0,
            "shift_power": 0.0,
            "offset": 0.0,
            "standardize": False,
            "calibration_size": 0.5,
        }
        return cls(**{**published, **parameters})

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
        if isinstance(self.estimator, FrozenEstimator):
            warnings.warn(
                "the estimator is frozen: the rows that trained it must not be among those given "
                "to fit, or the intervals will be too narrow",  # and nobody can see which they were
                stacklevel=2,
            )
        # All attributes at once: a fit that fails, or is interrupted, leaves an earlier one whole.
        fresh = copy(self)
        fresh._fit(X, y, groups)
        self.__dict__ = fresh.__dict__
        folds = () if self.calibration_ is None else self.calibration_.bands
        for learned in (self.band_, *folds):
            for kind, text in _status_notes(learned.band.solution):
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
        companion = self.calibration_.told_anew(X, groups=groups, weights=weights)
        X = new_rows(self, X)
        for note in self.calibration_.notes(levels, companion):
            warnings.warn(note, stacklevel=2)
        out = np.empty((X.shape[0], 2, len(levels)))
        for rows in row_blocks(X):
            at = self.band_.at(_safe_indexing(X, rows))
            out[rows] = self.calibration_.intervals_at(at, levels, companion[rows])
        out = self._clipped(out)
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
        distribution = self.calibration_.distribution
        if distribution is None:
            raise ValueError(
                "predict_quantiles needs a symmetric band and a plain split calibration, got "
                f"symmetric_={self.symmetric_} and {type(self.calibration_).__name__}: fit with "
                'symmetric=True and calibration="split"'
            )
        X = new_rows(self, X)
        for note in distribution.notes(levels, Companion()):
            warnings.warn(note, stacklevel=2)
        found = self.band_.at(X).family.quantiles(levels, distribution.quantiles(levels))
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
                self.band_.extrapolation(self.band_.inputs(_safe_indexing(X, rows)))
                for rows in row_blocks(X)
            ]
        )

    def _fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None) -> None:
        """Check, learn, calibrate and record."""
        settings = BandSettings.of(self)
        kind = calibration_named(self.calibration)
        check_limits(self.y_min, self.y_max)
        X, y = fitting_rows(self, X, y, reset=True)
        together = None if groups is None else numbered(groups)
        if together is not None and len(together) != len(y):
            raise ValueError(f"groups must name all {len(y)} rows, got {len(together)} names")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        learner = BandLearner(self.estimator, self.band_transformer, self.cv, settings, seed)
        if kind is not None and kind.by_folds:
            held_out = list(_held_out(X, y, together, learner))
            self._keep(learner.learn(X, y, together), X, seed)
            self.calibration_ = kind.of_folds(held_out)
        else:
            self._fit_split(X, y, together, learner)

    def _fit_split(self, X: Any, y: Array, groups: Indices | None, learner: BandLearner) -> None:
        """Some rows train and the others calibrate, or all train."""
        train, rest = np.arange(len(y)), None
        if self.calibration is not None:
            train, rest = calibration_split(
                len(y), self.calibration_size, cv=self.cv, groups=groups, seed=learner.seed
            )
        part, kept = _safe_indexing(X, train), None if groups is None else groups[train]
        self._keep(learner.learn(part, y[train], kept), part, learner.seed)
        if rest is not None:
            kind = calibration_of_rows(self.calibration, clusters=groups)
            companion = Companion() if groups is None else Companion(groups[rest])
            at = self.band_.at(_safe_indexing(X, rest))
            self.calibration_ = kind.of(at, y[rest], companion, learner.seed)

    def _keep(self, learned: LearnedBand, X: Any, seed: int) -> None:
        """Record what was learned from the pre-training rows X, not calibrated yet."""
        solution, band = learned.band.solution, learned.band
        self.band_ = learned
        self.estimator_ = getattr(band.mean_model, "estimator", None)
        self.symmetric_ = band.symmetric
        self.lengthscale_ = solution.problem.scale_kernels[0].lengthscale
        self.width_weight_ = solution.problem.width_weight
        self.certificate_ = solution.certificate
        self.tuning_ = band.tuning
        self.n_train_ = X.shape[0]
        self.n_outliers_ = band.n_outliers
        self.calibration_ = None
        self._seed = seed

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


def _held_out(
    X: Any, y: Array, groups: Indices | None, learner: BandLearner
) -> Iterator[tuple[BandRows, Array]]:
    """The rows of each fold, at a band that was learned anew without them, and their outputs."""
    folds = learner.folds(X, y, groups)
    check_partition(folds, len(y))
    for train, test in folds:
        kept = None if groups is None else groups[train]
        learned = learner.learn(_safe_indexing(X, train), y[train], kept)
        yield learned.at(_safe_indexing(X, test)), y[test]


def _status_notes(solution: Solution) -> Iterator[tuple[type[Warning], str]]:
    """What to warn of if a band was not found, or has no width."""
    if not solution.status.optimal:
        yield (
            ConvergenceWarning,
            f"the band problem was solved to a gap of {solution.gap:.1e} only: "
            f"{solution.status.value}; intervals stay valid, but may be wider than need be",
        )
    elif solution.status is Status.ZERO_SCALE:
        yield UserWarning, f"the band has no width: {solution.status.value}"
