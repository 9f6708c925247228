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

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel
from scipy.optimize import minimize

from sosbands.core.problem import BandProblem
from sosbands.core.solvers import Solution, Solver
from sosbands.learning.cross_fitting import Criterion, CrossFit, cross_fit, shares
from sosbands.types import Array, Folds

Lengthscale: TypeAlias = float | tuple[float, ...]

# Of the trust region, in logarithms of lengthscales: closer than 5 % data cannot tell.
_FIRST_RADIUS, _LAST_RADIUS = 0.4, 0.05
# Two sides are tried if the residuals are more skewed than this, and must have a better interval
# score, by this fraction of 1/√n.
_SKEWED, _MARGIN = 0.1, 0.2
# Of two weights b that are equally good the smaller, which gives smoother bands, counts twice.
_LARGER_WEIGHT = 0.5


@dataclass(frozen=True)
class Trial:
    """One candidate: what was tried, and what came out (dependence, score and skewness)."""

    lengthscale: Lengthscale
    width_weight: float
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


@dataclass
class Progress:
    """A line on standard error that counts steps; silent unless `verbose`."""

    total: int
    label: str
    verbose: bool
    done: int = 0

    def step(self) -> None:
        """One more step is done."""
        self.done += 1
        if not self.verbose:
            return
        share = min(self.done / max(self.total, 1), 1.0)
        bar = "█" * round(20 * share)
        sys.stderr.write(f"\r{self.label} {bar:<20} {self.done}/{self.total}")
        sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self.verbose:
            sys.stderr.write("\n")


