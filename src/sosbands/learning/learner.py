"""Algorithm 1 without the calibration: from pre-training rows to a fitted band.

Inside, inputs, outputs and residuals have mean zero and variance one (unless `standardize` is
off), so that lengthscales and penalties mean the same for all data; `FittedBand` undoes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from sosbands.core.nested import NestedSolution
from sosbands.core.threads import few_threads
from sosbands.learning.blend import Blend, blended, kernel_of_blend
from sosbands.learning.consensus import Consensus
from sosbands.learning.difficulty import SecondOpinion
from sosbands.learning.encoding import BandInputs
from sosbands.learning.evenness import Evenness
from sosbands.learning.extrapolation import Extrapolation
from sosbands.learning.fit_parameters import NOTHING_TOLD, FitParameters
from sosbands.learning.fitted_band import FittedBand
from sosbands.learning.folds import band_sample, cross_fitting_folds, renumbered
from sosbands.learning.kernel_band import KernelBand
from sosbands.learning.kernel_mean import KernelMean
from sosbands.learning.leftover import Leftover
from sosbands.learning.likelihood_search import plain
from sosbands.learning.means import (
    Mean,
    OutOfSample,
    given_mean,
    kernel_mean,
    means_by_folds,
    stacked_mean,
)
from sosbands.learning.output_limits import OutputLimits
from sosbands.learning.plan import Rules, central
from sosbands.learning.prepared_rows import PreparedRows
from sosbands.learning.progress import Progress
from sosbands.learning.scale_inputs import ScaleInputs
from sosbands.learning.scale_rows import ScaleRows
from sosbands.learning.search import GUESS_WEIGHTS, Tuning, tune
from sosbands.learning.stacking import StackedMean
from sosbands.learning.standardize import VaryingInputs
from sosbands.types import Array, Folds, Indices

# Rows that each of several bands, which make up for each other, is tuned by. CV+ scored as with all
# 800 of them on four development sets; with 400, worse by 1 % around kernel means.
_PART_ROWS = 500
# Training rows that compare the scale with what it is averaged with.
_OPINION_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Learned:
    """A fitted band, and what there is to say about how it was found.

    Attributes
    ----------
    band : FittedBand
    solution : NestedSolution
    tuning : Tuning or None
    n_outliers : int
        Rows that were left out.
    """

    band: FittedBand
    solution: NestedSolution
    tuning: Tuning | None
    n_outliers: int


@dataclass(frozen=True, eq=False)
class BandLearner:
    """Rows ↦ a band: all that `BandRegressor` says about learning, but the rows.

    Attributes
    ----------
    estimator : regressor
        The model to put a band around.
    band : KernelBand
        Checked.
    transformer : transformer or None
        What the band sees of X; None for a `TableEncoder`.
    cv : int or splitter
    remove_outliers : float or None
    limits : tuple of two
        Where intervals end below and above: a number, None, or "auto".
    n_jobs : int or None
    progress : Progress
    seed : int
    search_rows : int or None
        The most rows that lengthscales and b are chosen by; None for the usual numbers, unless the
        band is one of several.
    """

    estimator: Any
    band: KernelBand
    transformer: Any
    cv: Any
    remove_outliers: float | None
    limits: tuple[Any, Any]
    n_jobs: int | None
    progress: Progress
    seed: int
    search_rows: int | None = None

    @property
    def rules(self) -> Rules:
        """What the band's parameters mean around this mean."""
        return Rules(
            self.band,
            own_mean=isinstance(self.estimator, KernelMean),
            stacked=isinstance(self.estimator, StackedMean),
            part=self.search_rows is not None,
        )

    @property
    def _work(self) -> dict[str, Any]:
        """How the work is done."""
        return {"n_jobs": self.n_jobs, "progress": self.progress}

    def check(self) -> None:
        """Refuse what the mean and the band cannot do together."""
        self.rules.check()
        units = self.band.standardize
        if self.rules.joint and self.estimator.standardize != units:
            raise ValueError(
                f"joint_mean=True needs a mean in the units of the band, got standardize={units!r} "
                f"of the band and {self.estimator.standardize!r} of the KernelMean: set both alike"
            )

    def folds(self, X: Any, y: Array, groups: Indices | None) -> Folds:
        """(train, test) of every fold of these rows."""
        return cross_fitting_folds(X, y, cv=self.cv, groups=groups, seed=self.seed)

    def guesses_like(self, n: int) -> type | None:
        """The kind of model that guesses the size of residuals, given n rows."""
        model = self.rules.difficulty(n, least_fold=n)
        return None if model is None else type(model)

    def part(self, name: str | None = None) -> BandLearner:
        """The same for one of several bands, which may name its progress, with less of a search."""
        progress = self.progress if name is None else self.progress.part(name)
        return replace(self, progress=progress, search_rows=_PART_ROWS)

    def means_by_folds(
        self, X: Any, y: Array, folds: Folds, told: FitParameters
    ) -> tuple[OutOfSample | None, list[OutOfSample] | list[None]]:
        """The mean of all rows and those without each fold, of which regressors share their fits.

        None for kernel means, which are not cross-fitted, for stacked ones, whose encodings know
        outputs, and for two folds: there is no third.
        """
        if self.rules.own_mean or self.rules.stacked or len(folds) < 3:
            return None, [None] * len(folds)
        with few_threads(len(y)):
            whole, means = means_by_folds(
                self.estimator, X, y, folds=folds, told=told, **self._work
            )
        return whole, [mean.take(train) for mean, (train, _) in zip(means, folds, strict=True)]

    def learn(
        self,
        X: Any,
        y: Array,
        groups: Indices | None,
        *,
        told: FitParameters = NOTHING_TOLD,
        folds: Folds | None = None,
        mean: OutOfSample | None = None,
        consensus: Consensus | None = None,
    ) -> Learned:
        """The mean from all of these rows, and the scale from as many as it needs.

        The folds, the mean of a regressor with its predictions out of fold, and what there is to
        choose may be known.
        """
        with few_threads(len(y)):
            folds = folds or self.folds(X, y, groups)
            rows = self._prepared(X, y, groups, folds, told, mean=mean, consensus=consensus)
            consensus = None if consensus is None else consensus.about(rows.encoding)
            rows, blend = self._blended(rows, len(y), groups, consensus)
            leftover = Leftover.of(
                rows.y, rows.mean.predictions, threshold=self.remove_outliers, rules=self.rules
            )
            extrapolation, distances = Extrapolation.learn(rows.B, np.random.default_rng(self.seed))
            sees, scale_rows, guess = self._scale_rows(rows, leftover, distances)
            tuning = None if consensus is None else consensus.tuning(sees)
            inliers = scale_rows.take(np.flatnonzero(leftover.inliers))
            solution, tuning = self._solve(inliers, tuning)
        untuned = self.rules.caution(len(sees.inputs.columns))
        opinion, evenness = _opinions(solution, scale_rows, sees, guess, tuning)
        band = FittedBand(
            encoding=rows.encoding,
            mean_model=rows.mean.mean,
            scale_inputs=sees,
            functions=solution.functions,
            joint=self.rules.joint,
            second_opinion=opinion,
            outputs=leftover.outputs,
            unit=leftover.unit,
            extrapolation=extrapolation,
            inputs=rows.inputs,
            caution=untuned if tuning is None else tuning.caution,
            shift_power=float(self.band.shift_power),
            blend=blend,
            limits=OutputLimits.of(y, *self.limits),
            evenness=evenness,
        )
        return Learned(band, solution, tuning, leftover.n_outliers)

    def _prepared(
        self,
        X: Any,
        y: Array,
        groups: Indices | None,
        folds: Folds,
        told: FitParameters,
        *,
        mean: OutOfSample | None,
        consensus: Consensus | None = None,
    ) -> PreparedRows:
        """Step 1: the mean of all rows, and what the band sees of those that it learns from."""
        if not self.rules.own_mean:
            return self._with_given_mean(X, y, folds, mean, told)
        return self._with_kernel_mean(
            X, y, groups, folds, weights=told.weights, consensus=consensus
        )

    def _exchangeable(self, groups: Indices | None) -> bool:
        return groups is None and isinstance(self.cv, Integral)

    def _with_given_mean(
        self, X: Any, y: Array, folds: Folds, mean: OutOfSample | None, told: FitParameters
    ) -> PreparedRows:
        """A regressor sees X in the order of the user, and predicts what the band needs."""
        n, chosen = len(y), self._sample(len(y))
        kept, outputs = _safe_indexing(X, chosen), y[chosen]
        own_folds = renumbered(folds, chosen, n)
        if self.rules.stacked:
            work = {"seed": self.seed, "weights": told.weights, **self._work}
            mean, encoding, seen = stacked_mean(self.estimator, X, y, folds=folds, **work)
            seen = seen.take(chosen)
        if not self.rules.stacked or self.transformer is not None:
            encoding, seen = BandInputs.learn(kept, outputs, self.transformer, own_folds)
        if mean is None:
            parts = [(train, np.intersect1d(test, chosen)) for train, test in folds]
            held_out = [(train, test) for train, test in parts if len(test)]
            mean = given_mean(self.estimator, X, y, folds=held_out, told=told, **self._work)
        mean, inputs = mean.take(chosen), VaryingInputs.of(seen.B)
        weights = None if told.weights is None else told.weights[chosen]
        rows = PreparedRows(encoding, inputs, seen, outputs, own_folds, mean, weights)
        return rows.take(rows.order)

    def _with_kernel_mean(
        self,
        X: Any,
        y: Array,
        groups: Indices | None,
        folds: Folds,
        *,
        weights: Array | None,
        consensus: Consensus | None,
    ) -> PreparedRows:
        """A kernel mean sees what the band sees, in the order of the band."""
        encoding, seen = BandInputs.learn(X, y, self.transformer, folds)
        agreed = None if consensus is None else consensus.about(encoding)
        estimator = self.estimator if agreed is None else agreed.estimator(self.estimator)
        unknown = OutOfSample(Mean(self.estimator, True), np.full(len(y), np.nan))
        inputs = VaryingInputs.of(seen.B)
        rows = PreparedRows(encoding, inputs, seen, y, folds, unknown, weights)
        order = rows.order
        rows = rows.take(order)
        with self.progress.phase("mean", 1):
            mean = kernel_mean(
                estimator,
                rows.B,
                rows.y,
                folds=None if self._exchangeable(groups) else rows.folds,
                seed=self.seed,
                weights=rows.weights,
                search_rows=self.search_rows,
            )
            self.progress.step()
        kept = np.isin(order, self._sample(len(y)))
        return replace(rows, mean=mean).take(np.flatnonzero(kept))

    def _blended(
        self, rows: PreparedRows, n: int, groups: Indices | None, consensus: Consensus | None
    ) -> tuple[PreparedRows, Blend | None]:
        """A kernel mean beside a given one; stacked and kernel means have one already."""
        if self.rules.stacked or not self.rules.blends(n):
            return rows, None
        kernel = kernel_of_blend(len(rows.y))
        known = "likelihood" if consensus is None else consensus.blend(rows.inputs, kernel)
        limits = self.rules.blend_limits(len(rows.y), self.search_rows)
        model = KernelMean(kernel=kernel, lengthscale=known, random_state=self.seed)
        with self.progress.phase("centre", 1):
            made = blended(rows, model, exchangeable=self._exchangeable(groups), **limits)
            self.progress.step()
        return made

    def _sample(self, n: int) -> Indices:
        """The rows that the band is learned from; a joint mean is learned from all."""
        return band_sample(n, None if self.rules.joint else self.band.band_rows, self.seed)

    def _scale_rows(
        self, rows: PreparedRows, leftover: Leftover, distances: Array
    ) -> tuple[ScaleInputs, ScaleRows, Array | None]:
        """Step 2: what the scale sees of the rows, and what it has to cover."""
        B, rules, residuals = rows.B, self.rules, leftover.residuals
        standardize = bool(self.band.standardize)
        inputs = rows.inputs if standardize else VaryingInputs.of(B, active=False)
        usual = residuals[leftover.inliers]
        sizes = rows.mean.sizes
        sees, seen = ScaleInputs.learn(
            rows.seen,
            rows.mean.predictions,
            np.clip(residuals, usual.min(), usual.max()),
            inputs=inputs,
            folds=rows.folds,
            rules=rules,
            row_weights=rows.weights,
            guesses=None if sizes is None else sizes / leftover.size,
            **self._work,
        )
        scale_rows = ScaleRows(
            Z=seen.Z,
            residuals=residuals,
            outputs=leftover.outputs(rows.y),
            folds=rows.folds,
            rules=rules,
            process=rows.mean.process if rules.joint else None,
            n_inputs=len(inputs.columns),
            lengthscale=_entries(inputs, self.band.lengthscale, B.shape[1], seen.Z.shape[1]),
            weights=sees.weights(rules),
            guess_units=None if sees.difficulty is None else sees.difficulty.units,
            distances=distances,
            row_weights=rows.weights,
        )
        return sees, scale_rows, seen.guess

    def _solve(
        self, rows: ScaleRows, tuning: Tuning | None
    ) -> tuple[NestedSolution, Tuning | None]:
        """Tune on a sample of the rows, unless that is known, and solve on all of them."""
        rules, (n, d) = rows.rules, rows.Z.shape
        if tuning is None:
            rng = np.random.default_rng(self.seed)
            shape = rows.shape(rng, self.search_rows)
            factors, sides = rules.width_factors(n), rules.sides(n)
            lengthscale, symmetric, factor = plain(shape), sides[0], central(factors)
            choices = rules.tunes_kernel or len(sides) + len(factors) > 2
            if rows.residuals.any() and len(rows.folds) > 1 and choices:
                most = min(rules.tuning_rows(d), self.search_rows or n)
                part = rows.sample(most, rng)
                tuning = tune(part, shape, **self._work)
        if tuning is not None:
            chosen = tuning.chosen
            lengthscale, symmetric = chosen.lengthscale, chosen.symmetric
            factor = chosen.width_factor
        with self.progress.phase("band", 1):
            solution = rows.solved(
                lengthscale,
                symmetric=symmetric,
                factor=factor,
                solver=rules.solver(self.band.tol),
            )
            self.progress.step()
        return solution, tuning


def _opinions(
    solution: NestedSolution,
    rows: ScaleRows,
    sees: ScaleInputs,
    guess: Array | None,
    tuning: Tuning | None,
) -> tuple[SecondOpinion | None, Evenness | None]:
    """What the scale is averaged with: a first guess, and then a constant."""
    some = slice(None, None, max(1, len(rows.Z) // _OPINION_ROWS))
    spread, opinion = solution.functions.spread(rows.Z[some]), None
    if sees.difficulty is not None and guess is not None:
        weight = GUESS_WEIGHTS[-1] if tuning is None else tuning.guess_weight
        opinion = SecondOpinion.of(sees.difficulty.units, guess[some], spread, weight=weight)
        spread = opinion.averaged(guess[some], spread)
    if tuning is None or not tuning.evenness:
        return opinion, None
    return opinion, Evenness.of(spread, weight=tuning.evenness)


def _entries(inputs: VaryingInputs, lengthscale: Any, n_columns: int, n_seen: int) -> Any:
    """A given lengthscale of everything that the scale sees, or of the columns that vary."""
    if np.ndim(lengthscale) and len(lengthscale) == n_seen:
        return np.asarray(lengthscale, dtype=np.float64)
    return inputs.entries("lengthscale", lengthscale, n_columns)
