"""What `DaskBandRegressor` refuses, in one sentence that says where and what to do."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from sosbands.dask import DaskBandRegressor
from tests.interop.dask_rows import BAND, chunked, partitioned, rows, table

X, Y = rows()


def far(**parameters):
    settings = {"estimator": LinearRegression(), "band": BAND, "random_state": 0, **parameters}
    return DaskBandRegressor(**settings)


@pytest.fixture(scope="module")
def fitted():
    return far(calibration=None).fit(*chunked(X, Y))


def changed(values, where, value):
    values = values.copy()
    values[where] = value
    return values


def test_bad_outputs_far_away_are_named_by_row(fitted):
    y = changed(Y, [2501, 2750], np.nan)
    message = r"y is NaN or infinite in rows 2501, 2750 \(counted from 0\): drop or correct them"
    with pytest.raises(ValueError, match=message):
        far().fit(*chunked(X, y, 500))
    with pytest.raises(ValueError, match=message):
        fitted.conformalize(*chunked(X, y, 500))


def test_of_many_bad_rows_the_first_are_named():
    with pytest.raises(ValueError, match="rows 2001, 2002, 2003, 2004, 2005 and 494 more"):
        far().fit(*chunked(X, changed(Y, slice(2001, None), np.inf), 500))


def test_infinite_inputs_far_away_are_named_by_row(fitted):
    wrong = changed(X, (1777, 1), -np.inf)
    message = r"X is infinite in row 1777 \(counted from 0\)"
    with pytest.raises(ValueError, match=message):
        far().fit(*chunked(wrong, Y, 500))
    with pytest.raises(ValueError, match=message):
        fitted.conformalize(*chunked(wrong, Y, 500))
    frame, y = table()
    frame.iloc[1111, 0] = np.inf
    with pytest.raises(ValueError, match="column 'a' of X is infinite in row 1111"):
        DaskBandRegressor(None, band=BAND).fit(*partitioned(frame, y))


def test_blocks_of_other_types_are_named():
    frame, y = table()
    text = frame.assign(a=frame.a.map("about {:.1f}".format))
    parts = [dask.delayed(part) for part in (frame[:600], text[600:])]
    mixed = dd.from_delayed(parts, meta=frame[:0], verify_meta=False)
    message = "column 'a' holds numbers in block 0 and text or categories in block 1: give all"
    with pytest.raises(ValueError, match=message):
        DaskBandRegressor(None, band=BAND).fit(mixed, dd.from_pandas(y, npartitions=2))
    words = changed(X.astype(object), (2500, 1), "two")
    with pytest.raises(ValueError, match="in rows 2100 to 2799: X is an array that holds text"):
        far().fit(*chunked(words, Y))


def test_outputs_that_are_no_numbers_are_refused():
    y = da.from_array(np.array(["low"] * 3000, dtype=object), chunks=1000)
    with pytest.raises(ValueError, match="y is not numeric in rows 0 to 699"):
        far().fit(chunked(X, Y)[0], y)


def test_rows_of_other_numbers_are_refused(fitted):
    lazy, y = chunked(X, Y)
    with pytest.raises(ValueError, match="X has 3000 rows and y has 2990: give both for the same"):
        far().fit(lazy, y[:2990])
    with pytest.raises(ValueError, match="X has 3000 rows and groups has 10"):
        fitted.conformalize(lazy, y, groups=y[:10])
    with pytest.raises(ValueError, match="at least 10 rows are needed, got 9"):
        far().fit(lazy[:9], y[:9])


def test_more_rows_held_back_than_there_are_is_refused():
    with pytest.raises(ValueError, match="calibration_size=5000 leaves -2000 of 3000 rows"):
        far(calibration_size=5000).fit(*chunked(X, Y))


def test_only_collections_are_taken(fitted):
    lazy, y = chunked(X, Y)
    with pytest.raises(ValueError, match="X must be a Dask array or dataframe, got ndarray: use"):
        far().fit(X, y)
    with pytest.raises(
        ValueError, match=r"y must be a Dask array of shape \(n,\) or a Dask series"
    ):
        far().fit(lazy, Y)
    with pytest.raises(ValueError, match="X must have two dimensions"):
        far().fit(y, y)
    with pytest.raises(ValueError, match="got DataFrame: use BandRegressor"):
        fitted.predict(pd.DataFrame(X))


def test_other_columns_are_refused():
    frame, y = table()
    model = DaskBandRegressor(None, band=BAND, random_state=0).fit(*partitioned(frame, y))
    fewer = dd.from_pandas(frame[["a", "b"]], npartitions=2)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(fewer).compute()
    with pytest.raises(ValueError, match="feature names"):
        model.conformalize(fewer, dd.from_pandas(y, npartitions=2))


@pytest.mark.parametrize("calibration", ["cv+", "localized"])
def test_calibrations_that_need_all_rows_are_refused(calibration):
    with pytest.raises(ValueError, match="it needs all rows in one place"):
        far(calibration=calibration).fit(*chunked(X, Y))


@pytest.mark.parametrize("mean_rows", [5, 10.5, -1, "all"])
def test_mean_rows_is_a_number_of_rows(mean_rows):
    with pytest.raises(ValueError, match="mean_rows must be"):
        far(mean_rows=mean_rows).fit(*chunked(X, Y))


def test_the_workers_train_regressors_that_they_can(fitted):
    with pytest.raises(ValueError, match="mean_rows=None needs an estimator that fits on collect"):
        DaskBandRegressor(mean_rows=None).fit(*chunked(X, Y))
    folds = [(np.arange(5), np.arange(5, 10))]
    with pytest.raises(ValueError, match="cv must be a number of folds for a mean that is trained"):
        far(mean_rows=None, cv=folds).fit(*chunked(X, Y))


def test_what_calibration_did_not_have_is_of_no_use(fitted):
    lazy, y = chunked(X, Y)
    with pytest.raises(ValueError, match="groups or weights to conformalize, not both"):
        fitted.conformalize(lazy, y, groups=y, weights=y)
    with pytest.raises(TypeError, match="unexpected parameters"):
        far().fit(lazy, y, speed=3)
