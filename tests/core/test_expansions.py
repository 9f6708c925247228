import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sosbands import BandProblem, Gaussian, Matern, Newton
from sosbands.core import expansions
from sosbands.core.expansions import BandFunctions, KernelExpansion, kernel_blocks


def points(n, d=2, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, d))


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Matern(0.7), Gaussian((0.5, 2.0), offset=1.0)])
def test_an_expansion_in_blocks_equals_the_loop_over_rows(kernel, monkeypatch):
    monkeypatch.setattr(expansions, "_BLOCK_ENTRIES", 64 * 7)
    X, P, rng = points(200), points(7, seed=1), np.random.default_rng(2)
    w, W = rng.standard_normal(7), rng.standard_normal((7, 3))
    K = np.array([[kernel(x[None], p[None])[0, 0] for p in P] for x in X])
    assert_allclose(KernelExpansion(kernel, P, w).sums(X), K @ w, atol=1e-12)
    squares = [float(np.sum((W.T @ row) ** 2)) for row in K]
    assert_allclose(KernelExpansion(kernel, P, W).squares(X), squares, atol=1e-12)


@pytest.mark.parametrize(("n", "landmarks"), [(0, 3), (1, 3), (1000, 3), (1000, 10**6)])
def test_blocks_cover_all_rows_in_order(n, landmarks):
    covered = [i for block in kernel_blocks(n, landmarks) for i in range(n)[block]]
    assert covered == list(range(n))


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_scale_is_the_root_of_a_sum_of_squares_or_two_of_them(symmetric):
    P, rng = points(5, seed=1), np.random.default_rng(2)
    sides = tuple(
        KernelExpansion(Gaussian(0.5), P, rng.standard_normal((5, 2)))
        for _ in range(1 if symmetric else 2)
    )
    functions = BandFunctions((sides,), None)
    X = points(30)
    assert functions.symmetric is symmetric
    values = [side.squares(X) for side in sides]
    expected = np.sqrt(values[0]) if symmetric else np.transpose(values)
    assert_array_equal(functions.scale(X), expected)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("joint", [True, False])
def test_the_functions_of_a_solution_are_its_mean_and_scale_without_its_rows(symmetric, joint):
    X, rng = points(60), np.random.default_rng(3)
    y = X[:, 0] + 0.3 * rng.standard_normal(60)
    mean = {"mean_kernel": Gaussian(0.5), "mean_bound": 5.0} if joint else {"mean": np.zeros(60)}
    problem = BandProblem.from_data(
        X, y, scale_kernel=Gaussian(0.7), width_weight=10.0, symmetric=symmetric, **mean
    )
    solution = Newton(tol=1e-6).solve(problem)
    functions, new = solution.functions, points(20, seed=4)
    assert_array_equal(functions.scale(new), solution.scale(new))
    assert (functions.mean is not None) is joint
    if joint:
        assert_array_equal(functions.mean.sums(new), solution.mean(new))
    for part in (*functions.levels[0], *([functions.mean] if joint else [])):
        assert {type(value).__name__ for value in vars(part).values()} == {"Gaussian", "ndarray"}
        assert len(part.landmarks) <= len(X)
        assert not np.isin(y, part.weights).any()


def test_widths_add_up_from_level_to_level():
    rng, X = np.random.default_rng(2), points(30)
    landmarks = [points(5, seed=1), points(4, seed=5)]
    levels = tuple(
        tuple(KernelExpansion(Gaussian(0.5), P, rng.standard_normal((len(P), 2))) for _ in range(2))
        for P in (landmarks[0], landmarks[0], landmarks[1])
    )
    widths = BandFunctions(levels, None).widths(X)
    assert widths.shape == (30, 3, 2)
    for side in range(2):
        total = np.zeros(30)
        for k, level in enumerate(levels):
            total = total + level[side].squares(X)
            assert_allclose(widths[:, k, side], total, rtol=1e-12)
    shared = BandFunctions(levels[:2], None).widths(X)  # one kernel block for all
    assert_allclose(shared, widths[:, :2], rtol=1e-12)
    assert_array_equal(BandFunctions(levels, None).scale(X), widths[:, -1])


@pytest.mark.parametrize("own_landmarks", [False, True])
def test_the_centre_and_the_widths_together_are_those_of_each_alone(own_landmarks):
    rng, X, P = np.random.default_rng(2), points(30), points(5, seed=1)
    pair = tuple(KernelExpansion(Gaussian(0.5), P, rng.standard_normal((5, 2))) for _ in range(2))
    places = points(6, seed=3) if own_landmarks else P
    mean = KernelExpansion(Gaussian(0.5), places, rng.standard_normal(len(places)))
    functions = BandFunctions((pair, pair), mean)
    centre, spread = functions.centre_and_spread(X)
    assert_allclose(centre, mean.sums(X), rtol=1e-12)
    assert_allclose(spread, functions.widths(X), rtol=1e-12)
    nothing, alone = BandFunctions((pair,), None).centre_and_spread(X)
    assert nothing is None
    assert_array_equal(alone, BandFunctions((pair,), None).widths(X))
