import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from sosbands import BandProblem, Gaussian, Newton, Status
from sosbands.core.primal import Point, evaluate, primal_value, relative_gap, repair
from sosbands.datasets import case

X, Y = case(1).sample(30, random_state=0)


def problem_with(X=X, y=Y, **changes):
    settings = {"scale_kernel": Gaussian(0.4), "mean_kernel": Gaussian(0.3), "mean_bound": 3.0}
    settings |= changes
    return BandProblem.from_data(
        X, y, **{name: value for name, value in settings.items() if value is not ...}
    )


def random_point(problem, seed=0, size=0.3):
    rng = np.random.default_rng(seed)
    z = size * rng.standard_normal(problem.basis.mean.rows.shape[1])
    factors = [size * rng.standard_normal((s.rows.shape[1], 3)) for s in problem.basis.scales]
    return Point(problem.basis, z, tuple(factors))


@pytest.mark.parametrize("coverage", [1.0, 0.8])
@pytest.mark.parametrize("symmetric", [True, False])
def test_the_primal_value_is_the_objective_written_as_loops(symmetric, coverage):
    problem = problem_with(
        symmetric=symmetric, training_coverage=coverage, mean_weight=2.0, trace_penalty=0.3
    )
    point = random_point(problem)
    total = 0.0
    for i in range(30):
        r = Y[i] - problem.basis.mean.rows[i] @ point.z
        total += 2.0 / 30 * r**2
        needed = [r**2] if symmetric else [-r, r]
        parts = zip(problem.basis.scales, point.factors, needed, strict=True)
        for side, R, requirement in parts:
            f = side.rows[i] @ R @ R.T @ side.rows[i]
            total += 10.0 / 30 * f
            if coverage < 1:
                price = 10.0 / (30 * 0.2) * (1 if symmetric else 2)
                total += price * max(requirement - f, 0.0)
    for R in point.factors:
        A = R @ R.T
        total += 0.3 * np.trace(A) + np.linalg.norm(A, "fro") ** 2
    assert_allclose(primal_value(problem, evaluate(problem, point)).total, total, rtol=1e-12)


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_repaired_point_is_feasible(symmetric):
    problem = problem_with(symmetric=symmetric)
    fixed = repair(problem, evaluate(problem, random_point(problem, size=2.0)))
    fit = evaluate(problem, fixed.point)
    assert fixed.point.z @ fixed.point.z <= 3.0 * (1 + 1e-12)
    assert np.all(fit.scales >= fit.requirements * (1 - 1e-9) - 1e-12)
    assert_allclose(fixed.value.total, primal_value(problem, fit).total, rtol=1e-9)
    assert fixed.violation > 0


def test_a_point_without_scale_is_lifted():
    problem = problem_with()
    fixed = repair(problem, evaluate(problem, Point.zero(problem.basis)))
    assert np.isfinite(fixed.value.total)
    assert np.all(evaluate(problem, fixed.point).scales >= Y**2 * (1 - 1e-12))


