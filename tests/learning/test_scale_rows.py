from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold

from sosbands import Gaussian, KernelBand, Matern
from sosbands.learning.gaussian_process import fit_gaussian_process
from sosbands.learning.likelihood_search import plain
from sosbands.learning.plan import Rules
from sosbands.learning.scale_rows import ScaleRows
from sosbands.learning.standardize import Affine


def rows(
    n=60, columns=2, *, process=None, n_inputs=None, weights=None, own_mean=True, **parameters
):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, columns))
    return ScaleRows(
        Z=Z,
        residuals=(0.2 + np.abs(Z[:, 0])) * rng.normal(size=n),
        outputs=rng.normal(size=n),
        folds=list(KFold(3).split(Z)),
        rules=Rules(KernelBand(**parameters), own_mean=own_mean),
        process=process,
        n_inputs=columns if n_inputs is None else n_inputs,
        lengthscale=parameters.get("lengthscale", "hsic"),
        weights=np.ones(columns) if weights is None else weights,
    )


def test_some_rows_keep_what_the_folds_have_of_them():
    whole = rows()
    chosen = np.arange(0, 60, 3)
    part = whole.take(chosen)
    assert_array_equal(part.Z, whole.Z[chosen])
    assert_array_equal(part.residuals, whole.residuals[chosen])
    for (train, test), (all_train, all_test) in zip(part.folds, whole.folds, strict=True):
        assert set(chosen[train]) == set(all_train) & set(chosen)
        assert set(chosen[test]) == set(all_test) & set(chosen)


def test_folds_of_which_nothing_is_left_are_left_out():
    assert len(rows().take(np.arange(40)).folds) == 2


def test_a_sample_is_random_and_no_larger_than_asked():
    whole = rows()
    assert whole.sample(60, np.random.default_rng(0)) is whole
    part = whole.sample(20, np.random.default_rng(0))
    assert len(part.Z) == 20
    again = whole.sample(20, np.random.default_rng(0))
    assert_array_equal(part.Z, again.Z)


def test_the_problem_is_what_the_band_asks_for():
    parameters = {"trace_penalty": 0.3, "ridge_penalty": 2.0, "offset": 0.5, "kernel": "matern"}
    problem = rows(**parameters).problem((1.0, 2.0), symmetric=False, factor=3.0)
    assert problem.scale_kernels[0] == Matern((1.0, 2.0), offset=0.5)
    assert (problem.trace_penalty, problem.ridge_penalty) == (0.3, 2.0)
    assert problem.width_weight == 30.0
    assert problem.training_coverage == 0.9
    assert not problem.symmetric
    assert problem.mean_kernel is None
    assert_array_equal(problem.targets, rows().residuals)


@pytest.mark.parametrize("family", [Gaussian(), Matern(nu=1.5)], ids=repr)
def test_a_joint_mean_sees_the_inputs_and_has_the_norm_of_the_process(family):
    Z, y = rows().Z, rows().outputs
    process = fit_gaussian_process(Z[:, :1], y, lengthscale=0.7, family=family, random_state=0)
    problem = rows(process=process, n_inputs=1).problem(1.0, symmetric=True)
    assert problem.mean_kernel == replace(family, lengthscale=(0.7, 1e6))
    assert problem.mean_bound == process.squared_norm
    assert problem.mean_weight == 0.0
    assert_array_equal(problem.targets, rows().outputs)


def test_a_given_lengthscale_is_the_shape():
    rng = np.random.default_rng(0)
    assert_allclose(rows(lengthscale=0.5).shape(rng), [0.5, 0.5])
    assert_allclose(rows(lengthscale=[0.5, 2.0]).shape(rng), [0.5, 2.0])
    weights = np.array([1.0, 1.0, 2.0])
    assert_allclose(
        rows(columns=3, lengthscale=[0.5, 2.0], weights=weights).shape(rng), [0.5, 2, 0.5]
    )
    assert_allclose(rows(columns=3, lengthscale=0.8, weights=weights).shape(rng), [0.8, 0.8, 0.4])


def test_equal_lengthscales_grow_with_the_root_of_the_number_of_inputs():
    rng = np.random.default_rng(0)
    shape = rows(columns=4, anisotropy="none", weights=np.array([1.0, 1, 1, 2])).shape(rng)
    assert_allclose(shape, [2, 2, 2, 1])


def test_the_shape_of_the_form_of_the_paper_is_in_the_units_of_the_inputs():
    raw = rows(anisotropy="hsic", standardize=False)
    raw.Z[:, 1] *= 100
    shape = raw.shape(np.random.default_rng(0))
    assert_allclose(shape, np.sqrt(2) * raw.Z.std(axis=0))


def test_the_likelihood_finds_the_input_that_the_size_of_residuals_depends_on():
    shape = rows(300).shape(np.random.default_rng(0))
    assert shape[0] < 0.7 * shape[1]


@pytest.mark.parametrize(("n_inputs", "factor"), [(15, 1), (16, 4)])
def test_lengthscales_of_many_inputs_are_longer_than_likely_beside_a_guess(n_inputs, factor):
    several = rows(200, n_inputs + 2, n_inputs=n_inputs, own_mean=False)
    units = Affine.of(np.arange(10.0))
    likely, found = (
        replace(several, guess_units=guess).shape(np.random.default_rng(0))
        for guess in (None, units)
    )
    assert_array_equal(found[:n_inputs], factor * likely[:n_inputs])
    assert_array_equal(found[n_inputs:], likely[n_inputs:])


def test_half_of_few_rows_to_search_by_find_the_shape():
    everyone, few = rows(300), np.random.default_rng(0)
    half = everyone.sample(100, np.random.default_rng(0))
    seeds = np.random.default_rng(0)
    seeds.choice(300, 100, replace=False)
    assert_allclose(everyone.shape(few, search_rows=200), half.shape(seeds))


@pytest.mark.parametrize("value", [0.5, np.float64(0.5), np.array(0.5)])
def test_kernels_take_plain_numbers(value):
    assert plain(value) == 0.5
    assert type(plain(value)) is float
    assert plain(np.array([1.0, 2.0])) == (1.0, 2.0)
