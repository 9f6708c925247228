import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2, multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as peers
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

from sosbands.core.features import factorize
from sosbands.core.kernels import Gaussian, Matern
from sosbands.learning import gaussian_process as module
from sosbands.learning.evidence import DenseEvidence, low_rank_evidence
from sosbands.learning.gaussian_process import fit_gaussian_process


def data(n, d=1, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    y = np.sin(4 * X[:, 0]) + X[:, -1] ** 2 + noise * rng.standard_normal(n)
    return X, y - y.mean()


def shape(n, seed=5):
    v = np.random.default_rng(seed).uniform(0.3, 2.0, n)
    return v / v.mean()


FAMILIES = [Gaussian(), Matern(nu=1.5)]
every_family = pytest.mark.parametrize("family", FAMILIES, ids=["gaussian", "matern32"])
# The same of scikit-learn, with these lengthscales in these bounds.
PEERS = {FAMILIES[0]: peers.RBF, FAMILIES[1]: partial(peers.Matern, nu=1.5)}


def covariance(gp, X, v):
    return gp.kernel(X, X) + gp.nugget * np.diag(v)


@pytest.mark.parametrize("theta", [[0.4], [0.4, 0.8, 1.5]], ids=["isotropic", "one per input"])
@pytest.mark.parametrize("landmarks", [None, 12, 40])
@every_family
def test_gradients_are_those_of_finite_differences(theta, landmarks, family):
    (X, y), v = data(40, 3), shape(40)
    evidence = DenseEvidence(X, y, v, family)
    if landmarks:
        by_rows = partial(low_rank_evidence, Z=X, y=y, v=v, landmarks=X[:landmarks])
        evidence = partial(by_rows, kernel=family)
    at = np.log([*theta, 0.2])
    steps = 1e-5 * np.eye(len(at))
    slopes = [(evidence(at + step)[0] - evidence(at - step)[0]) / 2e-5 for step in steps]
    assert_allclose(evidence(at)[1], slopes, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("theta", [[0.4], [0.4, 0.8]], ids=["isotropic", "one per input"])
@pytest.mark.parametrize("landmarks", [None, 12])
@every_family
def test_the_information_is_what_projected_derivatives_of_the_covariance_say(
    theta, landmarks, family
):
    (X, y), v = data(40, 2), shape(40)
    P, evidence = X if landmarks is None else X[:landmarks], DenseEvidence(X, y, v, family)
    if landmarks:
        evidence = partial(low_rank_evidence, Z=X, y=y, v=v, landmarks=P, kernel=family)

    def cov(at):
        kernel = replace(family, lengthscale=tuple(np.exp(at[:-1]) * np.ones(2)))
        Q = kernel(X, P) @ np.linalg.solve(kernel(P, P) + 1e-8 * np.eye(len(P)), kernel(P, X))
        return (kernel(X, X) if landmarks is None else Q) + np.exp(at[-1]) * np.diag(v)

    at = np.log([*theta, 0.2])
    C, steps = cov(at), 1e-5 * np.eye(len(at))
    alpha = np.linalg.solve(C, y)
    moved = np.transpose([(cov(at + step) - cov(at - step)) @ alpha / 2e-5 for step in steps])
    paid = alpha @ moved
    inner = moved.T @ np.linalg.solve(C, moved) - np.outer(paid, paid) / (y @ alpha)
    assert_allclose(evidence(at)[2], inner / (2 * (y @ alpha) / 40), rtol=1e-4, atol=1e-6)


def test_the_value_alone_is_that_of_the_evidence():
    (X, y), v = data(30, 2), shape(30)
    at = np.log([0.5, 0.9, 0.2])
    assert DenseEvidence(X, y, v).value(at) == DenseEvidence(X, y, v)(at)[0]


def test_dense_evidence_is_a_normal_density_at_its_best_variance():
    (X, y), v = data(30, 2), shape(30)
    C = Gaussian((0.5, 0.9))(X, X) + 0.2 * np.diag(v)
    variance = y @ np.linalg.solve(C, y) / 30
    densities = [multivariate_normal(cov=c * variance * C).logpdf(y) for c in (0.9, 1.0, 1.1)]
    assert_allclose(DenseEvidence(X, y, v)(np.log([0.5, 0.9, 0.2]))[0], densities[1])
    assert densities[1] == max(densities)


def test_low_rank_evidence_subtracts_what_the_landmarks_leave_out():
    (X, y), v = data(30, 2), shape(30)
    K, P = Gaussian(0.5), X[:8]
    Q = K(X, P) @ np.linalg.solve(K(P, P), K(P, X))
    C = Q + 0.2 * np.diag(v)
    variance = y @ np.linalg.solve(C, y) / 30
    left_out = np.sum((1 - np.diag(Q)) / v) / (2 * 0.2)
    expected = multivariate_normal(cov=variance * C).logpdf(y) - left_out
    value = low_rank_evidence(np.log([0.5, 0.2]), X, y, v, P)[0]
    assert_allclose(value, expected, rtol=1e-6)
    assert value < DenseEvidence(X, y, v)(np.log([0.5, 0.2]))[0]


@pytest.mark.parametrize("exact", ["all rows", "full rank"])
def test_low_rank_evidence_is_dense_evidence_if_the_landmarks_suffice(exact):
    (X, y), v = data(150), shape(150)
    P = X if exact == "all rows" else factorize(Gaussian(0.5), X).features.landmarks
    at = np.log([0.5, 0.2])
    dense, low_rank = DenseEvidence(X, y, v)(at), low_rank_evidence(at, X, y, v, P)
    assert_allclose(low_rank[0], dense[0], rtol=1e-5)
    assert_allclose(low_rank[1], dense[1], atol=1e-3)
    assert exact == "all rows" or len(P) < 20


@pytest.mark.parametrize("noise_shape", [None, shape(25)], ids=["equal noise", "unequal noise"])
@every_family
def test_the_fit_is_that_of_dense_formulas(noise_shape, family):
    X, y = data(25, 2)
    gp = fit_gaussian_process(X, y, noise_shape=noise_shape, family=family)
    assert type(gp.kernel) is type(family)
    v = np.ones(25) if noise_shape is None else noise_shape
    C, new = covariance(gp, X, v), data(7, 2, seed=1)[0]
    alpha = np.linalg.solve(C, y)
    assert_allclose(gp.mean(new), gp.kernel(new, X) @ alpha, rtol=1e-5, atol=1e-6)
    assert_allclose(gp.squared_norm, alpha @ gp.kernel(X, X) @ alpha, rtol=1e-5)
    assert_allclose(gp.variance, y @ alpha / 25, rtol=1e-5)
    assert_allclose(gp.evidence, multivariate_normal(cov=gp.variance * C).logpdf(y), rtol=1e-6)


@pytest.mark.parametrize("noise_shape", [None, shape(20)], ids=["equal noise", "unequal noise"])
@every_family
def test_leave_one_out_means_are_those_of_fits_without_the_row(noise_shape, family):
    X, y = data(20)
    gp = fit_gaussian_process(X, y, noise_shape=noise_shape, family=family)
    C = covariance(gp, X, np.ones(20) if noise_shape is None else noise_shape)
    for i in range(20):
        rest = np.delete(np.arange(20), i)
        alpha = np.linalg.solve(C[np.ix_(rest, rest)], y[rest])
        assert_allclose(gp.leave_one_out[i], (gp.kernel(X[[i]], X[rest]) @ alpha)[0], atol=1e-5)


def test_many_blocks_condition_as_one(monkeypatch):
    X, y = data(150, 2)
    one = fit_gaussian_process(X, y, lengthscale=0.5, noise_shape=shape(150), random_state=0)
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", 1000)
    many = fit_gaussian_process(X, y, lengthscale=0.5, noise_shape=shape(150), random_state=0)
    assert_allclose(many.weights, one.weights, rtol=1e-6, atol=1e-8)
    assert_allclose(many.leave_one_out, one.leave_one_out, atol=1e-8)


def sampled(n, theta, noise, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, len(theta)))
    values, vectors = np.linalg.eigh(Gaussian(tuple(theta))(X, X))
    signal = vectors @ (np.sqrt(np.maximum(values, 0)) * rng.standard_normal(n))
    return X, signal + noise * rng.standard_normal(n)


@pytest.mark.parametrize("n", [400, 1500], ids=["dense", "low rank"])
def test_a_sampled_process_gives_back_its_parameters(n):
    X, y = sampled(n, [0.2, 0.5], 0.3, seed=1)
    gp = fit_gaussian_process(X, y, random_state=0)
    assert_allclose(gp.kernel.lengthscale, [0.2, 0.5], rtol=0.25)
    assert_allclose(np.sqrt(gp.nugget * gp.variance), 0.3, rtol=0.1)
    found, true = (
        DenseEvidence(X, y, np.ones(n))(np.log([*theta, nugget]))[0]
        for theta, nugget in ((gp.kernel.lengthscale, gp.nugget), ((0.2, 0.5), 0.09))
    )
    # Twice the difference is χ² with one degree for each of the three parameters (Wilks, 1938).
    assert 0 <= 2 * (found - true) <= chi2.ppf(0.999, 3)


def test_a_rough_dependence_on_one_input_of_several_is_found():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 4))
    y = np.sin(25 * X[:, 2]) + X[:, 0] ** 2 + 0.1 * rng.standard_normal(300)
    gp = fit_gaussian_process(X, y - y.mean(), random_state=0)
    assert np.argmin(gp.kernel.lengthscale) == 2
    assert np.std(y - y.mean() - gp.leave_one_out) < 0.15


