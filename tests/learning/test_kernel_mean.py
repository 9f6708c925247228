from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from sosbands import KernelMean
from sosbands.learning.gaussian_process import fit_gaussian_process
from sosbands.learning.standardize import Affine


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, 5 + 3 * X[:, 0] + rng.normal(size=n)


@parametrize_with_checks(
    [
        KernelMean(),
        KernelMean(lengthscale=1.0),
        KernelMean(kernel="matern32"),
        KernelMean(isotropic=True),
        KernelMean(standardize=False),
    ],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "weights say how noisy a row is: the most "
        "likely noise of rows that are repeated, with equal outputs, is smaller"
    },
)
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


@pytest.mark.parametrize("standardize", [True, False])
def test_the_mean_is_that_of_the_process_in_the_units_of_the_output(standardize):
    X, y = rows()
    model = KernelMean(lengthscale=0.8, standardize=standardize, random_state=0).fit(X, y)
    inputs, outputs = (Affine.of(v, active=standardize) for v in (X, y))
    process = fit_gaussian_process(inputs(X), outputs(y), lengthscale=0.8, random_state=0)
    assert model.process_.kernel.lengthscale == 0.8
    assert_allclose(model.predict(X), outputs.undo(process.mean(inputs(X))))
    assert_allclose(model.held_out(X, y, None), outputs.undo(process.leave_one_out))


@pytest.mark.parametrize(
    ("name", "peer"), [("gaussian", RBF), ("matern32", partial(Matern, nu=1.5))]
)
def test_the_mean_is_that_of_scikit_learn_with_the_same_kernel_and_noise(name, peer):
    X, y = rows()
    model = KernelMean(kernel=name, standardize=False, random_state=0).fit(X, y)
    found = model.process_
    kernel = ConstantKernel(found.variance) * peer(found.kernel.lengthscale) + WhiteKernel(
        found.nugget * found.variance
    )
    twin = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)
    new, _ = rows(15, seed=1)
    assert_allclose(model.predict(new), twin.predict(new), rtol=1e-5)


def test_lengthscales_are_one_for_each_input_or_common_or_given():
    X, y = rows()
    for model, size in (
        (KernelMean(), 2),
        (KernelMean(isotropic=True), 1),
        (KernelMean(lengthscale=0.5), 1),
        (KernelMean(lengthscale=[0.5, 0.7]), 2),
    ):
        assert np.size(model.fit(X, y).process_.kernel.lengthscale) == size
    by_array = KernelMean(lengthscale=np.array([0.5, 0.7])).fit(X, y)
    assert_array_equal(by_array.predict(X), model.predict(X))


def test_predictions_without_a_row_are_those_of_a_fit_without_it():
    X, y = rows(25)
    model = KernelMean(lengthscale=0.8, standardize=False, random_state=0).fit(X, y)
    nugget, theta = model.process_.nugget, Affine.of(X, active=False)(X)
    K = model.process_.kernel(theta, theta)
    for i in (0, 7, 24):
        rest = np.delete(np.arange(25), i)
        weights = np.linalg.solve(K[np.ix_(rest, rest)] + nugget * np.eye(24), y[rest])
        assert model.held_out(X, y, None)[i] == pytest.approx(K[i, rest] @ weights, rel=1e-6)


@pytest.mark.parametrize("kernel", ["gaussian", "matern32"])
def test_predictions_without_a_fold_are_those_of_fits_without_it(kernel):
    X, y = rows()
    folds = list(KFold(4).split(X))
    mean = KernelMean(kernel=kernel, lengthscale=0.8, standardize=False, random_state=0)
    model = clone(mean).fit(X, y)
    held_out = model.held_out(X, y, folds)
    for train, test in folds:
        refit = clone(mean)
        assert_allclose(held_out[test], refit.fit(X[train], y[train]).predict(X[test]))


def test_predictions_without_a_fold_do_not_see_it():
    X, y = np.linspace(-1, 1, 40)[:, None], np.sin(3 * np.linspace(-1, 1, 40))
    parts = [np.arange(20), np.arange(20, 40)]
    folds = [(parts[1], parts[0]), (parts[0], parts[1])]
    changed = y.copy()
    changed[:20] += 5.0
    before, after = (
        KernelMean(lengthscale=0.5, standardize=False, random_state=0)
        .fit(X, outputs)
        .held_out(X, outputs, folds)
        for outputs in (y, changed)
    )
    assert_allclose(after[:20], before[:20])
    assert not np.allclose(after[20:], before[20:])


def test_leave_one_out_residuals_are_not_smaller_than_those_of_the_fit():
    X, y = rows()
    model = KernelMean(lengthscale=0.8).fit(X, y)
    assert np.all(np.abs(y - model.held_out(X, y, None)) >= np.abs(y - model.predict(X)))


