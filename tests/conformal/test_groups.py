import numpy as np
from numpy.testing import assert_array_equal

from sosbands.conformal import GroupCalibration

INF = np.inf


def test_each_group_has_its_own_quantile():
    calibration = GroupCalibration([1.0, 10, 2, 20, 3, 99], ["a", 7, "a", 7, "a", (1, 2)])
    groups = [7, "a", "7", (1, 2), 7.0]
    q = calibration.quantiles((0.5, 0.7), groups)
    assert_array_equal(q, [[20, INF], [2, 3], [INF, INF], [99, INF], [20, INF]])
    assert calibration.shortage((0.5,)) is None
    assert calibration.shortage((0.5, 0.7)) == 3


def test_groups_may_be_numbers_in_an_array():
    groups = np.array([2, 1, 2, 1, 2])
    calibration = GroupCalibration([5.0, 1, 3, 2, 4], groups).extended([6.0], np.array([3]))
    q = calibration.quantiles((0.5,), np.array([1, 2, 3, 4]))
    assert_array_equal(q[:, 0], [2, 4, 6, INF])


def test_groups_keep_their_names_when_rows_are_added():
    calibration = GroupCalibration([1.0], ["a"]).extended([2.0, 3.0, 4.0], ["b", 7, (1, 2)])
    q = calibration.quantiles((0.5,), [7, "7", (1, 2), "a", "b"])
    assert_array_equal(q[:, 0], [3, INF, 4, 1, 2])
