import numpy as np
import pandas as pd
import polars
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from sosbands.learning import encoding
from sosbands.learning.encoding import BandInputs, is_frame, row_blocks


def frame():
    columns = {
        "name": ["u", "v", "w"],
        "x": [0.5, 1.5, 2.5],
        "count": pd.array([1, 2, 3], dtype="Int64"),
        "flag": [True, False, True],
        "kind": pd.Categorical(["a", "b", "a"]),
        "date": pd.to_datetime(["2020-01-01"] * 3),
        "wait": pd.to_timedelta([1, 2, 3], unit="D"),
    }
    return pd.DataFrame(columns)


NUMBERS = [[0.5, 1, 1], [1.5, 2, 0], [2.5, 3, 1]]


def test_arrays_are_seen_as_they_are():
    X = np.arange(6.0).reshape(3, 2)
    assert_array_equal(BandInputs.learn(X, np.zeros(3), None)(X), X)


def test_numbers_and_flags_of_a_frame_are_seen_by_name():
    seen = BandInputs.learn(frame(), np.zeros(3), None)
    assert_array_equal(seen(frame()), NUMBERS)
    assert_array_equal(seen(frame()[["flag", "count", "x"]]), NUMBERS)


def test_numbers_and_flags_of_a_polars_frame_are_seen_by_name():
    table = polars.DataFrame(frame().drop(columns=["kind", "count"]).to_dict("list"))
    seen = BandInputs.learn(table, np.zeros(3), None)
    assert_array_equal(seen(table), np.array(NUMBERS)[:, [0, 2]])
    assert is_frame(table)


def test_an_array_after_a_frame_is_seen_by_position():
    table = frame()[["x", "flag"]]
    seen = BandInputs.learn(table, np.zeros(3), None)
    assert_array_equal(seen(table.to_numpy(dtype=float)), np.array(NUMBERS)[:, [0, 2]])


def test_columns_without_names_are_seen_by_position():
    X = np.arange(6.0).reshape(3, 2)
    seen = BandInputs.learn(pd.DataFrame(X), np.zeros(3), None)
    assert_array_equal(seen(pd.DataFrame(X, columns=[1, 0])), X)
    assert_array_equal(seen(pd.DataFrame(X, columns=["a", "b"])), X)


def test_a_frame_without_numbers_needs_a_transformer():
    with pytest.raises(ValueError, match=r"no numeric columns.*give a band_transformer"):
        BandInputs.learn(frame()[["name", "kind"]], np.zeros(3), None)
    seen = BandInputs.learn(frame()[["name"]], np.zeros(3), OneHotEncoder())
    assert_array_equal(seen(frame()[["name"]]), np.eye(3))


def test_missing_numbers_are_refused_with_advice():
    table = frame()
    seen = BandInputs.learn(table, np.zeros(3), None)
    table.loc[1, "x"] = np.nan
    with pytest.raises(ValueError, match="hold 1 NaN or infinite values: impute them, or give"):
        seen(table)


def test_a_transformer_is_cloned_and_learns_from_its_rows_alone():
    X = np.arange(8.0).reshape(4, 2)
    scaler = StandardScaler()
    seen = BandInputs.learn(X, np.zeros(4), scaler)
    assert not hasattr(scaler, "mean_")
    assert_allclose(seen(X + 1), StandardScaler().fit(X).transform(X + 1))


def test_sparse_columns_of_a_transformer_become_dense():
    words = make_pipeline(
        FunctionTransformer(lambda X: X["name"]), CountVectorizer(analyzer="char")
    )
    seen = BandInputs.learn(frame(), np.zeros(3), words)
    assert_array_equal(seen(frame()), np.eye(3))


def test_blocks_cover_all_rows_in_order(monkeypatch):
    monkeypatch.setattr(encoding, "_BLOCK_ROWS", 4)
    rows = np.arange(10)[:, None]
    assert_array_equal(np.concatenate([rows[block] for block in row_blocks(rows)]), rows)
    assert [block.start for block in row_blocks(rows)] == [0, 4, 8]
    assert list(row_blocks(rows[:0])) == []
