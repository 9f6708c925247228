import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sosbands import datasets
from sosbands.core.kernels import Gaussian, Linear, Matern
from sosbands.core.primal import evaluate
from sosbands.core.problem import BandProblem
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


def band_problem(symmetric=True, joint=True, coverage=1.0, n=16, unit=1.0, **changes):
    """Case 1 with outputs in the given unit, and the penalties that keep the band the same."""
    X, y = datasets.case(1).sample(n, random_state=3)
    sided = unit if symmetric else 1.0
    settings = {
        "scale_kernel": Matern(0.4, nu=0.5),
        "mean_weight": 0.5 * sided / unit,
        "width_weight": 5.0,
        "trace_penalty": 1.0,
        "ridge_penalty": 1.0 / (unit * sided),
        "training_coverage": coverage,
        "symmetric": symmetric,
    }
    if joint:
        settings |= {"mean_kernel": Gaussian(0.3), "mean_bound": 2.0 * unit**2}
    else:
        settings |= {"mean": lambda X: unit * np.sin(3 * X[:, 0])}
    return BandProblem.from_data(X, unit * y, **(settings | changes))


def both_forms(problem):
    # B has the inverse of K in it, and K is singular to rounding: fewer digits are left.
    return SDP(form="A").solve(problem), SDP(form="B", tol=1e-4).solve(problem)


@every_kind
def test_strong_duality_holds_in_both_forms(dual_value, symmetric, joint, coverage):
    problem = band_problem(symmetric, joint, coverage)
    first, second = both_forms(problem)
    for solution, digits in ((first, 1e-5), (second, 1e-4)):
        assert solution.status is Status.CONVERGED
        lower = dual_value(problem, problem.full_basis, solution.multipliers, solution.theta)
        assert_allclose(lower, solution.primal_value, rtol=digits)
    assert_allclose(second.primal_value, first.primal_value, rtol=1e-4)
    # λ₂ > 0 makes A unique, so the forms agree on f, not on the optimum alone.
    X = np.linspace(-1, 1, 7)[:, None]
    assert_allclose(second.scale(X), first.scale(X), rtol=1e-2, atol=1e-3)
    assert_allclose(second.mean(X), first.mean(X), rtol=1e-2, atol=1e-2)


@every_kind
def test_without_a_ridge_the_optimum_is_certified_too(symmetric, joint, coverage):
    problem = band_problem(symmetric, joint, coverage, ridge_penalty=0.0)
    first, second = both_forms(problem)
    assert first.status is second.status is Status.CONVERGED
    assert_allclose(second.primal_value, first.primal_value, rtol=1e-5)


@every_kind
def test_multipliers_stay_in_their_box_and_belong_to_tight_rows(symmetric, joint, coverage):
    problem = band_problem(symmetric, joint, coverage)
    solution = SDP().solve(problem)
    fit = evaluate(problem, solution.point)
    surplus = fit.scales - fit.requirements
    gamma = solution.multipliers
    assert gamma.shape == (problem.sides, problem.n)
    assert np.all((gamma >= 0) & (gamma <= problem.multiplier_bound))
    assert np.all(gamma * np.maximum(surplus, 0) < 1e-5)
    if problem.soft:
        assert_allclose(gamma[surplus < -1e-3], problem.multiplier_bound, rtol=1e-5)
    else:
        assert surplus.min() > -1e-12
    assert (solution.theta > 0) == joint


@pytest.mark.parametrize("unit", [1e-6, 1e5])
@pytest.mark.parametrize("symmetric", [True, False])
def test_the_unit_of_the_outputs_does_not_matter(symmetric, unit):
    plain = SDP().solve(band_problem(symmetric))
    other = SDP().solve(band_problem(symmetric, unit=unit))
    assert other.status is Status.CONVERGED
    assert_allclose(
        other.primal_value, plain.primal_value * unit ** (2 if symmetric else 1), rtol=1e-6
    )
    assert_allclose(other.multipliers, plain.multipliers, rtol=1e-3, atol=1e-5)
    assert_allclose(other.theta, plain.theta * (1 if symmetric else 1 / unit), rtol=1e-3)


