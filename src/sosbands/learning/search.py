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
from typing import Any, TypeAlias, TypeVar

import numpy as np
from joblib import Parallel
from scipy.optimize import minimize

from sosbands.core.problem import BandProblem
from sosbands.core.solvers import Solution, Solver
from sosbands.core.threads import one_blas_thread
from sosbands.learning.cross_fitting import CrossFit, cross_fit, shares
from sosbands.learning.progress import SILENT, Progress
from sosbands.learning.scale_rows import ScaleRows, plain
from sosbands.types import Array, Lengthscale

# Of the trust region, in logarithms of lengthscales: closer than 5 % data cannot tell.
_FIRST_RADIUS, _LAST_RADIUS = 0.4, 0.05
# Two sides are tried if the residuals are more skewed than this, and must have a better interval
# score, by this fraction of 1/√n: cases 1 to 4, where residuals are not skewed.
_SKEWED, _MARGIN = 0.1, 0.2
# Of two weights b that are equally good the smaller, which gives smoother bands, counts twice.
_LARGER_WEIGHT = 0.5


# Lengthscale, factor of b, symmetric.
Candidate: TypeAlias = tuple[Lengthscale, float, bool]
T = TypeVar("T")


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


@dataclass(frozen=True)
class Tuning:
    """The whole search: every trial in order, and the chosen one."""

    trials: tuple[Trial, ...]
    chosen: Trial
    criterion: str
    n_rows: int

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
    sizes, factors, sides = rules.sizes(n, d), rules.width_factors, rules.sides(n)
    trials = len(sizes) + len(factors) + len(sides) - 1 + rules.evaluations(np.size(shape))
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
    tried: dict[Candidate, tuple[CrossFit, Trial]] = field(default_factory=dict)
    starts: dict[bool, list[Solution]] = field(default_factory=dict)

    def run(self, shape: Array) -> Tuning:
        """Find the size of the lengthscales, then b, then the sides.

        The schedule is fixed: the result does not depend on how many processes run the folds.

        Parameters
        ----------
        shape : array of shape (d,) or ()
            Relative lengthscales of the inputs, or one number for all.
        """
        lengthscale, middle = self._lengthscale(shape)
        factor = self._width_factor(self._problem(middle))
        problem = self._problem(lengthscale)
        best = self._sided(problem, factor)
        return Tuning(tuple(self.trials), best, self.rows.rules.band.criterion, problem.n)

    @property
    def trials(self) -> list[Trial]:
        """What was tried so far, in order."""
        return [trial for _, trial in self.tried.values()]

    @property
    def _sides(self) -> tuple[bool, ...]:
        return self.rows.rules.sides(len(self.rows.Z))

    def _problem(self, lengthscale: Lengthscale) -> BandProblem:
        return self.rows.problem(lengthscale, symmetric=self._sides[0], fold=True)

    def _lengthscale(self, shape: Array) -> tuple[Lengthscale, Lengthscale]:
        """The average of the sizes that are as good as the best, or the best by HSIC alone.

        And a lengthscale with which to choose b: the one in the middle, which has been tried.
        """
        rules, (n, d) = self.rows.rules, self.rows.Z.shape
        sizes, factors = rules.sizes(n, d), rules.width_factors
        if len(sizes) == 1:
            return plain(shape * sizes[0]), plain(shape * sizes[0])
        tried = [plain(shape * size) for size in sizes]
        fits = [self._try(self._problem(lengthscale), _middle(factors)) for lengthscale in tried]
        if rules.criterion_alone:
            return (best := self._climbed(shape, sizes).lengthscale), best
        good = shares(fits, self._dependence) * shares(fits, _quality)
        return plain(shape * _average(sizes, good)), _middle(tried)

    def _climbed(self, shape: Array, sizes: Sequence[float]) -> Trial:
        """The best trial of a trust-region search, from the best of those with given sizes on.

        It moves the lengthscale of every input, if there are several.
        """
        best, free = _largest(self.trials), np.size(shape)
        start = np.full(free, np.log(sizes[self.trials.index(best)]))

        def gain(logarithms: Array) -> float:
            if np.array_equal(logarithms, start):
                return best.criterion
            sizes = np.exp(logarithms if free > 1 else logarithms[0])
            problem = self._problem(plain(shape * sizes))
            return self._trial(problem, best.width_factor, self._sides[0]).criterion

        bounds = [(float(np.log(sizes[0])), float(np.log(sizes[-1])))] * free
        climb(gain, start, bounds, self.rows.rules.evaluations(free) + 1)  # the start is known
        return _largest(self.trials)

    def _width_factor(self, problem: BandProblem) -> float:
        """The average of the weights of the width that are as good as the best."""
        factors = self.rows.rules.width_factors
        if len(factors) == 1:
            return factors[0]
        good = shares([self._try(problem, factor) for factor in factors], _quality)
        return _average(factors, good * _LARGER_WEIGHT ** np.arange(len(factors)))

    def _sided(self, problem: BandProblem, factor: float) -> Trial:
        """One side or two: the trial with the better interval score, by a margin for two."""
        best = self._trial(problem, factor, self._sides[0])
        least = 1 - _MARGIN / np.sqrt(sum(len(test) for _, test in self.rows.folds))
        for other in self._sides[1:] if best.skewness > _SKEWED else ():
            trial = self._trial(problem, factor, other)
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

    def _try(self, problem: BandProblem, factor: float) -> CrossFit:
        """What comes of one candidate with as many sides as the problem."""
        return self._outcome(problem, factor, self._sides[0])[0]

    def _trial(self, problem: BandProblem, factor: float, symmetric: bool) -> Trial:
        return self._outcome(problem, factor, symmetric)[1]

    def _outcome(
        self, problem: BandProblem, factor: float, symmetric: bool
    ) -> tuple[CrossFit, Trial]:
        """Cross-fit one candidate, unless it has been tried."""
        lengthscale = problem.scale_kernels[0].lengthscale
        candidate = lengthscale, factor, symmetric
        if candidate in self.tried:
            return self.tried[candidate]
        rules = self.rows.rules
        weight = factor * rules.width_weight(problem.n)
        coverage = rules.coverage(symmetric=symmetric)
        variant = problem.variant(
            width_weight=weight, training_coverage=coverage, symmetric=symmetric
        )
        fit, solutions = cross_fit(variant, self.rows.folds, self._solvers(variant), self.parallel)
        self.starts.setdefault(symmetric, solutions)
        self.progress.step()
        trial = Trial(
            lengthscale=lengthscale,
            width_weight=weight,
            width_factor=factor,
            training_coverage=coverage,
            symmetric=symmetric,
            criterion=self._dependence(fit),
            interval_score=fit.interval_score(),
            skewness=fit.skewness(),
        )
        return self.tried.setdefault(candidate, (fit, trial))


def _middle(values: Sequence[T]) -> T:
    return values[len(values) // 2]


def _largest(trials: Sequence[Trial]) -> Trial:
    return max(trials, key=lambda trial: trial.criterion)


def _quality(fit: CrossFit) -> float:
    return -fit.interval_score()


def _average(values: Sequence[float], weights: Array) -> float:
    """In logarithms, since the values are factors of each other."""
    return float(np.exp(weights @ np.log(values) / weights.sum()))


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
