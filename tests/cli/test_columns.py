import numpy as np
import pandas as pd
import pytest

from sosbands.cli.columns import Columns
from sosbands.tables import CsvFormat, TableError

FORM = CsvFormat()


def columns(**settings):
    given = {
        "x": ["1", "2", "3"],
        "colour": ["red", "blue", "red"],
        "y": ["1", "2", "3"],
    }
    table = pd.DataFrame({**given, **settings.pop("extra", {})}, dtype=object)
    return Columns.of(table, "y", path="t.csv", form=FORM, **settings)


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


def test_columns_survive_as_plain_lists():
    found = columns()
    assert Columns.from_dict(found.to_dict()) == found


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (["2024-01-31", "2024-02-01", ""], "'extra' holds dates .'2024-01-31'.*--drop"),
        (["1/2/24", "3.4.2024", "5/6/24 10:00"], "holds dates"),
        (["01 Jan 2020", "2-feb-20", "March 3, 2020 10:00"], "holds dates"),
        (["1,234", "5", "12,345.6"], "holds numbers with commas .'1,234'.*--thousands"),
        (["1", "2", "?"], "holds numbers, but '\\?' in row 3 .1 such rows.*--categorical extra"),
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
    given = {"path": "t.csv", "form": FORM}
    assert len(Columns.of(table, "y", **given, max_categories=kinds).categories["id"]) == kinds
    if accepted:
        assert len(Columns.of(table, "y", **given).categories["id"]) == kinds
        return
    sentence = f"'id' has {kinds} categories in {rows} rows, like an .*--max-categories {kinds}"
    with pytest.raises(TableError, match=sentence):
        Columns.of(table, "y", **given)


def test_codes_with_an_underscore_are_no_numbers():
    assert columns(extra={"code": ["20_01", "20_02", "20_01"]}).categories["code"]


def test_a_column_without_a_name_is_refused():
    with pytest.raises(TableError, match="a column has no name"):
        columns(extra={"": ["0", "1", "2"]})


@pytest.mark.parametrize("choice", ["left_out", "categorical"])
def test_a_choice_of_a_column_that_is_not_there_is_refused(choice):
    with pytest.raises(TableError, match=r"t\.csv has no column 'size': it has 'x', 'colour', 'y'"):
        columns(**{choice: ["size"]})


def test_a_target_alone_is_refused():
    with pytest.raises(TableError, match="no columns are left beside the target"):
        columns(left_out=["x", "colour"])


def test_inputs_are_found_by_name_in_the_order_of_training():
    table = pd.DataFrame({"z": ["?"], "colour": [" red "], "x": ["4"]}, dtype=object)
    X = columns().read_inputs(table, FORM, path="new.csv")
    assert list(X) == ["x", "colour"]
    assert X.iloc[0].tolist() == [4.0, "red"]


def test_unseen_categories_are_told_by_column():
    table = pd.DataFrame({"x": ["4", "5"], "colour": ["pink", ""]}, dtype=object)
    found = columns()
    assert found.unseen(found.read_inputs(table, FORM, path="new.csv")) == {"colour": {"pink"}}


def test_the_encoder_makes_zeros_and_ones_of_categories():
    found = columns()
    table = pd.DataFrame({"x": ["4", "5"], "colour": ["red", "blue"]}, dtype=object)
    X = found.read_inputs(table, FORM, path="new.csv")
    encoder = found.encoder().fit(X)
    assert np.array_equal(encoder.transform(X), [[0, 1, 4], [1, 0, 5]])


def test_numbers_alone_need_no_encoder():
    assert columns(left_out=["colour"]).encoder() is None
