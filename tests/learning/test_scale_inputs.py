import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from sosbands import KernelBand
from sosbands.learning.encoding import Encoded
from sosbands.learning.plan import Rules
from sosbands.learning.scale_inputs import ScaleInputs
from sosbands.learning.standardize import Affine, VaryingInputs


def rows(n=120):
    rng = np.random.default_rng(0)
    B = rng.uniform(3, 5, (n, 2))
    predictions = B.sum(axis=1)
    return B, predictions, (0.1 + B[:, 0]) * rng.standard_normal(n)


def learned(B, predictions, residuals, *, own_mean=False, **parameters):
    return ScaleInputs.learn(
        Encoded.of(B),
        predictions,
        residuals,
        inputs=VaryingInputs.of(B),
        folds=list(KFold(3).split(B)),
        rules=Rules(KernelBand(**parameters), own_mean=own_mean),
        n_jobs=None,
    )


def test_around_a_kernel_mean_the_inputs_are_all_there_is_to_see():
    B, predictions, residuals = rows()
    sees, seen = learned(B, predictions, residuals, own_mean=True)
    assert_allclose(seen.Z, Affine.of(B)(B))
    assert seen.guess is None
    assert_array_equal(sees(Encoded.of(B), predictions).Z, seen.Z)


def test_around_a_model_the_prediction_and_the_guess_are_seen_as_well():
    B, predictions, residuals = rows()
    sees, seen = learned(B, predictions, residuals)
    assert seen.Z.shape == (120, 4)
    assert_allclose(seen.Z[:, :2], Affine.of(B)(B))
    assert_allclose(seen.Z[:, 2], Affine.of(predictions)(predictions))
    assert_array_equal(seen.Z[:, 3], seen.guess)
    new = sees(Encoded.of(B[:5]), predictions[:5])
    assert new.Z.shape == (5, 4)
    assert_array_equal(new.Z[:, 3], new.guess)
    assert_allclose(new.Z[:, :3], seen.Z[:5, :3])


def test_guesses_at_training_rows_are_out_of_fold():
    B, predictions, residuals = rows()
    sees, seen = learned(B, predictions, residuals, difficulty=LinearRegression())
    residuals[:40] *= 10  # the first fold
    _, changed = learned(B, predictions, residuals, difficulty=LinearRegression())
    units = sees.difficulty.units
    before = units.undo(seen.guess)[:40]
    other, _ = learned(B, predictions, residuals, difficulty=LinearRegression())
    assert_allclose(other.difficulty.units.undo(changed.guess)[:40], before)


def test_a_guess_needs_a_residual_of_every_row():
    B, predictions, residuals = rows()
    residuals[:3] = np.nan
    sees, seen = learned(B, predictions, residuals)
    assert sees.difficulty is None
    assert seen.Z.shape == (120, 3)


@pytest.mark.parametrize(("anisotropy", "weight"), [("none", 3.0), ("likelihood", 1.0)])
def test_columns_count_by_their_weights_if_all_lengthscales_are_equal(anisotropy, weight):
    B, predictions, residuals = rows()
    sees, _ = learned(B, predictions, residuals, anisotropy=anisotropy)
    rules = Rules(KernelBand(anisotropy=anisotropy), own_mean=False)
    assert_array_equal(sees.weights(rules), [1.0, 1.0, weight, 1.0])
