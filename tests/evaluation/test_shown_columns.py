"""Columns in the words of their owner."""

import numpy as np
import pandas as pd
import pytest

from sosbands.evaluation.shown_columns import (
    ShownColumn,
    column_of_inputs,
    said_date,
    sees_columns,
    shown_columns,
)
from tests.regressors import regressor

ALL = np.arange(4)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, 2.0, 2.0, 9.0], "x ≈ 2"),
        ([0.111, 0.222, 0.222, 0.9], "x ≈ 0.22"),
        ([-5.0, -5.0, 3.0, -5.0], "x ≈ −5"),
        ([np.nan, np.nan, np.nan, 1.0], "x missing"),
        ([7.5, 7.5, 7.5, 7.5], "x ≈ 7.5"),
    ],
)
def test_numbers_are_told_by_their_median_in_their_own_digits(values, words):
    assert ShownColumn("x", "number", np.array(values)).typical(ALL) == words


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["a", "a", "a", "a"], "kind = a"),
        (["a", "a", "a", "b"], "kind mostly a"),
        (["a", "b", "c", "d"], "kind often a"),
        (["missing"] * 4, "kind = missing"),
    ],
)
def test_categories_are_told_by_the_most_frequent_one(values, words):
    assert ShownColumn("kind", "category", values).typical(ALL) == words


def test_dates_are_days_and_have_a_time_if_some_have():
    days = np.array([pd.Timestamp(f"2021-03-0{day}").timestamp() for day in (1, 2, 3, 4)])
    assert ShownColumn("sold", "date", days).typical(ALL) == "sold ≈ 2021-03-02"
    hours = ShownColumn("sold", "date", days + 3600)
    assert hours.cell(0) == "2021-03-01 01:00"
    assert said_date(0.0) == "1970-01-01"


def test_columns_are_those_of_the_table_whatever_the_band_sees():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "size": rng.uniform(size=80),
            "kind": rng.choice(["a", "b", "c"], 80),
            "day": pd.date_range("2021-01-01", periods=80),
        }
    )
    table.loc[::3, "kind"] = None
    model = regressor(lengthscale=1.0, width_weight=50.0, symmetric=True, random_state=0)
    model.fit(table, rng.normal(size=80))
    B = model.band_.encoding(table)
    found = shown_columns(model, table, B)
    assert [(one.name, one.kind) for one in found] == [
        ("size", "number"),
        ("kind", "category"),
        ("day", "date"),
    ]
    assert found[1].cell(0) == "missing"
    assert found[1].known.sum() == table["kind"].notna().sum()
    origin = column_of_inputs(model, B.shape[1])
    assert len(origin) == B.shape[1]
    assert set(origin) == {0, 1, 2}
    assert sees_columns(model)
