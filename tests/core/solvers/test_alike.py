"""Two-sided bands whose sides are alike to a degree."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sosbands import SDP, Accelerated, BandProblem, Gaussian, Matern, Newton
from sosbands.core.nested import solve_nested
from sosbands.core.primal import evaluate
from sosbands.core.solvers.alike import sided_features

LEVELS = (0.2, 0.5, 0.9)
KAPPAS = (0.3, 0.8, 1.0)
CONFIGURATIONS = [
    pytest.param(likeness, kind, weighted, id=f"{likeness} {kind} {weighted}")
    for likeness, kind, weighted in product(
        KAPPAS, ("hard", "soft", "inner", "centre"), (False, True)
    )
]


def skewed_problem(*, likeness=0.8, weighted=False, seed=0, n=16, **changes):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1 + seed % 2))
    y = (0.2 + X[:, -1]) * (rng.exponential(size=n) - 0.7)
    settings = {
        "scale_kernel": Gaussian(0.4, offset=1.0) if seed % 2 else Matern(0.6, offset=0.5),
        "width_weight": 20.0,
        "ridge_penalty": 0.5,
        "symmetric": False,
        "training_coverage": 0.9,
        "row_weights": rng.uniform(0.5, 2.0, n) if weighted else None,
        "likeness": likeness,
    }
    return BandProblem.from_data(X, y, **{**settings, **changes})


def by_clarabel(problem):
    """The problem as it is defined, with the Gram matrix of rows and sides: its optimal value."""
    import cvxpy as cp

    kappa, n, tau = problem.likeness, problem.n, problem.training_coverage
    K = problem.scale_kernels[0](problem.X, problem.X)
    values, vectors = np.linalg.eigh(np.kron([[1, kappa], [kappa, 1]], K))
    kept = values > 1e-12 * values[-1]
    V = vectors[:, kept] * np.sqrt(values[kept])
    w = np.ones(n) if problem.row_weights is None else problem.row_weights
    w, r = np.tile(w / w.sum(), 2), problem.residuals
    demands = np.concatenate([-r, r])
    if problem.inner is not None:
        demands = demands - problem.inner.ravel()
    A = cp.Variable((V.shape[1], V.shape[1]), PSD=True)
    f = cp.sum(cp.multiply(V @ A, V), axis=1)
    value = problem.width_weight * (w @ f) + problem.trace_penalty * cp.trace(A)
    value += problem.ridge_penalty * cp.sum_squares(cp.vec(A, order="F"))
    if tau == 1:
        program = cp.Problem(cp.Minimize(value), [f >= demands])
    else:
        value += 2 * problem.width_weight / (1 - tau) * (w @ cp.pos(demands - f))
        program = cp.Problem(cp.Minimize(value))
    program.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return program.value


def solved_stages(kind, problem, solver):
    """Problems of every kind, with their solutions."""
    if kind in ("hard", "soft"):
        tau = 1.0 if kind == "hard" else 0.7
        return [solver.solve(problem.variant(training_coverage=tau))]
    centre = {"centre_penalty": 0.5} if kind == "centre" else {}
    return list(solve_nested(problem, LEVELS, solver, **centre).stages)


@pytest.mark.parametrize(("likeness", "kind", "weighted"), CONFIGURATIONS)
def test_the_optimum_is_that_of_the_problem_as_defined(likeness, kind, weighted):
    problem = skewed_problem(likeness=likeness, weighted=weighted, seed=int(10 * likeness) % 3)
    for stage in solved_stages(kind, problem, Newton(tol=1e-8)):
        assert stage.status.optimal
        assert stage.problem.likeness == likeness
        assert_allclose(stage.primal_value, by_clarabel(stage.problem), rtol=1e-5)


def test_many_rows_have_the_optimum_of_the_problem_as_defined():
    problem = skewed_problem(n=60, likeness=0.6, scale_kernel=Gaussian(0.5, offset=1.0))
    assert_allclose(Newton(tol=1e-8).solve(problem).primal_value, by_clarabel(problem), rtol=1e-5)


@pytest.mark.parametrize(("form", "likeness"), list(product("AB", (0.5, 1.0))))
def test_the_conic_solver_states_it_too(form, likeness):
    problem = skewed_problem(n=12, likeness=likeness, weighted=True)
    # With some kernels of BLAS the backend stops at a gap of 1e-5.
    slow, fast = SDP(form=form, tol=1e-4).solve(problem), Newton(tol=1e-8).solve(problem)
    assert slow.status.optimal
    assert_allclose(slow.primal_value, fast.primal_value, rtol=1e-5)
    assert_allclose(slow.scale(problem.X), fast.scale(problem.X), atol=1e-3)


def test_the_solution_is_that_of_the_rows():
    problem = skewed_problem(weighted=True, n=30)
    solution = Newton(tol=1e-8).solve(problem)
    fit = evaluate(problem, solution.point)
    w, r = problem.row_weights, problem.residuals
    assert_allclose(fit.scales / w, solution.scale(problem.X).T, atol=1e-10)
    assert_allclose(fit.requirements, w * np.stack([-r, r]))
    missed = fit.requirements - fit.scales > 1e-6
    bound = problem.multiplier_bound
    assert solution.multipliers.shape == (2, 30)
    assert_allclose(solution.multipliers[missed], bound, rtol=1e-3)
    assert_allclose(solution.multipliers[fit.requirements < fit.scales - 0.05], 0, atol=1e-3)


@pytest.mark.parametrize("tau", [0.8, 1.0])
def test_sides_of_almost_no_likeness_are_those_of_a_two_sided_band(tau):
    apart = Newton(tol=1e-9).solve(skewed_problem(likeness=0.0, training_coverage=tau))
    almost = Newton(tol=1e-9).solve(skewed_problem(likeness=1e-9, training_coverage=tau))
    assert_allclose(almost.primal_value, apart.primal_value, rtol=1e-6)
    X = apart.problem.X
    assert_allclose(almost.scale(X), apart.scale(X), atol=1e-3)


def test_sides_of_full_likeness_are_the_same_and_cover_the_size_of_residuals():
    problem = skewed_problem(likeness=1.0, training_coverage=1.0)
    low, up = Newton(tol=1e-8).solve(problem).scale(problem.X).T
    assert_array_equal(low, up)
    assert np.all(up >= np.abs(problem.residuals) * (1 - 1e-9))


def test_sides_come_closer_as_their_likeness_grows():
    rows = np.linspace(0, 1, 200)[:, None]
    distances = []
    for likeness in (0.0, 0.5, 0.8, 0.95, 0.99, 1.0):
        solution = Newton(tol=1e-8).solve(skewed_problem(likeness=likeness, n=50))
        low, up = solution.scale(rows).T
        distances.append(np.mean(np.abs(up - low)))
    assert np.all(np.diff(distances) < 0)
    assert distances[-1] == 0


def test_bands_never_cross_near_and_far():
    found = solve_nested(skewed_problem(seed=1, n=40), LEVELS, Newton(tol=1e-4), centre_penalty=0.5)
    rng = np.random.default_rng(1)
    points = np.concatenate([rng.uniform(-0.5, 1.5, (50_000, 2)), rng.normal(0, 30, (50_000, 2))])
    widths = found.widths(points)
    assert np.all(widths[:, 0] >= 0)
    assert np.all(np.diff(widths, axis=1) >= 0)


def test_features_have_the_kernel_of_rows_and_sides():
    problem = skewed_problem(n=30)
    pair, K = sided_features(problem.features, 0.8), problem.features.rows @ problem.features.rows.T
    for (i, first), (j, second) in product(enumerate(pair), enumerate(pair)):
        assert_allclose(first.rows @ second.rows.T, K if i == j else 0.8 * K, atol=1e-12)
    for part in pair:
        rows, norms = part.features.rows_and_norms(problem.X)
        assert_allclose(part.rows, rows, atol=1e-8)
        assert_allclose(part.squared_norms, norms)
        assert np.all(np.diff(np.sum(part.rows**2, axis=0)) <= 1e-12)


def test_equal_sides_have_no_features_that_differ():
    part = skewed_problem(n=30).features
    low, up = sided_features(part, 1.0, odd=False)
    assert_array_equal(low.rows, up.rows)
    assert up.rows.shape == part.rows.shape


@pytest.mark.parametrize("n", [40, 300])
def test_a_start_changes_nothing_but_the_time(n):
    problem = skewed_problem(n=n, seed=1, max_rank=20)
    cold = Newton(tol=1e-7).solve(problem)
    apart = Newton(tol=1e-2).solve(problem.variant(likeness=0.0))
    for start in (cold, apart):
        warm = Newton(tol=1e-7, start=start).solve(problem)
        assert_allclose(warm.primal_value, cold.primal_value, rtol=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"likeness": -0.1}, "likeness must be from 0 to 1, got -0.1"),
        ({"likeness": 1.1}, "likeness must be from 0 to 1, got 1.1"),
        ({"likeness": "much"}, "likeness must be from 0 to 1, got 'much'"),
        ({"symmetric": True}, "needs a two-sided band with one kernel around a given mean"),
        ({"scale_kernel": (Gaussian(1.0), Gaussian(2.0))}, "with one kernel"),
        ({"mean_kernel": Gaussian(1.0), "mean_bound": 1.0}, "around a given mean"),
    ],
)
def test_likeness_that_means_nothing_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        skewed_problem(**changes)


def test_the_papers_solver_refuses_likeness():
    with pytest.raises(ValueError, match=r"Accelerated takes no likeness, got 0.8: use Newton"):
        Accelerated().solve(skewed_problem())


def test_a_symmetric_variant_has_no_likeness():
    assert skewed_problem().variant(symmetric=True).likeness == 0
    assert skewed_problem().variant(width_weight=1.0).likeness == 0.8
