from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from sosbands import Gaussian, KernelMean
from sosbands.datasets import case
from sosbands.learning.consensus import Consensus
from sosbands.learning.scale_inputs import ScaleInputs
from sosbands.learning.search import Trial, Tuning
from sosbands.learning.standardize import Affine, VaryingInputs

ONE = Affine(np.zeros(2), np.ones(2))
SEES = ScaleInputs(VaryingInputs(np.array([0, 2]), ONE), None, None)


def tuned(lengthscale, factor, symmetric):
    trial = Trial(lengthscale, 10 * factor, factor, 0.8 if symmetric else 0.9, symmetric, 1, 2, 3)
    return Tuning((trial,), trial, "hsic", 100)


def bands(count, sees=SEES):
    return [SimpleNamespace(scale_inputs=sees)] * count


PARTS = bands(3)
TUNINGS = [tuned((1.0, 8.0), 1.0, False), tuned((4.0, 2.0), 9.0, False), tuned((2.0, 4), 3.0, True)]


def test_a_tuning_takes_averages_and_the_sides_of_most():
    found = Consensus(PARTS, TUNINGS).tuning(SEES)
    assert_allclose(found.chosen.lengthscale, (2.0, 4.0))
    assert found.chosen.width_factor == pytest.approx(3.0)
    assert not found.chosen.symmetric
    assert found.chosen.training_coverage == 0.9
    assert found.trials == (*(tuning.chosen for tuning in TUNINGS), found.chosen)


def test_a_tuning_takes_the_mean_of_what_comes_after_the_scale():
    tunings = [
        replace(tuning, guess_weight=weight, caution=caution, evenness=weight / 2)
        for tuning, weight, caution in zip(TUNINGS, (0.0, 0.3, 0.5), (0.25, 1.0, 4.0), strict=True)
    ]
    found = Consensus(PARTS, tunings).tuning(SEES)
    assert found.guess_weight == pytest.approx(0.8 / 3)
    assert found.caution == pytest.approx(5.25 / 3)
    assert found.evenness == pytest.approx(0.4 / 3)


def test_nothing_is_taken_over_from_bands_that_see_other_columns():
    other = ScaleInputs(VaryingInputs(np.array([0, 1]), ONE), None, None)
    consensus = Consensus(PARTS, TUNINGS)
    assert consensus.tuning(other) is None
    assert consensus.tuning(ScaleInputs(SEES.inputs, ONE, None)) is None


@pytest.mark.parametrize("kernel", ["gaussian", "matern32"])
def test_a_blend_takes_over_lengthscales_of_the_same_kernel_alone(kernel):
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20.0)
    blends = [
        SimpleNamespace(kernel_mean=KernelMean(kernel=kernel, lengthscale=[a, 1.0]).fit(X, y))
        for a in (1.0, 2.0, 4.0)
    ]
    parts = [SimpleNamespace(inputs=SEES.inputs, blend=blend) for blend in blends]
    consensus = Consensus(parts, TUNINGS)
    assert_allclose(consensus.blend(SEES.inputs, kernel), [2.0, 1.0])
    other = {"gaussian": "matern32", "matern32": "gaussian"}[kernel]
    assert consensus.blend(SEES.inputs, other) == "likelihood"


def test_a_band_tunes_for_itself_if_another_did_not():
    assert Consensus(PARTS, [*TUNINGS[:2], None]).tuning(SEES) is None


def kernel_means(*columns):
    """Kernel means of three inputs, of which some are constant, with known lengthscales."""
    X, y = case(4, dimension=3).sample(40, random_state=0)
    for varying in columns:
        Z = np.where(np.isin(np.arange(3), varying), X, 0.0)
        yield KernelMean(random_state=0).fit(Z, y)


def taken_over(means, estimator):
    found = [SimpleNamespace(mean_model=SimpleNamespace(model=mean)) for mean in means]
    return Consensus(found, [None] * len(found)).estimator(estimator)


def test_a_kernel_mean_of_all_rows_takes_the_average_lengthscale_of_every_column():
    means = list(kernel_means([0, 2], [0, 2], [0, 2]))
    for mean, lengthscale in zip(means, [(1.0, 8.0), (4.0, 1.0), (2.0, 1.0)], strict=True):
        mean.process_ = replace(mean.process_, kernel=Gaussian(lengthscale))
    own = KernelMean(random_state=3)
    informed = taken_over(means, own)
    assert_allclose(informed.lengthscale, (2.0, 1.0, 2.0))
    assert informed.random_state == 3
    assert own.lengthscale == "likelihood"


@pytest.mark.parametrize(
    ("columns", "estimator"),
    [
        ([[0, 2], [0, 2], [0, 1]], KernelMean()),
        ([[0, 2], [0, 2]], KernelMean()),
        ([[0, 2], [0, 2], [0, 2]], KernelMean(lengthscale=0.5)),
        ([[0, 2], [0, 2], [0, 2]], Ridge()),
    ],
    ids=["other columns", "two folds", "known", "no kernel mean"],
)
def test_a_mean_stays_as_it_is_where_there_is_nothing_to_take_over(columns, estimator):
    assert taken_over(list(kernel_means(*columns)), estimator) is estimator
