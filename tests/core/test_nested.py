from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sosbands import SDP, BandProblem, Gaussian, Matern, Newton
from sosbands.core.nested import solve_nested
from sosbands.core.primal import evaluate
from sosbands.core.solvers import Status, newton

LEVELS = (0.2, 0.5, 0.9)
CONFIGURATIONS = [
    pytest.param(kind, levels, weighted, seed, id=f"{kind} {levels} {weighted} {seed}")
    for kind, levels, weighted, seed in product(
        ("given", "centre", "joint"), (LEVELS, (0.5, 0.9)), (False, True), range(3)
    )
]


def skewed_problem(*, joint=False, weighted=False, seed=0, n=40, **changes):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1 + seed % 2))
    y = np.sin(5 * X[:, 0]) + (0.2 + X[:, -1]) * rng.exponential(size=n)
    settings = {
        "scale_kernel": Gaussian(0.4, offset=1.0) if seed % 2 else Matern(0.6, offset=0.5),
        "width_weight": 20.0,
        "ridge_penalty": 0.5,
        "symmetric": False,
        "training_coverage": 0.9,
        "row_weights": rng.uniform(0.5, 2.0, n) if weighted else None,
    }
    if joint:
        settings |= {"mean_kernel": Gaussian(0.3), "mean_bound": 2.0}
    return BandProblem.from_data(X, y, **{**settings, **changes})


@pytest.mark.parametrize(("kind", "levels", "weighted", "seed"), CONFIGURATIONS)
def test_every_level_agrees_with_clarabel(kind, levels, weighted, seed):
    problem = skewed_problem(joint=kind == "joint", weighted=weighted, seed=seed, n=24)
    centre = {"centre_penalty": 0.5} if kind == "centre" else {}
    ours = solve_nested(problem, levels, Newton(tol=1e-8), **centre)
    for stage in ours.stages:
        reference = SDP().solve(stage.problem)
        assert stage.status.optimal
        assert_allclose(stage.primal_value, reference.primal_value, rtol=1e-5)
        assert_allclose(stage.dual_value, reference.dual_value, rtol=1e-5)


def test_what_is_left_to_reach_is_written_out():
    problem = skewed_problem(weighted=True)
    ours = solve_nested(problem, LEVELS, Newton())
    widths, r, w = ours.widths(problem.X), problem.residuals, problem.row_weights
    for k, stage in enumerate(ours.stages):
        fit = evaluate(stage.problem, stage.point)
        reached = widths[:, k - 1].T if k else np.zeros((2, problem.n))
        demands = np.stack([-r, r]) - reached
        assert_allclose(fit.requirements, w * demands, atol=3e-4 * r.std())  # but for noise
        assert_allclose(fit.scales, w * (widths[:, k].T - reached), atol=1e-9)
        assert stage.problem.training_coverage == LEVELS[k]


