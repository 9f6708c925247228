import numpy as np
import pytest
from numpy.testing import assert_allclose

from sosbands import SDP, BandProblem, Gaussian, Linear, Matern, Newton, Status
from sosbands.core.primal import evaluate
from sosbands.core.solvers import reduction
from sosbands.datasets import case


def case_1(n, seed=0, **changes):
    X, y = case(1).sample(n, random_state=seed)
    settings = {
        "mean_kernel": Gaussian(0.15),
        "mean_bound": 7.0,
        "scale_kernel": Gaussian(0.3),
        "width_weight": 10.0,
    }
    return BandProblem.from_data(X, y, **(settings | changes))


def many_features(d=5, n=400, **changes):
    X, y = case(4, beta=(1.0,) + (0.1,) * (d - 1)).sample(n, random_state=0)
    settings = {"scale_kernel": Gaussian(0.3), "width_weight": 10.0, "mean": np.full(n, y.mean())}
    return BandProblem.from_data(X, y, **(settings | changes))


@pytest.fixture
def check_certificate(dual_value):
    def check(solution):
        """The certificate again, from the returned point and multipliers alone, on all features."""
        problem, point = solution.problem, solution.point
        fit = evaluate(problem, point)
        slack = fit.scales - fit.requirements
        if problem.soft:
            hinge = problem.multiplier_bound * np.maximum(-slack, 0).sum()
        else:
            assert slack.min() >= -1e-9 * fit.requirements.max()
            hinge = 0.0
        if point.z is not None:
            assert point.z @ point.z <= problem.mean_bound * (1 + 1e-12)
        value = problem.mean_weight * np.mean(fit.residuals**2) + hinge
        value += problem.width_weight * fit.scales.sum() / problem.n
        for R in point.factors:
            A = R @ R.T
            value += problem.trace_penalty * np.trace(A) + problem.ridge_penalty * np.sum(A**2)
        assert_allclose(value, solution.primal_value, rtol=1e-9)
        assert np.all(solution.multipliers >= 0)
        assert np.all(solution.multipliers <= problem.multiplier_bound)
        lower = dual_value(problem, problem.basis, solution.multipliers, solution.theta)
        band = value - problem.mean_weight * np.mean(fit.residuals**2)
        assert (value - lower) / band <= 1.5e-6

    return check


@pytest.mark.parametrize("coverage", [1.0, 0.9])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("n", [100, 1_000, 20_000])
def test_certificates_hold_when_computed_again(check_certificate, n, symmetric, coverage):
    problem = case_1(n, symmetric=symmetric, training_coverage=coverage, mean_weight=1.0)
    solution = Newton().solve(problem)
    assert solution.status is Status.CONVERGED
    check_certificate(solution)


@pytest.mark.parametrize("width_weight", [0.0, 10.0])
@pytest.mark.parametrize("symmetric", [True, False])
def test_certificates_hold_where_features_are_as_many_as_rows(
    check_certificate, width_weight, symmetric
):
    problem = many_features(width_weight=width_weight, symmetric=symmetric)
    assert problem.basis.scales[0].features.rank == problem.n
    solution = Newton().solve(problem)
    assert solution.status is Status.CONVERGED
    check_certificate(solution)


@pytest.mark.parametrize("mean_weight", [0.0, 1.0])
def test_a_joint_mean_of_full_rank_is_certified(check_certificate, mean_weight):
    X, y = case(2, dimension=6).sample(250, random_state=0)
    problem = BandProblem.from_data(
        X,
        y,
        scale_kernel=Matern(2.0, nu=1.5),
        mean_kernel=Gaussian(1.5),
        mean_bound=20.0,
        mean_weight=mean_weight,
        width_weight=10.0,
    )
    assert problem.basis.mean.features.rank == 250
    solution = Newton().solve(problem)
    assert solution.status is Status.CONVERGED
    check_certificate(solution)


@pytest.mark.parametrize("width_weight", [0.0, 10.0])
def test_subspaces_do_not_change_the_optimum(width_weight, monkeypatch):
    problem = many_features(width_weight=width_weight)
    compressed = Newton(tol=1e-8).solve(problem)
    monkeypatch.setattr(reduction, "_COMPRESS", np.inf)
    dense = Newton(tol=1e-8).solve(problem)
    assert_allclose(compressed.primal_value, dense.primal_value, rtol=2e-8)
    assert_allclose(compressed.scale(problem.X), dense.scale(problem.X), rtol=1e-3)


