import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from sosbands.cli.cells import numbers, numbers_and_others, plain_numbers
from sosbands.cli.table_columns import Columns
from sosbands.cli.table_file import CsvFormat, TableError, TableFile

FORM = CsvFormat()
FILE = TableFile("t.csv")


def columns(**settings):
    given = {
        "x": ["1", "2", "3"],
        "colour": ["red", "blue", "red"],
        "y": ["1", "2", "3"],
    }
    table = pd.DataFrame({**given, **settings.pop("extra", {})}, dtype=object)
    return Columns.of(table, "y", FILE, **settings)


def test_text_is_taken_for_categories_and_numbers_for_numbers():
    found = columns()
    assert found.inputs == ("x", "colour")
    assert found.categories == {"colour": ("blue", "red")}


def test_booleans_are_numbers():
    assert "b" not in columns(extra={"b": ["true", "false", ""]}).categories


def test_columns_left_out_are_no_inputs():
    assert columns(left_out=["colour"]).inputs == ("x",)


def test_numbers_can_be_taken_for_names():
    extra = {"floor": ["2", "1", "2"]}
    assert columns(extra=extra, categorical=["floor"]).categories["floor"] == ("1", "2")


def test_columns_survive_as_json():
    found = columns()
    assert Columns.from_dict(json.loads(json.dumps(asdict(found)))) == found


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (
            ["2024-01-31", "2024-02-01", ""],
            "'extra' holds dates, such as '2024-01-31' in row 1: .*--drop",
        ),
        (["1/2/24", "3.4.2024", "5/6/24 10:00"], "holds dates"),
        (["01 Jan 2020", "2-feb-20", "March 3, 2020 10:00"], "holds dates"),
        (["1,234", "5", "12,345.6"], "but '1,234' in row 1 and 1 more is not .*--thousands ,"),
        (["1", "2", "?"], "numbers, but '\\?' in row 3 is not .*--categorical extra"),
        (["", "NA", None], "'extra' is empty"),
        (["a", "b", "c"], "has 3 categories in 3 rows, like an identifier.*--max-categories 3"),
        ([[1], [2], [3]], "holds lists"),
    ],
)
def test_a_doubtful_column_is_refused_with_advice(cells, sentence):
    with pytest.raises(TableError, match=sentence):
        columns(extra={"extra": cells}, max_categories=2)


@pytest.mark.parametrize(
    ("rows", "kinds", "accepted"),
    [(60, 60, False), (60, 31, False), (60, 30, True), (10, 3, True), (400, 101, False)],
)
def test_text_in_more_than_half_of_the_rows_is_an_identifier(rows, kinds, accepted):
    named = [f"k{i % kinds}" for i in range(rows)]
    # Rows without a name do not make the others categories.
    table = pd.DataFrame({"id": [*named, *[""] * rows], "y": "1"}, dtype=object)
    assert len(Columns.of(table, "y", FILE, max_categories=kinds).categories["id"]) == kinds
    if accepted:
        assert len(Columns.of(table, "y", FILE).categories["id"]) == kinds
        return
    sentence = f"'id' has {kinds} categories in {rows} rows, like an .*--max-categories {kinds}"
    with pytest.raises(TableError, match=sentence):
        Columns.of(table, "y", FILE)


@pytest.mark.parametrize(
    "cells",
    [
        ["5%", "5%", "7%", "7%"],
        ["$5", "$5", "7 €", "7 €"],
        ["(5)", "5-", "(5)", "5-"],
        ["1 000", "2 000", "1 000", "2 000"],
        ["1.234.567", "1.234.567", "2.345.678", "2.345.678"],
        ["١٢٣", "١٢٣", "٣", "٣"],
        ["5%", "5%", "7%", "7%", "5%", "about 7"],
    ],
)
def test_numbers_written_otherwise_are_not_taken_for_categories(cells):
    table = pd.DataFrame({"x": cells, "y": "1"}, dtype=object)
    with pytest.raises(TableError, match=r"'x' holds numbers, but .* in row 1 and"):
        Columns.of(table, "y", FILE)
    assert Columns.of(table, "y", FILE, categorical=["x"]).categories["x"]


@pytest.mark.parametrize("cells", [["1.2.3", "1.2.4"] * 2, ["0-4", "5+"] * 2, ["0x10", "0x11"] * 2])
def test_codes_with_digits_are_categories(cells):
    table = pd.DataFrame({"x": cells, "y": "1"}, dtype=object)
    assert Columns.of(table, "y", FILE).categories["x"] == tuple(cells[:2])