@pytest.mark.parametrize("kind", ["given", "centre", "joint"])
def test_bands_never_cross_near_and_far(kind):
    problem = skewed_problem(joint=kind == "joint", seed=1)
    centre = {"centre_penalty": 0.5} if kind == "centre" else {}
    found = solve_nested(problem, LEVELS, Newton(tol=1e-4), **centre)
    rng = np.random.default_rng(1)
    points = np.concatenate([rng.uniform(-0.5, 1.5, (50_000, 2)), rng.normal(0, 30, (50_000, 2))])
    widths = found.widths(points)
    assert np.all(widths[:, 0] >= 0)
    assert np.all(np.diff(widths, axis=1) >= 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_levels_end_where_they_end_from_all_rows(weighted, monkeypatch):
    problem = skewed_problem(weighted=weighted, n=300)
    ours = solve_nested(problem, LEVELS, Newton(tol=1e-7))
    monkeypatch.setattr(newton, "_FEW_ROWS", 300)
    for stage in ours.stages:
        twin = Newton(tol=1e-7).solve(stage.problem)
        assert stage.status.optimal
        assert_allclose(stage.primal_value, twin.primal_value, rtol=1e-6)


@pytest.mark.parametrize(("shift", "coarse"), [(0.0, []), (-5.0, [150])])
def test_a_level_starts_from_those_inside_it_unless_these_have_no_width(shift, coarse, monkeypatch):
    solved, solve = [], Newton.solve

    def counted(self, problem):
        solved.append(problem.n)
        return solve(self, problem)

    monkeypatch.setattr(Newton, "solve", counted)
    X = np.linspace(0, 1, 400)
    y = (1 + X) * np.random.default_rng(0).standard_normal(400) + shift
    kernel = Matern(0.4, offset=1.0)
    problem = BandProblem.from_data(X, y, scale_kernel=kernel, symmetric=False)
    solve_nested(problem, (0.5, 0.9), Newton(tol=1e-4))
    assert solved == [400, 150, 400, *coarse]


def test_one_level_is_the_band_of_that_level_alone():
    problem = skewed_problem()
    nested, alone = solve_nested(problem, (0.9,), Newton(tol=1e-7)), Newton(tol=1e-7).solve(problem)
    assert_allclose(nested.widths(problem.X)[:, 0], alone.scale(problem.X), atol=1e-4)
    assert nested.functions.mean is None


def test_every_level_covers_about_its_share_of_many_rows():
    problem = skewed_problem(n=2000, width_weight=300.0, max_rank=30)
    found = solve_nested(problem, LEVELS, Newton(tol=1e-3), centre_penalty=1e-3)
    r = problem.residuals - found.functions.mean.sums(problem.X)
    widths = found.widths(problem.X)
    for k, level in enumerate(LEVELS):
        inside = np.mean((r >= -widths[:, k, 0]) & (r <= widths[:, k, 1]))
        assert abs(inside - level) < 0.03


def test_the_certificate_is_that_of_all_levels():
    found = solve_nested(skewed_problem(), LEVELS, Newton(tol=1e-3))
    proof, parts = found.certificate, [stage.certificate for stage in found.stages]
    assert proof.gap == max(part.gap for part in parts)
    assert proof.primal_value == sum(part.primal_value for part in parts)
    assert proof.rank == sum(part.rank for part in parts)
    assert proof.status.optimal
    (alone,) = (nested := solve_nested(skewed_problem(), (0.5,), Newton())).stages
    assert nested.certificate is alone.certificate


def test_a_level_without_width_is_no_band_without_width():
    found = solve_nested(skewed_problem(width_weight=0.7), (0.01, 0.9), Newton(tol=1e-6))
    assert found.stages[0].status is Status.ZERO_SCALE
    assert found.certificate.status is Status.CONVERGED
    nothing = solve_nested(skewed_problem(width_weight=1e-6), (0.01, 0.9), Newton(tol=1e-6))
    assert nothing.certificate.status is Status.ZERO_SCALE


@pytest.mark.parametrize("levels", [(), (0.9, 0.5), (0.5, 0.5), (0.0, 0.5), (0.5, 1.0), ("a",)])
def test_levels_that_do_not_increase_are_refused(levels):
    with pytest.raises(ValueError, match="must increase between 0 and 1"):
        solve_nested(skewed_problem(), levels, Newton())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inner": np.ones((2, 5))}, r"in the shape \(2, 40\), got shape \(2, 5\)"),
        ({"inner": -np.ones((2, 40))}, "a least value of -1"),
        ({"inner": np.ones((2, 40)), "symmetric": True}, "two-sided soft band"),
        ({"inner": np.ones((2, 40)), "training_coverage": 1.0}, "two-sided soft band"),
        ({"inner": np.ones((2, 40)), "joint": True}, "around a given mean"),
    ],
)
def test_inner_widths_that_mean_nothing_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        skewed_problem(**changes)


def test_what_a_level_misses_by_rounding_is_no_demand():
    X = np.linspace(0, 1, 8)[:, None]  # few rows that the first level can pass through
    y = np.array([-0.47, 0.14, -2.12, -0.84, 1.3, 0.32, 0.9, -0.2])
    problem = BandProblem.from_data(
        X, y, scale_kernel=Gaussian(0.05, offset=1.0), width_weight=1e4, symmetric=False
    )
    found = solve_nested(problem, (0.5, 0.9), Newton(tol=1e-4))
    assert all(stage.status.optimal for stage in found.stages)


def test_nothing_is_left_to_reach_beyond_wide_inner_bands():
    solution = Newton().solve(skewed_problem(inner=np.full((2, 40), 100.0)))
    assert_array_equal(solution.scale(solution.problem.X), 0)
    assert solution.status.optimal