def test_too_many_features_for_landmarks_leave_the_search_dense():
    X, y = sampled(850, [0.25] * 3, 0.1, seed=2)
    gp = fit_gaussian_process(X, y, isotropic=True, random_state=0)
    assert_allclose(gp.kernel.lengthscale, 0.25, rtol=0.2)
    assert_allclose(np.sqrt(gp.nugget * gp.variance), 0.1, rtol=0.25)


@pytest.mark.parametrize(("d", "isotropic"), [(1, True), (3, True), (3, False)])
@pytest.mark.parametrize("seed", [0, 1])
@every_family
@pytest.mark.filterwarnings("ignore:The optimal value found:UserWarning")
def test_scikit_learn_finds_no_better_likelihood(d, isotropic, seed, family):
    X, y = data(60, d, seed)
    gp = fit_gaussian_process(X, y, isotropic=isotropic, family=family)
    scales = 1.0 if isotropic else np.ones(d)
    signal = ConstantKernel(1.0, (1e-3, 1e4)) * PEERS[family](scales, (2e-2, 60))
    kernel = signal + WhiteKernel(0.1)
    peer = GaussianProcessRegressor(kernel, n_restarts_optimizer=3, random_state=seed).fit(X, y)
    # A search ends where a step promises less than 0.01; several such steps may be left.
    assert gp.evidence >= peer.log_marginal_likelihood_value_ - 4e-2


