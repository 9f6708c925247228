"""Algorithm 1 without the calibration: from pre-training rows to a mean and a scale.

Inside, inputs, outputs and residuals have mean zero and variance one (unless `standardize` is
off), so that lengthscales and penalties mean the same for all data; `Band` undoes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel

from sosbands.conformal.families import ROUNDING
from sosbands.core.kernels import Gaussian
from sosbands.core.problem import BandProblem
from sosbands.core.solvers import Solution
from sosbands.core.threads import one_blas_thread
from sosbands.learning.gaussian_process import GaussianProcess, fit_gaussian_process
from sosbands.learning.means import Affine, Mean, Preliminary, units
from sosbands.learning.scale_inputs import GuessedScale, ScaleInputs
from sosbands.learning.search import BandSearch, Lengthscale, Progress, Tuning, plain
from sosbands.learning.settings import BandSettings
from sosbands.types import Array, Folds, Indices, Mask

# Rows that the tuning (fewer for one or two inputs) and the shape of the kernel are learned from.
_TUNING_ROWS, _SHAPE_ROWS = 1000, 400
# Gap of the fold problems, with many rows and with few: their bands are compared, not used.
_FOLD_TOL, _FEW_ROWS_TOL, _FEW_ROWS = 1e-2, 3e-2, 225
# Sizes of the lengthscale that are tried.
_SIZES = 4
# The same if HSIC decides alone, as in the paper, and evaluations of its search per dimension.
_ALONE_SIZES, _ALONE_REFINEMENTS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2), 5
# Defaults of max_rank, for the band and for the folds of the tuning, and rows for each feature: the
# scale varies slowly, more features cost time and change nothing.
_RANKS, _ROWS_PER_FEATURE = (35, 125), 8
_FOLD_RANKS, _FOLD_ROWS_PER_FEATURE = (25, 50), 11

# Features reproduce kᶠ to this; the paper's form is exact to rounding.
_FEATURE_TOL, _EXACT_TOL = 1e-8, 1e-10
# How much inputs are thought to differ: the standard deviation of log θᶠ a priori.
_SPREAD = 1.0
# Training rows that compare a guess with the scale.
_GUESS_ROWS = 1000
# A residual is wild beyond so many times what one per cent of all residuals exceed.
_COMMON, _WILD = 0.99, 10.0
# A lengthscale at which an input does not matter; the least bound of a joint mean's norm.
_IRRELEVANT, _LEAST_NORM = 1e6, 1e-12


@dataclass(frozen=True, eq=False)
class Band:
    """A learned mean and scale.

    Attributes
    ----------
    mean_model : Mean
        The prediction that the scale may see; also the mean, unless that is learned jointly.
    sees : ScaleInputs
        What the scale sees of a row.
    outputs : Affine
        Units of the output.
    unit : float
        The size of the residuals in units of the output.
    solution : Solution
    tuning : Tuning or None
    n_outliers : int
    guess : GuessedScale or None
        What the scale is averaged with.
    """

    mean_model: Mean
    sees: ScaleInputs
    outputs: Affine
    unit: float
    solution: Solution
    tuning: Tuning | None
    n_outliers: int
    guess: GuessedScale | None

    @property
    def symmetric(self) -> bool:
        """Whether the scale is √f, rather than f_low and f_up."""
        return self.solution.problem.symmetric

    @property
    def joint(self) -> bool:
        """Whether the mean was learned together with the scale."""
        return self.solution.problem.mean_kernel is not None

    @property
    def residual_size(self) -> float:
        """The root mean square of the residuals, in the units of y."""
        return self.unit * float(self.outputs.scale)

    def mean(self, X: Any, B: Array) -> Array:
        """m in the units of y."""
        if not self.joint:
            return self.mean_model.values(X, B)
        return self.outputs.undo(self.solution.mean(self._joint_inputs(X, B)))

    def mean_and_scale(self, X: Any, B: Array) -> tuple[Array, Array]:
        """m, and √f of shape (n,) or f_low and f_up of shape (n, 2), in the units of y."""
        if self.joint:
            Z = self._joint_inputs(X, B)
            mean = self.outputs.undo(self.solution.mean(Z))
        else:
            mean = self.mean_model.values(X, B)
            Z = self.sees(B, mean)
        scale = self.solution.scale(Z)
        if self.guess is not None:
            scale = self.guess.averaged(Z, scale)
        return mean, scale * self.residual_size

    def _joint_inputs(self, X: Any, B: Array) -> Array:
        """A joint scale sees the preliminary prediction, if any."""
        seen = self.mean_model.values(X, B) if self.sees.predictions is not None else None
        return self.sees(B, seen)


def learn_band(
    B: Array,
    y: Array,
    preliminary: Preliminary,
    *,
    folds: Folds,
    settings: BandSettings,
    seed: int,
) -> Band:
    """Steps 2 and 3: tune the kernel of the scale, then solve on all rows."""
    inputs, outputs = units(B, y, settings)
    own_mean = preliminary.process is not None
    process = preliminary.process if settings.joint else None
    residuals = _without_rounding(y - preliminary.predictions, y) / outputs.scale
    inliers = _inliers(residuals, settings.remove_outliers)
    if process is None and settings.soft:
        residuals = _tamed(residuals, inliers)
    unit = _root_mean_square(residuals[inliers]) if settings.standardize and not process else 1.0
    sees, Z, weights = ScaleInputs.learn(
        B,
        preliminary.predictions,
        np.clip(residuals, residuals[inliers].min(), residuals[inliers].max()) / unit,
        inputs=inputs,
        own_mean=own_mean,
        folds=folds,
        settings=settings,
    )
    rows = Rows(
        Z=Z,
        residuals=residuals / unit,
        outputs=outputs(y),
        folds=folds,
        settings=settings,
        process=process,
        own_mean=own_mean,
        n_inputs=len(inputs.columns),
        lengthscale=inputs.entries("lengthscale", settings.lengthscale, B.shape[1]),
        weights=weights,
    )
    solution, tuning = rows.take(np.flatnonzero(inliers)).solve(np.random.default_rng(seed))
    guess = None
    if sees.difficulty is not None:
        some = Z[:: max(1, len(Z) // _GUESS_ROWS)]
        guess = GuessedScale.of(sees.difficulty, some, solution.scale(some))
    return Band(
        mean_model=preliminary.mean,
        sees=sees,
        outputs=outputs,
        unit=unit,
        solution=solution,
        tuning=tuning,
        n_outliers=int(np.isfinite(residuals).sum() - inliers.sum()),
        guess=guess,
    )


@dataclass(frozen=True, eq=False)
class Rows:
    """Standardised rows: what the scale sees, what it has to cover, and how to tune it.

    Attributes
    ----------
    Z : array of shape (n, d)
        Inputs, then perhaps the prediction and the guess of the difficulty.
    residuals, outputs : arrays of shape (n,)
    folds : sequence of (train, test)
    settings : BandSettings
    process : GaussianProcess or None
        Bounds the norm of a joint mean; None for a given mean.
    own_mean : bool
        Whether the mean is a kernel mean, not that of a given model.
    n_inputs : int
        Columns of Z that the mean sees as well: without the prediction and the difficulty.
    lengthscale : str, float or array of shape (n_inputs,)
        How the lengthscale is found, or what it is.
    weights : array of shape (d,)
        How much each column counts if all lengthscales are equal.
    """

    Z: Array
    residuals: Array
    outputs: Array
    folds: Folds
    settings: BandSettings
    process: GaussianProcess | None
    own_mean: bool
    n_inputs: int
    lengthscale: Any
    weights: Array

    def take(self, chosen: Indices) -> Rows:
        """Some of the rows, and what the folds have of them."""
        place = np.full(len(self.Z), -1)
        place[chosen] = np.arange(len(chosen))
        parts = [[place[part][place[part] >= 0] for part in fold] for fold in self.folds]
        return replace(
            self,
            Z=self.Z[chosen],
            residuals=self.residuals[chosen],
            outputs=self.outputs[chosen],
            folds=[(train, test) for train, test in parts if len(train) and len(test)],
        )

    def sample(self, count: int, rng: np.random.Generator) -> Rows:
        """A random part of the rows."""
        if len(self.Z) <= count:
            return self
        return self.take(np.sort(rng.choice(len(self.Z), count, replace=False)))

    def problem(
        self, lengthscale: Lengthscale, *, symmetric: bool = True, rank: int | None = None
    ) -> BandProblem:
        """The band problem with this kernel, at the first of the weights to choose from."""
        given, settings = self.process is None, self.settings
        n = len(self.Z)
        return BandProblem.from_data(
            self.Z,
            self.residuals if given else self.outputs,
            scale_kernel=Gaussian(lengthscale, offset=settings.offset),
            mean_kernel=None if self.process is None else self._mean_kernel(self.process),
            mean_bound=None
            if self.process is None
            else max(self.process.squared_norm, _LEAST_NORM),
            mean_weight=0.0 if given else settings.mean_weight_for(symmetric=symmetric),
            width_weight=settings.width_weight_for(n),
            trace_penalty=settings.trace_penalty,
            ridge_penalty=settings.ridge_penalty,
            training_coverage=settings.training_coverage_for(symmetric=symmetric),
            symmetric=symmetric,
            feature_tol=_FEATURE_TOL if settings.standardize else _EXACT_TOL,
            max_rank=self._rank(rank or _between(n // _FOLD_ROWS_PER_FEATURE, _FOLD_RANKS)),
        )

    def solve(self, rng: np.random.Generator) -> tuple[Solution, Tuning | None]:
        """Tune on a sample of the rows, solve on all of them."""
        settings, tuning = self.settings, None
        shape = self._shape(rng)
        lengthscale, factor, symmetric = plain(shape), 1.0, self._sides[0]
        searches = len(self._sides) + len(settings.width_factors) > 2
        if self.residuals.any() and len(self.folds) > 1 and (self._tunes_kernel or searches):
            part = self.sample(min(_TUNING_ROWS, 250 * (1 + self.Z.shape[1])), rng)
            tuning = part._tune(shape)
            lengthscale, symmetric = tuning.chosen.lengthscale, tuning.chosen.symmetric
            base = settings.width_weight_for(len(part.Z))
            factor = tuning.chosen.width_weight / base if base else 1.0  # b = 0 stays 0
        problem = self.problem(lengthscale, symmetric=symmetric, rank=self._enough_features)
        problem = replace(problem, width_weight=factor * problem.width_weight)
        return settings.solver_with(settings.tol).solve(problem), tuning

    def _mean_kernel(self, process: GaussianProcess) -> Gaussian:
        """kᵐ, which sees the inputs but not the prediction."""
        lengthscales = np.full(self.Z.shape[1], _IRRELEVANT)
        lengthscales[: self.n_inputs] = process.kernel.lengthscale
        return Gaussian(plain(lengthscales))

    def _rank(self, default: int) -> int | None:
        """The paper's form and the paper's solvers want all features."""
        settings = self.settings
        exact = not settings.standardize or settings.solver_with(0.1).wants_all_features
        return settings.max_rank if settings.max_rank is not None or exact else default

    @property
    def _enough_features(self) -> int:
        return _between(len(self.Z) // _ROWS_PER_FEATURE, _RANKS)

    @property
    def _sides(self) -> tuple[bool, ...]:
        return self.settings.sides(len(self.Z), own_mean=self.own_mean)

    @property
    def _tunes_kernel(self) -> bool:
        return isinstance(self.lengthscale, str)

    def _tune(self, shape: Array) -> Tuning:
        settings, n = self.settings, len(self.Z)
        sizes = self._sizes() if self._tunes_kernel else (1.0,)
        alone = settings.anisotropy == "hsic" and self._tunes_kernel
        budget = _ALONE_REFINEMENTS * np.size(shape) if alone else 0
        tol = _FOLD_TOL if n > _FEW_ROWS else _FEW_ROWS_TOL
        weights = [settings.width_weight_for(n) * factor for factor in settings.width_factors]
        trials = len(sizes) + len(weights) + len(self._sides) + budget
        with one_blas_thread(), Parallel(n_jobs=settings.n_jobs) as parallel:
            search = BandSearch(
                state=partial(self.problem, symmetric=self._sides[0]),
                folds=self.folds,
                solver=settings.solver_with(tol),
                width_weights=weights,
                coverages={
                    side: settings.training_coverage_for(symmetric=side) for side in (True, False)
                },
                sides=self._sides,
                criterion=settings.criterion,  # type: ignore[arg-type]
                power=settings.residual_power,
                parallel=parallel,
                progress=Progress(trials, "tuning", settings.verbose > 0),
            )
            return search.run(shape, sizes, budget=budget, per_input=np.size(shape) > 1)

    def _sizes(self) -> tuple[float, ...]:
        """Factors of the shape, from what n rows can resolve to nearly constant scales."""
        if self.settings.anisotropy == "hsic":
            return _ALONE_SIZES
        least = (100 / max(len(self.Z), 100)) ** 0.25
        # The likelihood of several lengthscales knows their size roughly already.
        known = self.settings.anisotropy == "likelihood" and self.Z.shape[1] > 1
        return tuple(np.geomspace(least, 4.5, _SIZES - known).tolist())

    def _shape(self, rng: np.random.Generator) -> Array:
        """Relative lengthscales of the inputs; the lengthscales themselves if they are given."""
        settings, d = self.settings, self.Z.shape[1]
        if not self._tunes_kernel:
            given = np.asarray(self.lengthscale, dtype=np.float64)
            if given.ndim:
                given = np.append(given, np.ones(d - self.n_inputs))
            return np.asarray(given / self.weights)
        if settings.anisotropy == "likelihood" and d > 1:
            return self._likely_shape(rng) / self.weights
        spread = np.ones(d) if settings.standardize else Affine.of(self.Z).scale
        return np.asarray(np.sqrt(d) * spread / self.weights)

    def _likely_shape(self, rng: np.random.Generator) -> Array:
        """Lengthscales of a Gaussian process for √|r|, that most depends on what matters for |r|.

        Where it finds nothing, all inputs count the same.
        """
        rows = self.sample(_SHAPE_ROWS, rng)
        sizes = np.sqrt(np.abs(rows.residuals))
        process = fit_gaussian_process(
            rows.Z,
            sizes - sizes.mean(),
            n_starts=1,
            spread=_SPREAD,
            random_state=int(rng.integers(2**31)),
        )
        return np.asarray(process.kernel.lengthscale)


def _between(value: int, limits: tuple[int, int]) -> int:
    return min(max(value, limits[0]), limits[1])


def _root_mean_square(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) or 1.0


def _without_rounding(residuals: Array, y: Array) -> Array:
    """Zero where a prediction is as near to y as floats are."""
    return np.where(np.abs(residuals) <= ROUNDING * np.abs(y), 0.0, residuals)


def _tamed(residuals: Array, inliers: Mask) -> Array:
    """Residuals with wild ones cut off.

    The optimum does not see how far a soft band misses a row, but units, tuning and solver do:
    single outputs of 10⁶ would leave no digits for the others.
    """
    limit = _WILD * float(np.quantile(np.abs(residuals[inliers]), _COMMON, method="lower"))
    return np.clip(residuals, -limit, limit) if limit > 0 else residuals


def _inliers(residuals: Array, threshold: float | None) -> Mask:
    """Known residuals, but for those beyond `threshold` robust standard deviations of them."""
    known = np.isfinite(residuals)
    if threshold is None:
        return known
    centred = np.abs(residuals - np.median(residuals[known]))
    deviation = 1.4826 * float(np.median(centred[known]))
    inliers = known & ~((centred > threshold * deviation) & (deviation > 0))
    if inliers.sum() < min(5, known.sum()):
        raise ValueError(
            f"remove_outliers={threshold!r} leaves {inliers.sum()} of {len(residuals)} rows "
            "to learn from, at least 5 are needed: raise it"
        )
    return inliers