def test_the_gap_is_relative_to_the_band_and_not_to_the_fit():
    problem = problem_with(mean_weight=1e6)
    value = primal_value(problem, evaluate(problem, random_point(problem)))
    assert_allclose(relative_gap(problem, value, 0.1 * value.band), 0.1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": Y[:-1]}, r"y must have shape \(30,\) to match X, got \(29,\)"),
        ({"y": Y[:, None]}, "y must have 1 dimensions, got shape"),
        ({"y": np.where(np.arange(30) == 3, np.nan, Y)}, "y holds 1 NaN or infinite values"),
        ({"X": np.where(np.arange(30)[:, None] == 3, np.inf, X)}, "X holds 1 NaN or infinite"),
        ({"X": np.zeros((30, 2, 2))}, "X must have 2 dimensions, got shape"),
        ({"X": np.zeros((30, 0))}, "X must have shape"),
        ({"X": np.zeros((0, 1)), "y": np.zeros(0)}, "no rows"),
        ({"mean_bound": 0.0}, "mean_bound must be finite and > 0, got 0.0"),
        ({"mean_bound": -1.0}, "mean_bound must be finite and > 0"),
        ({"mean_bound": ...}, "mean_kernel needs mean_bound"),
        ({"mean_kernel": ...}, "mean_bound needs mean_kernel"),
        ({"mean": np.zeros(30)}, "not both"),
        ({"ridge_penalty": -1.0}, "ridge_penalty must be finite and >= 0, got -1.0; .* SDP"),
        ({"trace_penalty": -1.0}, "trace_penalty must be finite and >= 0, got -1.0"),
        ({"mean_weight": np.nan}, "mean_weight must be finite and >= 0, got nan"),
        ({"width_weight": -0.1}, "width_weight must be finite and >= 0"),
        ({"training_coverage": 0.0}, r"training_coverage must be in \(0, 1\], got 0.0"),
        ({"training_coverage": 1.1}, r"training_coverage must be in \(0, 1\], got 1.1"),
        ({"training_coverage": 0.9, "width_weight": 0.0}, "soft band.* needs width_weight > 0"),
        ({"scale_kernel": Gaussian((1.0, 2.0))}, "lengthscale has 2 entries but X has 1 columns"),
        ({"scale_kernel": "rbf"}, "scale_kernel must be a Kernel or a pair"),
        ({"scale_kernel": [Gaussian(1.0)] * 3}, "scale_kernel must be a Kernel or a pair"),
        ({"scale_kernel": [Gaussian(1.0)] * 2, "symmetric": True}, "pass symmetric=False"),
        ({"max_rank": 0}, "max_rank must be at least 1 and whole, got 0"),
        ({"max_rank": 2.5}, "max_rank must be at least 1 and whole, got 2.5"),
        ({"width_weight": None}, "width_weight must be finite and >= 0, got None"),
        ({"trace_penalty": 1e300}, r"trace_penalty must be finite and >= 0, got 1e\+300"),
        ({"scale_kernel": None}, "scale_kernel must be a Kernel or a pair"),
        ({"scale_kernel": Gaussian}, "scale_kernel must be a Kernel or a pair"),
        ({"mean_kernel": 0.3}, "mean_kernel must be a Kernel, got 0.3"),
        ({"y": Y + 1j}, "y holds masked or complex values"),
        ({"y": np.ma.masked_less(Y, 0)}, "y holds masked or complex values"),
        ({"X": [["a"]] * 30}, "X must be an array of real numbers"),
        ({"X": csr_array(X)}, "X is sparse: pass a dense array"),
        ({"y": 1e150 * Y}, "y .* is of size .*: rescale it"),
        ({"feature_tol": 0.0}, r"feature_tol must be in \(0, 1\), got 0.0"),
        ({"landmarks": np.zeros((3, 2))}, r"landmarks must have shape \(r, 1\)"),
        ({"landmarks": np.array([[np.nan]])}, "landmarks holds 1 NaN"),
    ],
)
def test_an_impossible_problem_is_refused_in_one_sentence(changes, message):
    with pytest.raises(ValueError, match=message) as caught:
        problem_with(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mean", [np.zeros(29), np.full(30, np.nan), lambda X: X])
def test_a_bad_given_mean_is_refused(mean):
    with pytest.raises(ValueError, match="mean"):
        BandProblem.from_data(X, Y, scale_kernel=Gaussian(0.4), mean=mean)


def test_a_given_mean_predicts_where_it_is_a_function():
    problem = BandProblem.from_data(X, Y, scale_kernel=Gaussian(0.4), mean=lambda X: X[:, 0])
    assert_allclose(Newton().solve(problem).mean([0.5, -0.5]), [0.5, -0.5])


def test_values_of_a_given_mean_do_not_predict():
    problem = BandProblem.from_data(X, Y, scale_kernel=Gaussian(0.4), mean=X[:, 0])
    with pytest.raises(ValueError, match="pass a function as"):
        Newton().solve(problem).mean([0.5])


def test_a_stated_problem_does_not_change_with_the_users_arrays():
    inputs, outputs = X.copy(), Y.copy()
    problem = problem_with(inputs, outputs)
    before = Newton().solve(problem).primal_value
    inputs += 5.0
    outputs *= 10.0
    assert Newton().solve(problem).primal_value == before
    with pytest.raises(ValueError, match="read-only"):
        problem.y[0] = 1.0


def test_solutions_survive_pickling():
    solution = Newton().solve(BandProblem.from_data(X, Y, scale_kernel=Gaussian(0.4)))
    again = pickle.loads(pickle.dumps(solution))
    assert np.array_equal(again.scale(X), solution.scale(X))
    assert np.array_equal(again.mean(X), np.zeros(30))


def test_problems_and_solutions_describe_themselves_in_one_line():
    solution = Newton().solve(problem_with(symmetric=False))
    assert repr(solution).startswith("Solution(CONVERGED, gap=")
    assert "BandProblem(n=30, d=1, two-sided, mean=Gaussian" in repr(solution)
    assert len(repr(solution)) < 300


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_predictions_at_no_number_are_refused(bad):
    solution = Newton().solve(problem_with())
    with pytest.raises(ValueError, match="X holds 1 NaN or infinite values"):
        solution.scale([0.1, bad])


def test_a_capped_rank_is_not_for_the_solvers_that_take_all_features():
    with pytest.raises(ValueError, match="SDP and Accelerated work with all n features"):
        _ = problem_with(max_rank=5).full_basis


def test_without_a_mean_the_outputs_are_residuals():
    solution = Newton().solve(BandProblem.from_data(X, Y, scale_kernel=Gaussian(0.4)))
    assert_allclose(solution.mean([0.3]), [0.0])
    assert np.all(solution.scale(X) >= np.abs(Y) * (1 - 1e-6))


def test_new_points_need_the_columns_of_the_training_rows():
    solution = Newton().solve(problem_with())
    with pytest.raises(ValueError, match=r"X must have shape \(n, 1\), got \(3, 2\)"):
        solution.scale(np.zeros((3, 2)))


@pytest.mark.parametrize("mean_weight", [0.0, 1.0])
@pytest.mark.parametrize("coverage", [1.0, 0.8])
@pytest.mark.parametrize("symmetric", [True, False])
class TestUnusualData:
    """Small or degenerate data still get the right answer."""

    @pytest.fixture(autouse=True)
    def _weights(self, mean_weight):
        self.mean_weight = mean_weight

    def solve(self, X, y, symmetric, coverage):
        problem = BandProblem.from_data(
            X,
            y,
            mean_kernel=Gaussian(0.3),
            mean_bound=10.0,
            mean_weight=self.mean_weight,
            scale_kernel=Gaussian(0.4),
            symmetric=symmetric,
            training_coverage=coverage,
        )
        solution = Newton().solve(problem)
        if symmetric or self.mean_weight:
            assert solution.status.optimal
        else:
            # Without a fit, where the mean can pass through all rows, θ and the optimum go to 0
            # together: 1e-6 of next to nothing is more than double precision holds.
            assert solution.gap < 0.01
        return problem, solution

    def covers(self, problem, solution):
        r = problem.y - solution.mean(problem.X)
        scale = solution.scale(problem.X)
        if problem.symmetric:
            return np.abs(r) <= scale + 1e-6
        return (-scale[:, 0] - 1e-6 <= r) & (r <= scale[:, 1] + 1e-6)

    def test_one_row(self, symmetric, coverage):
        problem, solution = self.solve([[0.5]], [2.0], symmetric, coverage)
        if coverage == 1:
            assert self.covers(problem, solution).all()

    def test_duplicated_rows(self, symmetric, coverage):
        problem, solution = self.solve(np.repeat(X, 3, axis=0), np.tile(Y, 3), symmetric, coverage)
        if coverage == 1:
            assert self.covers(problem, solution).all()

    def test_equal_inputs(self, symmetric, coverage):
        problem, solution = self.solve(np.zeros((30, 1)), Y, symmetric, coverage)
        if coverage == 1:
            assert self.covers(problem, solution).all()

    def test_a_constant_output(self, symmetric, coverage):
        problem, solution = self.solve(X, np.full(30, 3.0), symmetric, coverage)
        if coverage == 1:
            assert self.covers(problem, solution).all()

    def test_an_output_of_zeros(self, symmetric, coverage):
        _, solution = self.solve(X, np.zeros(30), symmetric, coverage)
        assert solution.status is Status.CONVERGED
        assert_allclose(solution.scale(X), 0.0)
        assert_allclose(solution.mean(X), 0.0)

    def test_an_output_that_the_mean_can_fit(self, symmetric, coverage):
        kernel = Gaussian(0.3)
        y = 0.5 * kernel(X, np.zeros((1, 1)))[:, 0]
        _, solution = self.solve(X, y, symmetric, coverage)
        assert np.max(solution.scale(X)) < 2e-3