def test_a_known_lengthscale_leaves_the_nugget_to_be_found():
    X, y = data(80, 2)
    gp = fit_gaussian_process(X, y, lengthscale=[0.4, 0.9])
    assert gp.kernel == Gaussian((0.4, 0.9))
    assert fit_gaussian_process(X, y, lengthscale=0.4).kernel == Gaussian(0.4)
    nuggets = gp.nugget * np.linspace(0.5, 2.0, 31)
    values = [DenseEvidence(X, y, np.ones(80))(np.log([0.4, 0.9, nugget]))[0] for nugget in nuggets]
    assert gp.evidence >= max(values) - 1e-4


@pytest.mark.parametrize("scale", [1e-8, 1e8, 1e150])
def test_units_of_y_change_units_alone(scale):
    X, y = data(60, 2)
    gp, scaled = fit_gaussian_process(X, y), fit_gaussian_process(X, scale * y)
    assert_allclose(scaled.kernel.lengthscale, gp.kernel.lengthscale, rtol=1e-3)
    assert_allclose(scaled.nugget, gp.nugget, rtol=1e-3)
    assert_allclose(scaled.variance / scale**2, gp.variance, rtol=1e-3)
    assert_allclose(scaled.evidence, gp.evidence - 60 * np.log(scale), rtol=1e-6)
    assert_allclose(scaled.mean(X) / scale, gp.mean(X), atol=1e-3)
    assert_allclose(scaled.leave_one_out / scale, gp.leave_one_out, atol=1e-3)


