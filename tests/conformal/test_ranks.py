from fractions import Fraction

import numpy as np
import pytest

from sosbands.conformal import checked_levels, order_rank, rows_needed
from sosbands.conformal.ranks import quantile_shortage, shown_level


def test_ranks_are_exact_for_all_levels_in_thousandths():
    # Level times m + 1 is whole most often where m + 1 has factors of 1000.
    for i in range(1, 1000):
        for m in (*range(21), 24, 49, 99, 124, 199, 249, 300, 499, 999, 12_345):
            assert order_rank(i / 1000, m) == -(-i * (m + 1) // 1000)


def test_a_level_is_read_as_the_decimal_it_prints_as():
    assert order_rank(0.9, 9) == 9
    assert order_rank(np.float64(0.9), 9) == order_rank(np.float32(0.9), 9) == 9
    assert order_rank(0.07, 99) == 7  # 0.07·100 = 7.000000000000001
    assert checked_levels(np.float32(0.9)) == ((0.9,), True)
    assert checked_levels(np.array(0.9, dtype=np.float32)) == ((0.9,), True)
    assert checked_levels(np.array([0.8, 0.9], dtype=np.float32)) == ((0.8, 0.9), False)
    assert checked_levels([np.float32(0.1), Fraction(1, 2)]) == ((0.1, 0.5), False)


def test_rows_needed_is_the_smallest_number_with_a_finite_quantile():
    assert [rows_needed(p) for p in (0.5, 0.8, 0.9, 0.95, 0.99)] == [1, 4, 9, 19, 99]
    for i in range(1, 1000):
        m = rows_needed(i / 1000)
        assert order_rank(i / 1000, m) <= m
        assert m == 0 or order_rank(i / 1000, m - 1) == m


@pytest.mark.parametrize(
    ("level", "message"),
    [
        (90, "got 90: write 0.9"),
        (np.float64(90), "got 90.0: write 0.9"),
        (99.5, "write 0.995"),
        (1.0, r"must be in \(0, 1\), got 1.0"),
        (0, "got 0"),
        (True, "got True"),
        (np.nan, "got nan"),
        ("0.9", "got '0.9'"),
        (None, "got None"),
        ([], "got none"),
        ([0.9, 95], "got 95: write 0.95"),
        ([[0.9]], r"got \[0.9\]"),
    ],
)
def test_what_is_no_level_is_refused_with_advice(level, message):
    with pytest.raises(ValueError, match=message):
        checked_levels(level)


def test_quantiles_need_as_many_rows_as_the_level_of_their_tail():
    assert quantile_shortage([0.01], 98) == quantile_shortage([0.99], 98) == 99
    assert quantile_shortage([0.01, 0.5], 99) is None
    assert quantile_shortage([1e-17], 10) == 10**17 - 1


@pytest.mark.parametrize("level", [0.9, 0.5, 0.9999999, 0.90000001, 1 / 3, 1e-17])
def test_a_level_is_shown_with_as_many_digits_as_it_needs(level):
    assert float(shown_level(level)) == level
    assert shown_level(0.9) == "0.9"
