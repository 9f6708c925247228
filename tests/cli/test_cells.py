import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sosbands.cli.cells import all_numbers, categories, is_missing, number
from sosbands.cli.column_judging import wrong_cell
from sosbands.cli.column_kinds import Numbers
from sosbands.cli.table_file import CsvFormat, TableError


def column(*cells, dtype=object):
    return pd.Series(cells, dtype=dtype, name="x")


def numbers(cells, form):
    values, wrong = Numbers().read(cells, form)
    if wrong:
        raise wrong_cell(cells, Numbers(), wrong, may_differ=True)
    return values


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (column("1", " 2.5 ", "-3e2"), [1, 2.5, -300]),
        (column("1", "", "NA", " nan ", "None"), [1, *[np.nan] * 4]),
        (column("true", "FALSE"), [1, 0]),
        (column(1, 2, dtype="Int64"), [1, 2]),
        (column(1, None, dtype="Int64"), [1, np.nan]),
        (column(True, False, dtype=bool), [1, 0]),
        (column(1, None, "2"), [1, np.nan, 2]),
    ],
)
def test_cells_are_read_as_numbers(cells, expected):
    assert np.array_equal(numbers(cells, CsvFormat()), expected, equal_nan=True)


def test_digits_are_not_lost_on_the_way():
    assert numbers(column("0.1", "1e-320", "12345678.9012345"), CsvFormat()).tolist() == [
        0.1,
        1e-320,
        12345678.9012345,
    ]


def test_numbers_are_read_as_the_format_says():
    form = CsvFormat(decimal=",", thousands=".")
    assert numbers(column("1.234,5", "0,25"), form).tolist() == [1234.5, 0.25]


@pytest.mark.parametrize(
    "cell",
    [
        *["two", "20_01", "inf", "-Infinity", "1e999", "1;2", "1\0", "\0001", "1\x1f", "0x10"],
        *["١٢٣", "１２", "²", "1 000", "1\u00a0000", "–5", "5-", "(5)", "$5", "5%", "1,5", "+-5"],
        *["1e", "e5", ".", "1.2.3", "1e5.5", "1d5", "1L", "--1", "1 2", "1\n2", "½", "٫5"],
    ],
)
def test_what_is_no_number_is_refused_with_its_row(cell):
    with pytest.raises(TableError, match=re.escape(f"got {cell!r} in row 2")):
        numbers(column("1", cell), CsvFormat())
    with pytest.raises(TableError, match=re.escape(f"got {cell!r} in row 2: ")):
        numbers(column("", cell), CsvFormat())


@pytest.mark.parametrize(
    ("decimal", "thousands", "cell", "value"),
    [
        (",", ".", "1.234.567", 1234567),
        (",", ".", "-1.234,5e2", -123450),
        (",", ".", "1234,5", 1234.5),
        (",", ".", " 12.345 ", 12345),
        (",", "", ",5", 0.5),
        (",", "", "5,", 5),
        (".", ",", "1,234.5", 1234.5),
        (".", " ", "1\u202f234\u00a0567.25", 1234567.25),
        (".", "’", "1'234", 1234),
        (".", "_", "20_001", 20001),
        (".", "", "\N{MINUS SIGN}5", -5),
        (".", "", "\u00a05\t", 5),
        (",", "", "\N{MINUS SIGN}0,5", -0.5),
    ],
)
def test_a_number_is_read_as_it_is_written(decimal, thousands, cell, value):
    form = CsvFormat(decimal=decimal, thousands=thousands)
    assert numbers(column(cell, "2"), form).tolist() == [value, 2]


@pytest.mark.parametrize(
    ("decimal", "thousands", "cell", "others", "advice"),
    [
        (",", ".", "4.82", ["829"], "say how the numbers are written, --decimal '\\.'"),
        (",", "", "4.829", ["2,5"], "written, --decimal ',' --thousands '.'"),
        (".", ",", "1,23", ["5"], "written, --decimal ','"),
        (".", "", "1,234", ["5"], "written, --decimal ','"),
        (".", "", "1 000", ["5"], "written, --thousands ' '"),
    ],
)
def test_marks_are_advised_that_read_all_cells(decimal, thousands, cell, others, advice):
    form = CsvFormat(decimal=decimal, thousands=thousands)
    with pytest.raises(TableError, match=re.escape(f"got {cell!r} in row 1") + f".*{advice}"):
        numbers(column(cell, *others), form)


@pytest.mark.parametrize("cell", ["01.01.2023", "12.34.567", "1,234.567", "0.123", "5%", "(5)"])
def test_no_marks_are_advised_where_none_reads_all_cells(cell):
    form = CsvFormat(decimal=",", thousands=".")
    with pytest.raises(TableError) as caught:
        numbers(column("1.234,5", cell), form)
    assert "--decimal" not in str(caught.value)
    assert "--na-values" in str(caught.value)


