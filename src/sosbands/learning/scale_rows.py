"""Standardised rows that the scale learns from, and the band problem that they state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sosbands.core.kernels import Kernel
from sosbands.core.nested import NestedSolution, solve_nested
from sosbands.core.problem import BandProblem
from sosbands.core.solvers import Solver
from sosbands.learning.folds import renumbered
from sosbands.learning.gaussian_process import GaussianProcess, likely_lengthscales
from sosbands.learning.likelihood_search import plain
from sosbands.learning.plan import Rules
from sosbands.learning.standardize import Affine
from sosbands.types import Array, Folds, Indices, Lengthscale

# How much inputs are thought to differ: the standard deviation of log θᶠ a priori. With 1 arbitrary
# choices of landmarks moved widths on airfoil by .7 %, with .5 on concrete by 1.4 %, with this on
# none of the five larger development sets by more than .03 %; scores were the same.
_SPREAD = 0.7
# A lengthscale at which an input does not matter; the least bound of a joint mean's norm.
_IRRELEVANT, _LEAST_NORM = 1e6, 1e-12


@dataclass(frozen=True, eq=False)
class ScaleRows:
    """What the scale sees, what it has to cover, and by which rules.

    Attributes
    ----------
    Z : array of shape (n, d)
        Inputs, then perhaps the prediction and the guess of the difficulty.
    residuals, outputs : arrays of shape (n,)
    folds : sequence of (train, test)
    rules : Rules
    process : GaussianProcess or None
        Gives kernel and norm of a joint mean; None for a given mean.
    n_inputs : int
        Columns of Z that a joint mean sees as well: without the prediction and the difficulty.
    lengthscale : str, float or array
        How the lengthscale is found, or what it is: one number, or one for each of the first
        columns of Z.
    weights : array of shape (d,)
        How much each column counts if all lengthscales are equal.
    guess_units : Affine or None
        Of the guess of the difficulty, the last column of Z; None if there is none.
    distances : array of shape (n,) or None
        From the nearest other row, in units of usual distances; NaN where they are not known.
    row_weights : array of shape (n,) or None
        How much each row counts, > 0.
    """

    Z: Array
    residuals: Array
    outputs: Array
    folds: Folds
    rules: Rules
    process: GaussianProcess | None
    n_inputs: int
    lengthscale: Any
    weights: Array
    guess_units: Affine | None = None
    distances: Array | None = None
    row_weights: Array | None = None

    def take(self, chosen: Indices) -> ScaleRows:
        """Some of the rows, and what the folds have of them."""
        return replace(
            self,
            Z=self.Z[chosen],
            residuals=self.residuals[chosen],
            outputs=self.outputs[chosen],
            distances=None if self.distances is None else self.distances[chosen],
            row_weights=None if self.row_weights is None else self.row_weights[chosen],
            folds=renumbered(self.folds, chosen, len(self.Z)),
        )

    def sample(self, count: int, rng: np.random.Generator) -> ScaleRows:
        """A random part of the rows."""
        if len(self.Z) <= count:
            return self
        return self.take(np.sort(rng.choice(len(self.Z), count, replace=False)))

    def problem(
        self, lengthscale: Lengthscale, *, symmetric: bool, factor: float = 1.0, fold: bool = False
    ) -> BandProblem:
        """The band problem with this kernel and b.

        `fold` is for the tuning: with fewer features, and sides that know nothing of each other.
        """
        rules, band, n = self.rules, self.rules.band, len(self.Z)
        mean: dict[str, Any] = {}
        if self.process is not None:
            mean = {
                "mean_kernel": self._mean_kernel(self.process),
                "mean_bound": max(self.process.squared_norm, _LEAST_NORM),
                "mean_weight": rules.mean_weight(symmetric=symmetric),
            }
        return BandProblem.from_data(
            self.Z,
            self.residuals if self.process is None else self.outputs,
            scale_kernel=rules.kernel(lengthscale),
            width_weight=factor * rules.width_weight(n),
            trace_penalty=band.trace_penalty,
            ridge_penalty=band.ridge_penalty,
            training_coverage=rules.coverage(symmetric=symmetric),
            symmetric=symmetric,
            feature_tol=rules.feature_tol,
            max_rank=rules.rank(n, fold=fold),
            row_weights=self.row_weights,
            likeness=0.0 if symmetric or fold else float(band.likeness),
            **mean,
        )

    def solved(
        self, lengthscale: Lengthscale, *, symmetric: bool, factor: float, solver: Solver
    ) -> NestedSolution:
        """The bands of all levels with this kernel and b."""
        problem = self.problem(lengthscale, symmetric=symmetric, factor=factor)
        if symmetric or not problem.soft:
            return NestedSolution((solver.solve(problem),))
        levels, λ = self.rules.levels(symmetric=False), self.rules.centre_penalty(len(self.Z))
        return solve_nested(problem, levels, solver, centre_penalty=λ)

    def _mean_kernel(self, process: GaussianProcess) -> Kernel:
        """kᵐ, which sees the inputs but not the prediction."""
        lengthscales = np.full(self.Z.shape[1], _IRRELEVANT)
        lengthscales[: self.n_inputs] = process.kernel.lengthscale
        return replace(process.kernel, lengthscale=plain(lengthscales))

    def shape(self, rng: np.random.Generator, search_rows: int | None = None) -> Array:
        """Relative lengthscales of the inputs; the lengthscales themselves if they are given.

        Of few rows to search by, half find them: CV+ scored as with 400 on four development sets.
        """
        band, d = self.rules.band, self.Z.shape[1]
        if not self.rules.tunes_kernel:
            given = np.asarray(self.lengthscale, dtype=np.float64)
            if given.ndim and len(given) < d:
                given = np.append(given, 1 / self.weights[len(given) :])
            return np.asarray(given if given.ndim else given / self.weights)
        if band.anisotropy == "likelihood" and d > 1:
            return self._likely_shape(rng, search_rows) / self.weights
        spread = np.ones(d) if band.standardize else Affine.of(self.Z).scale
        return np.asarray(np.sqrt(d) * spread / self.weights)

    def _likely_shape(self, rng: np.random.Generator, search_rows: int | None) -> Array:
        """Lengthscales of a Gaussian process for √|r|, that most depends on what matters for |r|.

        Where it finds nothing, all inputs count the same. Those of very many inputs are longer than
        it finds them, if there is a first guess, which has seen the inputs.
        """
        most = self.rules.shape_rows()
        rows = self.sample(most if search_rows is None else min(most, search_rows // 2), rng)
        sizes = np.sqrt(np.abs(rows.residuals))
        found = likely_lengthscales(
            rows.Z,
            sizes - sizes.mean(),
            spread=_SPREAD,
            noise_shape=None if rows.row_weights is None else 1 / rows.row_weights,
            random_state=int(rng.integers(2**31)),
        )
        if self.guess_units is not None:
            found[: self.n_inputs] *= self.rules.lengthening(self.n_inputs)
        return found
