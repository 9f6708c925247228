"""Which lengthscale, which weight of the width: cross-fitted criteria and the search over them.

The kernel of f is chosen as in the paper: for K folds, out-of-fold residuals R and scales F are
pooled, and HSIC(R, F) is made as large as possible by a derivative-free trust-region method in the
logarithm of the lengthscales. HSIC grows with the size of f, which calibration takes out again, so
it may compare lengthscales but neither weights nor coverages: these are compared by the interval
score of the out-of-fold bands after an out-of-fold calibration, which the size of f leaves alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import minimize

from sosbands.conformal import IntervalFamily
from sosbands.dependence import distance_correlation, hsic, mutual_information
from sosbands.metrics import interval_score
from sosbands.problem import BandProblem
from sosbands.solvers import Newton, Solution, Solver
from sosbands.types import Array, Indices

Criterion: TypeAlias = Literal["hsic", "distance_correlation", "mutual_information"]
Folds: TypeAlias = Sequence[tuple[Indices, Indices]]
Lengthscale: TypeAlias = float | tuple[float, ...]

# The level at which bands are compared; the choice hardly depends on it.
_LEVEL = 0.9
# Of the trust region, in logarithms of lengthscales: closer than 5 % data cannot tell.
_FIRST_RADIUS, _LAST_RADIUS = 0.4, 0.05
# Two sides are tried if the residuals are more skewed than this.
_SKEWED = 0.1
_TINY = float(np.finfo(float).tiny)
# A richer band must have a better interval score, by this fraction of 1/√n: one with a larger b or
# with two sides, and one that is less smooth than the middle of the lengthscales.
_MARGIN, _CALM_MARGIN = 0.2, 0.3


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Out-of-fold residuals yᵢ − m(xᵢ) and scales: √f, or f_low and f_up, of shape (n[, 2])."""

    residuals: Array
    scales: Array

    def dependence(self, criterion: Criterion, *, power: int = 1) -> float:
        """How strongly the size of the residual depends on the scale.

        Parameters
        ----------
        criterion : {"hsic", "distance_correlation", "mutual_information"}
        power : {1, 2}
            1 compares |r| with √f, 2 compares r² with f as in the paper's appendix.
        """
        sizes = np.abs(self.residuals) ** power
        widths = self.scales if self.scales.ndim == 1 else self.scales.mean(axis=1)
        return dependence(criterion, sizes, widths**power)

    def interval_score(self, level: float = _LEVEL) -> float:
        """Mean interval score of the bands, calibrated by the quantile of their own scores."""
        zero = np.zeros(len(self.residuals))
        if self.scales.ndim == 1:
            # A floor far below any useful scale keeps single rows from deciding alone.
            floor = 1e-3 * float(self.scales.mean()) + _TINY
            family = IntervalFamily.around(zero, np.maximum(self.scales, floor))
        else:
            family = IntervalFamily.between(zero, self.scales)
        q = np.quantile(family.scores(self.residuals), [level])
        return float(interval_score(self.residuals, family.intervals(q)[:, :, 0], level))

    def skewness(self) -> float:
        """How far from symmetric r/scale is: |upper + lower − 2 median|/(upper − lower), 80 %."""
        widths = self.scales if self.scales.ndim == 1 else self.scales.mean(axis=1)
        ratio = self.residuals / np.maximum(widths, 1e-3 * float(widths.mean()) + _TINY)
        low, middle, high = np.quantile(ratio, [0.1, 0.5, 0.9])
        return float(abs(high + low - 2 * middle) / max(high - low, _TINY))


def dependence(criterion: Criterion, u: Array, v: Array) -> float:
    """The chosen measure of dependence between two samples."""
    if criterion == "mutual_information":
        return mutual_information(u, v, random_state=0)
    return hsic(u, v) if criterion == "hsic" else distance_correlation(u, v)


def cross_fit(
    problem: BandProblem,
    folds: Folds,
    solvers: Sequence[Solver],
    parallel: Parallel,
) -> tuple[CrossFit, list[Solution]]:
    """Solve on each fold's training rows, evaluate on its held-out rows."""
    problem.basis  # noqa: B018 (computed once, shared by the folds)
    parts = parallel(
        delayed(_held_out)(problem, *fold, solver)
        for fold, solver in zip(folds, solvers, strict=True)
    )
    residuals, scales, solutions = zip(*parts, strict=True)
    return CrossFit(np.concatenate(residuals), np.concatenate(scales)), list(solutions)