def test_scs_finds_the_same_optimum():
    problem = band_problem()
    exact, rough = SDP().solve(problem), SDP(backend="SCS", tol=1e-4).solve(problem)
    assert rough.status is Status.CONVERGED
    assert_allclose(rough.primal_value, exact.primal_value, rtol=1e-4)


def test_a_rough_kernel_and_different_kernels_per_side_are_solved():
    kernels = (Matern(0.3, nu=0.5), Gaussian(0.4, offset=1.0))
    problem = band_problem(symmetric=False, scale_kernel=kernels)
    first, second = both_forms(problem)
    assert first.status is second.status is Status.CONVERGED
    assert_allclose(second.primal_value, first.primal_value, rtol=1e-5)


def test_a_row_that_no_scale_covers_is_infeasible():
    X = np.linspace(-1, 1, 5)
    problem = BandProblem.from_data(X, np.ones(5), scale_kernel=Linear(), width_weight=1.0)
    solution = SDP().solve(problem)
    assert solution.status is Status.INFEASIBLE
    assert solution.gap > 0.1


def test_a_soft_band_that_is_not_worth_its_price_has_no_scale():
    solution = SDP().solve(band_problem(coverage=0.5, width_weight=0.01))
    assert solution.status is Status.ZERO_SCALE
    assert_allclose(solution.scale(np.zeros((1, 1))), 0.0)


def test_outputs_that_are_zero_need_no_band():
    X = np.linspace(0, 1, 6)
    problem = BandProblem.from_data(
        X, 0 * X, scale_kernel=Gaussian(0.3), mean_kernel=Gaussian(0.3), mean_bound=1.0
    )
    solution = SDP().solve(problem)
    assert solution.status is Status.CONVERGED
    assert solution.primal_value == 0.0


def test_too_few_iterations_are_not_called_convergence():
    solution = SDP(max_iter=3).solve(band_problem())
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.gap > 1e-6


def test_a_backend_that_is_asked_for_little_does_not_pass_for_converged():
    loose = {"eps_abs": 1e-1, "eps_rel": 1e-1}
    solution = SDP(backend="SCS", options=loose).solve(band_problem())
    assert solution.status is Status.STALLED
    assert 1e-6 < solution.gap < np.inf


def test_an_empty_mapping_leaves_the_backend_its_defaults():
    accurate, plain = SDP(backend="SCS"), SDP(backend="SCS", options={})
    assert {"eps_abs", "eps_rel"} <= set(accurate._backend_options())
    assert set(plain._backend_options()) == {"verbose", "max_iters"}
    assert SDP(backend="SCS", options={}, tol=0.1).solve(band_problem()).status is Status.CONVERGED


def test_the_phases_add_up_and_the_backend_is_one_of_them():
    seconds = dict(SDP().solve(band_problem()).certificate.seconds)
    total = seconds.pop("total")
    assert {"statement", "solve", "backend"} <= seconds.keys()
    assert seconds["backend"] > 0
    assert_allclose(sum(seconds.values()), total)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"form": "C"}, "form must be"),
        ({"backend": "MOSEK"}, "backend must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"tol": None}, "tol must be .* got None"),
        ({"form": ["A"]}, r"form must be .* got \['A'\]"),
        ({"backend": ["SCS"]}, r"backend must be .* got \['SCS'\]"),
        ({"options": "fast"}, "options must map names .* got 'fast'"),
        ({"verbose": None}, "verbose must be True or False, got None"),
    ],
)
def test_settings_that_do_not_exist_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        SDP(**settings)


def test_without_cvxpy_one_line_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(ImportError, match=r'^SDP needs CVXPY: pip install "sosbands\[sdp\]"$'):
        SDP()


def test_the_module_imports_without_cvxpy():
    code = (
        "import sys; sys.modules['cvxpy'] = None; "
        "from sosbands.core.solvers.sdp import SDP; print(SDP.__name__)"
    )
    printed = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
    assert printed.stdout == b"SDP\n"
