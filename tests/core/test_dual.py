import numpy as np
import pytest

from sosbands.core.kernels import Gaussian
from sosbands.core.problem import BandProblem
from sosbands.datasets import case

SIDES = pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "two-sided"])


@SIDES
@pytest.mark.parametrize("joint", [True, False], ids=["joint", "given"])
def test_the_dual_value_is_below_the_lagrangian_at_any_point(dual_value, symmetric, joint):
    X, y = case(1).sample(25, random_state=0)
    mean = {"mean_kernel": Gaussian(0.3), "mean_bound": 2.0} if joint else {"mean": np.sin(X[:, 0])}
    problem = BandProblem.from_data(
        X, y, scale_kernel=Gaussian(0.4), mean_weight=0.5, symmetric=symmetric, **mean
    )
    rng = np.random.default_rng(3)
    multipliers, theta = rng.uniform(0, 0.2, (problem.sides, 25)), 0.3 if joint else 0.0
    lower = dual_value(problem, problem.basis, multipliers, theta)
    for _ in range(20):
        r = problem.targets
        ball = 0.0
        if joint:
            z = 0.3 * rng.standard_normal(problem.basis.mean.rows.shape[1])
            r, ball = r - problem.basis.mean.rows @ z, theta * (z @ z - 2.0)
        needed = [r**2] if symmetric else [-r, r]
        total = 0.5 / 25 * (r @ r) + ball
        for part, requirement, gamma in zip(problem.basis.scales, needed, multipliers, strict=True):
            R = 0.3 * rng.standard_normal((part.rows.shape[1], 3))
            f, A = np.sum((part.rows @ R) ** 2, axis=1), R @ R.T
            total += 10.0 / 25 * f.sum() + np.trace(A) + np.sum(A**2)
            total += gamma @ (requirement - f)
        assert lower <= total
