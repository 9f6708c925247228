"""Which lengthscale, which weight of the width: the search over them.

The kernel of f is chosen as in the paper, by HSIC between out-of-fold residuals and scales. HSIC
grows with the size of f, which calibration takes out again, so it may compare lengthscales but
neither weights nor sides: these are compared by the interval score of the out-of-fold bands after
an out-of-fold calibration, which the size of f leaves alone.

No figure is exact. Of several candidates the one with the best figure is often best by chance, and
another sample, or rounding, would choose another. So the choice is an average of the candidates, in
logarithms, in which those count that the data cannot tell from the best (`shares`). The paper's
form takes the best, by a derivative-free trust-region method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel
from scipy.optimize import minimize

from sosbands.core.problem import BandProblem
from sosbands.core.solvers import Solution, Solver
from sosbands.core.threads import one_blas_thread
from sosbands.learning.cross_fitting import CrossFit, cross_fit, shares
from sosbands.learning.difficulty import SecondOpinion
from sosbands.learning.evenness import Evenness
from sosbands.learning.extrapolation import wider
from sosbands.learning.likelihood_search import plain
from sosbands.learning.plan import central
from sosbands.learning.progress import SILENT, Progress
from sosbands.learning.scale_rows import ScaleRows
from sosbands.types import Array, Indices, Lengthscale

# Of the trust region, in logarithms of lengthscales: closer than 5 % data cannot tell.
_FIRST_RADIUS, _LAST_RADIUS = 0.4, 0.05
# Two sides are tried if the residuals are more skewed than this, and must have a better interval
# score, by this fraction of 1/√n: cases 1 to 4, where residuals are not skewed.
_SKEWED, _MARGIN = 0.1, 0.2
# Of two weights b that are equally good the smaller, which gives smoother bands, counts twice.
_LARGER_WEIGHT = 0.5
# Of the first guess of the size of residuals in its average with the scale. With more of it than a
# half scores were worse on large sets: the scale of all rows is better than that of a fold.
GUESS_WEIGHTS = 0.0, 0.5
# Of a constant in its average with the scale, into which the guess has been averaged before.
_EVENNESS_WEIGHTS = 0.0, 0.5


# Lengthscale, factor of b, symmetric.
Candidate: TypeAlias = tuple[Lengthscale, float, bool]


@dataclass(frozen=True)
class Trial:
    """One candidate: what was tried, and what came out (dependence, score and skewness).

    `width_factor` is b in units of the smallest one for as many rows, which changes with their
    number.
    """

    lengthscale: Lengthscale
    width_weight: float
    width_factor: float
    training_coverage: float
    symmetric: bool
    criterion: float
    interval_score: float
    skewness: float


# A candidate on the rows that were held out.
Outcome: TypeAlias = tuple[CrossFit, Trial]


@dataclass(frozen=True)
class Tuning:
    """The whole search: every trial in order, and the chosen one.

    What is chosen is an average of candidates, and its figures are their averages. `guess_weight`
    is how much a first guess of the size of the residuals counts beside the scale, if there is one,
    `evenness` how much a constant does, and `caution` how much wider bands get away from the data.

    Examples
    --------
    >>> from sosbands import BandRegressor
    >>> from sosbands.datasets import case
    >>> model = BandRegressor(None, random_state=0).fit(*case(1).sample(100, random_state=0))
    >>> model.tuning_.criterion, int(model.tuning_.to_frame()["chosen"].sum())
    ('hsic', 1)
    """

    trials: tuple[Trial, ...]
    chosen: Trial
    criterion: str
    n_rows: int
    guess_weight: float = GUESS_WEIGHTS[-1]
    caution: float = 0.0
    evenness: float = 0.0

    def to_frame(self) -> Any:
        """The trials as a pandas DataFrame, with a column that marks the chosen one."""
        import pandas as pd

        frame = pd.DataFrame([vars(trial) for trial in self.trials])
        frame["chosen"] = [trial is self.chosen for trial in self.trials]
        return frame


def tune(
    rows: ScaleRows, shape: Array, *, n_jobs: int | None, progress: Progress = SILENT
) -> Tuning:
    """Try what the rules of the rows name; `shape` are the relative lengthscales."""
    rules, (n, d) = rows.rules, rows.Z.shape
    sizes, factors, sides = rules.sizes(n, d), rules.width_factors(n), rules.sides(n)
    others = 2 * (len(sides) - 1) + rules.evaluations(np.size(shape))
    trials = len(sizes) + len(factors) - 1 + others
    with (
        one_blas_thread(),
        progress.phase("tuning", trials),
        Parallel(n_jobs=n_jobs) as parallel,
    ):
        return BandSearch(rows, parallel, progress).run(shape)


@dataclass(eq=False)
class BandSearch:
    """The search over lengthscales, weights of the width and sides.

    Attributes
    ----------
    rows : ScaleRows
        States the problems; its rules name the candidates.
    parallel : joblib.Parallel
        Runs the folds.
    progress : Progress
    tried : dict
        What came of every candidate so far.
    starts : dict
        Solutions of every fold from which later trials start, by the number of sides.
    """

    rows: ScaleRows
    parallel: Parallel
    progress: Progress = SILENT
    tried: dict[Candidate, Outcome] = field(default_factory=dict)
    starts: dict[bool, list[Solution]] = field(default_factory=dict)

    def run(self, shape: Array) -> Tuning:
        """Find the size of the lengthscales, then b, then the sides.

        The schedule is fixed: the result does not depend on how many processes run the folds.

        Parameters
        ----------
        shape : array of shape (d,) or ()
            Relative lengthscales of the inputs, or one number for all.
        """
        rules, n = self.rows.rules, len(self.rows.Z)
        sizes, factors = rules.sizes(*self.rows.Z.shape), rules.width_factors(n)
        middle, symmetric = self._problem(plain(shape * central(sizes))), rules.sides(n)[0]
        # In the middle of all candidates, where the others start.
        first = self._outcome(middle, central(factors), symmetric)
        by_factor = [self._outcome(middle, factor, symmetric) for factor in factors]
        good = self._good_factors(by_factor)
        factor, figures = _average(factors, good), _figures(by_factor, good)
        lengthscale, found = self._lengthscale(shape, sizes, first)
        figures = figures + found - _figures([first], np.ones(1))
        best = self._sided((lengthscale, factor, symmetric), figures)
        guess_weight, fit = self._with_guess(first[0])
        evenness, fit = self._evened(fit)
        trials, criterion = tuple(dict.fromkeys([*self.trials, best])), rules.band.criterion
        return Tuning(trials, best, criterion, n, guess_weight, self._caution(fit), evenness)

    @property
    def trials(self) -> list[Trial]:
        """What was tried so far, in order."""
        return [trial for _, trial in self.tried.values()]

    def _problem(self, lengthscale: Lengthscale) -> BandProblem:
        symmetric = self.rows.rules.sides(len(self.rows.Z))[0]
        return self.rows.problem(lengthscale, symmetric=symmetric, fold=True)

    def _good_factors(self, tried: Sequence[Outcome]) -> Array:
        """How much each weight of the width counts."""
        good = shares([fit for fit, _ in tried], _quality) * _LARGER_WEIGHT ** np.arange(len(tried))
        return np.asarray(good / good.sum())

    @property
    def _held_out(self) -> Indices:
        """The rows of a `CrossFit`."""
        return np.concatenate([test for _, test in self.rows.folds])

    def _with_guess(self, fit: CrossFit) -> tuple[float, CrossFit]:
        """How much the guess counts, and the scales with it."""
        units, guess = self.rows.guess_units, self.rows.Z[self._held_out, -1]
        if units is None:
            return GUESS_WEIGHTS[-1], fit
        spread = fit.spread

        def averaged(weight: float) -> CrossFit:
            opinion = SecondOpinion.of(units, guess, spread, weight=weight)
            return fit.with_spread(opinion.averaged(guess, spread))

        return _weighed(averaged, GUESS_WEIGHTS)

    def _evened(self, fit: CrossFit) -> tuple[float, CrossFit]:
        """How much a constant counts, and the scales with it."""
        if not self.rows.rules.evens(len(self.rows.Z)):
            return 0.0, fit

        def averaged(weight: float) -> CrossFit:
            return fit.with_spread(Evenness.of(fit.spread, weight=weight).averaged(fit.spread))

        return _weighed(averaged, _EVENNESS_WEIGHTS)

    def _caution(self, fit: CrossFit) -> float:
        """How much wider the bands get away from the data."""
        rules, n_inputs = self.rows.rules, self.rows.n_inputs
        cautions = rules.cautions(n_inputs)
        if self.rows.distances is None or len(cautions) == 1:
            return rules.caution(n_inputs)
        distances = self.rows.distances[self._held_out]
        known = np.isfinite(distances)
        fit, distances = fit.take(known), distances[known]
        fits = [replace(fit, scales=wider(fit.scales, distances, caution)) for caution in cautions]
        return _average(cautions, shares(fits, _quality))

    def _lengthscale(
        self, shape: Array, sizes: Sequence[float], first: Outcome
    ) -> tuple[Lengthscale, Array]:
        """The average of the sizes that are as good as the best, or the best by HSIC alone.

        And the figures of those sizes, averaged alike.
        """
        tried = [self._like(first, plain(shape * size)) for size in sizes]
        if self.rows.rules.criterion_alone:
            best = self._climbed(shape, sizes, tried)
            return best[1].lengthscale, _figures([best], np.ones(1))
        fits = [fit for fit, _ in tried]
        band = self.rows.rules.band
        without = partial(CrossFit.hsic_without, power=band.residual_power)
        fast = without if band.criterion == "hsic" else None
        good = shares(fits, self._dependence, fast) * shares(fits, _quality)
        good /= good.sum()
        return plain(shape * _average(sizes, good)), _figures(tried, good)

    def _like(self, first: Outcome, lengthscale: Lengthscale) -> Outcome:
        """What comes of another lengthscale."""
        _, trial = first
        if lengthscale == trial.lengthscale:
            return first
        return self._outcome(self._problem(lengthscale), trial.width_factor, trial.symmetric)

    def _climbed(self, shape: Array, sizes: Sequence[float], tried: Sequence[Outcome]) -> Outcome:
        """The best of a trust-region search, from the best of those with given sizes on.

        It moves the lengthscale of every input, if there are several.
        """
        best, free = max(tried, key=_criterion), np.size(shape)
        start = np.full(free, np.log(sizes[tried.index(best)]))

        def gain(logarithms: Array) -> float:
            if np.array_equal(logarithms, start):
                return best[1].criterion
            sizes = np.exp(logarithms if free > 1 else logarithms[0])
            return _criterion(self._like(best, plain(shape * sizes)))

        bounds = [(float(np.log(sizes[0])), float(np.log(sizes[-1])))] * free
        climb(gain, start, bounds, self.rows.rules.evaluations(free) + 1)  # the start is known
        return max(self.tried.values(), key=_criterion)

    def _sided(self, candidate: Candidate, figures: Array) -> Trial:
        """The chosen candidate, with one side or two.

        It is an average of candidates, with the average of their figures. Only if two sides are to
        be compared is it tried itself: the better interval score counts, by a margin for two.
        """
        lengthscale, factor, symmetric = candidate
        others = self.rows.rules.sides(len(self.rows.Z))[1:]
        if candidate in self.tried:
            best = self.tried[candidate][1]
        else:
            best = self._made_trial(candidate, len(self.rows.Z), figures)
        if not others or best.skewness <= _SKEWED:
            return best
        problem = self._problem(lengthscale)
        best = self._outcome(problem, factor, symmetric)[1]
        least = 1 - _MARGIN / np.sqrt(sum(len(test) for _, test in self.rows.folds))
        for other in others:
            _, trial = self._outcome(problem, factor, other)
            if trial.interval_score < least * best.interval_score:
                best = trial
        return best

    def _dependence(self, fit: CrossFit) -> float:
        band = self.rows.rules.band
        return fit.dependence(band.criterion, power=band.residual_power)

    def _solvers(self, problem: BandProblem) -> list[Solver]:
        """One for each fold, started from the first trial's solution with as many sides."""
        solver = self.rows.rules.fold_solver
        starts = self.starts.get(problem.symmetric)
        if starts is None or not problem.soft or not solver.takes_start:
            return [solver] * len(self.rows.folds)
        return [replace(solver, start=start) for start in starts]  # type: ignore[type-var]

    def _outcome(self, problem: BandProblem, factor: float, symmetric: bool) -> Outcome:
        """Cross-fit one candidate, unless it has been tried."""
        candidate = problem.scale_kernels[0].lengthscale, factor, symmetric
        if candidate in self.tried:
            return self.tried[candidate]
        rules = self.rows.rules
        variant = problem.variant(
            width_weight=factor * rules.width_weight(problem.n),
            training_coverage=rules.coverage(symmetric=symmetric),
            symmetric=symmetric,
        )
        fit, solutions = cross_fit(variant, self.rows.folds, self._solvers(variant), self.parallel)
        self.starts.setdefault(symmetric, solutions)
        self.progress.step()
        figures = np.array([self._dependence(fit), fit.interval_score(), fit.skewness()])
        trial = self._made_trial(candidate, problem.n, figures)
        return self.tried.setdefault(candidate, (fit, trial))

    def _made_trial(self, candidate: Candidate, n: int, figures: Array) -> Trial:
        lengthscale, factor, symmetric = candidate
        criterion, score, skewness = figures.tolist()
        return Trial(
            lengthscale=lengthscale,
            width_weight=factor * self.rows.rules.width_weight(n),
            width_factor=factor,
            training_coverage=self.rows.rules.coverage(symmetric=symmetric),
            symmetric=symmetric,
            criterion=criterion,
            interval_score=score,
            skewness=skewness,
        )


