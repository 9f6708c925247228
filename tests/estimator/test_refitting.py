import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from sosbands.conformal import SplitCalibration
from tests.estimator.models import MODES, band, wave


@pytest.mark.parametrize("calibration", MODES)
def test_fitting_again_forgets_the_past(calibration):
    X, y = wave()
    wide, other = wave(70, seed=3, columns=2)
    model = band(calibration=calibration, cv=3)
    expected = model.fit(X, y).predict_interval(X, 0.5)
    model.fit(pd.DataFrame(wide, columns=["a", "b"]), other)
    model.conformalize(pd.DataFrame(wide, columns=["a", "b"]), other, groups=[1] * 70)
    assert model.n_features_in_ == 2
    assert_array_equal(model.fit(X, y).predict_interval(X, 0.5), expected)
    assert not hasattr(model, "feature_names_in_")
    model.conformalize(X, y, weights=lambda X: X[:, 0])
    assert_array_equal(model.fit(X, y).predict_interval(X, 0.5), expected)
    model.set_params(calibration=None).fit(X, y)
    assert model.calibration_ is None


def broken_calibration(*_, **__):
    raise FloatingPointError("no calibration")


def test_a_fit_whose_calibration_fails_is_no_fit(monkeypatch):
    monkeypatch.setattr(SplitCalibration, "of", broken_calibration)
    model = band()
    with pytest.raises(FloatingPointError):
        model.fit(*wave())
    with pytest.raises(NotFittedError):
        model.predict(wave()[0])
    assert not hasattr(model, "n_features_in_")


def test_a_refit_that_fails_leaves_the_earlier_fit_whole(monkeypatch):
    X, y = wave(columns=2)
    table = pd.DataFrame(X, columns=["a", "b"])
    model = band().fit(table, y)
    expected, before = model.predict_interval(table), dict(vars(model))
    monkeypatch.setattr(SplitCalibration, "of", broken_calibration)
    with pytest.raises(FloatingPointError):
        model.fit(*wave(columns=3))
    with pytest.raises(ValueError, match="has no value"):
        model.fit(np.full((20, 1), np.nan), np.zeros(20))
    assert vars(model) == before
    assert_array_equal(model.predict_interval(table), expected)
    assert list(model.feature_names_in_) == ["a", "b"]


def test_a_refit_forgets_the_names_of_columns():
    X, y = wave(columns=2)
    model = band().fit(pd.DataFrame(X, columns=["a", "b"]), y).fit(X, y)
    assert not hasattr(model, "feature_names_in_")