def test_units_of_inputs_change_lengthscales_alone():
    (X, y), units = data(60, 2), np.array([1e6, 1e-6])
    gp, scaled = fit_gaussian_process(X, y), fit_gaussian_process(X * units, y)
    assert_allclose(scaled.kernel.lengthscale / units, gp.kernel.lengthscale, rtol=1e-3)
    assert_allclose(scaled.mean(X * units), gp.mean(X), atol=1e-3)
    one, other = (fit_gaussian_process(c * X, y, isotropic=True) for c in (1.0, 1e6))
    assert_allclose(other.kernel.lengthscale, 1e6 * one.kernel.lengthscale, rtol=1e-3)


def test_a_zero_response_has_a_zero_mean():
    gp = fit_gaussian_process(data(30, 2)[0], np.zeros(30))
    assert gp.variance == gp.squared_norm == 0
    assert not gp.mean(data(5, 2)[0]).any()
    assert np.isfinite(gp.nugget)
    assert gp.evidence == np.inf


def test_white_noise_has_a_small_mean():
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1, 1, (400, 2)), rng.standard_normal(400)
    gp = fit_gaussian_process(X, y)
    assert np.std(gp.mean(X)) < 0.2
    assert np.std(y - gp.leave_one_out) < 1.02 * np.std(y)


def test_a_kernel_that_sees_no_neighbours_does_not_follow_noise():
    X, y = data(40)
    gp = fit_gaussian_process(X, y, lengthscale=1e-6)
    assert gp.nugget >= 1e5
    assert np.abs(gp.mean(X)).max() < 1e-4


@pytest.mark.parametrize(
    "X",
    [
        *(np.random.default_rng(0).uniform(-1, 1, (n, 2)) for n in (1, 2, 3, 10)),
        np.full((20, 2), 0.1),
        np.column_stack([data(30)[0], np.full(30, 0.1)]),
        np.repeat(data(15)[0], 3, axis=0),
        np.random.default_rng(0).standard_normal((40, 50)),
        1e4 + data(30)[0],
    ],
    ids=["1", "2", "3", "10", "constant", "one constant", "repeated", "50 inputs", "far away"],
)
@pytest.mark.parametrize("noise", [0.0, 1.0], ids=["a function", "noise"])
@pytest.mark.parametrize("isotropic", [False, True])
def test_unusual_inputs_give_finite_fits(X, noise, isotropic):
    y = np.sin(X).sum(axis=1) + noise * np.random.default_rng(1).standard_normal(len(X))
    gp = fit_gaussian_process(X, y, isotropic=isotropic)
    assert np.all(np.isfinite([gp.nugget, gp.variance, gp.evidence, gp.squared_norm]))
    assert np.all(np.isfinite(gp.leave_one_out))
    assert np.all(np.abs(gp.mean(X)) <= 3 * np.abs(y).max())