def test_a_constant_column_changes_nothing():
    X, y = rows()
    wide = np.column_stack([X, np.full(40, 0.1)])
    plain = KernelMean(random_state=0).fit(X, y)
    assert_allclose(KernelMean(random_state=0).fit(wide, y).predict(wide), plain.predict(X))
    given = KernelMean(lengthscale=[0.5, 0.7, 99.0]).fit(wide, y)
    assert given.process_.kernel.lengthscale == (0.5, 0.7)


@pytest.mark.parametrize("seed", [2, 46])
def test_inputs_that_few_rows_cannot_tell_apart_may_come_in_any_order(seed):
    """Rare categories: the rows that rank the starts of the search know nothing of most of them."""
    rng = np.random.default_rng(seed)
    rare, X = rng.random((300, 12)) < 0.012, rng.normal(size=(300, 2))
    wave = np.sin(3 * X[:, 0] * (1 + rare[:, 0]))
    y = 3 * rare @ rng.normal(size=12) + 0.5 * wave + 0.5 * rng.normal(size=300)
    X, order = np.column_stack([rare, X]), np.random.default_rng(seed).permutation(14)
    expected = KernelMean(random_state=0).fit(X, y).predict(X)
    mean = KernelMean(random_state=0).fit(X[:, order], y)
    assert_allclose(mean.predict(X[:, order]), expected, atol=1e-9)


def test_names_of_columns_are_kept_and_checked():
    X, y = rows()
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = KernelMean().fit(frame, y)
    assert_array_equal(model.feature_names_in_, ["a", "b"])
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(frame[["b", "a"]])


def test_a_grid_search_reaches_the_lengthscale():
    X, y = rows(80)
    search = GridSearchCV(KernelMean(), {"lengthscale": [0.01, 2.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"lengthscale": 2.0}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "matern"}, "kernel must be one of .*matern32.* got 'matern'"),
        ({"lengthscale": "hsic"}, "lengthscale must be one of .*likelihood.* got 'hsic'"),
        ({"lengthscale": 0.0}, "lengthscale must be .*a positive number .*got 0.0"),
        ({"lengthscale": [1.0, 2.0, 3.0]}, "lengthscale has 3 entries for 2 inputs"),
        ({"isotropic": "yes"}, "isotropic must be one of True, False, got 'yes'"),
        ({"standardize": 1}, "standardize must be one of True, False, got 1"),
    ],
)
def test_parameters_that_mean_nothing_are_refused_in_one_sentence(parameters, message):
    with pytest.raises(ValueError, match=message) as caught:
        KernelMean(**parameters).fit(*rows())
    assert "\n" not in str(caught.value)


def test_weights_are_the_inverse_of_the_variance_of_the_noise():
    X, y = rows()
    w = np.where(np.arange(40) % 4, np.linspace(0.5, 2.0, 40), 0.0)
    model = KernelMean(lengthscale=0.7, standardize=False).fit(X, y, sample_weight=w)
    kept = w > 0
    twin = fit_gaussian_process(X[kept], y[kept], lengthscale=0.7, noise_shape=1 / w[kept])
    assert_allclose(model.predict(X), twin.mean(X), rtol=1e-9)
    folds = [(np.arange(0, 20), np.arange(20, 30))]
    held_out = model.held_out(X[kept], y[kept], folds, w[kept])
    part = fit_gaussian_process(
        X[kept][:20], y[kept][:20], lengthscale=0.7, noise_shape=1 / w[kept][:20]
    )
    assert_allclose(held_out[20:], part.mean(X[kept][20:]), rtol=1e-6)


@pytest.mark.parametrize("ones", [0, 1, 2])
@pytest.mark.parametrize("n", [11, 15, 60, 200])
def test_inputs_that_hardly_vary_give_a_constant_mean(n, ones):
    """Among the rows that a search looks at first they may not vary at all."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = np.zeros((n, 1))
        X[rng.permutation(n)[:ones]] = 1.0
        y = 0.1 * rng.poisson(3, n)
        mean = KernelMean(random_state=seed).fit(X, y).predict(X[X[:, 0] == 0])
        assert np.ptp(mean) == 0
        assert abs(mean[0] - y[X[:, 0] == 0].mean()) < 0.5 * y.std()


@pytest.mark.parametrize("seed", range(5))
def test_of_a_single_input_a_straight_line_is_as_likely_as_any_curve(seed):
    """A prior of its lengthscale would bend it; that of several inputs tells them apart."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((100, 1))
    y = X[:, 0] + 0.5 * rng.standard_normal(100)
    free, usual = (KernelMean(spread=spread, random_state=0).fit(X, y) for spread in (None, 1.0))
    assert usual.column_lengthscales[0] > 2  # twice the mean a priori
    assert_allclose(usual.predict(X), free.predict(X), atol=0.05)
