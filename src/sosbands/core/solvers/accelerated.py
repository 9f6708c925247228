"""The paper's own algorithm: accelerated projected gradient ascent on the dual, in JAX.

Here are its settings and its candidates; the compiled steps are in `ascent`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sosbands.core.checks import check_count, number
from sosbands.core.features import Basis
from sosbands.core.primal import Point, uncoverable
from sosbands.core.problem import BandProblem
from sosbands.core.solvers.ascent import AscentState, StepRules, compiled, problem_data, start
from sosbands.core.solvers.base import Candidate, Clock, Solver
from sosbands.core.solvers.extras import import_jax, import_optax
from sosbands.core.solvers.solution import Status
from sosbands.types import Array


@dataclass(frozen=True)
class Accelerated(Solver):
    """Projected gradient ascent on (Γ, θ) with Nesterov momentum, the paper's solver.

    The learning rate acts on the outputs in their own units: y → c·y multiplies the gradient by c²
    (two-sided: c), so the rate has to be divided by it. Too large a rate does not converge, and the
    status says so. The device is the one that JAX chooses; all arithmetic is in 64 bits.

    Parameters
    ----------
    tol : float, default=1e-4
        Certified relative gap, and largest violated constraint as a fraction of the largest
        requirement (of s for ‖m‖² ≤ s): both must be met.
    learning_rate : float, default=0.01
        The paper's.
    momentum : float, default=0.98
        In [0, 1).
    max_iter : int, default=10000
        Largest number of gradient steps.
    check_every : int, default=100
        Steps per compiled call; between calls Python can be interrupted.
    theta_floor : float, default=1e-6
        Lower bound on θ, which keeps the mean unique when a = 0.

    Notes
    -----
    The stopping test runs inside the compiled loop at every step: it needs only numbers that the
    gradient produces anyway, the repair of the primal point included. A candidate reaches the
    common certifying loop, at the cost of a repair and a dual value outside JAX, only when that
    test is met, or with the best point so far when the steps are used up or a value is not finite.

    The paper gives neither start nor momentum. Here Γ₀ = 1/n and θ₀ = 1, and ∂D/∂θ is clipped to
    [−s, s]. Without the clipping some samples fail: where few Γᵢ are positive and θ is small, ‖m‖²
    reaches Σ Γᵢyᵢ²/(4θ), one step throws θ up to 10⁴ or more, and since ∂D/∂θ ≥ −s the way back
    takes 10⁵ steps. On the paper's case 1 (tol = 1e-4, n = 100 to 500) a momentum of 0.9 or 0.95 is
    up to four times faster on some samples and five times slower on others; 0.98 varies least.

    Examples
    --------
    >>> from sosbands import Accelerated, BandProblem, Gaussian, Newton
    >>> problem = BandProblem.from_data([0, 1, 2], [0.1, -0.4, 1.5], scale_kernel=Gaussian(1.0))
    >>> slow, fast = Accelerated().solve(problem), Newton().solve(problem)
    >>> abs(slow.primal_value / fast.primal_value - 1) < 1e-3
    True
    """

    tol: float = 1e-4
    learning_rate: float = 1e-2
    momentum: float = 0.98
    max_iter: int = 10_000
    check_every: int = 100
    theta_floor: float = 1e-6

    def __post_init__(self) -> None:
        """Refuse settings that cannot work, and a missing JAX."""
        self._check_settings()
        if not 0 < number(self.learning_rate) < np.inf:
            raise ValueError(f"learning_rate must be > 0 and finite, got {self.learning_rate!r}")
        if not 0 <= number(self.momentum) < 1:
            raise ValueError(f"momentum must be in [0, 1), got {self.momentum!r}")
        check_count("check_every", self.check_every)
        if not 0 < number(self.theta_floor) < np.inf:
            raise ValueError(f"theta_floor must be > 0 and finite, got {self.theta_floor!r}")
        import_jax()
        import_optax()

    def candidates(self, problem: BandProblem, clock: Clock) -> Iterator[Candidate]:
        """Yield the iterate that meets the stopping test, or the best one of those that did not."""
        with clock.phase("features"):
            basis = problem.full_basis
            data = problem_data(problem, basis)
        if uncoverable(problem, basis):
            yield Candidate.zero(problem, basis, verdict=Status.INFEASIBLE)
            return
        with clock.phase("compile"):
            joint = problem.mean_kernel is not None
            rules = StepRules(self.learning_rate, self.momentum, self.theta_floor, joint)
            ascend, recover = compiled(rules, problem.sides, problem.n)
            state = start(problem, rules)
        steps = 0
        while True:
            with clock.phase("solve"):
                budget = min(self.check_every, self.max_iter - steps)
                state = ascend(data, state, self.tol, budget)
                steps += int(state.steps)
                stop = bool(state.done) or not bool(state.finite) or steps >= self.max_iter
            if stop:
                with clock.phase("recovery"):
                    candidate = _candidate(basis, state, steps, recover(data, state))
                yield candidate
                state = state._replace(done=np.array(False))


def _candidate(
    basis: Basis, state: AscentState, steps: int, recovered: tuple[Any, Any, Any]
) -> Candidate:
    """The best dual point with its primal point, z = Lᵀγ and A = RRᵀ."""
    coefficients, alpha, U = recovered
    z: Array | None = None
    if basis.mean is not None:
        z = basis.mean.rows.T @ np.asarray(coefficients)
    factors = tuple(
        np.asarray(vectors)[:, values > 0] * np.sqrt(values[values > 0])
        for values, vectors in zip(np.asarray(alpha), U, strict=True)
    )
    multipliers, theta = np.asarray(state.best_gamma), float(state.best_theta)
    verdict = None if bool(state.finite) else Status.STALLED
    return Candidate(Point(basis, z, factors), multipliers, theta, steps, verdict=verdict)
