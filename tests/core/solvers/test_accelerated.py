import subprocess
import sys
from itertools import product

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

from sosbands import datasets
from sosbands.core.kernels import Gaussian
from sosbands.core.problem import BandProblem
from sosbands.core.solvers import ascent
from sosbands.core.solvers.accelerated import Accelerated
from sosbands.core.solvers.sdp import SDP
from sosbands.core.solvers.solution import Status

KINDS = list(product((True, False), (True, False), (1.0, 0.8)))
every_kind = pytest.mark.parametrize(
    ("symmetric", "joint", "coverage"),
    KINDS,
    ids=[
        "-".join(("symmetric" if s else "two-sided", "joint" if j else "given", f"τ{c:g}"))
        for s, j, c in KINDS
    ],
)


def band_problem(symmetric=True, joint=True, coverage=1.0, n=20, **changes):
    X, y = datasets.case(1).sample(n, random_state=1)
    settings = {
        "scale_kernel": Gaussian(0.4),
        "mean_weight": 0.5,
        "width_weight": 5.0,
        "training_coverage": coverage,
        "symmetric": symmetric,
    }
    if joint:
        settings |= {"mean_kernel": Gaussian(0.2), "mean_bound": 4.0}
    return BandProblem.from_data(X, y, **(settings | changes))


def as_published(n, seed):
    """The setting of the paper's timings: case 1 with a = b = 0."""
    X, y = datasets.case(1).sample(n, random_state=seed)
    return BandProblem.from_data(
        X,
        y,
        mean_kernel=Gaussian(0.15),
        mean_bound=7.0,
        scale_kernel=Gaussian(0.3),
        width_weight=0.0,
    )


def evaluate(problem, gamma, theta):
    joint = problem.mean_kernel is not None
    data = ascent.problem_data(problem, problem.full_basis)
    with ascent.double_precision():
        at = ascent.evaluate_dual(data, gamma, theta, joint=joint)
    return ascent.DualPoint(*(np.asarray(part) for part in at))


@pytest.fixture(scope="module")
def published_optimum():
    return SDP().solve(as_published(40, 0)).dual_value


@pytest.mark.parametrize("tol", [1e-4, 1e-6])
def test_case_1_reaches_the_optimum_of_the_semidefinite_program(published_optimum, tol):
    solution = Accelerated(tol=tol).solve(as_published(40, 0))
    assert solution.status is Status.CONVERGED
    assert solution.certificate.violation <= tol
    assert_allclose(solution.primal_value, published_optimum, rtol=tol)
    assert_allclose(solution.dual_value, published_optimum, rtol=tol)


@pytest.mark.parametrize("seed", range(8))
def test_case_1_converges_whatever_the_sample(seed):
    solution = Accelerated(max_iter=3000).solve(as_published(50, seed))
    assert solution.status is Status.CONVERGED


@every_kind
def test_every_kind_of_band_reaches_the_optimum_of_the_semidefinite_program(
    symmetric, joint, coverage
):
    problem = band_problem(symmetric, joint, coverage)
    exact, solution = SDP().solve(problem), Accelerated().solve(problem)
    assert solution.status is Status.CONVERGED
    assert np.all((solution.multipliers >= 0) & (solution.multipliers <= problem.multiplier_bound))
    assert_allclose(solution.primal_value, exact.primal_value, rtol=1e-4)
    assert_allclose(solution.dual_value, exact.primal_value, rtol=1e-4)


@every_kind
def test_the_gradient_is_that_of_the_dual_value(dual_value, symmetric, joint, coverage):
    problem = band_problem(symmetric, joint, coverage, n=8)
    rng = np.random.default_rng(0)
    gamma = rng.uniform(0.5, 1.5, (problem.sides, problem.n))
    theta, h = 0.7 if joint else 0.0, 1e-5

    def D(gamma, theta):
        return dual_value(problem, problem.full_basis, gamma, theta)

    at = evaluate(problem, gamma, theta)
    assert_allclose(at.value, D(gamma, theta), rtol=1e-10)
    differences = np.empty_like(gamma)
    for index in np.ndindex(gamma.shape):
        step = np.zeros_like(gamma)
        step[index] = h
        differences[index] = (D(gamma + step, theta) - D(gamma - step, theta)) / (2 * h)
    assert_allclose(at.gamma_gradient, differences, rtol=1e-6, atol=1e-7)
    if joint:
        slope = (D(gamma, theta + h) - D(gamma, theta - h)) / (2 * h)
        assert_allclose(at.theta_gradient, slope, rtol=1e-6)


@every_kind
def test_the_gap_of_the_compiled_test_is_the_certified_gap(symmetric, joint, coverage):
    problem = band_problem(symmetric, joint, coverage)
    for steps in (1, 60):
        solution = Accelerated(max_iter=steps).solve(problem)
        at = evaluate(problem, solution.multipliers, solution.theta)
        assert_allclose(at.gap, solution.gap, rtol=1e-6)
        if not problem.soft:
            assert at.violation >= solution.certificate.violation * (1 - 1e-6)


