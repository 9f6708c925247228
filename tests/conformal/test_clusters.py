from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sosbands.conformal import ClusteredCalibration, SplitCalibration

INF = np.inf
LEVELS = (0.5, 0.8, 0.9, 0.95)
# Few values, so that ties are frequent.
SCORES = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 7.5, INF])


def slow_clustered_quantile(scores, clusters, level):
    """The definition in fractions: a cluster has mass one, spread evenly over its rows."""
    share = {c: Fraction(1, clusters.count(c)) for c in clusters}
    needed = Fraction(str(level)) * (len(share) + 1)
    for t in sorted(set(scores)):
        if sum(share[c] for s, c in zip(scores, clusters, strict=True) if s <= t) >= needed:
            return t
    return INF


@given(st.lists(st.tuples(SCORES, st.integers(0, 6)), min_size=1, max_size=40))
def test_clustered_quantiles_equal_the_definition(rows):
    scores, clusters = (list(part) for part in zip(*rows, strict=True))
    calibration = ClusteredCalibration(scores, clusters)
    expected = [slow_clustered_quantile(scores, clusters, level) for level in LEVELS]
    assert_array_equal(calibration.quantiles(LEVELS), expected)
    assert calibration.size == len(set(clusters))


@given(st.lists(SCORES, min_size=1, max_size=30))
def test_clusters_of_one_row_are_a_split(scores):
    calibration = ClusteredCalibration(scores, range(len(scores)))
    assert_array_equal(calibration.quantiles(LEVELS), SplitCalibration(scores).quantiles(LEVELS))
    assert calibration.shortage(LEVELS) == SplitCalibration(scores).shortage(LEVELS)
