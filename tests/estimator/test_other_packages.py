from crepes import WrapRegressor
from crepes.extras import DifficultyEstimator
from mapie.regression import SplitConformalRegressor
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor

from tests.estimator.models import fitted, wave


def test_mapie_calibrates_a_band_by_its_standard_deviation():
    X, y = wave(99, seed=2)  # level·(m + 1) is whole
    model = fitted(HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5))
    wrapped = SplitConformalRegressor(
        model, confidence_level=0.9, conformity_score="std_normalized", prefit=True
    )
    points, intervals = wrapped.conformalize(X, y).predict_interval(X)
    assert_array_equal(points, model.predict(X))
    expected = model.conformalize(X, y).predict_interval(X)
    assert_allclose(intervals[:, :, 0], expected, rtol=1e-6)


def test_crepes_takes_the_scale_as_its_difficulty():
    X, y = wave(99, seed=2)
    model = fitted()
    difficulty = DifficultyEstimator()
    difficulty.fit(f=lambda X: model.predict(X, return_std=True)[1], beta=0.0)
    wrapped = WrapRegressor(model).calibrate(X, y, de=difficulty)
    # 1 − 0.75 is exact in binary; crepes would take 0.1·100 for 9.
    expected = model.conformalize(X, y).predict_interval(X, 0.75)
    assert_allclose(wrapped.predict_int(X, confidence=0.75), expected, rtol=1e-7, atol=1e-7)