def _criterion(outcome: Outcome) -> float:
    return outcome[1].criterion


def _quality(fit: CrossFit) -> float:
    return -fit.interval_score()


def _weighed(
    averaged: Callable[[float], CrossFit], weights: Sequence[float]
) -> tuple[float, CrossFit]:
    """The average of those weights that are as good as the best, and what comes of it."""
    good = shares([averaged(weight) for weight in weights], _quality)
    weight = float(good @ np.array(weights))
    return weight, averaged(weight)


def _figures(tried: Sequence[Outcome], weights: Array) -> Array:
    """Criterion, interval score and skewness of several trials, averaged."""
    found = [[trial.criterion, trial.interval_score, trial.skewness] for _, trial in tried]
    return np.asarray(weights @ np.array(found))


def _average(values: Sequence[float], weights: Array) -> float:
    """In logarithms, since the values are factors of each other."""
    return float(np.exp(weights @ np.log(values)))


def climb(
    gain: Callable[[Array], float],
    start: Array,
    bounds: list[tuple[float, float]],
    budget: int,
) -> None:
    """Evaluate a noisy function at ever better points: COBYQA, the successor of BOBYQA.

    Powell's BOBYQA and its successor model the function by a quadratic in a trust region, without
    derivatives. The caller keeps what was evaluated.
    """
    options: Any = {
        "maxfev": budget,
        "initial_tr_radius": _FIRST_RADIUS,
        "final_tr_radius": _LAST_RADIUS,
    }
    search: Any = minimize  # whose stubs do not know COBYQA's options
    search(lambda x: -gain(x), start, method="COBYQA", bounds=bounds, options=options)
