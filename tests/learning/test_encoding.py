import datetime

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
import sklearn.linear_model
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import sosbands
from sosbands.learning import tables
from sosbands.learning.encoding import BandInputs, TableEncoder
from sosbands.learning.tables import is_frame, row_blocks
from tests.regressors import regressor

CHEAP = {"lengthscale": 1.0, "mean_lengthscale": 1.0, "width_weight": 10.0, "random_state": 0}
LEVELS = [f"level {k:02d}" for k in range(12)]


def messy(n=120, seed=0):
    """A table of every kind of column, with missing cells."""
    rng = np.random.default_rng(seed)
    size = np.round(rng.uniform(1, 5, n), 3)
    kind = np.array(["red", "green", "blue"], dtype=object)[rng.integers(3, size=n)]
    code = np.array(LEVELS, dtype=object)[rng.integers(12, size=n)]
    day = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(1000, size=n), unit="D")
    y = size + (kind == "red") + np.array([int(c[-2:]) for c in code]) / 3 + rng.normal(size=n)
    size[rng.random(n) < 0.2] = np.nan
    kind[rng.random(n) < 0.2] = None
    columns = {"size": size, "flag": rng.random(n) < 0.3, "kind": kind, "code": code, "day": day}
    return pd.DataFrame(columns), y


def as_polars(table):
    return polars.DataFrame(as_arrow(table)).with_columns(
        polars.col("kind").cast(polars.Categorical)
    )


def as_arrow(table):
    return pyarrow.Table.from_pandas(table, preserve_index=False)


def as_categories(table):
    return table.astype({"flag": "boolean", "kind": "category", "code": "category"})


def as_objects(table):
    days = [day.to_pydatetime() for day in table["day"]]
    return table.astype({"flag": object}).assign(day=pd.Series(days, dtype=object))


# What columns become


def test_arrays_of_numbers_are_seen_as_they_are():
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert_array_equal(TableEncoder().fit(X, X[:, 0]).transform(X), X)
    assert_array_equal(TableEncoder().fit(pd.DataFrame(X), X[:, 0]).transform(pd.DataFrame(X)), X)


def test_every_kind_of_column_becomes_finite_numbers_with_readable_names():
    table, y = messy()
    encoder = TableEncoder().fit(table, y)
    B = encoder.transform(table)
    assert np.all(np.isfinite(B))
    assert B.flags.c_contiguous
    names = encoder.get_feature_names_out().tolist()
    assert names == [
        *("size", "size is missing", "flag", "kind = green", "kind = red", "kind is missing"),
        *("code (mean of y)", "day", "day: month (sin)", "day: month (cos)"),
        *("day: weekday (sin)", "day: weekday (cos)"),
    ]
    assert encoder.sources_ == ["size"] * 2 + ["flag"] + ["kind"] * 3 + ["code"] + ["day"] * 5
    missing = np.isnan(table["size"])
    assert_array_equal(B[:, 1], missing)
    assert_array_equal(B[~missing, 0], table["size"][~missing])
    assert_array_equal(B[:, 3], table["kind"] == "green")
    with sklearn.config_context(transform_output="pandas"):
        assert list(TableEncoder().fit(table, y).transform(table).columns) == names


@pytest.mark.parametrize("make", [as_polars, as_arrow, as_categories, as_objects])
def test_every_library_gives_the_same_numbers(make):
    table, y = messy()
    plain, other = TableEncoder().fit(table, y), TableEncoder().fit(make(table), y)
    assert is_frame(make(table))
    assert_allclose(other.transform(make(table)), plain.transform(table), rtol=1e-12)
    assert_array_equal(other.codes(make(table)), plain.codes(table))
    assert_array_equal(other.get_feature_names_out(), plain.get_feature_names_out())


def test_trees_get_numbers_with_nan_and_codes():
    table, y = messy()
    table.loc[0, "code"] = "never seen"
    encoder = TableEncoder().fit(table[1:], y[1:])
    T = encoder.codes(table)
    assert_array_equal(encoder.categorical_, [False, False, True, True, False, False, False])
    assert_array_equal(T[:, 0], table["size"])
    kinds = ["blue", "green", "red", None]
    assert_array_equal(
        T[:, 2], [kinds.index(kind) for kind in table["kind"].replace({np.nan: None})]
    )
    assert np.isnan(T[0, 3])
    assert_array_equal(T[1:, 3], [LEVELS.index(code) for code in table["code"][1:]])
    assert_array_equal(T[:, 5], table["day"].dt.month)
    assert_array_equal(T[:, 6], table["day"].dt.day_of_week)


