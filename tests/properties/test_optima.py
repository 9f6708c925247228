"""The optimum, checked against an independent solver on small problems of every kind."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sosbands import SDP, Accelerated, BandProblem, Gaussian, Linear, Matern, Newton, Status
from sosbands.datasets import case

TAUS = (1.0, 0.95, 0.8)
KINDS = list(product((True, False), (True, False), TAUS))
# a, b, λ1, λ2, each with the scale kernel that it is tried on
WEIGHTS = [
    (0.0, 10.0, 1.0, 1.0, Gaussian(0.4)),
    (1.0, 100.0, 0.1, 10.0, Gaussian(0.5, offset=1.0)),
    (10.0, 1.0, 1e-2, 0.1, Matern(0.7, nu=2.5)),
    (0.1, 5.0, 3.0, 0.01, Linear(1.0, offset=1.0)),
]


def small_problem(number, *, n, symmetric, joint, coverage, weights, seed=0):
    X, y = case(number).sample(n, random_state=seed)
    a, b, trace, ridge, kernel = weights
    mean = (
        {"mean_kernel": Gaussian(0.4), "mean_bound": 3.0}
        if joint
        else {"mean": case(number).mean(X) + 0.1}
    )
    return BandProblem.from_data(
        X,
        y,
        scale_kernel=kernel,
        mean_weight=a,
        width_weight=b,
        trace_penalty=trace,
        ridge_penalty=ridge,
        training_coverage=coverage,
        symmetric=symmetric,
        **mean,
    )


@pytest.mark.parametrize("weights", WEIGHTS, ids=lambda w: f"a{w[0]:g}-b{w[1]:g}-{w[4]!r}")
@pytest.mark.parametrize(("symmetric", "joint", "coverage"), KINDS)
def test_newton_reaches_the_optimum_that_clarabel_finds(symmetric, joint, coverage, weights):
    number = 1 + KINDS.index((symmetric, joint, coverage)) % 5
    problem = small_problem(
        number, n=22, symmetric=symmetric, joint=joint, coverage=coverage, weights=weights
    )
    newton, clarabel = Newton(tol=1e-7).solve(problem), SDP().solve(problem)
    assert newton.status.optimal
    assert newton.gap <= 1e-7
    assert_allclose(newton.primal_value, clarabel.primal_value, rtol=1e-5)
    assert_allclose(newton.dual_value, clarabel.primal_value, rtol=1e-5)


@pytest.mark.parametrize(
    ("number", "symmetric", "coverage"), [(1, True, 1.0), (2, True, 0.8), (5, False, 1.0)]
)
def test_newton_reaches_the_optimum_at_n_60(number, symmetric, coverage):
    problem = small_problem(
        number, n=60, symmetric=symmetric, joint=True, coverage=coverage, weights=WEIGHTS[0]
    )
    newton, clarabel = Newton(tol=1e-7).solve(problem), SDP().solve(problem)
    assert_allclose(newton.primal_value, clarabel.primal_value, rtol=1e-5)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_papers_algorithm_and_newton_find_the_same_band(seed):
    X, y = case(1).sample(100, random_state=seed)
    problem = BandProblem.from_data(
        X,
        y,
        mean_kernel=Gaussian(0.15),
        mean_bound=7.0,
        scale_kernel=Gaussian(0.4),
        width_weight=0.0,
    )
    ours = Newton(tol=1e-9).solve(problem)
    paper = Accelerated(tol=1e-6).solve(problem)
    assert paper.status is Status.CONVERGED
    grid = np.linspace(-1, 1, 201)[:, None]
    assert_allclose(paper.scale(grid), ours.scale(grid), atol=1e-3)
    assert_allclose(paper.mean(grid), ours.mean(grid), atol=1e-3)


def test_each_side_may_have_its_own_kernel():
    X, y = case(5).sample(25, random_state=0)
    problem = BandProblem.from_data(
        X,
        y,
        mean_kernel=Gaussian(0.4),
        mean_bound=5.0,
        mean_weight=1.0,
        scale_kernel=(Gaussian(0.3), Matern(1.0, nu=1.5, offset=0.5)),
    )
    newton, clarabel = Newton(tol=1e-7).solve(problem), SDP().solve(problem)
    assert_allclose(newton.primal_value, clarabel.primal_value, rtol=1e-5)
    X_new = np.linspace(-1, 1, 9)[:, None]
    assert newton.scale(X_new).shape == (9, 2)
    assert_allclose(newton.scale(X_new), clarabel.scale(X_new), rtol=1e-2, atol=1e-2)
