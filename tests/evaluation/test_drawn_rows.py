import numpy as np
import pytest

from sosbands.datasets import case
from sosbands.evaluation import PredictedRows
from sosbands.evaluation.drawn_rows import DrawnRows, side_by_side
from sosbands.evaluation.judged_rows import row_sample
from tests.regressors import regressor


@pytest.fixture(scope="module")
def drawn():
    model = regressor(lengthscale=0.5, width_weight=50.0, symmetric=True, random_state=0)
    model.fit(*case(1).sample(300, random_state=0))
    X, y = case(1).sample(400, random_state=1)
    X[:20] += 5
    return DrawnRows.of(PredictedRows.of(model, X, y, confidence_level=0.9, random_state=0))


def test_a_sample_is_ascending_without_repetition_and_the_seed_chooses_it():
    found = row_sample(1000, 50, 0)
    assert len(set(found.tolist())) == 50
    assert found.tolist() == sorted(found)
    assert np.array_equal(found, row_sample(1000, 50, 0))
    assert row_sample(5, None, 0).tolist() == row_sample(5, 9, 0).tolist() == [0, 1, 2, 3, 4]


def test_equal_places_are_spread_within_the_gap_to_their_neighbours():
    x = np.array([1.0, 0.0, 1.0, 3.0, 1.0])
    spread = side_by_side(x)
    assert len(set(spread)) == 5
    assert np.abs(spread - x).max() < 0.5


def test_bins_and_distances_hold_every_row_once(drawn):
    assert sum(part.n_rows for part in drawn.by_distance()) == 400
    x = drawn.values(drawn.rows.columns[0])
    bins = drawn.median_intervals(x)
    assert bins.left[0] == x.min()
    assert bins.right[-1] == x.max()
    first = x < bins.right[0]
    np.testing.assert_array_equal(bins.ends[0], np.median(drawn.ends[first], axis=0))


def test_few_different_values_are_bins_themselves(drawn):
    x = np.repeat([1.0, 2.0, 4.0, 5.0], 100)
    bins = drawn.median_intervals(x)
    np.testing.assert_array_equal(bins.left, [0.5, 1.5, 3.0, 4.5])
    np.testing.assert_array_equal(bins.right, [1.5, 3.0, 4.5, 5.5])
    np.testing.assert_array_equal(bins.ends[2], np.median(drawn.ends[200:300], axis=0))


def test_the_widest_and_the_furthest_rows_come_first(drawn):
    assert drawn.widest(5).widths.tolist() == sorted(drawn.rows.widths, reverse=True)[:5]
    far = drawn.furthest(500).extrapolation
    assert far.tolist() == sorted(far, reverse=True)
    assert len(far) == np.sum(drawn.rows.extrapolation > 0.5) >= 20
