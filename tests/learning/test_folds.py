import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import (
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    ShuffleSplit,
    TimeSeriesSplit,
)

from sosbands.learning.folds import (
    calibration_rows,
    calibration_split,
    check_partition,
    cross_fitting_folds,
    numbered,
)


def folds(n=30, cv=3, groups=None, seed=0):
    return cross_fitting_folds(np.zeros((n, 1)), np.zeros(n), cv=cv, groups=groups, seed=seed)


@pytest.mark.parametrize(
    ("n", "size", "count"),
    [(100, 0.3, 30), (10, 0.3, 3), (10, 0.5, 5), (10, 0.01, 1), (100, 95, 95), (100, 1, 1)],
)
def test_a_share_or_a_number_of_rows_calibrates(n, size, count):
    assert calibration_rows(n, size) == count
    assert calibration_rows(n, np.asarray(size)[()]) == count


@pytest.mark.parametrize("size", [0, 0.0, 1.0, 1.5, -3, np.nan, True, "0.3", None])
def test_other_sizes_are_refused(size):
    with pytest.raises(ValueError, match="calibration_size must be a share"):
        calibration_rows(100, size)


@pytest.mark.parametrize("size", [6, 0.9, 200])
def test_five_rows_must_remain(size):
    with pytest.raises(ValueError, match=r"leaves -?\d+ of 10 rows to learn from"):
        calibration_rows(10, size)


def test_a_split_is_a_partition_that_the_seed_decides():
    train, held_out = calibration_split(50, 0.3, cv=5, groups=None, seed=1)
    assert_array_equal(np.sort(np.concatenate([train, held_out])), np.arange(50))
    assert len(held_out) == 15
    again = calibration_split(50, 0.3, cv=5, groups=None, seed=1)
    assert_array_equal(again[0], train)
    other = calibration_split(50, 0.3, cv=5, groups=None, seed=2)
    assert np.any(other[0] != train)


def test_ordered_rows_are_split_in_time():
    train, held_out = calibration_split(50, 12, cv=TimeSeriesSplit(), groups=None, seed=1)
    assert_array_equal(train, np.arange(38))
    assert_array_equal(held_out, np.arange(38, 50))


def test_groups_are_split_as_a_whole():
    groups = np.repeat(list("abcdefghij"), 6)
    train, held_out = calibration_split(60, 0.3, cv=5, groups=groups, seed=1)
    assert set(groups[train]).isdisjoint(groups[held_out])
    assert len(train) + len(held_out) == 60
    assert 6 <= len(held_out) <= 30


@pytest.mark.parametrize("cv", [2, 3, np.int64(5), KFold(4)])
def test_folds_hold_out_every_row_once(cv):
    parts = folds(cv=cv)
    check_partition(parts, 30)
    for train, test in parts:
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(30))


def test_few_rows_have_few_folds():
    assert len(folds(n=7, cv=20)) == 3
    assert len(folds(n=3, cv=20)) == 2


def test_folds_are_shuffled_by_the_seed():
    first, again, other = (folds(seed=seed)[0][1] for seed in (0, 0, 1))
    assert_array_equal(first, again)
    assert np.any(first != other)


@pytest.mark.parametrize("cv", [3, 50, LeaveOneGroupOut()])
def test_folds_keep_groups_together(cv):
    groups = np.arange(30) % 7
    for train, test in folds(cv=cv, groups=groups):
        assert set(groups[train]).isdisjoint(groups[test])


@pytest.mark.parametrize("cv", [1, 0, -2, 2.5, True, None, "5", [1, 2], object()])
def test_what_is_not_a_number_of_folds_is_refused(cv):
    with pytest.raises(ValueError, match="cv must be"):
        folds(cv=cv)


def test_one_group_cannot_be_split():
    with pytest.raises(ValueError, match="groups leave 1 group of rows to learn from"):
        folds(groups=np.zeros(30))
    with pytest.raises(ValueError, match="groups must name at least 2 groups"):
        calibration_split(30, 0.3, cv=5, groups=np.zeros(30), seed=0)


@pytest.mark.parametrize("cv", [TimeSeriesSplit(3), ShuffleSplit(4, random_state=0)])
def test_folds_that_are_no_partition_cannot_calibrate(cv):
    with pytest.raises(ValueError, match=r"holds out every row exactly once.*of 30 rows are not"):
        check_partition(folds(cv=cv), 30)


def test_groups_that_leave_too_few_rows_to_learn_from_are_refused():
    groups = np.array([0] * 19 + [1])
    with pytest.raises(ValueError, match="leaves 1 of 20 rows to learn from"):  # noqa: PT012
        for seed in range(20):  # some seed holds the large group back
            calibration_split(20, 0.3, cv=5, groups=groups, seed=seed)


def test_groups_and_time_contradict_each_other():
    with pytest.raises(ValueError, match="contradict each other"):
        calibration_split(30, 0.3, cv=TimeSeriesSplit(3), groups=np.arange(30), seed=0)


def test_folds_of_other_rows_are_refused():
    with pytest.raises(ValueError, match=r"cv names row 39 of 30: .* or calibration=None"):
        folds(30, cv=PredefinedSplit(np.arange(40) % 4))
    with pytest.raises(ValueError, match=r"list of \(train, test\), got \[1, 2\]$"):
        folds(30, cv=[1, 2])


def test_folds_can_be_listed():
    listed = [(np.arange(10, 30), np.arange(10)), (np.arange(20), np.arange(20, 30))]
    for (train, test), (known, held_out) in zip(folds(30, cv=listed), listed, strict=True):
        assert_array_equal(train, known)
        assert_array_equal(test, held_out)


@pytest.mark.parametrize(
    ("groups", "numbers"),
    [
        (["b", "a", "b"], [1, 0, 1]),
        (np.array([7, 5, 7]), [1, 0, 1]),
        (["b", 1, None, "b"], [0, 1, 2, 0]),
        ([("a", 2), ("a", 1)], [1, 0]),
    ],
)
def test_groups_of_any_names_are_numbered(groups, numbers):
    assert_array_equal(numbered(groups), numbers)


def test_groups_that_cannot_be_names_are_refused():
    with pytest.raises(ValueError, match="groups must be hashable"):
        numbered(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="groups must be known, got NaN"):
        numbered([1.0, np.nan])
