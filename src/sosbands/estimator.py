"""`BandRegressor`: calibrated adaptive prediction intervals as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from sosbands.band import Band, learn_band
from sosbands.conformal import (
    GroupCalibration,
    IntervalFamily,
    LocalizedCalibration,
    PlusCalibration,
    SignedCalibration,
    SplitCalibration,
    WeightedCalibration,
    checked_levels,
    effective_bandwidth,
    named,
)
from sosbands.inputs import BandInputs, Extrapolation, is_frame, row_blocks
from sosbands.means import cross_fitted, frozen, gaussian_process
from sosbands.settings import BandSettings
from sosbands.solvers import Solution, Status
from sosbands.splits import calibration_split, check_partition, cross_fitting_folds
from sosbands.types import Array, Indices

_MIN_ROWS = 10
_MODES = ("split", "cv+", "localized", None)
# Pre-training rows that choose the bandwidth of a localized calibration.
_BANDWIDTH_ROWS = 1000


@dataclass(frozen=True, eq=False)
class LearnedBand:
    """A band with what it sees of X."""

    inputs: BandInputs
    band: Band

    def mean(self, X: Any) -> Array:
        """m at the rows of X."""
        return self.band.mean(X, self.inputs(X))

    def mean_and_scale(self, X: Any) -> tuple[Array, Array]:
        """m and √f, or m and (f_low, f_up)."""
        return self.band.mean_and_scale(X, self.inputs(X))

    def family(self, X: Any) -> IntervalFamily:
        """The nested intervals at the rows of X, before calibration."""
        mean, scale = self.mean_and_scale(X)
        build = IntervalFamily.around if self.band.symmetric else IntervalFamily.between
        return build(mean, scale)


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
        `estimator`; around a kernel mean True, or, from 300 rows on, whichever has the better
        out-of-fold interval score.
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
        logarithm is one more input of kᶠ. None is the paper. "auto": boosted trees around a given
        `estimator` with at least 1000 rows, otherwise None.
    offset : float
        A constant added to kᶠ, so that bands do not collapse away from the data; 0 is the paper.
    standardize : bool
        Whether inputs and output are standardised with the pre-training rows.
    calibration : {"split", "cv+", "localized"} or None
        "split": P(Y ∈ C(X)) ≥ level, and ≤ level + 1/(m + 1) without ties. "localized": the same
        guarantee, with a threshold that varies with x (randomly localized conformal prediction).
        "cv+": every row trains and calibrates; with K folds of n rows and α = 1 − level the
        guarantee is 1 − 2α − min{2(1 − 1/K)/(n/K + 1), (1 − K/n)/(K + 1)}, and in practice about
        the level. None: call `conformalize`.
    calibration_size : float or int
        The share, or the number, of rows that are held back.
    cv : int or splitter
        Folds of cross-fitting, tuning and "cv+". A `TimeSeriesSplit` also makes the last rows the
        calibration rows; ``fit(..., groups=...)`` keeps groups together throughout. With either,
        residuals of a kernel mean are out of fold too, instead of leave-one-out.
    remove_outliers : float or None
        Leave rows out of the band whose preliminary residual is further from the median than this
        many robust standard deviations. They still calibrate.
    band_transformer : transformer or None
        What the band sees of X. Default: the numeric columns.
    y_min, y_max : float or None
        Intervals are clipped to what is possible.
    solver : {"newton", "accelerated", "sdp"} or Solver
        Solves the band problem.
    tol : float
        Certified relative gap of the solution.
    max_rank : int or None
        Largest number of features of kᶠ. None: 250 (without a limit if not standardised).
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
        θᶠ, in standardised units; the last one is that of the prediction, if it is an input.
    width_weight_ : float
        b.
    certificate_ : Certificate
        Duality gap, feasibility, rank, trace residual and timings of the solution.
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
            Rows of one group stay together: in a fold, and in the calibration part.

        Returns
        -------
        self
        """
        settings = BandSettings.of(self)
        X, y = self._training_rows(X, y)
        named = None if groups is None else check_array(groups, ensure_2d=False, dtype=None)
        if named is not None and len(named) != len(y):
            raise ValueError(f"groups must name all {len(y)} rows, got {len(named)} names")
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._weights: Callable[[Any], Array] | None = None
        self.calibration_: Any = None
        self._signed: SignedCalibration | None = None
        self._folds: list[LearnedBand] = []
        if isinstance(self.estimator, FrozenEstimator):
            warnings.warn(
                "the estimator is frozen: the rows that trained it must not be among those given "
                "to fit, or the intervals will be too narrow",
                UserWarning,
                stacklevel=2,
            )
        if self.calibration == "cv+":
            self._fit_plus(X, y, named, settings)
            return self
        held_out = None
        train = np.arange(len(y))
        if self.calibration is not None:
            train, held_out = calibration_split(
                len(y), self.calibration_size, cv=self.cv, groups=named, seed=self._seed
            )
        self._keep(self._learn(X, y, train, named, settings), _safe_indexing(X, train))
        if held_out is not None:
            self._calibrate(_safe_indexing(X, held_out), y[held_out])
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
            `predict_interval`; groups that are unseen or too small get infinite intervals.
        weights : array-like of shape (m,) or callable, optional
            Covariate shift: the likelihood ratio of new rows to these at each row, or a function
            of X that gives it. With an array, pass that of new rows to `predict_interval`.
        """
        if groups is not None and weights is not None:
            raise ValueError("give groups or weights to conformalize, not both")
        check_is_fitted(self)
        given = weights(X) if callable(weights) else weights
        X, y = self._rows(X, y, reset=False)
        self._calibrate(X, y, groups=groups, weights=given)
        self._weights = weights if callable(weights) else None
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
        companions = self._companions(X, groups, weights)
        X, y = self._rows(X, y, reset=False)
        family = self.band_.family(X)
        if isinstance(self.calibration_, LocalizedCalibration):
            companions = [self._local_inputs(X)]
        calibration = self.calibration_.extended(family.scores(y), *companions)
        if isinstance(calibration, LocalizedCalibration):
            bandwidth = effective_bandwidth(self._bandwidth_inputs, len(calibration.scores))
            calibration = replace(calibration, bandwidth=bandwidth)
        self.calibration_ = calibration
        if self._signed is not None:
            self._signed = self._signed.extended(family.signed_scores(y))
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
        X = self._new_rows(X)
        if not return_std:
            return self.band_.mean(X)
        mean, scale = self.band_.mean_and_scale(X)
        return mean, scale if scale.ndim == 1 else scale.mean(axis=1)

    def predict_scale(self, X: Any) -> Array:
        """√f of shape (n,), or f_low and f_up of shape (n, 2) for a two-sided band."""
        check_is_fitted(self)
        return self.band_.mean_and_scale(self._new_rows(X))[1]

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
        if self.calibration_ is None:
            raise NotFittedError(
                "predict_interval needs calibration rows: call conformalize(X_cal, y_cal) first, "
                'or fit with calibration="split"'
            )
        companions = self._companions(X, groups, weights)
        X = self._new_rows(X)
        self._warn_of_shortage(self.calibration_, levels)
        out = np.empty((X.shape[0], 2, len(levels)))
        for rows in row_blocks(X):
            part = _safe_indexing(X, rows)
            out[rows] = self._intervals(part, levels, [c[rows] for c in companions], rows.start)
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
        if self.calibration_ is None:
            raise NotFittedError(
                "predict_quantiles needs calibration rows: call conformalize(X_cal, y_cal) first, "
                'or fit with calibration="split"'
            )
        if self._signed is None:
            raise ValueError(
                "predict_quantiles needs a symmetric band and a plain split calibration, got "
                f"symmetric_={self.symmetric_} and {type(self.calibration_).__name__}: fit with "
                'symmetric=True and calibration="split"'
            )
        X = self._new_rows(X)
        self._warn_of_shortage(self._signed, levels)
        mean, scale = self.band_.mean_and_scale(X)
        q = self._signed.quantiles(levels)
        with np.errstate(invalid="ignore"):
            step = np.where(np.isinf(q), q, scale[:, None] * q)
        out = self._clipped(mean[:, None] + step)
        return out[:, 0] if scalar else out

    def extrapolation(self, X: Any) -> Array:
        """How far each row is from the pre-training rows, in [0, 1): near 1, the model guesses.

        1 − exp(−d²/2), with d the distance to the nearest pre-training row in units of twice the
        distance to the nearest neighbour that 5 % of those rows exceed among themselves.
        """
        check_is_fitted(self)
        X = self._new_rows(X)
        return np.concatenate(
            [
                self._extrapolation(self.band_.inputs(_safe_indexing(X, rows)))
                for rows in row_blocks(X)
            ]
        )

    def _learn(
        self, X: Any, y: Array, train: Indices, groups: Array | None, settings: BandSettings
    ) -> LearnedBand:
        """Steps 1 to 3 of algorithm 1 on some of the rows."""
        X, y = _safe_indexing(X, train), y[train]
        named = None if groups is None else groups[train]
        inputs = BandInputs.learn(X, y, self.band_transformer)
        B = inputs(X)
        folds = cross_fitting_folds(X, y, cv=self.cv, groups=named, seed=self._seed)
        if self.estimator is None:
            exchangeable = named is None and isinstance(self.cv, Integral)
            preliminary = gaussian_process(
                B, y, settings, folds=None if exchangeable else folds, seed=self._seed
            )
        elif isinstance(self.estimator, FrozenEstimator):
            preliminary = frozen(self.estimator, X)
        else:
            preliminary = cross_fitted(self.estimator, X, y, folds, self.n_jobs)
        band = learn_band(B, y, preliminary, folds=folds, settings=settings, seed=self._seed)
        return LearnedBand(inputs, band)

    def _keep(self, learned: LearnedBand, X: Any) -> None:
        """Record what was learned from the pre-training rows X."""
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
        rng = np.random.default_rng(self._seed)
        B = learned.inputs(X)
        self._extrapolation = Extrapolation.of(B, rng)
        chosen = rng.permutation(len(B))[:_BANDWIDTH_ROWS]
        self._bandwidth_inputs = band.sees.inputs(B[chosen])
        self._warn_of_status(solution)

    def _warn_of_status(self, solution: Solution) -> None:
        """Say so if a band was not found, or has no width."""
        if not solution.status.optimal:
            warnings.warn(
                f"the band problem was solved to a gap of {solution.gap:.1e} only: "
                f"{solution.status.value}; intervals stay valid, but may be wider than need be",
                ConvergenceWarning,
                stacklevel=4,
            )
        elif solution.status is Status.ZERO_SCALE:
            warnings.warn(f"the band has no width: {solution.status.value}", stacklevel=4)

    def _fit_plus(self, X: Any, y: Array, groups: Array | None, settings: BandSettings) -> None:
        """CV+: everything is learned anew without each fold, and once with all rows."""
        folds = cross_fitting_folds(X, y, cv=self.cv, groups=groups, seed=self._seed)
        check_partition(folds, len(y))
        self._folds = [self._learn(X, y, train, groups, settings) for train, _ in folds]
        scores = []
        for learned, (_, test) in zip(self._folds, folds, strict=True):
            scores.append(learned.family(_safe_indexing(X, test)).scores(y[test]))
        self._keep(self._learn(X, y, np.arange(len(y)), groups, settings), X)
        for learned in self._folds:
            self._warn_of_status(learned.band.solution)
        self.calibration_ = PlusCalibration(tuple(scores))

    def _calibrate(
        self, X: Any, y: Array, *, groups: Any = None, weights: ArrayLike | None = None
    ) -> None:
        """Calibrate with checked rows."""
        family = self.band_.family(X)
        scores = family.scores(y)
        if groups is not None:
            calibration: Any = GroupCalibration(scores, named(groups))
        elif weights is not None:
            calibration = WeightedCalibration(scores, np.asarray(weights, dtype=np.float64))
        elif self.calibration == "localized":
            bandwidth = effective_bandwidth(self._bandwidth_inputs, len(scores))
            calibration = LocalizedCalibration(scores, self._local_inputs(X), bandwidth, self._seed)
        else:
            calibration = SplitCalibration(scores)
        self.calibration_ = calibration
        self._weights = None
        self._signed = None
        if isinstance(calibration, SplitCalibration) and self.symmetric_:
            self._signed = SignedCalibration(family.signed_scores(y))
        self._folds = []

    def _intervals(
        self, X: Any, levels: Sequence[float], companions: list[Array], position: int
    ) -> Array:
        """Intervals of one block of rows, of shape (n, 2, k)."""
        family = self.band_.family(X)
        calibration = self.calibration_
        if isinstance(calibration, PlusCalibration):
            centre = 0.5 * (family.lower + family.upper)
            return calibration.intervals([f.family(X) for f in self._folds], levels, centre)
        if isinstance(calibration, LocalizedCalibration):
            inputs = self._local_inputs(X)
            q = calibration.quantiles(levels, inputs, first_position=position)
        else:
            q = calibration.quantiles(levels, *companions)
        return family.intervals(q)

    def _companions(self, X: Any, groups: Any, weights: Any) -> list[Any]:
        """What the calibration wants to know of rows beside their scores; X as the user gave it."""
        weighted = isinstance(self.calibration_, WeightedCalibration)
        if weighted and weights is None:
            weights = self._weights
        for name, value, needed in (
            ("groups", groups, isinstance(self.calibration_, GroupCalibration)),
            ("weights", weights, weighted),
        ):
            if needed and value is None:
                raise ValueError(f"conformalize had {name}: pass the {name} of these rows as well")
            if value is not None and not needed:
                raise ValueError(f"{name} are of no use here: conformalize had none")
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        given = groups if groups is not None else weights(X) if callable(weights) else weights
        if given is None:
            return []
        companion = named(given) if groups is not None else np.asarray(given, dtype=np.float64)
        if companion.shape != (rows,):
            name = "weights" if groups is None else "groups"
            raise ValueError(
                f"{name} must have one entry for each of the {rows} rows, got {companion.shape}"
            )
        return [companion]

    def _local_inputs(self, X: Any) -> Array:
        """The inputs in units in which one bandwidth suits all columns."""
        return self.band_.band.sees.inputs(self.band_.inputs(X))

    def _warn_of_shortage(self, calibration: Any, levels: Sequence[float]) -> None:
        needed = calibration.shortage(levels)
        if needed is not None:
            kind = " in every group" if isinstance(calibration, GroupCalibration) else ""
            hardest = max(levels, key=lambda level: max(level, 1 - level))
            warnings.warn(
                f"a level of {hardest:g} needs at least {needed} calibration rows{kind}: intervals "
                "without them are infinite",
                UserWarning,
                stacklevel=3,
            )

    def _clipped(self, values: Array) -> Array:
        low = -np.inf if self.y_min is None else self.y_min
        high = np.inf if self.y_max is None else self.y_max
        return np.clip(values, low, high, out=values)

    def _training_rows(self, X: Any, y: ArrayLike) -> tuple[Any, Array]:
        """X and y of `fit`, and the parameters that only the estimator knows, checked."""
        if self.calibration not in _MODES:
            raise ValueError(f"calibration must be one of {_MODES}, got {self.calibration!r}")
        low, high = self.y_min, self.y_max
        for name, value in (("y_min", low), ("y_max", high)):
            if value is not None and not (isinstance(value, Real) and not np.isnan(float(value))):
                raise ValueError(f"{name} must be a number or None, got {value!r}")
        if low is not None and high is not None and not low < high:
            raise ValueError(f"y_min must be below y_max, got {low!r} and {high!r}")
        X, y = self._rows(X, y, reset=True)
        if (low is not None and y.min() < low) or (high is not None and y.max() > high):
            raise ValueError(
                f"y goes from {y.min():g} to {y.max():g}, beyond y_min={low!r} and y_max={high!r}: "
                "correct the limits, or the data"
            )
        return X, y

    def _rows(self, X: Any, y: ArrayLike, *, reset: bool) -> tuple[Any, Array]:
        least = _MIN_ROWS if reset else 1
        if self._sees_arrays(X):
            X, y = validate_data(
                self,
                X,
                y,
                reset=reset,
                dtype=np.float64,
                y_numeric=True,
                ensure_min_samples=least,
            )
            return X, np.asarray(y, dtype=np.float64)
        X = self._passed_on(X, reset=reset)
        if y is None:
            raise ValueError("BandRegressor requires y to be passed, but the target y is None.")
        outputs: Array = column_or_1d(
            check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"), warn=True
        )
        check_consistent_length(X, outputs)
        if len(outputs) < least:
            raise ValueError(f"at least {least} rows are needed, got {len(outputs)}")
        return X, outputs

    def _new_rows(self, X: Any) -> Any:
        if self._sees_arrays(X):
            return validate_data(self, X, reset=False, dtype=np.float64)
        return self._passed_on(X, reset=False)

    def _passed_on(self, X: Any, *, reset: bool) -> Any:
        """X as the user's models want it, its names and its number of columns checked."""
        if not is_frame(X):
            X = check_array(X, dtype=None, ensure_all_finite=False)
        if X.shape[0] == 0:
            raise ValueError(f"X has no rows (shape={X.shape}): at least one is needed")
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _sees_arrays(self, X: Any) -> bool:
        """Whether X is turned into an array of numbers, or passed on as it is."""
        passed_on = self.estimator is not None or self.band_transformer is not None
        return not (passed_on and (is_frame(X) or self.band_transformer is not None))
