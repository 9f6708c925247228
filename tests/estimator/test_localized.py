import numpy as np
from numpy.testing import assert_array_equal
from sklearn.dummy import DummyRegressor

from tests.estimator.models import LEVELS, band, wave


def test_a_localized_draw_depends_on_what_the_row_holds_alone():
    X, y = wave(400)
    model = band(calibration="localized", calibration_size=200).fit(X, y)
    new = np.repeat(0.7 + 1e-4 * np.arange(10), 2)[:, None]
    intervals = model.predict_interval(new, LEVELS)
    assert np.ptp(np.diff(intervals, axis=1)[:, 0, 0]) > 0.01  # a split's would be about the same
    assert_array_equal(intervals[::2], intervals[1::2])
    assert_array_equal(model.predict_interval(new[::-1], LEVELS), intervals[::-1])
    assert_array_equal(model.predict_interval(new[3:7], LEVELS), intervals[3:7])


def test_a_localized_threshold_varies_with_the_input():
    X, y = wave(600)
    constant = {"lengthscale": 1e3, "difficulty": None}
    model = band(DummyRegressor(), calibration="localized", **constant).fit(X, y)
    split = band(DummyRegressor(), **constant).fit(X, y)
    new = np.repeat([[0.05], [0.95]], 100, axis=0)
    widths = np.diff(model.predict_interval(new, 0.8)).reshape(2, 100)
    same = np.diff(split.predict_interval(new, 0.8)).reshape(2, 100)
    spread = np.median(widths, axis=1)
    assert abs(np.log(spread[1] / spread[0])) > 3 * abs(np.log(same[1, 0] / same[0, 0]))
