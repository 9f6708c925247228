import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sosbands.conformal import ClusteredCalibration, SplitCalibration
from tests.estimator.models import INF, Spy, band, fitted, ranked, wave


def test_every_group_has_its_own_quantile_and_strangers_have_none():
    X, y = wave(45, seed=2)
    groups = np.array(["a"] * 19 + ["b"] * 20 + [3] * 6, dtype=object)
    model = fitted().conformalize(X, y, groups=groups)
    mean, scale = model.predict(X, return_std=True)
    scores = np.abs(y - mean) / scale
    asked = ["b", "a", 3, "c", "3"]
    mean, scale = mean[:5], scale[:5]
    with (
        pytest.warns(UserWarning, match="needs at least 9 calibration rows in every group"),
        pytest.warns(UserWarning, match=r"2 of 5 rows are of groups .* such as 'c' \(those .* 'a'"),
    ):
        intervals = model.predict_interval(X[:5], 0.9, groups=asked)
    for i, name in enumerate(["b", "a"]):
        q = ranked(scores[groups == name], 0.9)
        expected = mean[i] - q * scale[i], mean[i] + q * scale[i]
        assert_allclose(intervals[i], expected, rtol=1e-7, atol=1e-7)
    assert_array_equal(intervals[2:], [[-INF, INF]] * 3)


def test_groups_may_be_named_by_tuples_and_series():
    X, y = wave(40, seed=2)
    names = [("site", i % 2) for i in range(40)]
    by_tuple = fitted().conformalize(X, y, groups=names).predict_interval(X, groups=names)
    series = pd.Series([i % 2 for i in range(40)], index=np.arange(40) + 7)
    by_number = fitted().conformalize(X, y, groups=series).predict_interval(X, groups=series)
    assert_array_equal(by_tuple, by_number)


@pytest.mark.counts_looks
def test_groups_of_rows_are_either_learned_from_or_calibrated_with():
    X, y = wave(60)
    X[:, 0] = np.arange(60)
    Spy.diary.clear()
    band(Spy(), cv=3).fit(X, y, groups=[f"site {i // 6}" for i in range(60)])
    for trained, predicted in Spy.diary:
        assert {row // 6 for row in trained}.isdisjoint({row // 6 for row in predicted})


def test_groups_of_rows_calibrate_as_a_whole():
    X, y = wave(120, seed=2)
    groups = np.arange(120) // 3
    model = band(calibration_size=0.5).fit(X, y, groups=groups)
    assert isinstance(model.calibration_, ClusteredCalibration)
    assert model.calibration_.size == 20
    assert len(model.calibration_.scores) == 60
    assert np.isfinite(model.predict_interval(X, 0.9)).all()
    with pytest.warns(UserWarning, match="0.99 needs at least 99 calibration groups, got 20"):
        assert np.isinf(model.predict_interval(X, 0.99)).all()
    with pytest.raises(ValueError, match="fit had groups"):
        model.partial_conformalize(X, y)
    assert isinstance(model.conformalize(X, y).calibration_, SplitCalibration)


def test_plus_folds_keep_groups_together():
    X, y = wave(60)
    groups = np.repeat(np.arange(6), [4, 6, 10, 20, 15, 5])
    model = band(calibration="cv+", cv=6).fit(X, y, groups=groups)
    assert sorted(map(len, model.calibration_.scores_by_fold)) == [4, 5, 6, 10, 15, 20]