def test_a_rank_cap_is_seen_in_the_trace_residual(check_certificate):
    solution = Newton().solve(case_1(300, max_rank=8))
    assert solution.status is Status.CONVERGED
    assert solution.point.basis.scales[0].features.rank == 8
    assert solution.certificate.trace_residual > 1e-4
    check_certificate(solution)


def test_few_rows_are_active():
    certificate = Newton().solve(case_1(5_000, width_weight=0.0)).certificate
    assert certificate.active_rows <= 30
    assert certificate.rank <= 10


def test_a_soft_band_covers_about_its_training_coverage():
    problem = case_1(2_000, training_coverage=0.8, width_weight=1000.0)
    solution = Newton().solve(problem)
    inside = np.abs(problem.y - solution.mean(problem.X)) <= solution.scale(problem.X)
    assert 0.75 < inside.mean() < 0.85


def test_a_two_sided_soft_band_covers_about_its_training_coverage():
    X, y = case(5).sample(2_000, random_state=0)
    problem = BandProblem.from_data(
        X,
        y,
        scale_kernel=Gaussian(0.5, offset=1.0),
        mean=case(5).mean,
        symmetric=False,
        width_weight=1000.0,
        training_coverage=0.8,
    )
    solution = Newton().solve(problem)
    scale, r = solution.scale(X), y - solution.mean(X)
    assert 0.75 < np.mean((-scale[:, 0] <= r) & (r <= scale[:, 1])) < 0.85


def test_training_coverage_near_one_approaches_the_hard_band():
    hard = Newton().solve(case_1(200))
    soft = Newton().solve(case_1(200, training_coverage=1 - 1e-7))
    grid = np.linspace(-1, 1, 50)
    assert_allclose(soft.scale(grid), hard.scale(grid), rtol=1e-2)


def test_f_zero_is_a_status_where_it_is_optimal():
    problem = case_1(100, width_weight=1e-3, training_coverage=0.5)
    solution = Newton().solve(problem)
    assert solution.status is Status.ZERO_SCALE
    assert solution.status.optimal
    assert "raise width_weight" in solution.status.value
    assert_allclose(solution.scale(problem.X), 0.0, atol=1e-3)


def test_a_hard_band_that_no_f_satisfies_is_a_status():
    X = np.array([[0.0], [1.0], [2.0]])
    problem = BandProblem.from_data(X, [1.0, 1.0, 1.0], scale_kernel=Linear(1.0))
    solution = Newton().solve(problem)
    assert solution.status is Status.INFEASIBLE
    assert solution.gap == np.inf
    assert "offset" in solution.status.value
    with_offset = BandProblem.from_data(X, np.ones(3), scale_kernel=Linear(1.0, offset=1.0))
    assert Newton().solve(with_offset).status is Status.CONVERGED


def test_a_row_that_f_cannot_cover_and_need_not_is_no_obstacle():
    X = np.array([[0.0], [1.0], [2.0]])
    problem = BandProblem.from_data(X, [0.0, 1.0, 1.0], scale_kernel=Linear(1.0))
    assert Newton().solve(problem).status is Status.CONVERGED
    upwards = BandProblem.from_data(
        X, [1.0, 1.0, -1.0], scale_kernel=(Linear(1.0), Linear(1.0, offset=1.0))
    )
    assert Newton().solve(upwards).status is Status.CONVERGED


def test_a_joint_mean_does_not_make_up_for_a_row_without_features():
    X = np.array([[0.0], [1.0], [2.0]])
    problem = BandProblem.from_data(
        X, np.ones(3), scale_kernel=Linear(1.0), mean_kernel=Gaussian(1.0), mean_bound=5.0
    )
    assert Newton().solve(problem).status is Status.INFEASIBLE


