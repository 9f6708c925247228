"""The steps of `Accelerated`, compiled by JAX: projected gradient ascent on the dual.

With V the full Cholesky factor of Kᶠ (its transpose is Φ here), every step evaluates

    A(Γ) = [Φᵀ diag(Γ − b/n) Φ − λ₁I]₊ / (2λ₂),
    γ(Γ, θ) = (diag(Γ + a/n) Kᵐ + θI)⁻¹ diag(Γ + a/n) y                        (Prop. 2)

and moves (Γ, θ) along the constraint violation ∂D/∂Γᵢ = rᵢ² − f(xᵢ), ∂D/∂θ = ‖m‖² − s, which is
what the gradient formulas of the appendix reduce to. One step costs one n × n eigendecomposition
per side, one Cholesky factorisation and two matrix products.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from sosbands.core.features import Basis
from sosbands.core.problem import BandProblem
from sosbands.core.solvers.extras import import_jax, import_optax


class ProblemData(NamedTuple):
    """The numbers of a problem, as the compiled functions take them.

    ``mean_gram`` is Kᵐ = LLᵀ with eigenvalues and eigenvectors ``mean_values``, ``mean_vectors``;
    zeros for a given mean. ``reached`` is what inner bands reach. ``upper`` is C, infinite for a
    hard band.
    """

    targets: Any
    reached: Any
    scale_rows: Any
    scale_norms: Any
    mean_gram: Any
    mean_values: Any
    mean_vectors: Any
    bound: Any
    fit: Any
    width: Any
    trace: Any
    ridge: Any
    upper: Any


class DualPoint(NamedTuple):
    """D, its gradient, and the certificate at one dual point."""

    value: Any
    gamma_gradient: Any
    theta_gradient: Any
    gap: Any
    violation: Any


class AscentState(NamedTuple):
    """Where the ascent stands, and the best dual point that it has seen."""

    gamma: Any
    theta: Any
    optimizer: Any
    best_gamma: Any
    best_theta: Any
    best_gap: Any
    steps: Any
    done: Any
    finite: Any


class StepRules(NamedTuple):
    """The settings that are compiled in."""

    learning_rate: float
    momentum: float
    theta_floor: float
    joint: bool


def evaluate_dual(data: ProblemData, gamma: Any, theta: Any, *, joint: bool) -> DualPoint:
    """D(Γ, θ) by Prop. 2, ∂D = the violation, and the relative gap after the repair."""
    import jax.numpy as jnp

    mean, squared_norm, _ = _mean(data, gamma, theta, joint=joint)
    residuals = data.targets - mean
    f, alpha, _ = _scales(data, gamma)
    needed = _requirements(data, residuals)
    value = data.fit * residuals @ residuals + jnp.sum(gamma * needed)
    value += theta * (squared_norm - data.bound) - data.ridge * jnp.sum(alpha**2)
    # The repair of `sosbands.core.primal`: z onto the ball, then A scaled or lifted.
    shrink = jnp.sqrt(data.bound / jnp.maximum(squared_norm, data.bound)) if joint else 1.0
    feasible = data.targets - shrink * mean
    reached = _requirements(data, feasible)
    missing = jnp.maximum(reached - f, 0.0)
    band = _band_value(data, f, alpha, reached, missing)
    unmet = jnp.max(missing) / jnp.maximum(jnp.max(reached), np.finfo(float).tiny)
    outside = jnp.maximum(squared_norm / data.bound - 1.0, 0.0) if joint else 0.0
    # Misses of a soft band are priced in its value; they violate nothing.
    violation = jnp.maximum(jnp.where(jnp.isfinite(data.upper), 0.0, unmet), outside)
    # As in `core.gap`: the fit is in both values, and the mean costs more where it was shrunk.
    curvature = data.fit * mean @ mean + theta * squared_norm
    curvature += gamma[0] @ mean**2 if len(gamma) == 1 else 0.0
    excess = (1 - shrink) ** 2 * curvature
    excess += theta * jnp.maximum(data.bound - squared_norm, 0.0) if joint else 0.0
    difference = band + data.ridge * jnp.sum(alpha**2) - jnp.sum(gamma * reached) + excess
    gap = difference / jnp.maximum(band, np.finfo(float).tiny)
    return DualPoint(value, needed - f, squared_norm - data.bound, gap, violation)


def _mean(data: ProblemData, gamma: Any, theta: Any, *, joint: bool) -> tuple[Any, Any, Any]:
    """m at the rows, ‖m‖² and γ with m = Kᵐγ; a given mean is part of the targets."""
    import jax.numpy as jnp
    from jax.scipy.linalg import cho_factor, cho_solve

    if not joint:
        return jnp.zeros_like(data.targets), data.bound, data.targets
    if len(gamma) == 1:
        # (WK + θI)⁻¹W = W^½ (W^½KW^½ + θI)⁻¹ W^½ is symmetric, and Γᵢ = 0 does no harm.
        root = jnp.sqrt(gamma[0] + data.fit)
        C = root[:, None] * data.mean_gram * root + theta * jnp.eye(len(root))
        coefficients = root * cho_solve(cho_factor(C), root * data.targets)
    else:
        # Here C = (a/n)K + θI has the eigenvectors of K, whatever Γ is.
        right = data.fit * data.targets + 0.5 * (gamma[1] - gamma[0])
        scaled = (data.mean_vectors.T @ right) / (data.fit * data.mean_values + theta)
        coefficients = data.mean_vectors @ scaled
    mean = data.mean_gram @ coefficients
    return mean, coefficients @ mean, coefficients


def _scales(data: ProblemData, gamma: Any) -> tuple[Any, Any, Any]:
    """f at the rows, and eigenvalues and eigenvectors of A, for every side."""
    import jax.numpy as jnp

    sides = []
    for rows, weights in zip(data.scale_rows, gamma - data.width, strict=True):
        M = (rows.T * weights) @ rows - data.trace * jnp.eye(rows.shape[1])
        eigenvalues, U = jnp.linalg.eigh(M)
        alpha = jnp.maximum(eigenvalues, 0.0) / (2 * data.ridge)
        sides.append(((rows @ U) ** 2 @ alpha, alpha, U))
    f, alpha, U = zip(*sides, strict=True)
    return jnp.stack(f), jnp.stack(alpha), U


def _requirements(data: ProblemData, residuals: Any) -> Any:
    import jax.numpy as jnp

    if len(data.scale_rows) == 1:
        return residuals[None] ** 2
    return jnp.stack([-residuals, residuals]) - data.reached


def _band_value(data: ProblemData, f: Any, alpha: Any, needed: Any, missing: Any) -> Any:
    """The primal value without the fit of the mean, at the repaired point."""
    import jax.numpy as jnp

    width, trace, squared = f.sum(axis=1), alpha.sum(axis=1), (alpha**2).sum(axis=1)
    plain = data.width * width + data.trace * trace + data.ridge * squared
    hinge = jnp.where(jnp.isfinite(data.upper), data.upper, 0.0) * missing.sum()
    t = jnp.maximum(jnp.max(needed / jnp.maximum(f, np.finfo(float).tiny), axis=1), 1.0)
    scaled = t * (data.width * width + data.trace * trace) + t**2 * data.ridge * squared
    size, norms = alpha.shape[1], data.scale_norms
    lift = jnp.max(missing / jnp.maximum(norms, np.finfo(float).tiny), axis=1)
    lifted = data.width * (width + lift * norms.sum(axis=1)) + data.trace * (trace + size * lift)
    lifted += data.ridge * (squared + 2 * lift * trace + size * lift**2)
    hard = jnp.minimum(jnp.where(jnp.isfinite(scaled.sum()), scaled.sum(), jnp.inf), lifted.sum())
    return jnp.where(jnp.isfinite(data.upper), plain.sum() + hinge, hard)


def _ascend(
    rules: StepRules, data: ProblemData, state: AscentState, tol: Any, budget: Any
) -> AscentState:
    """At most ``budget`` steps; stops early where the test is met or a value is not finite."""
    import jax.numpy as jnp
    from jax.lax import while_loop

    optimizer, joint = _optimizer(rules), rules.joint

    def unfinished(state: AscentState) -> Any:
        return (state.steps < budget) & ~state.done & state.finite

    def step(state: AscentState) -> AscentState:
        at = evaluate_dual(data, state.gamma, state.theta, joint=joint)
        done = (at.gap <= tol) & (at.violation <= tol)
        better = done | (at.gap < state.best_gap)
        slope = jnp.clip(at.theta_gradient, -data.bound, data.bound) if joint else 0.0 * state.theta
        # Optax descends, the dual is to be maximised.
        updates, momentum = optimizer.update((-at.gamma_gradient, -slope), state.optimizer)
        return AscentState(
            gamma=jnp.clip(state.gamma + updates[0], 0.0, data.upper),
            theta=jnp.maximum(state.theta + updates[1], rules.theta_floor if joint else 0.0),
            optimizer=momentum,
            best_gamma=jnp.where(better, state.gamma, state.best_gamma),
            best_theta=jnp.where(better, state.theta, state.best_theta),
            best_gap=jnp.where(better, at.gap, state.best_gap),
            steps=state.steps + 1,
            done=done,
            finite=jnp.isfinite(at.value),
        )

    fresh: AscentState = state._replace(steps=jnp.zeros_like(state.steps))
    ended: AscentState = while_loop(unfinished, step, fresh)
    return ended


def _recover(joint: bool, data: ProblemData, state: AscentState) -> tuple[Any, Any, Any]:
    """γ, and eigenvalues and eigenvectors of A, at the best dual point."""
    _, _, coefficients = _mean(data, state.best_gamma, state.best_theta, joint=joint)
    _, alpha, U = _scales(data, state.best_gamma)
    return coefficients, alpha, U


@lru_cache(maxsize=16)
def compiled(
    rules: StepRules, sides: int, n: int
) -> tuple[Callable[..., AscentState], Callable[..., tuple[Any, Any, Any]]]:
    """`_ascend` and `_recover`, compiled ahead of time for one shape of problem."""
    jax = import_jax()
    number, vector, matrix, both = (
        jax.ShapeDtypeStruct(shape, np.float64) for shape in ((), (n,), (n, n), (sides, n))
    )
    count, flag = jax.ShapeDtypeStruct((), np.int64), jax.ShapeDtypeStruct((), np.bool_)
    data = ProblemData(
        vector, both, (matrix,) * sides, both, matrix, vector, matrix, *([number] * 6)
    )
    with double_precision():
        momentum = jax.eval_shape(_optimizer(rules).init, (both, number))
        state = AscentState(both, number, momentum, both, number, number, count, flag, flag)
        loop = jax.jit(partial(_ascend, rules)).lower(data, state, number, count).compile()
        ending = jax.jit(partial(_recover, rules.joint)).lower(data, state).compile()

    def ascend(data: ProblemData, state: AscentState, tol: float, budget: int) -> AscentState:
        with double_precision():
            ended: AscentState = loop(data, state, np.float64(tol), np.int64(budget))
            jax.block_until_ready(ended)
        return ended

    def recover(data: ProblemData, state: AscentState) -> tuple[Any, Any, Any]:
        with double_precision():
            recovered: tuple[Any, Any, Any] = ending(data, state)
        return recovered

    return ascend, recover


def _optimizer(rules: StepRules) -> Any:
    optax = import_optax()
    return optax.sgd(rules.learning_rate, momentum=rules.momentum, nesterov=True)


def start(problem: BandProblem, rules: StepRules) -> AscentState:
    """Γ₀ = 1/n, within the box of a soft band, and θ₀ = 1."""
    shape = (problem.sides, problem.n)
    gamma = np.full(shape, min(1 / problem.n, problem.multiplier_bound))
    theta = np.float64(problem.mean_kernel is not None)
    with double_precision():
        momentum = _optimizer(rules).init((gamma, theta))
    true, false = np.array(True), np.array(False)
    return AscentState(
        gamma, theta, momentum, gamma, theta, np.float64(np.inf), np.int64(0), false, true
    )


def double_precision() -> AbstractContextManager[Any]:
    """A context with 64-bit arrays; the global setting stays the user's."""
    jax = import_jax()
    # Before JAX 0.8 the context manager was an experiment.
    home = jax if hasattr(jax, "enable_x64") else import_module("jax.experimental")
    context: AbstractContextManager[Any] = home.enable_x64(True)
    return context


