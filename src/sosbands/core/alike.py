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
        if all_features:
            part, odd = replace(problem, row_weights=None).full_basis.scales[0], None
        else:
            part, odd = problem.features, _odd_features(problem)
        return cls(problem, sided_features(part, problem.likeness, odd=odd))

    @property
    def one_sided(self) -> BandProblem:
        """F ≥ ∓r less what inner bands reach, on the rows of the low side, then of the up side."""
        problem, (low, up) = self.problem, self.pair
        weights, inner, r = problem.row_weights, problem.inner, problem.residuals
        rows = FeatureRows(
            up.features,
            np.vstack([low.rows, up.rows]),
            np.concatenate([low.squared_norms, up.squared_norms]),
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


def _odd_features(problem: BandProblem) -> int | None:
    """How many of the features may differ between the sides; None: all."""
    if problem.likeness == 1:
        return 0
    if problem.max_rank is None:
        return None
    return None


def sided_features(
    part: FeatureRows, likeness: float, *, odd: int | None = None
) -> tuple[FeatureRows, FeatureRows]:
    """ψ(·, −1) and ψ(·, 1), features that say much first.

    Parameters
    ----------
    part : FeatureRows
        φ.
    likeness : float
        κ.
    odd : int, optional
        Only so many of the features that differ between the sides, the first.
    """
    rank = part.rows.shape[1]
    odd = rank if odd is None else odd
    same, differing = np.sqrt((1 + likeness) / 2), np.sqrt((1 - likeness) / 2)
    factors = np.concatenate([np.full(rank, same), np.full(odd, differing)])
    which, signs = np.r_[:rank, :odd], np.r_[np.ones(rank), -np.ones(odd)]
    sizes = factors**2 * np.einsum("ij,ij->j", part.rows, part.rows)[which]
    order = np.argsort(-sizes, kind="stable")
    which, factors, signs = which[order], factors[order], signs[order]
    total = float(part.squared_norms.sum()) / max(1 - part.trace_residual, np.finfo(float).tiny)
    left_out = max(1 - float(sizes.sum()) / max(total, np.finfo(float).tiny), 0.0)

    def side(columns: np.ndarray) -> FeatureRows:
        rows = part.rows[:, which] * columns
        features = replace(part.features, whitening=part.features.whitening[:, which] * columns)
        norms = np.einsum("ij,ij->i", rows, rows)
        return FeatureRows(features, rows, norms, left_out)

    return side(factors * signs), side(factors)
