"""The dual restricted to some rows, in as few dimensions as it takes, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sosbands.core.mean_term import GivenMean, JointMean, MeanTerm
from sosbands.core.primal import Feasible, Fit, relative_gap, squared_norms
from sosbands.core.scale_term import ScaleTerm
from sosbands.core.solvers.path import PathState, Restriction
from sosbands.core.solvers.subspace import Cost, positive_eigenpairs
from sosbands.core.solvers.units import Normalised
from sosbands.core.spectrum import matrix_root
from sosbands.types import Array, Indices

# A side with more features than this many times its rows is compressed to a subspace.
_COMPRESS = 1.3
# Directions of A below this fraction of the largest do not change f.
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class RowRoles:
    """Rows whose multipliers move (free) and rows whose multiplier is C (capped), per side."""

    free: tuple[Indices, ...]
    capped: tuple[Indices, ...]

    @property
    def splits(self) -> Indices:
        """Where one side's stacked multipliers end and the next one's begin."""
        return np.cumsum([len(free) for free in self.free])[:-1]


class Reduction:
    """What all restrictions of one problem share: ΦᵀΦ for the widths and LᵀL for the fit."""

    def __init__(self, units: Normalised) -> None:
        self.units = units
        self.costs, self.shifts = [], []
        for side in units.scales:
            gram = units.width_weight * side.gram if units.width_weight else None
            self.costs.append(Cost(side.trace, gram, side.rows.shape[1]))
            self.shifts.append(side.trace + side.ridge)
        self.found: list[Array | None] = [None] * len(self.costs)
        self._missed: dict[int, tuple[Indices, Array]] = {}
        weight, rows, y = units.fit_weight, units.mean_rows, units.targets
        self.fit_value = weight * float(y @ y)
        self.fit_gram = weight * (rows.T @ rows) if rows is not None and weight else None
        self.fit_linear = None if rows is None else weight * (rows.T @ y)

    def restrict(self, rows: RowRoles, gamma: Array, least_theta: float) -> Restricted:
        """The dual on the free rows, with the capped ones fixed at C and θ ≥ least_theta.

        Γ of the free rows is where the search for it will start.
        """
        scales, bases = [], []
        for side, part in enumerate(np.split(gamma, rows.splits)):
            term, basis = self._scale_term(side, rows.free[side], rows.capped[side], part)
            scales.append(term)
            bases.append(basis)
        mean, mean_basis = self._mean_term(rows, least_theta)
        restriction = Restriction(mean, tuple(scales), self.units.upper)
        return Restricted(self, rows, restriction, tuple(bases), mean_basis)

    def _scale_term(
        self, side: int, free: Indices, capped: Indices, gamma: Array
    ) -> tuple[ScaleTerm, Array | None]:
        data, cost = self.units.scales[side], self.costs[side]
        rows = data.rows[free]
        width = len(free) * (1 if cost.gram is None else 2) + len(capped)
        if cost.size > _COMPRESS * width:
            if len(capped) and self.found[side] is None:
                self.positive_part(side, free, capped, gamma)
            Q = cost.compress(rows, self.shifts[side], self.found[side])
            base = -(Q.T @ cost.apply(Q))
            if len(capped):
                image = data.rows[capped] @ Q
                base += self.units.upper * (image.T @ image)
            return ScaleTerm(rows @ Q, base, data.ridge), Q
        base = -cost.matrix()
        if len(capped):
            base += self.units.upper * self._missed_gram(side, capped)
        return ScaleTerm(rows, base, data.ridge), None

    def _missed_gram(self, side: int, capped: Indices) -> Array:
        """ΦᵀΦ of the capped rows, from that of the last ones where few of them have changed."""
        rows = self.units.scales[side].rows
        last, gram = self._missed.get(side, (capped[:0], np.zeros((rows.shape[1],) * 2)))
        fresh, gone = rows[np.setdiff1d(capped, last)], rows[np.setdiff1d(last, capped)]
        if len(fresh) + len(gone) > len(capped):
            fresh, gone, gram = rows[capped], rows[:0], np.zeros_like(gram)
        gram = gram + fresh.T @ fresh - gone.T @ gone
        self._missed[side] = capped, gram
        return gram

    def positive_part(
        self,
        side: int,
        free: Indices,
        capped: Indices,
        gamma: Array,
        guess: Array | None = None,
    ) -> Array:
        """Upper bounds of the positive eigenvalues of M(Γ) on all features.

        The next subspace will hold their eigenvectors.
        """
        data = self.units.scales[side]
        rows = data.rows[np.concatenate([free, capped])]
        if len(capped):  # C is infinite where there are none
            gamma = np.concatenate([gamma, np.full(len(capped), self.units.upper)])
        guess = np.zeros((rows.shape[1], 0)) if guess is None else guess
        values, self.found[side] = positive_eigenpairs(
            self.costs[side], rows, gamma, guess, shift=self.shifts[side]
        )
        return values

    def _mean_term(self, rows: RowRoles, least_theta: float) -> tuple[MeanTerm, Array | None]:
        units, symmetric = self.units, self.units.problem.symmetric
        targets = np.concatenate([units.targets[free] for free in rows.free])
        signs = np.repeat(units.problem.signs, [len(free) for free in rows.free])
        fixed = self.fit_value + self._missed_demand(rows)
        if units.mean_rows is None or self.fit_linear is None:
            sides = zip(units.demands, rows.free, strict=True)
            needed = np.concatenate([side[free] for side, free in sides])
            return GivenMean(needed, fixed, self.fit_value), None
        gram, linear = self._fit_and_missed(units.mean_rows, rows)
        L, Q = units.mean_rows[np.concatenate(rows.free)], None
        if gram is None and not linear.any() and L.shape[1] > _COMPRESS * len(L):
            Q = np.linalg.qr(L.T)[0]  # where nothing is fitted, z lies in the span of the free rows
            L, linear = L @ Q, np.zeros(Q.shape[1])
        term = JointMean(
            rows=L,
            targets=targets,
            signs=None if symmetric else signs,
            root=np.zeros((0, L.shape[1])) if gram is None else matrix_root(gram),
            linear=linear,
            base_value=fixed,
            bound=units.bound,
            least_theta=least_theta,
            fit_gram=self.fit_gram,
            fit_linear=self.fit_linear,
            fit_value=self.fit_value,
        )
        return term, Q

    def _missed_demand(self, rows: RowRoles) -> float:
        """C Σ demandᵢ over the capped rows; C is infinite where there are none."""
        sides = zip(rows.capped, self.units.demands, strict=True)
        total = sum(float(np.sum(demands[capped])) for capped, demands in sides)
        return self.units.upper * total if total else 0.0

    def _fit_and_missed(self, L: Array, rows: RowRoles) -> tuple[Array | None, Array]:
        """G and g with zᵀGz − 2gᵀz, the fit and the capped rows' part of the Lagrangian."""
        upper, y = self.units.upper, self.units.targets
        gram, linear = self.fit_gram, np.array(self.fit_linear)
        for capped, sign in zip(rows.capped, self.units.problem.signs, strict=True):
            if not len(capped):  # C is infinite where nothing is capped
                continue
            missed = L[capped]
            if self.units.problem.symmetric:
                gram = upper * (missed.T @ missed) + (0.0 if gram is None else gram)
                linear += upper * (missed.T @ y[capped])
            else:
                linear += 0.5 * sign * upper * missed.sum(axis=0)
        return gram, linear