@pytest.mark.parametrize("form", [CsvFormat(), CsvFormat(decimal=",")])
@given(cells=st.lists(st.text("0123456789+-.,eE \n_x", max_size=6), min_size=1, max_size=4))
def test_many_cells_at_once_are_read_as_one_by_one(form, cells):
    """The fast path may refuse; what it reads, the slow twin reads the same."""
    fast = all_numbers(np.array(cells, dtype=object), form)
    slow = [np.nan if cell == "" else number(cell, form) for cell in cells]
    if fast is not None:
        assert np.array_equal(fast, np.array(slow, dtype=float), equal_nan=True)
        assert None not in slow


@given(
    value=st.floats(allow_nan=False, allow_infinity=False),
    decimal=st.sampled_from(".,"),
    thousands=st.sampled_from(["", "'", " "]),
)
def test_every_float_comes_back_as_it_was_written(value, decimal, thousands):
    grouped = f"{int(value):,}".replace(",", thousands) if abs(value) < 1e15 else ""
    form = CsvFormat(decimal=decimal, thousands=thousands)
    assert numbers(column(repr(value).replace(".", decimal)), form).tolist() == [value]
    if grouped:
        assert numbers(column(grouped), form).tolist() == [int(value)]


def test_numbers_of_a_typed_column_are_not_read_as_text():
    cells = column(4.829, Decimal("4.829"), True, np.float32(0.5))
    assert numbers(cells, CsvFormat(decimal=",")).tolist() == [4.829, 4.829, 1, 0.5]


def test_a_huge_cell_is_shortened_in_the_message():
    with pytest.raises(TableError) as caught:
        numbers(column("x" * 10**6).rename("c" * 10**6), CsvFormat())
    assert len(str(caught.value)) < 500


def test_an_infinite_number_of_a_typed_column_is_refused():
    with pytest.raises(TableError, match="got 'inf' in row 1 and 1 more"):
        numbers(column(np.inf, -np.inf, 0.0, dtype=float), CsvFormat())


@pytest.mark.parametrize(
    "cell", ["", " ", "NA", "NaN", "null", "?", "-", " – ", "None", "n/a", "#DIV/0!", "gone"]
)
def test_nothing_is_spelled_in_many_ways(cell):
    form = CsvFormat(na_values=("gone", "-999"))
    assert is_missing(cell, form)
    assert np.isnan(numbers(column("1", cell), form)[1])
    assert categories(column("1", cell), form).tolist() == ["1", None]


def test_a_number_can_stand_for_nothing_if_it_is_named_so():
    form = CsvFormat(na_values=("-999",))
    for cells in (["1", "-999", "-99"], ["1", " -999", "-99"]):
        assert np.array_equal(numbers(column(*cells), form), [1, np.nan, -99], equal_nan=True)


@pytest.mark.parametrize(
    "cells",
    [
        column("1", " a ", "", None),
        column(1.0, "a", np.nan, "NA"),
        pd.Series(["1", "a", None, None], dtype="category"),
        pd.Series(["1", "a", None, None], dtype="string"),
    ],
)
def test_categories_have_the_same_names_however_they_are_stored(cells):
    assert categories(cells, CsvFormat()).tolist() == ["1", "a", None, None]


def test_whole_numbers_are_categories_without_a_point():
    found = categories(column(1.0, 2000000.0, 0.5, dtype=float), CsvFormat())
    assert found.tolist() == ["1", "2000000", "0.5"]
    assert categories(column(1, 2, dtype=int), CsvFormat()).tolist() == ["1", "2"]


def test_cells_that_differ_by_what_nobody_sees_are_one_category():
    found = categories(column("a\0", "a", None, "b", "a\0b"), CsvFormat())
    assert found.tolist() == ["a", "a", None, "b", "a\0b"]


@pytest.mark.parametrize(
    "cells",
    [
        column("1", "999", "999.0", "-1"),
        column(1, 999, 999.0, -1),
        column(1, 999, 999, -1, dtype="int64"),
        column(1.0, 999.0, 999.0, -1.0, dtype="float64"),
        column(1, 999, None, -1, dtype="Int64"),
    ],
)
def test_a_number_that_stands_for_nothing_does_however_it_is_stored(cells):
    expected = [1, np.nan, np.nan, -1]
    assert np.array_equal(numbers(cells, CsvFormat(na_values=("999",))), expected, equal_nan=True)


def test_both_ways_to_read_a_new_cell_are_named_with_what_they_make_of_it():
    with pytest.raises(TableError) as caught:
        numbers(column("1,200"), CsvFormat())
    sentence = "say how the numbers are written, --decimal ',' for 1.2, or say how the numbers "
    assert sentence in str(caught.value)
    assert "--thousands ',' for 1200" in str(caught.value)


def test_a_percentage_is_not_written_for_the_user():
    with pytest.raises(TableError, match="write the unit as well, or if") as caught:
        raise wrong_cell(column("5 %", "0.5"), Numbers("%"), [1], may_differ=True)
    assert "0.5 %" not in str(caught.value)
