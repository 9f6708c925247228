"""`explain_width` where the answer is known."""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sosbands import BandRegressor
from sosbands.explanation import _shapley, width_parts
from sosbands.learning.tables import mixed_rows
from tests.regressors import regressor

QUICK = {"lengthscale": 1.0, "width_weight": 50.0, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.uniform(0, 1, (400, 3))
Y = X[:, 1] + (0.2 + 2 * X[:, 0]) * RNG.normal(size=400)  # the first column makes the noise


@dataclass
class _Band:
    caution: float


class Known:
    """A model whose width is a formula."""

    def __init__(self, formula, caution=0.0):
        self.formula, self.band_ = formula, _Band(caution)

    def predict_scale(self, X):
        return self.formula(np.asarray(X)) * (1 + self.band_.caution) / 2


@pytest.fixture(scope="module")
def model():
    return regressor(**QUICK).fit(X, Y)


def test_a_sum_has_its_terms_as_parts():
    known = Known(lambda X: 1 + 3 * X[:, 0] + X[:, 1] ** 2)
    rows = np.array([3, 77])
    found = width_parts(known, X, rows, known.formula(X[rows]))
    terms = np.column_stack([3 * X[:, 0], X[:, 1] ** 2, 0 * X[:, 2]])
    order = np.argsort(known.formula(X), kind="stable")
    usual = order[((np.arange(16) + 0.5) * 25).astype(int)]
    np.testing.assert_allclose(found.inputs, terms[rows] - terms[usual].mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.calibration, 0, atol=1e-12)


def test_sampled_orders_come_close_to_all_orders():
    def width(X):
        return np.exp(X[:, 0] + 2 * X[:, 1] * X[:, 2])

    rows, usual = np.array([5, 9]), np.arange(100, 116)
    sampled = _shapley(lambda places: width(mixed_rows(X, places)), rows, usual, 3, 0)
    exact = np.zeros((2, 3))
    for i, row in enumerate(rows):
        for at in usual:
            for order in permutations(range(3)):
                mixed = X[at].copy()
                for j in order:
                    before = width(mixed[None])[0]
                    mixed[j] = X[row, j]
                    exact[i, j] += (width(mixed[None])[0] - before) / (6 * len(usual))
    np.testing.assert_allclose(sampled.sum(axis=1), exact.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(sampled, exact, atol=0.1 * np.abs(exact).max())


def test_what_caution_adds_is_the_part_of_the_distance():
    known = Known(lambda X: 1 + X[:, 0], caution=0.5)
    rows = np.array([0, 1])
    found = width_parts(known, X, rows, np.array([4.0, 4.0]))
    np.testing.assert_allclose(found.distance, 0.5 * (1 + X[rows, 0]))
    total = found.usual + found.inputs.sum(axis=1) + found.distance + found.calibration
    np.testing.assert_allclose(total, 4.0)


@pytest.mark.parametrize(
    "parameters",
    [{"symmetric": True}, {"symmetric": False}, {"calibration": "cv+", "cv": 3}],
    ids=str,
)
def test_parts_add_up_to_the_width(parameters):
    fitted = regressor(**QUICK, **parameters).fit(X, Y)
    found = fitted.explain_width(X, rows=[0, 5, 399], confidence_level=0.8)
    np.testing.assert_allclose(found.drop(columns="width").sum(axis=1), found["width"])
    intervals = fitted.predict_interval(X, 0.8)[[0, 5, 399]]
    np.testing.assert_allclose(found["width"], np.ptp(intervals, axis=1))


def test_the_column_that_makes_the_noise_makes_the_width():
    table = pd.DataFrame(X, columns=["noise", "level", "nothing"])
    named = BandRegressor(None, random_state=0).fit(table, Y)
    widest = np.argsort(-np.ptp(named.predict_interval(table), axis=1))[:5]
    found = named.explain_width(table, rows=widest.tolist())
    assert found.index.tolist() == widest.tolist()
    assert (found["noise"] > 3 * found[["level", "nothing"]].abs().max(axis=1)).all()


def test_a_row_far_away_is_wide_for_its_distance():
    cautious = regressor(**QUICK, symmetric=True, caution=2.0).fit(X, Y)
    far = np.concatenate([X, [[0.5, 0.5, 40.0]]])
    found = cautious.explain_width(far, rows=[0, 400])
    assert found["distance"].iloc[1] > 5 * found["distance"].iloc[0]
    assert found["distance"].iloc[1] > found["x2"].iloc[1]


def test_every_kind_of_table_is_explained_alike():
    table = pd.DataFrame(X[:, :2], columns=["a", "b"])
    table["kind"] = pd.Categorical(np.where(X[:, 2] > 0.5, "x", "y"))
    fitted = regressor(**QUICK, symmetric=True).fit(table, Y)
    expected = fitted.explain_width(table, rows=[1, 2]).to_numpy()
    for other in (pl.from_pandas(table), pa.Table.from_pandas(table)):
        again = regressor(**QUICK, symmetric=True).fit(other, Y)
        found = again.explain_width(other, rows=[1, 2])
        assert list(found.columns[2:-2]) == ["a", "b", "kind"]
        np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-6)


def test_mixed_rows_have_the_cells_of_their_places():
    table = pd.DataFrame({0: [1, 2, 3], "b": ["x", "y", None]}, index=[7, 8, 9])
    made = mixed_rows(table, np.array([[0, 1], [2, 0]]))
    assert list(made.columns) == [0, "b"]
    assert made.to_numpy().tolist() == [[1, "y"], [3, "x"]]


def test_too_few_rows_and_wrong_places_are_refused(model):
    with pytest.raises(ValueError, match="at least 10 rows, got 3: they say what is usual"):
        model.explain_width(X[:3])
    for wrong in ([400], [-1], [0.5], [[1]]):
        with pytest.raises(ValueError, match="rows must be positions from 0 to 399"):
            model.explain_width(X, rows=wrong)
