"""Two sides that are alike to a degree: the side is one more input of one sum of squares.

With s = −1 for the low side and s = +1 for the up side, both are values of

    F(x, s) = ψ(x, s)ᵀ A ψ(x, s),  A ⪰ 0,      ψ(x, s) = (√((1+κ)/2) φ(x), s √((1−κ)/2) φ(x)),

whose kernel is k(x, x′) where the sides are the same, and κ k(x, x′) where they differ. The
likeness κ goes from 0, where A falls into a block for each side, to 1, where there is one f for
both. On the rows (x, −1) and (x, 1), which demand −r and r, this is a problem of one side. As each
side of a band misses half of what the band misses, that side covers (1 + τ)/2 of its rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sosbands.core.features import Basis, FeatureRows
from sosbands.core.primal import Point
from sosbands.core.problem import BandProblem
from sosbands.core.solvers.solution import Solution
from sosbands.types import Array


@dataclass(frozen=True, eq=False)
class AlikeSides:
    """A two-sided problem as a problem of one side, and the way back.

    Attributes
    ----------
    problem : BandProblem
        With κ > 0.
    pair : tuple of FeatureRows
        ψ(·, −1) and ψ(·, 1) at the rows, without weights.
    """

    problem: BandProblem
    pair: tuple[FeatureRows, FeatureRows]

    @classmethod
    def of(cls, problem: BandProblem, *, all_features: bool) -> AlikeSides:
        """With as many features as a solver wants."""
        part = problem.features
        if all_features:
            part = replace(problem, row_weights=None).full_basis.scales[0]
        drop = problem.likeness == 1 and not all_features  # those that are zero on both sides
        return cls(problem, sided_features(part, problem.likeness, odd=not drop))

    @property
    def one_sided(self) -> BandProblem:
        """F ≥ ∓r less what inner bands reach, on the rows of the low side, then of the up side."""
        problem, (low, up) = self.problem, self.pair
        weights, inner, r = problem.row_weights, problem.inner, problem.residuals
        rows = FeatureRows(
            up.features,
            np.vstack([low.rows, up.rows]),
            np.tile(up.squared_norms, 2),
            up.trace_residual,
        )
        return replace(
            problem,
            X=np.vstack([problem.X, problem.X]),
            y=np.concatenate([-r, r]),
            scale_kernels=problem.scale_kernels[:1],
            mean_values=None,
            width_weight=2 * problem.width_weight,
            training_coverage=(1 + problem.training_coverage) / 2,
            row_weights=None if weights is None else np.concatenate([weights, weights]),
            inner=None if inner is None else inner.reshape(1, -1),
            likeness=0.0,
            one_sided=True,
            shared_basis=Basis(None, (rows,)),
        )

    def two_sided(self, solution: Solution) -> Solution:
        """The solution of the one-sided problem as one of this problem: one A for both sides."""
        n, (stacked,) = self.problem.n, solution.point.basis.scales
        halves = (np.arange(n), np.arange(n, 2 * n))
        sides = tuple(
            replace(stacked.take(half), features=part.features)
            for half, part in zip(halves, self.pair, strict=True)
        )
        point = Point(Basis(None, sides), None, solution.point.factors * 2)
        multipliers = solution.multipliers.reshape(2, n)
        return replace(solution, problem=self.problem, point=point, multipliers=multipliers)


def sided_features(
    part: FeatureRows, likeness: float, *, odd: bool = True
) -> tuple[FeatureRows, FeatureRows]:
    """ψ(·, −1) and ψ(·, 1), features that say much first.

    Parameters
    ----------
    part : FeatureRows
        φ.
    likeness : float
        κ.
    odd : bool
        Whether to have the features that differ between the sides.
    """
    rank = part.rows.shape[1]
    which = np.concatenate([np.arange(rank)] * (1 + odd))
    signs = np.repeat([1.0, -1.0], [rank, len(which) - rank])
    factors = np.sqrt((1 + signs * likeness) / 2)
    sizes = factors**2 * np.einsum("ij,ij->j", part.rows, part.rows)[which]
    order = np.argsort(-sizes, kind="stable")  # a coarse problem takes the first
    which, signs, factors = which[order], signs[order], factors[order]

    def side(columns: Array) -> FeatureRows:
        features = replace(part.features, whitening=part.features.whitening[:, which] * columns)
        return replace(part, features=features, rows=part.rows[:, which] * columns)

    return side(factors * signs), side(factors)