def test_a_linear_kernel_gives_a_homogeneous_quadratic():
    X, y = case(4, beta=(1.0, 0.5)).sample(200, random_state=0)
    problem = BandProblem.from_data(X, y, mean=case(4, beta=(1.0, 0.5)).mean, scale_kernel=Linear())
    solution = Newton().solve(problem)
    grid = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    assert_allclose(solution.scale(3 * grid), 3 * solution.scale(grid), rtol=1e-8)
    assert_allclose(solution.scale(np.zeros((1, 2))), 0.0)


def test_a_linear_kernel_with_an_offset_gives_a_non_negative_quadratic():
    X, y = case(4, beta=(1.0, 0.5)).sample(200, random_state=0)
    problem = BandProblem.from_data(
        X, y, mean=case(4, beta=(1.0, 0.5)).mean, scale_kernel=Linear(offset=1.0)
    )
    solution = Newton().solve(problem)
    f = solution.scale(np.random.default_rng(0).uniform(-1, 1, (50, 2))) ** 2
    grid = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    monomials = np.column_stack([np.ones(50), grid, grid**2, grid[:, 0] * grid[:, 1]])
    left = f - monomials @ np.linalg.lstsq(monomials, f, rcond=None)[0]
    assert_allclose(left, 0, atol=1e-8 * f.max())
    assert solution.scale(np.zeros((1, 2)))[0] > 0


@pytest.mark.parametrize("coverage", [1.0, 0.9])
@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("symmetric", [True, False])
def test_an_output_that_is_zero_almost_everywhere_is_no_obstacle(symmetric, joint, coverage):
    X = np.random.default_rng(0).uniform(-1, 1, (400, 1))
    y = np.zeros(400)
    y[7] = 1.5
    mean = {"mean_kernel": Gaussian(0.2), "mean_bound": 5.0, "mean_weight": 1.0} if joint else {}
    problem = BandProblem.from_data(
        X, y, scale_kernel=Gaussian(0.3), training_coverage=coverage, symmetric=symmetric, **mean
    )
    solution = Newton().solve(problem)
    assert solution.status.optimal


@pytest.mark.parametrize(("n", "bound"), [(1, 0.01), (5, 1.0), (20, 5.0)])
def test_a_two_sided_band_needs_no_fit(n, bound):
    X, y = case(1).sample(n, random_state=0)
    settings = {"scale_kernel": Gaussian(0.4), "mean_kernel": Gaussian(0.2), "symmetric": False}
    for inputs in (X, np.ones((n, 1))):
        problem = BandProblem.from_data(inputs, y, mean_bound=bound, **settings)
        assert Newton().solve(problem).status is Status.CONVERGED


def test_a_soft_band_without_any_feature_has_scale_zero():
    X, y = case(1).sample(50, random_state=0)
    problem = BandProblem.from_data(0 * X, y, scale_kernel=Linear(), training_coverage=0.9)
    assert Newton().solve(problem).status is Status.ZERO_SCALE


@pytest.mark.parametrize("ridge", [1e-12, 1e-30, 1e-50])
def test_a_ridge_as_good_as_zero_is_certified(ridge):
    solution = Newton().solve(case_1(25, ridge_penalty=ridge))
    assert solution.status is Status.CONVERGED
    assert_allclose(
        solution.primal_value, SDP().solve(case_1(25, ridge_penalty=0.0)).primal_value, rtol=1e-5
    )


def test_only_problems_are_solved():
    with pytest.raises(TypeError, match="solve takes a BandProblem, got NoneType"):
        Newton().solve(None)


@pytest.mark.parametrize("n", [149, 152, 166, 180, 181, 200])
@pytest.mark.parametrize("coverage", [1.0, 0.9])
def test_any_number_of_rows_is_solved(n, coverage):
    problem = case_1(n, training_coverage=coverage)
    assert Newton().solve(problem).status is Status.CONVERGED


def test_too_few_iterations_are_a_status():
    solution = Newton(max_iter=3).solve(case_1(100))
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.certificate.iterations == 3
    assert solution.gap > 1e-6
    assert "max_iter" in solution.status.value


def test_the_history_ends_with_the_certified_gap():
    solution = Newton().solve(case_1(1_000))
    assert solution.history[-1] == (solution.certificate.iterations, solution.gap)