def test_cells_like_none_of_the_training_rows_are_counted():
    table, y = messy()
    encoder = TableEncoder().fit(table, y)
    assert not encoder.strange(table).any()
    new = table[:4].copy()
    new["flag"] = new["flag"].astype("boolean")
    new.loc[0, "kind"], new.loc[1, "code"], new.loc[1, "flag"] = "pink", None, pd.NA
    new.loc[2, ["size", "day"]] = None
    assert_array_equal(encoder.strange(new), [1, 2, 1, 0])
    assert np.all(np.isfinite(encoder.transform(new)))
    assert_array_equal(encoder.encoded(new).levels[1], [-1])


def test_levels_that_are_often_new_are_not_strange():
    rng = np.random.default_rng(0)
    names = [f"p{k}" for k in range(30)] * 3 + [f"q{k}" for k in range(20)]
    table = pd.DataFrame({"place": names, "x": rng.normal(size=110)})
    encoder = TableEncoder().fit(table, rng.normal(size=110))
    assert_array_equal(encoder.encoded(table).levels[90:], np.full((20, 1), -1))
    assert not encoder.strange(table.assign(place="r")).any()


def test_levels_are_encoded_without_the_fold_of_a_row():
    table, y = messy()
    folds = list(KFold(4).split(y))
    encoder, B = TableEncoder().fit_transform_folds(table, y, folds)
    changed = y.copy()
    changed[:30] = changed[:30][::-1]  # the first fold; the mean of y stays
    _, other = TableEncoder().fit_transform_folds(table, changed, folds)
    at = encoder.get_feature_names_out().tolist().index("code (mean of y)")
    weight = 1e-3  # levels of these rows are drawn to the mean a little more or less
    assert_allclose(other[:30, at], B[:30, at], atol=weight * np.ptp(y), rtol=0.1)
    assert not np.allclose(other[30:, at], B[30:, at], rtol=1e-3)
    assert not np.allclose(encoder.transform(table)[:, at], B[:, at])
    assert_array_equal(np.delete(encoder.transform(table), at, 1), np.delete(B, at, 1))
    _, without = TableEncoder().fit_transform_folds(table, y, folds[:1])
    assert_array_equal(without[30:], encoder.transform(table)[30:])


def test_indicators_stay_few_where_there_are_many_columns_of_texts():
    rng = np.random.default_rng(0)
    texts = {f"t{j}": rng.choice(list("abcdefg"), 200) for j in range(40)}
    encoder = TableEncoder().fit(pd.DataFrame(texts), rng.normal(size=200))
    assert len(encoder.sources_) == 40


@pytest.mark.parametrize(("n", "shown"), [(300, False), (479, False), (480, True), (1000, True)])
def test_more_rows_show_more_levels_by_indicators(n, shown):
    table = pd.DataFrame({"hour": [f"{k % 24}h" for k in range(n)]})
    encoder = TableEncoder().fit(table, np.sin(np.arange(n)))
    assert len(encoder.sources_) == (23 if shown else 1)


def test_dates_in_strings_are_text_and_short_series_have_no_cycle():
    n = 40
    day = pd.Timestamp("2020-05-04") + pd.to_timedelta(np.arange(n) % 5, unit="D")
    table = pd.DataFrame({"day": day, "text": day.astype(str)})
    encoder = TableEncoder().fit(table, np.arange(n, dtype=float))
    assert encoder.get_feature_names_out()[0] == "day"
    assert encoder.sources_ == ["day", "text", "text", "text", "text"]
    hours = pd.DataFrame({"at": pd.Timestamp("2020-01-01") + pd.to_timedelta(range(n), unit="h")})
    names = TableEncoder().fit(hours, np.arange(n)).get_feature_names_out()
    assert names.tolist() == ["at", "at: hour (sin)", "at: hour (cos)"]
    with_times = pd.DataFrame({"t": [datetime.time(k % 24) for k in range(n)]})
    assert TableEncoder().fit(with_times, np.arange(n)).transform(with_times)[5, 0] == 5 * 3600


def test_unique_texts_are_left_out_and_row_numbers_noticed_in_one_warning():
    table, y = messy()
    table = table.assign(name=[f"row {i}" for i in range(120)], number=np.arange(120) + 7)
    message = "nearly every row is left out of the encoding: 'name'; .*number the rows: 'number'"
    with pytest.warns(UserWarning, match=message):
        encoder = TableEncoder().fit(table, y)
    assert "name" not in encoder.sources_
    assert "number" in encoder.sources_
    with pytest.warns(UserWarning, match=message) as told:
        regressor(**CHEAP).fit(table, y)
    assert len(told) == 1


