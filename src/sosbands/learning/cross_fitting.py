"""Bands that are fitted without some rows and judged on those rows.

For K folds, out-of-fold residuals R and scales F are pooled. Their dependence says how well the
scale follows the size of the residuals; the interval score of the out-of-fold bands, after an
out-of-fold calibration, what the bands are worth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from joblib import Parallel, delayed

from sosbands.core.primal import squared_norms
from sosbands.core.problem import BandProblem
from sosbands.core.solvers import Solution, Solver
from sosbands.dependence import distance_correlation, hsic, hsic_by_weights, mutual_information
from sosbands.types import Array, Folds, Indices, Mask

Criterion: TypeAlias = Literal["hsic", "distance_correlation", "mutual_information"]

# The level at which bands are compared; the choice hardly depends on it.
_LEVEL = 0.9
# Parts of the rows that are left out in turn, to see how accurate a figure is.
_PARTS = 10
# A candidate that is worse by as much as the figures are accurate counts e⁻² times as much.
_SHARPNESS = 2.0
_TINY = float(np.finfo(float).tiny)
# A mean width of such a fraction of the largest residual is none.
_NO_WIDTH = 1e-100


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Out-of-fold residuals yᵢ − m(xᵢ) and scales: √f, or f_low and f_up, of shape (n[, 2]).

    Rows may have weights.
    """

    residuals: Array
    scales: Array
    weights: Array | None = None

    @property
    def spread(self) -> Array:
        """The scales as those of a band: of shape (n,), or (n, levels, 2) for one level."""
        return self.scales if self.scales.ndim == 1 else self.scales[:, None]

    def with_spread(self, spread: Array) -> CrossFit:
        """The same rows with other scales."""
        return replace(self, scales=spread.reshape(self.scales.shape))

    def dependence(self, criterion: str, *, power: int = 1) -> float:
        """How strongly the size of the residual depends on the scale.

        Parameters
        ----------
        criterion : {"hsic", "distance_correlation", "mutual_information"}
        power : {1, 2}
            1 compares |r| with √f, 2 compares r² with f as in the paper's appendix.
        """
        return dependence(criterion, *self._sizes_and_widths(power), self.weights)

    def hsic_without(self, *, power: int = 1) -> Array:
        """The dependence by HSIC without each tenth of the rows, all at once."""
        parts, n = np.arange(min(_PARTS, len(self.residuals))), len(self.residuals)
        kept = (np.arange(n)[:, None] % _PARTS != parts).astype(np.float64)
        weights = kept if self.weights is None else self.weights[:, None] * kept
        return hsic_by_weights(*self._sizes_and_widths(power), weights)

    def _sizes_and_widths(self, power: int) -> tuple[Array, Array]:
        widths = self.scales if self.scales.ndim == 1 else self.scales.mean(axis=1)
        return np.abs(self.residuals) ** power, widths**power

    def take(self, kept: Mask | Indices) -> CrossFit:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[kept]
        return CrossFit(self.residuals[kept], self.scales[kept], weights)

    def interval_score(self, level: float = _LEVEL) -> float:
        """Mean interval score of the bands, calibrated by the quantile of their own scores.

        The same as that of an `IntervalFamily`, without its checks: it is asked for often.
        """
        r = self.residuals
        if self.scales.ndim == 1:
            # A floor far below any useful scale keeps single rows from deciding alone.
            mean = float(self.scales.mean())
            scales = np.maximum(self.scales, 1e-3 * mean) if mean else np.ones_like(r)
            high = self._quantiles(np.abs(r) / scales, [level]) * scales
            low = -high
        else:
            low, high = -self.scales[:, 0], self.scales[:, 1]
            middle = 0.5 * (low + high)
            q = self._quantiles(np.maximum(low - r, r - high), [level])
            low, high = np.minimum(low - q, middle), np.maximum(high + q, middle)
        misses = np.maximum(low - r, 0.0) + np.maximum(r - high, 0.0)
        scores = high - low + 2 / (1 - level) * misses
        return float(
            scores.mean() if self.weights is None else np.average(scores, weights=self.weights)
        )

    def skewness(self) -> float:
        """How far from symmetric r/scale is: |upper + lower − 2 median|/(upper − lower), 80 %."""
        widths = self.scales if self.scales.ndim == 1 else self.scales.mean(axis=1)
        if float(widths.mean()) <= _NO_WIDTH * float(np.abs(self.residuals).max()):
            return 0.0  # a band without width has no sides to tell apart
        ratio = self.residuals / np.maximum(widths, 1e-3 * float(widths.mean()) + _TINY)
        low, middle, high = self._quantiles(ratio, [0.1, 0.5, 0.9])
        return float(abs(high + low - 2 * middle) / max(high - low, _TINY))

    def _quantiles(self, values: Array, levels: list[float]) -> Array:
        if self.weights is None:  # as `np.quantile`, in a tenth of the time
            ordered, last = np.sort(values), len(values) - 1
            places = [(int(last * level), last * level % 1) for level in levels]
            ends = [(ordered[at], ordered[min(at + 1, last)], share) for at, share in places]
            return np.array([(high - low) * share + low for low, high, share in ends])
        # Of NumPy's methods this one alone takes weights.
        return np.asarray(np.quantile(values, levels, weights=self.weights, method="inverted_cdf"))