@pytest.mark.parametrize("cell", ["2023-01-01", "01/02/2023", "01.01.2023", "1.1.2023 10:00"])
def test_dates_are_never_numbers_whatever_the_format(cell):
    table = pd.DataFrame({"x": [cell, "1.234", cell], "y": "1"}, dtype=object)
    for form in (CsvFormat(decimal=",", thousands="."), CsvFormat(thousands=","), FORM):
        with pytest.raises(TableError, match=f"'x' holds dates, such as '{cell}' in row 1"):
            Columns.of(table, "y", TableFile("t.csv", form))


def test_codes_with_an_underscore_are_no_numbers():
    assert columns(extra={"code": ["20_01", "20_02", "20_01"]}).categories["code"]


def test_a_column_without_a_name_is_refused():
    with pytest.raises(TableError, match="a column has no name"):
        columns(extra={"": ["0", "1", "2"]})


@pytest.mark.parametrize("choice", ["left_out", "categorical"])
def test_a_choice_of_a_column_that_is_not_there_is_refused(choice):
    with pytest.raises(TableError, match=r"t\.csv has no column 'size': it has 'x', 'colour', 'y'"):
        columns(**{choice: ["size"]})


def test_many_absent_columns_are_counted_not_listed():
    table = pd.DataFrame({f"{i}{'c' * 500}": ["1"] for i in range(1000)} | {"y": ["1"]})
    absent = [f"{i}{'d' * 500}" for i in range(1000)]
    with pytest.raises(TableError, match=r"and 995 more: it has .* and 981 more") as caught:
        Columns.of(table, "y", FILE, left_out=absent)
    assert len(str(caught.value)) < 3000


def test_many_columns_are_read_at_once_and_as_one_by_one(monkeypatch):
    """The fast path and its slow twin, cells.numbers: the calls do not grow with the columns."""
    rng = np.random.default_rng(0)
    text = rng.normal(size=(5, 300)).astype(str).astype(object)
    text[3, 7], text[2, 8], text[1, 9] = "", " NA", "−1"
    table = pd.DataFrame(text, columns=[f"c{i}" for i in range(300)], dtype=object)
    monkeypatch.setattr("sosbands.cli.cells._AT_ONCE", 50)
    plain = plain_numbers(table, list(table), FORM)
    assert {"c8", "c9"} <= set(table) - set(plain)
    assert len(plain) == 290  # all groups of ten but that of c8 and c9
    for name, values in plain.items():
        assert np.array_equal(values, numbers(table[name], FORM), equal_nan=True)
    alone = []
    monkeypatch.setattr(
        "sosbands.cli.cells.numbers_and_others",
        lambda column, form: alone.append(column.name) or numbers_and_others(column, form),
    )
    X = Columns(tuple(table)).read_inputs(table, FILE)
    assert alone == [f"c{i}" for i in range(10)]
    assert X.shape == (5, 300)
    assert X.loc[1, "c9"] == -1


def test_a_target_alone_is_refused():
    with pytest.raises(TableError, match="no columns are left beside the target"):
        columns(left_out=["x", "colour"])


def test_inputs_are_found_by_name_in_the_order_of_training():
    table = pd.DataFrame({"z": ["?"], "colour": [" red "], "x": ["4"]}, dtype=object)
    X = columns().read_inputs(table, FILE)
    assert list(X) == ["x", "colour"]
    assert X.iloc[0].tolist() == [4.0, "red"]


def test_unseen_categories_are_told_by_column():
    table = pd.DataFrame({"x": ["4", "5"], "colour": ["pink", ""]}, dtype=object)
    found = columns()
    assert found.unseen(found.read_inputs(table, FILE)) == {"colour": {"pink"}}


def test_the_encoder_makes_zeros_and_ones_of_categories():
    found = columns()
    table = pd.DataFrame({"x": ["4", "5"], "colour": ["red", "blue"]}, dtype=object)
    X = found.read_inputs(table, FILE)
    encoder = found.encoder().fit(X)
    assert np.array_equal(encoder.transform(X), [[0, 1, 4], [1, 0, 5]])


def test_numbers_alone_need_no_encoder():
    assert columns(left_out=["colour"]).encoder() is None