def _held_out(
    problem: BandProblem, train: Indices, test: Indices, solver: Solver
) -> tuple[Array, Array, Solution]:
    """Residuals and scales of held-out rows, and the solution they come from."""
    solution = solver.solve(problem.subset(train))
    residuals = problem.targets[test]
    if problem.mean_kernel is not None:
        residuals = residuals - solution.mean(problem.X[test])
    return residuals, solution.scale(problem.X[test]), solution


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
    """The search over lengthscales, weights of the width, coverages and sides.

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
        self,
        shape: Array,
        sizes: Sequence[float],
        *,
        per_input: bool,
        refine: int,
        criterion_alone: bool = False,
    ) -> Tuning:
        """Find the size of the lengthscales, then b, then the sides, then refine.

        The criterion chooses the lengthscale, the interval score all else; the score is noisy, so
        that a larger b, or a second side, must be better by more than 0.2/√n (2 % at 100 rows), and
        a short lengthscale better than a middling one by more than 0.3/√n. The schedule is fixed:
        the result does not depend on how many processes run the folds.

        Parameters
        ----------
        shape : array of shape (d,) or ()
            Relative lengthscales of the inputs, or one number for all.
        sizes : sequence of float
            Factors of the shape, ascending; the search stays between the ends.
        per_input : bool
            Whether the refinement moves every input's lengthscale, or the common factor.
        refine : int
            Evaluations of the refinement, a trust-region search.
        criterion_alone : bool
            The lengthscale is the criterion's, whatever the interval score says.
        """
        weights, symmetric = sorted(self.width_weights), self.sides[0]
        middle = weights[len(weights) // 2]
        problems = [self.state(plain(shape * size)) for size in sizes]
        trials = [self._trial(problem, middle, symmetric) for problem in problems]
        place = max(range(len(sizes)), key=lambda i: trials[i].criterion)
        best = trials[place]
        chosen = self._weighted(problems[place], best, weights, trials)
        calm = len(sizes) // 2
        # Where there is little to adapt to, dependence is noise.
        if place < calm and not criterion_alone:
            trials.append(self._trial(problems[calm], weights[0], symmetric))
            chosen = self._simplest([trials[-1], chosen], _CALM_MARGIN)
            if chosen is trials[-1]:  # HSIC was noise, so there is nothing to refine by it
                place, refine = calm, 0
        for other in self.sides[1:] if best.skewness > _SKEWED else ():
            trials.append(self._trial(problems[place], chosen.width_weight, other))
            chosen = self._simplest([chosen, trials[-1]], _MARGIN)
        if refine > 0 and len(sizes) > 1:
            limits = sizes[0], sizes[-1]
            found = self._refined(
                chosen, shape, sizes[place], limits, per_input=per_input, budget=refine
            )
            trials += found
            chosen = max([chosen, *found], key=lambda trial: trial.criterion)
        self.progress.close()
        return Tuning(tuple(trials), chosen, self.criterion, problems[place].n)

    def _weighted(
        self, problem: BandProblem, middle: Trial, weights: Sequence[float], trials: list[Trial]
    ) -> Trial:
        """The best b, on from the middle one: down, then up if down was no better."""
        chosen = middle
        half = len(weights) // 2
        for weight in weights[:half][::-1]:
            trials.append(self._trial(problem, weight, middle.symmetric))
            chosen = self._simplest([trials[-1], chosen], _MARGIN)
        if chosen is middle:
            for weight in weights[half + 1 :]:
                trials.append(self._trial(problem, weight, middle.symmetric))
                chosen = self._simplest([chosen, trials[-1]], _MARGIN)
        return chosen

    def _solvers(self, problem: BandProblem) -> list[Solver]:
        """One for each fold, started from the first trial's solution with as many sides."""
        starts = self.starts.get(problem.symmetric)
        if starts is None or not problem.soft or not isinstance(self.solver, Newton):
            return [self.solver] * len(self.folds)
        return [replace(self.solver, start=start) for start in starts]

    def _simplest(self, rivals: Sequence[Trial], margin: float) -> Trial:
        """The first of the trials that no later one beats by more than margin/√n."""
        better = 1 - margin / np.sqrt(sum(len(test) for _, test in self.folds))
        chosen = rivals[0]
        for rival in rivals[1:]:
            if rival.interval_score < better * chosen.interval_score:
                chosen = rival
        return chosen

    def _refined(
        self,
        chosen: Trial,
        shape: Array,
        size: float,
        limits: tuple[float, float],
        *,
        per_input: bool,
        budget: int,
    ) -> list[Trial]:
        """The trials of a trust-region search for the lengthscale, at the chosen plan."""
        found: list[Trial] = []
        free = np.size(shape) if per_input else 1
        start = np.full(free, np.log(size))

        def gain(logarithms: Array) -> float:
            if np.array_equal(logarithms, start):
                return chosen.criterion
            factor = np.exp(logarithms if per_input else logarithms[0])
            problem = self.state(plain(shape * factor))
            found.append(self._trial(problem, chosen.width_weight, chosen.symmetric))
            return found[-1].criterion

        bounds = [(float(np.log(limits[0])), float(np.log(limits[1])))] * free
        climb(gain, start, bounds, budget + 1)  # the start costs nothing
        return found

    def _trial(self, problem: BandProblem, width_weight: float, symmetric: bool) -> Trial:
        """Cross-fit one candidate."""
        plan = {"width_weight": width_weight, "training_coverage": self.coverages[symmetric]}
        variant = problem.variant(**plan, symmetric=symmetric)
        fit, solutions = cross_fit(variant, self.folds, self._solvers(variant), self.parallel)
        self.starts.setdefault(symmetric, solutions)
        self.progress.step()
        return Trial(
            lengthscale=problem.scale_kernels[0].lengthscale,
            **plan,
            symmetric=symmetric,
            criterion=fit.dependence(self.criterion, power=self.power),
            interval_score=fit.interval_score(),
            skewness=fit.skewness(),
        )


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