def dependence(criterion: str, u: Array, v: Array, weights: Array | None = None) -> float:
    """The chosen measure of dependence between two samples; mutual information has no weights."""
    if criterion == "mutual_information":
        return mutual_information(u, v, random_state=0)
    measure = hsic if criterion == "hsic" else distance_correlation
    return measure(u, v, sample_weight=weights)


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
    weights = problem.row_weights
    if weights is not None:
        weights = np.concatenate([weights[test] for _, test in folds])
    return CrossFit(np.concatenate(residuals), np.concatenate(scales), weights), list(solutions)


def _held_out(
    problem: BandProblem, train: Indices, test: Indices, solver: Solver
) -> tuple[Array, Array, Solution]:
    """Residuals and scales of held-out rows, and the solution they come from."""
    solution = solver.solve(problem.subset(train))
    residuals = problem.residuals[test]
    if problem.mean_kernel is not None:
        residuals = residuals - solution.mean(problem.X[test])
    return residuals, _scales(solution, problem, test), solution


def _scales(solution: Solution, problem: BandProblem, test: Indices) -> Array:
    """The scale at held-out rows, whose features are known, unless the solver wants its own."""
    made = [side.take(test) for side in problem.plain_basis.scales]
    point = solution.point
    if any(a.features is not b.features for a, b in zip(made, point.basis.scales, strict=True)):
        return solution.scale(problem.X[test])
    values = [squared_norms(side.rows, R) for side, R in zip(made, point.factors, strict=True)]
    return np.sqrt(values[0]) if len(values) == 1 else np.column_stack(values)


def shares(
    fits: Sequence[CrossFit],
    figure: Callable[[CrossFit], float],
    without: Callable[[CrossFit], Array] | None = None,
) -> Array:
    """How much each of several candidates counts in their average; they add up to one.

    The candidates are judged on the same rows, and a large figure is good. Those that differ by
    less than the figure is accurate count alike, one that is better by far counts alone, and small
    changes of the data change the shares little. The accuracy is that of the differences between
    candidates, by the jackknife: the figures without each tenth of the rows.

    Parameters
    ----------
    fits : sequence of CrossFit
    figure : callable
        CrossFit ↦ what it is worth.
    without : callable, optional
        CrossFit ↦ what it is worth without each tenth of the rows, if not found one by one.
    """
    values = np.array([figure(fit) for fit in fits])
    n = len(fits[0].residuals)
    parts = range(min(_PARTS, n))
    if without is None:
        kept = [np.flatnonzero(np.arange(n) % _PARTS != part) for part in parts]
        left = np.array([[figure(fit.take(rows)) for rows in kept] for fit in fits])
    else:
        left = np.array([without(fit) for fit in fits])
    differences = left - left.mean(axis=0)
    differences -= differences.mean(axis=1, keepdims=True)
    error = np.sqrt((len(parts) - 1) * np.mean(differences**2))
    # Figures that are the same but for rounding have no accuracy to speak of.
    error = max(float(error), 1e-9 * float(np.abs(values).max()), _TINY)
    weights = np.exp(_SHARPNESS * (values - values.max()) / error)
    return np.asarray(weights / weights.sum())