@dataclass(frozen=True, eq=False)
class BandSearch:
    """The search over lengthscales, weights of the width and sides.

    Attributes
    ----------
    state : callable
        lengthscale ↦ the problem with that kernel.
    folds : sequence of (train, test) index arrays
    solver : Solver
    width_weights, sides : sequences
        Candidates for b and `symmetric`; the interval score chooses among them.
    coverages : mapping
        τ for each side.
    criterion, power
        What chooses the lengthscale; see `CrossFit.dependence`.
    parallel : joblib.Parallel
        Runs the folds.
    progress : Progress
    starts : dict
        Solutions of every fold from which later trials start, by the number of sides.
    """

    state: Callable[[Lengthscale], BandProblem]
    folds: Folds
    solver: Solver
    width_weights: Sequence[float]
    coverages: Mapping[bool, float]
    sides: Sequence[bool]
    criterion: Criterion
    power: int
    parallel: Parallel
    progress: Progress
    starts: dict[bool, list[Solution]] = field(default_factory=dict)

    def run(
        self, shape: Array, sizes: Sequence[float], *, budget: int = 0, per_input: bool = False
    ) -> Tuning:
        """Find the size of the lengthscales, then b, then the sides.

        The schedule is fixed: the result does not depend on how many processes run the folds.

        Parameters
        ----------
        shape : array of shape (d,) or ()
            Relative lengthscales of the inputs, or one number for all.
        sizes : sequence of float
            Factors of the shape, ascending; the choice lies between the ends.
        budget : int
            Evaluations of a trust-region search for the lengthscale of the largest criterion, from
            the best of the sizes on, as in the paper. 0: an average of the sizes.
        per_input : bool
            Whether that search moves every input's lengthscale, or the common factor.
        """
        weights, symmetric = sorted(self.width_weights), self.sides[0]
        middle, trials, best = weights[len(weights) // 2], [], None
        lengthscale = plain(shape * sizes[0])
        if len(sizes) > 1:
            problems = [self.state(plain(shape * size)) for size in sizes]
            tried = [self._try(problem, middle, symmetric) for problem in problems]
            trials += [trial for trial, _ in tried]
            fits = [fit for _, fit in tried]
            good = shares(fits, self._dependence) * shares(fits, _quality)
            size = _average(sizes, good)
            lengthscale = plain(shape * size)
            if budget:
                trials += self._climbed(trials, shape, sizes, per_input=per_input, budget=budget)
                best = _largest(trials)
                lengthscale = best.lengthscale
        problem, weight = self.state(lengthscale), weights[0]
        if len(weights) > 1:
            tried = [self._try(problem, weight, symmetric) for weight in weights]
            trials += [trial for trial, _ in tried]
            good = shares([fit for _, fit in tried], _quality)
            weight = _average(weights, good * _LARGER_WEIGHT ** np.arange(len(weights)))
        if best is None or weight != best.width_weight:
            best, _ = self._try(problem, weight, symmetric)
            trials.append(best)
        for other in self.sides[1:] if best.skewness > _SKEWED else ():
            trials.append(self._try(problem, weight, other)[0])
            least = 1 - _MARGIN / np.sqrt(sum(len(test) for _, test in self.folds))
            if trials[-1].interval_score < least * best.interval_score:
                best = trials[-1]
        self.progress.close()
        return Tuning(tuple(trials), best, self.criterion, problem.n)

    def _dependence(self, fit: CrossFit) -> float:
        return fit.dependence(self.criterion, power=self.power)

    def _solvers(self, problem: BandProblem) -> list[Solver]:
        """One for each fold, started from the first trial's solution with as many sides."""
        starts = self.starts.get(problem.symmetric)
        if starts is None or not problem.soft or not self.solver.takes_start:
            return [self.solver] * len(self.folds)
        return [replace(self.solver, start=start) for start in starts]  # type: ignore[type-var]

    def _climbed(
        self,
        trials: Sequence[Trial],
        shape: Array,
        sizes: Sequence[float],
        *,
        per_input: bool,
        budget: int,
    ) -> list[Trial]:
        """The trials of a trust-region search from the best of those with the given sizes on."""
        best, found = _largest(trials), list[Trial]()
        free = np.size(shape) if per_input else 1
        start = np.full(free, np.log(sizes[trials.index(best)]))

        def gain(logarithms: Array) -> float:
            if np.array_equal(logarithms, start):
                return best.criterion
            factor = np.exp(logarithms if per_input else logarithms[0])
            problem = self.state(plain(shape * factor))
            found.append(self._try(problem, best.width_weight, best.symmetric)[0])
            return found[-1].criterion

        bounds = [(float(np.log(sizes[0])), float(np.log(sizes[-1])))] * free
        climb(gain, start, bounds, budget + 1)  # the start costs nothing
        return found

    def _try(
        self, problem: BandProblem, width_weight: float, symmetric: bool
    ) -> tuple[Trial, CrossFit]:
        """Cross-fit one candidate."""
        plan = {"width_weight": width_weight, "training_coverage": self.coverages[symmetric]}
        variant = problem.variant(**plan, symmetric=symmetric)
        fit, solutions = cross_fit(variant, self.folds, self._solvers(variant), self.parallel)
        self.starts.setdefault(symmetric, solutions)
        self.progress.step()
        trial = Trial(
            lengthscale=problem.scale_kernels[0].lengthscale,
            **plan,
            symmetric=symmetric,
            criterion=self._dependence(fit),
            interval_score=fit.interval_score(),
            skewness=fit.skewness(),
        )
        return trial, fit


def _largest(trials: Sequence[Trial]) -> Trial:
    return max(trials, key=lambda trial: trial.criterion)


def _quality(fit: CrossFit) -> float:
    return -fit.interval_score()


def _average(values: Sequence[float], weights: Array) -> float:
    """In logarithms, since the values are factors of each other."""
    return float(np.exp(weights @ np.log(values) / weights.sum()))


def plain(lengthscale: Array | float) -> Lengthscale:
    """A number, or a tuple of numbers: what kernels take."""
    if np.ndim(lengthscale) == 0:
        return float(lengthscale)
    return tuple(np.asarray(lengthscale).tolist())


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