def problem_data(problem: BandProblem, basis: Basis) -> ProblemData:
    """The numbers of a problem on the device that JAX chooses."""
    n, total = problem.n, problem.total_weight
    gram, values, vectors = np.zeros((n, n)), np.zeros(n), np.zeros((n, n))
    if basis.mean is not None:
        gram = basis.mean.rows @ basis.mean.rows.T
        values, vectors = np.linalg.eigh(gram)
    rows = tuple(part.rows for part in basis.scales)
    data = ProblemData(
        targets=problem.targets,
        reached=np.zeros((problem.sides, n)) if problem.reached is None else problem.reached,
        scale_rows=rows,
        scale_norms=np.stack([np.einsum("ij,ij->i", part, part) for part in rows]),
        mean_gram=gram,
        mean_values=np.maximum(values, 0.0),
        mean_vectors=vectors,
        bound=np.float64(problem.mean_bound if basis.mean is not None else 0.0),
        fit=np.float64(problem.mean_weight / total),
        width=np.float64(problem.width_weight / total),
        trace=np.float64(problem.trace_penalty),
        ridge=np.float64(problem.ridge_penalty),
        upper=np.float64(problem.multiplier_bound),
    )
    with double_precision():
        placed: ProblemData = import_jax().device_put(data)
    return placed