def test_seconds_add_up_by_phase():
    seconds = Newton().solve(case_1(300)).certificate.seconds
    assert {"features", "coarse", "newton", "rows", "certificate", "total"} <= set(seconds)
    assert_allclose(sum(v for k, v in seconds.items() if k != "total"), seconds["total"])


def test_predictions_do_not_depend_on_blocks(monkeypatch):
    solution = Newton().solve(case_1(200))
    x = np.linspace(-1, 1, 1_000)
    mean, scale = solution.mean(x), solution.scale(x)
    monkeypatch.setattr("sosbands.core.expansions._BLOCK_ENTRIES", 64 * 21)
    assert_allclose(solution.mean(x), mean, rtol=1e-9, atol=1e-12)
    assert_allclose(solution.scale(x), scale, rtol=1e-9)


def test_given_landmarks_span_the_band():
    landmarks = np.linspace(-1, 1, 7)[:, None]
    solution = Newton().solve(case_1(300, landmarks=landmarks))
    assert solution.status is Status.CONVERGED
    assert solution.point.basis.scales[0].features.rank == 7


def test_a_subset_is_the_problem_on_those_rows():
    problem = case_1(200, training_coverage=0.9)
    rows = np.arange(0, 200, 2)
    shared = Newton(tol=1e-8).solve(problem.subset(rows))
    alone = BandProblem.from_data(
        problem.X[rows],
        problem.y[rows],
        mean_kernel=Gaussian(0.15),
        mean_bound=7.0,
        scale_kernel=Gaussian(0.3),
        width_weight=10.0,
        training_coverage=0.9,
    )
    assert_allclose(shared.primal_value, Newton(tol=1e-8).solve(alone).primal_value, rtol=1e-6)


def test_solving_twice_gives_the_same_bits():
    first, second = (Newton().solve(case_1(1_000)) for _ in range(2))
    assert np.array_equal(first.multipliers, second.multipliers)
    assert np.array_equal(first.scale([0.1, 0.2]), second.scale([0.1, 0.2]))


@pytest.mark.parametrize(
    "settings", [{"tol": 0.0}, {"tol": 1.0}, {"max_iter": 0}, {"max_iter": 2.5}]
)
def test_impossible_settings_are_refused(settings):
    with pytest.raises(ValueError, match="must be"):
        Newton(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tol": None}, r"tol must be in \(0, 1\), got None: 1e-6 is"),
        ({"tol": "small"}, r"tol must be in \(0, 1\), got 'small'"),
        ({"tol": [1e-6]}, r"tol must be in \(0, 1\), got \[1e-06\]"),
        ({"tol": True}, r"tol must be in \(0, 1\), got True"),
        ({"tol": np.nan}, r"tol must be in \(0, 1\), got nan"),
        ({"max_iter": None}, "max_iter must be at least 1 and whole, got None"),
        ({"max_iter": 10.0}, "max_iter must be at least 1 and whole, got 10.0"),
        ({"max_iter": True}, "max_iter must be at least 1 and whole, got True"),
    ],
)
def test_settings_that_are_no_numbers_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Newton(**settings)


@pytest.mark.parametrize("missing", [0.5, 0.55])
def test_a_side_that_only_the_barrier_keeps_alive_is_solved_to_tolerance(missing):
    """What is left to gain is then outside the subspaces, which have to be chosen anew."""
    left, right = [[-0.94, x] for x in (-1.64, -0.63, 0.38, 1.39)], [[1.21, 0.38], [1.21, 1.39]]
    y = np.repeat([-0.77, 1.3], [5, 3])
    inner = np.stack([np.where(y < 0, -y, 0.3), np.where(y > 0, y, 0.1)])
    inner[0, 4] -= 7.7e-5
    inner[1, 5] -= missing
    problem = BandProblem.from_data(
        np.array([*left, [1.21, -0.63], [0.13, -0.63], *right]),
        y,
        scale_kernel=(Gaussian((1.0, 1.0), offset=1.0),) * 2,
        mean=np.zeros(8),
        inner=inner,
        training_coverage=0.5,
    )
    solution = Newton(tol=1e-4).solve(problem)
    assert solution.status is Status.CONVERGED
    assert solution.gap <= 1e-4
