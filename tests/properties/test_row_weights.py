"""Rows with weights, compared with repeated rows and with the problem written out in CVXPY."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sosbands import SDP, Accelerated, BandProblem, Gaussian, Newton
from sosbands.datasets import case

KINDS = list(product((True, False), (True, False), (1.0, 0.8)))
KERNEL = Gaussian(0.4, offset=0.5)


def rows(n=20, seed=0):
    X, y = case(2).sample(n, random_state=seed)
    return X, y, np.random.default_rng(seed).integers(1, 4, size=n)


def stated(X, y, *, symmetric=True, joint=False, coverage=1.0, row_weights=None, b=5.0):
    mean = {"mean": lambda X: case(2).mean(X) + 0.1}
    if joint:
        mean = {
            "mean_kernel": Gaussian(0.4),
            "mean_bound": 3.0,
            "mean_weight": 2.0 if symmetric else 0.0,
        }
    return BandProblem.from_data(
        X,
        y,
        scale_kernel=KERNEL,
        width_weight=b,
        trace_penalty=0.3,
        ridge_penalty=0.5,
        training_coverage=coverage,
        symmetric=symmetric,
        row_weights=row_weights,
        **mean,
    )


def assert_same_band(one, other, X, rtol=1e-5):
    assert one.status.optimal
    assert other.status.optimal
    assert_allclose(one.primal_value, other.primal_value, rtol=rtol)
    assert_allclose(one.dual_value, other.dual_value, rtol=rtol)
    assert_allclose(one.scale(X), other.scale(X), atol=3e-3)
    assert_allclose(one.mean(X), other.mean(X), atol=3e-3)


@pytest.mark.parametrize(("symmetric", "joint", "coverage"), KINDS)
def test_a_row_of_weight_three_counts_as_three_rows(symmetric, joint, coverage):
    X, y, w = rows()
    kind = {"symmetric": symmetric, "joint": joint, "coverage": coverage}
    weighted = Newton(tol=1e-8).solve(stated(X, y, row_weights=w, **kind))
    repeated = Newton(tol=1e-8).solve(stated(np.repeat(X, w, axis=0), np.repeat(y, w), **kind))
    assert_same_band(weighted, repeated, X)


def test_many_weighted_rows_count_as_repeated_ones():
    X, y, w = rows(n=600)
    for symmetric, coverage in ((True, 0.8), (False, 0.8), (True, 1.0)):
        kind = {"symmetric": symmetric, "coverage": coverage}
        weighted = Newton().solve(stated(X, y, row_weights=w, **kind))
        repeated = Newton().solve(stated(np.repeat(X, w, axis=0), np.repeat(y, w), **kind))
        assert_same_band(weighted, repeated, X)


@pytest.mark.parametrize(("symmetric", "joint", "coverage"), KINDS)
def test_every_solver_finds_the_same_weighted_band(symmetric, joint, coverage):
    X, y, _ = rows(n=14)
    w = np.random.default_rng(1).uniform(0.2, 5.0, size=14)
    kind = {"symmetric": symmetric, "joint": joint, "coverage": coverage}
    problem = stated(X, y, row_weights=w, **kind)
    newton = Newton(tol=1e-7).solve(problem)
    assert_allclose(SDP().solve(problem).primal_value, newton.primal_value, rtol=1e-5)
    if symmetric or not joint:  # where its steps do not diverge
        accelerated = Accelerated(tol=1e-2, max_iter=2000).solve(problem)
        assert_allclose(accelerated.primal_value, newton.primal_value, rtol=0.03)


@pytest.mark.parametrize(("symmetric", "coverage"), [(True, 1.0), (True, 0.8), (False, 0.8)])
def test_the_weighted_optimum_is_that_of_the_problem_written_out(symmetric, coverage):
    import cvxpy as cp  # slow to import

    X, y, _ = rows(n=12)
    w = np.random.default_rng(1).uniform(0.2, 5.0, size=12)
    problem = stated(X, y, symmetric=symmetric, coverage=coverage, row_weights=w)
    shares, r = w / w.sum(), y - case(2).mean(X) - 0.1
    V = np.linalg.cholesky(KERNEL(X, X) + 1e-11 * np.eye(12))
    objective, constraints = 0, []
    for required in [r**2] if symmetric else [-r, r]:
        A = cp.Variable((12, 12), PSD=True)
        f = cp.sum(cp.multiply(V @ A, V), axis=1)
        objective += 5.0 * shares @ f + 0.3 * cp.trace(A)
        objective += 0.5 * cp.sum_squares(cp.vec(A, order="F"))
        if coverage == 1.0:
            constraints.append(f >= required)
        else:
            price = (1 if symmetric else 2) * 5.0 / (1 - coverage)
            objective += price * shares @ cp.pos(required - f)
    optimum = cp.Problem(cp.Minimize(objective), constraints).solve(solver="CLARABEL")
    assert_allclose(Newton(tol=1e-8).solve(problem).primal_value, optimum, rtol=1e-5)


@pytest.mark.parametrize(("symmetric", "joint", "coverage"), KINDS)
def test_a_row_of_weight_zero_is_absent(symmetric, joint, coverage):
    X, y, w = rows()
    w[::3] = 0
    kind = {"symmetric": symmetric, "joint": joint, "coverage": coverage}
    with_zeros = Newton().solve(stated(X, y, row_weights=w, **kind))
    without = Newton().solve(stated(X[w > 0], y[w > 0], row_weights=w[w > 0], **kind))
    assert with_zeros.primal_value == without.primal_value
    assert_array_equal(with_zeros.scale(X), without.scale(X))


@pytest.mark.parametrize("symmetric", [True, False])
def test_the_unit_of_the_weights_does_not_matter(symmetric):
    X, y, w = rows()
    one = Newton().solve(stated(X, y, row_weights=w, symmetric=symmetric, coverage=0.8))
    other = Newton().solve(stated(X, y, row_weights=1e-200 * w, symmetric=symmetric, coverage=0.8))
    assert_allclose(one.primal_value, other.primal_value, rtol=1e-9)


def test_a_hard_band_covers_rows_of_the_smallest_weight():
    X, y, _ = rows(n=60)
    w = np.where(np.arange(60) % 2, 1.0, 1e-12)
    solution = Newton(tol=1e-5).solve(stated(X, y, row_weights=w))
    assert solution.status.optimal
    assert np.all(solution.scale(X) >= (1 - 1e-9) * np.abs(y - case(2).mean(X) - 0.1))


def test_parts_and_variants_of_a_weighted_problem_keep_their_weights():
    X, y, w = rows(n=30)
    whole, part = stated(X, y, row_weights=w, joint=True), np.arange(0, 30, 2)
    for problem, twin in (
        (whole.subset(part), stated(X[part], y[part], row_weights=w[part], joint=True)),
        (
            whole.variant(symmetric=False, mean_weight=0.0),
            stated(X, y, row_weights=w, joint=True, symmetric=False),
        ),
    ):
        assert_same_band(Newton(tol=1e-8).solve(problem), Newton(tol=1e-8).solve(twin), X)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), r"row_weights must have shape \(20,\)"),
        (-np.ones(20), "row_weights must be ≥ 0, got -1"),
        (np.zeros(20), "row_weights is zero for every row"),
        (np.full(20, np.nan), "row_weights holds 20 NaN"),
    ],
)
def test_weights_that_are_none_are_refused(weights, message):
    X, y, _ = rows()
    with pytest.raises(ValueError, match=message):
        stated(X, y, row_weights=weights)


def test_a_fit_of_two_sides_takes_no_weights():
    X, y, w = rows()
    with pytest.raises(ValueError, match="need a symmetric band"):
        stated(X, y, row_weights=w, joint=True).variant(symmetric=False)
