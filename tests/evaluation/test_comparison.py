import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import OneHotEncoder

from sosbands import BandRegressor
from sosbands.datasets import case
from sosbands.evaluation import compare
from sosbands.evaluation.comparison import Parts
from sosbands.metrics import coverage, interval_score, mean_width


@pytest.fixture(scope="module")
def rows():
    return case(1).sample(500, random_state=0)


@pytest.fixture(scope="module")
def table(rows):
    return compare(*rows, estimator=LinearRegression())


def parts(rows, **settings):
    given = {"groups": None, "test_size": 0.25, "calibration_size": 0.3, "seed": 0}
    return Parts.of(*rows, **{**given, "transformer": None, "level": 0.9, **settings})


def test_ours_and_the_rivals_are_there_with_the_best_score_first(table):
    assert sorted(table.index) == [
        "CQR, boosted quantiles",
        "sosbands, LinearRegression",
        "sosbands, as it comes",
        "split conformal, LinearRegression",
    ]
    assert list(table) == ["interval_score", "mean_width", "coverage", "gap", "seconds"]
    assert table["interval_score"].is_monotonic_increasing
    assert (table["seconds"] > 0).all()


def test_the_split_conformal_figures_are_those_of_a_computation_by_hand(rows, table):
    shared = parts(rows)
    mean = LinearRegression().fit(*shared.train)
    X, y = shared.calibration
    scores = np.sort(np.abs(y - mean.predict(X)))
    q = scores[int(np.ceil(0.9 * (len(scores) + 1))) - 1]
    X, y = shared.test
    C = np.column_stack([mean.predict(X) - q, mean.predict(X) + q])
    figures = table.loc["split conformal, LinearRegression"]
    assert figures["interval_score"] == pytest.approx(interval_score(y, C, 0.9))
    assert figures["mean_width"] == pytest.approx(mean_width(C))
    assert figures["coverage"] == coverage(y, C)


def test_the_conformalized_quantiles_are_those_of_a_computation_by_hand(rows, table):
    shared = parts(rows)
    low, high = (
        HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=0)
        .fit(*shared.train)
        .predict
        for q in (0.05, 0.95)
    )
    X, y = shared.calibration
    scores = np.sort(np.maximum(low(X) - y, y - high(X)))
    q = scores[int(np.ceil(0.9 * (len(scores) + 1))) - 1]
    X, y = shared.test
    middle = (low(X) + high(X)) / 2
    C = np.column_stack([np.minimum(low(X) - q, middle), np.maximum(high(X) + q, middle)])
    figures = table.loc["CQR, boosted quantiles"]
    assert figures["interval_score"] == pytest.approx(interval_score(y, C, 0.9))
    assert figures["coverage"] == coverage(y, C)


def test_ours_as_it_comes_is_the_default(rows, table):
    shared = parts(rows)
    model = BandRegressor(calibration=None, random_state=0).fit(*shared.train)
    X, y = shared.test
    C = model.conformalize(*shared.calibration).predict_interval(X, 0.9)
    assert table.loc["sosbands, as it comes", "interval_score"] == interval_score(y, C, 0.9)


def test_every_row_is_in_one_part(rows):
    shared = parts(rows)
    seen = np.concatenate([y for _, y in (shared.train, shared.calibration, shared.test)])
    assert np.array_equal(np.sort(seen), np.sort(rows[1]))


def test_rows_of_a_group_stay_in_one_part(rows):
    groups = np.arange(500) // 10
    X = groups[:, None].astype(float)
    shared = parts((X, rows[1]), groups=groups)
    found = [set(X[:, 0]) for X, _ in (shared.train, shared.calibration, shared.test)]
    assert sum(map(len, found)) == 50
    assert all(found)


def test_few_rows_have_no_gap(rows):
    X, y = rows
    assert compare(X[:60], y[:60], estimator=LinearRegression())["gap"].isna().all()


def test_a_transformer_makes_numbers_of_categories_for_every_method(rows):
    X, y = rows
    colour = np.where(np.arange(500) % 2, "red", "blue")
    frame = pd.DataFrame({"x": X[:, 0], "colour": colour})
    encoder = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    y = y + 10 * (colour == "red")
    told = []
    table = compare(
        frame, y, estimator=LinearRegression(), transformer=encoder, progress=told.append
    )
    assert sorted(told) == sorted(table.index)
    assert (table["mean_width"] < 8).all()  # without the colour, they would be wider than 10


@pytest.mark.parametrize("level", [0, 1.5, "high"])
def test_an_impossible_level_is_refused(rows, level):
    with pytest.raises(ValueError, match=r"confidence_level must be in \(0, 1\)"):
        compare(*rows, confidence_level=level)


def test_too_few_rows_are_said_with_the_shares_that_leave_them(rows):
    X, y = rows
    with pytest.raises(
        ValueError,
        match=r"^at least 10 rows must be left to learn from, but test_size=0\.25 and "
        r"calibration_size=0\.3 leave 0 of 1: give more rows$",
    ):
        compare(X[:1], y[:1])
    with pytest.raises(ValueError, match="leave 9 of 17"):
        compare(X[:17], y[:17])
    assert len(parts((X[:18], y[:18])).train[1]) == 10


@pytest.mark.parametrize("size", [0, 1.5, 100, "half"])
@pytest.mark.parametrize("name", ["test_size", "calibration_size"])
def test_an_impossible_share_is_refused_by_its_name(rows, name, size):
    with pytest.raises(ValueError, match=rf"^{name} must be a share in \(0, 1\), got {size!r}$"):
        compare(*rows, **{name: size})


def test_groups_that_leave_too_few_rows_are_said_to(rows):
    groups = np.repeat([0, 1], [497, 3])
    for seed in range(10):  # one of the groups judges
        with pytest.raises(ValueError, match=r"^test_size=0\.25 leaves 3 of|at least 2 groups"):
            parts(rows, groups=groups, seed=seed)


@pytest.mark.parametrize("columns", [1, 2])
def test_outputs_in_columns_are_refused_before_any_work(rows, columns):
    X, y = rows
    told = []
    with pytest.raises(ValueError, match=rf"^y must be of shape \(n,\), got \(500, {columns}\):"):
        compare(X, np.column_stack([y] * columns), progress=told.append)
    assert not told
