from fractions import Fraction
from math import ceil, floor

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sosbands.conformal import SignedCalibration, SplitCalibration

INF = np.inf
# Few values, so that ties are frequent.
SIGNED = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 7.5, INF]) | st.floats(-3, 3)


def test_the_split_quantile_is_the_adjusted_order_statistic():
    calibration = SplitCalibration([9.0, 3, 7, 1, 5, 2, 8, 4, 6])
    assert_array_equal(calibration.quantiles((0.5, 0.9, 0.81, 0.95)), [5, 9, 9, INF])
    assert calibration.shortage((0.5, 0.9)) is None
    assert calibration.shortage((0.5, 0.95)) == 19


def test_infinite_scores_count_as_the_largest():
    assert_array_equal(SplitCalibration([INF, 1, 2]).quantiles((0.5, 0.75)), [2, INF])


def test_signed_quantiles_round_away_from_the_median():
    calibration = SignedCalibration([-2.0, -1, 0, 1])
    assert_array_equal(
        calibration.quantiles((0.1, 0.2, 0.45, 0.5, 0.55, 0.8, 0.81)), [-INF, -2, -1, 0, 0, 1, INF]
    )
    assert calibration.shortage((0.2, 0.8)) is None
    assert calibration.shortage((0.1,)) == calibration.shortage((0.9,)) == 9


@given(st.lists(SIGNED, min_size=1, max_size=30))
def test_signed_quantiles_equal_the_exact_ranks(scores):
    m, ordered, hundredths = len(scores), [-INF, *sorted(scores), INF], range(1, 100)
    exact = [Fraction(i, 100) * (m + 1) for i in hundredths]
    ranks = [
        floor(r) if i < 50 else min(ceil(r), m + 1) for i, r in zip(hundredths, exact, strict=True)
    ]
    q = SignedCalibration(scores).quantiles([i / 100 for i in hundredths])
    assert_array_equal(q, [ordered[rank] for rank in ranks])