def test_the_iteration_limit_is_a_status_and_the_best_point_is_returned():
    problem = as_published(40, 0)
    short, longer = (Accelerated(max_iter=k, check_every=7).solve(problem) for k in (50, 100))
    assert short.status is longer.status is Status.ITERATION_LIMIT
    assert (short.certificate.iterations, longer.certificate.iterations) == (50, 100)
    assert longer.gap <= short.gap


def test_the_length_of_a_compiled_call_does_not_change_the_solution():
    problem = as_published(40, 0)
    first, second = (Accelerated(check_every=k).solve(problem) for k in (37, 1000))
    assert first.certificate.iterations == second.certificate.iterations
    assert_allclose(first.multipliers, second.multipliers, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("learning_rate", [10.0, 1e150])
def test_a_learning_rate_that_diverges_is_not_called_convergence(learning_rate):
    solver = Accelerated(learning_rate=learning_rate, max_iter=300)
    solution = solver.solve(as_published(40, 0))
    assert solution.status in (Status.ITERATION_LIMIT, Status.STALLED)
    assert solution.gap > 1e-4
    assert np.all(np.isfinite(solution.multipliers))


def test_values_that_overflow_end_the_ascent_at_once():
    solution = Accelerated(learning_rate=1e200).solve(as_published(40, 0))
    assert solution.status is Status.STALLED
    assert solution.certificate.iterations < 10


def test_a_soft_band_that_is_not_worth_its_price_has_no_scale():
    problem = band_problem(joint=False, coverage=0.5, width_weight=0.01)
    assert Accelerated().solve(problem).status is Status.ZERO_SCALE


@pytest.mark.parametrize("joint", [True, False])
def test_outputs_that_are_zero_need_no_band(joint):
    settings = {"mean_kernel": Gaussian(0.3), "mean_bound": 1.0} if joint else {}
    X = np.linspace(0, 1, 6)
    problem = BandProblem.from_data(X, 0 * X, scale_kernel=Gaussian(0.3), **settings)
    solution = Accelerated().solve(problem)
    assert solution.status is Status.CONVERGED
    assert solution.primal_value == 0.0


def test_compilation_is_a_phase_of_its_own_and_happens_once_per_shape():
    ascent.compiled.cache_clear()
    first, second = (Accelerated(tol=0.1).solve(as_published(15, seed)) for seed in (0, 1))
    assert first.certificate.seconds["compile"] > 10 * second.certificate.seconds["compile"]
    assert second.certificate.seconds["solve"] > 0


def test_the_precision_of_the_rest_of_the_program_stays_as_it_was():
    before = jax.numpy.ones(1).dtype
    Accelerated(max_iter=5).solve(band_problem())
    assert jax.numpy.ones(1).dtype == before


def test_without_a_ridge_the_error_names_the_solver_to_use():
    with pytest.raises(ValueError, match=r"ridge_penalty must be > 0, got 0: .* solver SDP"):
        Accelerated().solve(band_problem(ridge_penalty=0.0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be > 0 and finite, got 0.0"),
        ({"momentum": 1.0}, r"momentum must be in \[0, 1\), got 1.0"),
        ({"check_every": 0}, "check_every must be at least 1 and whole, got 0"),
        ({"theta_floor": 0.0}, "theta_floor must be > 0 and finite, got 0.0"),
        ({"tol": 1.0}, "tol must be in"),
        ({"learning_rate": None}, "learning_rate must be > 0 and finite, got None"),
        ({"learning_rate": np.inf}, "learning_rate must be > 0 and finite, got inf"),
        ({"momentum": "fast"}, "momentum must be in .*, got 'fast'"),
        ({"check_every": 1.5}, "check_every must be at least 1 and whole, got 1.5"),
        ({"theta_floor": [1]}, r"theta_floor must be > 0 and finite, got \[1\]"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Accelerated(**settings)


@pytest.mark.parametrize(("module", "name"), [("jax", "JAX"), ("optax", "Optax")])
def test_a_missing_package_gives_one_line_that_names_the_extra(monkeypatch, module, name):
    monkeypatch.setitem(sys.modules, module, None)
    line = rf'^Accelerated needs {name}: pip install "sosbands\[jax\]"$'
    with pytest.raises(ImportError, match=line):
        Accelerated()


def test_the_module_imports_without_jax():
    code = (
        "import sys; sys.modules['jax'] = None; "
        "from sosbands.core.solvers.accelerated import Accelerated; print(Accelerated.__name__)"
    )
    printed = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
    assert printed.stdout == b"Accelerated\n"
