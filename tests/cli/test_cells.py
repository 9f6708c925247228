import numpy as np
import pandas as pd
import pytest

from sosbands.cli.cells import categories, numbers
from sosbands.tables import CsvFormat, TableError


def column(*cells, dtype=object):
    return pd.Series(cells, dtype=dtype, name="x")


@pytest.mark.parametrize(
    ("given", "expected"),
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
def test_cells_are_read_as_numbers(given, expected):
    assert np.array_equal(numbers(given, CsvFormat()), expected, equal_nan=True)


def test_digits_are_not_lost_on_the_way():
    assert numbers(column("0.1", "1e-320", "12345678.9012345"), CsvFormat()).tolist() == [
        0.1,
        1e-320,
        12345678.9012345,
    ]


def test_numbers_are_read_as_the_format_says():
    form = CsvFormat(decimal=",", thousands=".")
    assert numbers(column("1.234,5", "0,25"), form).tolist() == [1234.5, 0.25]


@pytest.mark.parametrize("cell", ["two", "20_01", "inf", "-inf", "1;2"])
def test_what_is_no_number_is_refused_with_its_row(cell):
    with pytest.raises(TableError, match=f"got '{cell}' in row 2"):
        numbers(column("1", cell), CsvFormat())


def test_an_infinite_number_of_a_typed_column_is_refused():
    with pytest.raises(TableError, match="got 'inf' in row 1 and 1 more"):
        numbers(column(np.inf, -np.inf, 0.0, dtype=float), CsvFormat())


def test_a_number_with_commas_comes_with_the_advice_to_name_them():
    with pytest.raises(TableError, match="--thousands , or --decimal ,"):
        numbers(column("1", "1,234"), CsvFormat())


@pytest.mark.parametrize(
    "given",
    [
        column("1", " a ", "", None),
        column(1.0, "a", np.nan, "NA"),
        pd.Series(["1", "a", None, None], dtype="category"),
        pd.Series(["1", "a", None, None], dtype="string"),
    ],
)
def test_categories_have_the_same_names_however_they_are_stored(given):
    assert categories(given).tolist() == ["1", "a", None, None]


def test_whole_numbers_are_categories_without_a_point():
    assert categories(column(1.0, 2000000.0, 0.5, dtype=float)).tolist() == ["1", "2000000", "0.5"]
    assert categories(column(1, 2, dtype=int)).tolist() == ["1", "2"]