def test_heavy_tails_are_tamed_in_any_units_and_others_left_alone():
    rng = np.random.default_rng(0)
    heavy = rng.normal(size=500)
    heavy[:3] *= 1e4
    plain = np.column_stack(
        [rng.normal(size=500), rng.exponential(size=500), rng.random(500) < 0.02]
    )
    X = np.column_stack([heavy, plain])
    encoder = TableEncoder().fit(X, heavy)
    B = encoder.transform(X)
    assert_array_equal(B[:, 1:], plain)
    assert np.abs(B[:, 0]).max() < 40
    assert_array_equal(np.argsort(B[:, 0]), np.argsort(heavy))
    scaled = TableEncoder().fit(X * 1e-200, heavy).transform(X * 1e-200)
    assert_allclose(scaled, B * 1e-200, rtol=1e-9)


# Bands on such tables


@pytest.mark.parametrize("calibration", ["split", "cv+"])
def test_a_band_around_a_kernel_mean_takes_any_table_and_survives_a_file(calibration, tmp_path):
    table, y = messy()
    model = regressor(calibration=calibration, cv=3, **CHEAP).fit(table, y)
    new, _ = messy(40, seed=1)
    new.loc[0, "kind"] = "pink"
    intervals = model.predict_interval(new)
    assert np.all(np.isfinite(intervals))
    sosbands.save(model, tmp_path / "model.skops")
    again = sosbands.load(tmp_path / "model.skops")
    assert_array_equal(again.predict_interval(new), intervals)
    assert_array_equal(again.extrapolation(new), model.extrapolation(new))
    assert model.extrapolation(new)[0] > 0.8
    assert_array_equal(model.predict_interval(as_arrow(new)), intervals)


def test_trees_get_the_table_as_it_is(tmp_path):
    table, y = messy()
    table = as_categories(table).drop(columns="day")
    trees = HistGradientBoostingRegressor(max_iter=5, categorical_features="from_dtype")
    model = regressor(trees, **CHEAP).fit(table, y)
    assert_array_equal(model.predict(table), model.estimator_.predict(table))
    assert model.estimator_.is_categorical_.any()
    sizes = model.band_.scale_inputs.sizes
    assert len(sizes) == 1
    assert len(sizes[0].means.means) == 13
    sosbands.save(model, tmp_path / "model.skops")
    again = sosbands.load(tmp_path / "model.skops")
    assert_array_equal(again.predict_interval(table), model.predict_interval(table))


def test_the_order_of_rows_and_columns_does_not_matter():
    table, y = messy()
    folds = list(KFold(3).split(y))
    model = regressor(calibration=None, cv=3, **CHEAP).fit(table, y)
    _, B = TableEncoder().fit_transform_folds(table, y, folds)
    turned = table[table.columns[::-1]]
    other, C = TableEncoder().fit_transform_folds(turned, y, folds)
    places = [other.get_feature_names_out().tolist().index(name) for name in _names(model)]
    assert_array_equal(C[:, places], B)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = TableEncoder().fit(table.iloc[order], y[order])
    assert_allclose(shuffled.transform(table), TableEncoder().fit(table, y).transform(table))


def _names(model):
    return model.band_.encoding.transformer.get_feature_names_out()


def test_tags_follow_who_sees_the_table():
    assert regressor().__sklearn_tags__().input_tags.allow_nan
    trees = regressor(HistGradientBoostingRegressor()).__sklearn_tags__().input_tags
    assert trees.allow_nan
    assert regressor().__sklearn_tags__().input_tags.categorical
    ridge = regressor(sklearn.linear_model.Ridge()).__sklearn_tags__().input_tags
    assert not ridge.allow_nan


# Transformers of the user


def test_a_transformer_is_cloned_and_learns_from_its_rows_alone():
    X = np.arange(8.0).reshape(4, 2)
    scaler = StandardScaler()
    seen, encoded = BandInputs.learn(X, np.zeros(4), scaler, None)
    assert not hasattr(scaler, "mean_")
    assert_allclose(seen(X + 1), StandardScaler().fit(X).transform(X + 1))
    assert_array_equal(encoded.B, seen(X))


def test_sparse_columns_of_a_transformer_become_dense():
    words = make_pipeline(
        FunctionTransformer(lambda X: X["name"]), CountVectorizer(analyzer="char")
    )
    table = pd.DataFrame({"name": ["u", "v", "w"]})
    assert_array_equal(BandInputs.learn(table, np.zeros(3), words, None)[0](table), np.eye(3))


def test_blocks_cover_all_rows_in_order(monkeypatch):
    monkeypatch.setattr(tables, "_BLOCK_ROWS", 4)
    rows = np.arange(10)[:, None]
    assert_array_equal(np.concatenate([rows[block] for block in row_blocks(rows)]), rows)
    assert [block.start for block in row_blocks(rows)] == [0, 4, 8]
    assert list(row_blocks(rows[:0])) == []