def test_a_smooth_function_without_noise_is_interpolated():
    X = data(60)[0]
    y = np.sin(4 * X[:, 0])
    gp = fit_gaussian_process(X, y)
    assert gp.nugget == pytest.approx(1e-5)
    assert_allclose(gp.mean(X), y, atol=1e-3)


def test_almost_exact_rows_among_noisy_ones_are_met():
    X, y = data(200)
    v = np.where(np.arange(200) % 20, 1.0, 1e-12)
    y[::20] = np.sin(4 * X[::20, 0])
    gp = fit_gaussian_process(X, y, noise_shape=v)
    assert_allclose(gp.mean(X[::20]), y[::20], atol=1e-2)


def test_landmarks_from_a_sample_of_rows_fit_as_well(monkeypatch):
    X, y = data(1000, 2)
    every = fit_gaussian_process(X, y, lengthscale=0.5, random_state=0)
    monkeypatch.setattr(module, "_PIVOT_ROWS", 400)
    some = fit_gaussian_process(X, y, lengthscale=0.5, random_state=0)
    assert_allclose(some.mean(X), every.mean(X), atol=1e-4)
    assert_allclose(some.leave_one_out, every.leave_one_out, atol=1e-3)


def test_the_rank_can_be_capped():
    X, y = data(100, 3)
    assert fit_gaussian_process(X, y, max_rank=20).features.rank == 20


def test_a_seed_decides_the_sample_of_rows():
    X, y = data(600)
    first, second = (fit_gaussian_process(X, y, random_state=3) for _ in range(2))
    assert first.kernel == second.kernel
    assert first.nugget == second.nugget


def test_a_hundred_thousand_rows_take_seconds():
    X, y = data(100_000, 3)
    start = time.perf_counter()
    gp = fit_gaussian_process(X, y, random_state=0)
    assert time.perf_counter() - start < 30  # a few on an idle core; never minutes
    assert_allclose(np.std(y - gp.leave_one_out), 0.3, rtol=0.02)
    assert_allclose(gp.nugget * gp.variance, 0.09, rtol=0.05)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros(5)}, "must have shapes"),
        ({"y": np.zeros(4)}, "must have shapes"),
        ({"noise_shape": np.ones(4)}, "must have shapes"),
        ({"y": np.full(5, np.nan)}, "must be finite"),
        ({"y": np.full(5, 1e300)}, "y is of size 1e.300: rescale it"),
        ({"X": np.full((5, 1), -1e300)}, "X is of size 1e.300: rescale it"),
        ({"noise_shape": np.zeros(5)}, "noise_shape must be positive"),
        ({"lengthscale": -1.0}, "lengthscale must be a positive number"),
        ({"lengthscale": [1.0, 1.0, 1.0]}, "lengthscale has 3 entries but X has 2 columns"),
        ({"n_starts": 0}, "n_starts must be at least 1, got 0"),
        ({"max_rank": 0}, "max_rank must be at least 1, got 0"),
    ],
)
def test_impossible_arguments_are_refused(change, message):
    arguments = {"X": data(5, 2)[0], "y": data(5, 2)[1]} | change
    with pytest.raises(ValueError, match=message):
        fit_gaussian_process(arguments.pop("X"), arguments.pop("y"), **arguments)


def test_a_search_by_few_rows_is_one_by_those_rows():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=400)
    few = fit_gaussian_process(X, y, random_state=0, search_rows=200)
    changed = y.copy()
    changed[np.random.default_rng(0).permutation(400)[200:]] *= 0.5
    other = fit_gaussian_process(X, changed, random_state=0, search_rows=200)
    assert_allclose(other.kernel.lengthscale, few.kernel.lengthscale, rtol=1e-6)
    assert fit_gaussian_process(X, y, random_state=0, search_rows=400).nugget == pytest.approx(
        fit_gaussian_process(X, y, random_state=0).nugget, rel=1e-12
    )
