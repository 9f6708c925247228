from datetime import date, datetime, time, timedelta

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sosbands.cli.column_judging import judged
from sosbands.cli.column_kinds import Dates
from sosbands.cli.dates import hours, is_date, moment, needs_order, order_shown
from sosbands.cli.table_file import CsvFormat, TableError

SPELLINGS = [
    *("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%d %b %Y", "%d-%b-%Y"),
    *("%d %B %Y", "%B %d, %Y", "%b. %d, %Y", "%a, %d %b %Y", "%A %d %B %Y", "%d. %B %Y"),
]
CLOCKS = ["", " %H:%M", " %H:%M:%S", "T%H:%M:%SZ", "T%H:%M:%S.%f", " %I:%M:%S %p", "T%H%M%S+0200"]


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("spelling", SPELLINGS)
@given(when=st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31)))
def test_a_date_is_read_as_it_was_written(spelling, clock, when):
    """As strptime reads it, which must be told the spelling."""
    text = when.strftime(spelling + clock)
    assert moment(text, day_first=True) == datetime.strptime(text, spelling + clock).replace(
        tzinfo=None
    )


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("20141013T000000", datetime(2014, 10, 13)),
        ("  2024-2-9 ", datetime(2024, 2, 9)),
        ("1/2/24", datetime(2024, 2, 1)),
        ("1/2/69", datetime(1969, 2, 1)),
        ("3rd Mar 2020", datetime(2020, 3, 3)),
        ("2024-02-29 12:00 am", datetime(2024, 2, 29)),
        (date(2024, 2, 29), datetime(2024, 2, 29)),
        (datetime(2024, 2, 29, 5), datetime(2024, 2, 29, 5)),
    ],
)
def test_usual_spellings_are_dates(cell, expected):
    assert moment(cell) == expected


@pytest.mark.parametrize(
    "cell",
    [
        *("", "soon", "2024", "20240101", "2024-13-01", "2024-02-30", "31.02.2024", "1.2.3"),
        *("1-2", "2024-01-01 25:00", "2024-01-01 13:00 pm", "1/2-2024", "Jan 2024", 5, None),
        *("2024-01-01x", "x" * 10**6, "Jan 1, 20", "10.5"),
    ],
)
def test_everything_else_is_none(cell):
    assert moment(cell) is None
    assert not is_date(cell)


def test_month_first_is_about_slashes_and_hyphens_alone():
    assert moment("1/2/2024", day_first=False) == datetime(2024, 1, 2)
    assert moment("1-2-2024", day_first=False) == datetime(2024, 1, 2)
    assert moment("1.2.2024", day_first=False) == datetime(2024, 2, 1)


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (["1/2/2024", "13/2/2024"], {True}),
        (["1/2/2024", "2/13/2024"], {False}),
        (["13/2/2024", "2/13/2024"], {True, False}),
        (["1/2/2024", "5/5/2024", "13.2.2024", "2024-02-13"], set()),
        (["40/40/2024"], set()),
    ],
)
def test_the_order_shows_where_it_must(cells, shown):
    assert order_shown(cells) == shown


def test_a_date_with_the_same_day_and_month_needs_no_order():
    assert not needs_order("5/5/2024")
    assert needs_order("5/6/2024")


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("10:30", 10.5),
        ("9:15 pm", 21.25),
        ("12:00 AM", 0),
        ("100:30:36", 100.51),
        (time(10, 30), 10.5),
        (timedelta(hours=30), 30),
        *((cell, None) for cell in ("10:75", "10", "13:00 pm", "1:2", "noon", None, 5.0)),
    ],
)
def test_times_are_hours(cell, expected):
    assert hours(cell) == (None if expected is None else pytest.approx(expected))


def test_dates_that_may_begin_with_the_year_are_asked_about():
    days = [f"{month:02}-{day:02}" for month in (1, 2) for day in range(1, 20)]
    years_first = [f"{year}-{day}" for year in (23, 24) for day in days]
    column = pd.Series(years_first, name="d", dtype=object)
    with pytest.raises(
        TableError, match="'23-01-01', in which the year may come first: write years"
    ):
        judged(column, CsvFormat())
    assert judged(column, CsvFormat(day_first=True)) == Dates(True)
    days_first = pd.Series(["-".join(reversed(one.split("-"))) for one in years_first], name="d")
    assert judged(days_first.astype(object), CsvFormat()) == Dates(True)


def test_births_have_more_years_than_days():
    births = pd.Series([f"{1 + at % 28:02}-05-{30 + at % 60}" for at in range(60)], name="born")
    assert judged(births.astype(object), CsvFormat()) == Dates(True)