@dataclass(frozen=True)
class Restricted:
    """A restriction with the bases Q of its subspaces (None: all features)."""

    reduction: Reduction
    rows: RowRoles
    restriction: Restriction
    bases: tuple[Array | None, ...]
    mean_basis: Array | None

    def fit(self, state: PathState, *, positive_only: bool = False) -> Fit:
        """The state's band at all rows, in the problem's own units.

        ``positive_only`` leaves out the directions of A that only the barrier keeps alive.
        """
        units, z = self.reduction.units, state.mean.z
        if z is not None and self.mean_basis is not None:
            z = self.mean_basis @ z
        factors, scales = [], []
        for Q, data, scale in zip(self.bases, units.scales, state.scales, strict=True):
            alpha = scale.weights
            kept = alpha > _NEGLIGIBLE * alpha.max()
            if positive_only:
                kept &= scale.eigenvalues > 0
            R = scale.factor[:, kept]
            R = R if Q is None else Q @ R
            factors.append(R)
            scales.append(squared_norms(data.rows, R))
        residuals = units.targets
        if z is not None and units.mean_rows is not None:
            residuals = residuals - units.mean_rows @ z
        return units.fit(units.point(z, factors), residuals, np.stack(scales))

    def gap(
        self, state: PathState, feasible: Feasible, multipliers: Array, penalty: float
    ) -> float:
        """The relative gap of a repaired point to D(Γ, θ), Ω* given, as in `sosbands.core.gap`.

        The state's z is the best one at (Γ, θ) but for rounding, so that the mean costs more only
        where the repair has shrunk it.
        """
        units, paid = self.reduction.units, float(np.sum(multipliers * feasible.fit.requirements))
        difference = max(feasible.value.band + penalty - paid, 0.0)
        difference += units.value * state.mean.excess
        return relative_gap(units.problem, feasible.value, difference)

    def penalty(self, state: PathState) -> float:
        """Ω*, summed over the sides, on the restriction, in the problem's own units."""
        return sum(scale.penalty for scale in state.scales) * self.reduction.units.value

    def certified_penalty(self, state: PathState) -> float:
        """Ω* with the positive eigenvalues of M on all features."""
        reduction, total = self.reduction, 0.0
        for side, scale in enumerate(state.scales):
            Q, cost = self.bases[side], reduction.costs[side]
            if Q is None or cost.gram is None:
                total += scale.penalty
                continue
            free, capped = self.rows.free[side], self.rows.capped[side]
            guess = Q @ scale.vectors[:, scale.eigenvalues > 0]
            values = reduction.positive_part(side, free, capped, scale.gamma, guess)
            total += float(np.sum(values**2)) / (4 * scale.term.ridge)
        return total * reduction.units.value

    def tune_shifts(self, state: PathState) -> None:
        """Let the subspaces aim at the eigenvalues that M has now."""
        for side, scale in enumerate(state.scales):
            top, now = float(scale.eigenvalues[-1]), self.reduction.shifts[side]
            if top > 0 and not now / 4 < top < now * 4:  # a new shift costs a factorisation
                self.reduction.shifts[side] = top
