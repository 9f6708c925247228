import json

import numpy as np
import pandas as pd
import pytest

from sosbands.cli.cells import numbers_and_others, plain_numbers
from sosbands.cli.column_kinds import Dates, Names, Numbers, Times, kind_from_dict
from sosbands.cli.table_columns import Choice, Columns
from sosbands.cli.table_file import CsvFormat, Problems, TableError, TableFile

FORM = CsvFormat()
FILE = TableFile("t.csv")
ROWS = 24


def judge(extra=None, form=FORM, **settings):
    """The columns of a small table with further ones, and those left out."""
    given = {
        "x": [f"{i}.5" for i in range(ROWS)],
        "colour": ["red", "blue"] * (ROWS // 2),
        "y": [f"{i}" for i in range(ROWS)],
    }
    cells = {name: list(np.resize(column, ROWS)) for name, column in (extra or {}).items()}
    table = pd.DataFrame({**given, **cells}, dtype=object)
    problems = Problems()
    found = Choice("y", **settings).columns(table, FILE, form, problems)
    problems.raised(FILE)
    return found


def kind_of(cells, **settings):
    """What a column of these cells is; why, if it is left out."""
    columns, left_out = judge({"extra": np.array(cells, dtype=object)}, **settings)
    return columns.inputs.get("extra") or left_out["extra"]


def test_text_is_taken_for_categories_and_numbers_for_numbers():
    columns, left_out = judge()
    assert columns.inputs == {"x": Numbers(), "colour": Names(2, ("blue", "red"))}
    assert columns.target == "y"
    assert not left_out


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["true", "false", ""], Numbers()),
        (["2024-01-31", "2024-02-01", ""], Dates()),
        (["13/2/24", "3/4/2024 10:00"], Dates(day_first=True)),
        (["2/13/24", "3/4/2024 10:00"], Dates(day_first=False)),
        (["20141013T000000", "20150101T000000"], Dates()),
        (["2020-01-05", "05.01.2020", "Jan 7, 2020", "8 Mar 2020", "?"], Dates()),
        (["10:30", "9:15 pm", "23:59:59"], Times()),
        (["5%", "7 %", "NA"], Numbers("%")),
        (["$5", "$ 7.50"], Numbers("$")),
        (["12 km", "13.5 km", "?"], Numbers("km")),
        (["1.2.3", "1.2.4"], Names(2, ("1.2.3", "1.2.4"))),
        (["0-4", "5+"], Names(2, ("0-4", "5+"))),
        (["20_01", "20_02"], Names(2, ("20_01", "20_02"))),
        (["1st", "2nd", "3rd"], Names(3, ("1st", "2nd", "3rd"))),
        (["0x10", "0x11"], Names(2, ("0x10", "0x11"))),
        (["", "NA", None], "empty"),
        ([f"k{i}" for i in range(ROWS)], "another text in nearly every row"),
        ([str(i + 7) for i in range(ROWS)], "numbers the rows"),
        ([str(i**3) for i in range(ROWS)], Numbers()),
    ],
)
def test_a_column_is_what_its_cells_are(cells, kind):
    assert kind_of(cells) == kind


@pytest.mark.parametrize("name", ["id", "PID", "customer_id", "userId", "Row.No", ""])
def test_whole_numbers_that_differ_are_left_out_if_they_are_called_so(name):
    cells = [str(i**3) for i in range(ROWS)]
    _, left_out = judge({name: cells})
    assert left_out == {name: "another whole number in nearly every row"}
    if name:
        assert judge({name: cells}, keep=[name])[0].inputs[name] == Numbers()
        assert judge({name: cells[:12]})[0].inputs[name] == Numbers()


@pytest.mark.parametrize(
    ("rows", "kinds", "accepted"),
    [(60, 60, False), (60, 31, False), (60, 30, True), (10, 3, True), (400, 101, True)],
)
def test_text_in_more_than_half_of_the_rows_is_an_identifier(rows, kinds, accepted):
    named = [f"k{i % kinds}" for i in range(rows)]
    # Rows without a name do not make the others categories.
    table = pd.DataFrame({"id": [*named, *[""] * rows], "x": "1", "y": "1"}, dtype=object)
    columns, left_out = Choice("y").columns(table, FILE, FORM, Problems())
    assert ("id" in columns.inputs) == accepted
    assert ("id" in left_out) != accepted


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (["1", "2", "much"], "must hold finite numbers, got 'much' in row 3 and 7 more"),
        (["(5)", "5-"], "must hold finite numbers, got '\\(5\\)' in row 1"),
        (["١٢٣", "٣"], "must hold finite numbers, got '١٢٣' in row 1"),
        (["5%", "7"], "holds numbers in '%' and without a unit"),
        (["5 km", "7 m"], "holds numbers in 'km', 'm'"),
        (["1/2/24", "3/4/2024"], "dates such as '1/2/24': say .* --day-first or --month-first"),
        (["13/2/24", "2/13/24"], "with the day first, '13/2/24', and with the month first"),
        (["2024-01-31", "2024-02-31", "2024-03-31"], "must hold dates, got '2024-02-31' in row 2"),
        (["10:30", "9:15", "late"], "must hold times, in hours, got 'late' in row 3"),
        ([[1], [2], [3]], "holds lists: leave it out, --drop extra"),
    ],
)
def test_a_doubtful_column_is_refused_and_can_be_left_out(cells, sentence):
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    with pytest.raises(TableError, match=f"'extra' .*{sentence}"):
        kind_of(column)
    assert "extra" not in judge({"extra": column}, drop=["extra"])[0].inputs
    if isinstance(cells[0], str):
        assert isinstance(kind_of(cells, categorical=["extra"]), Names)


def test_all_problems_are_in_one_message():
    extra = {"a": ["1", "2", "much"], "b": ["5%", "7"], "": ["u", "v"]}
    with pytest.raises(TableError) as caught:
        judge(extra, drop=["none"])
    first, *lines = str(caught.value).splitlines()
    assert first == "t.csv cannot be used as it is, for 4 reasons:"
    said = ("no column 'none'", "'a' must hold", "'b' holds numbers in '%'", "6 has no name")
    for line, part in zip(lines, said, strict=True):
        assert part in line


@pytest.mark.parametrize("name", ["paid", "humid", "grid", "casino"])
def test_a_name_that_only_ends_so_is_no_identifier(name):
    assert judge({name: [str(i**3) for i in range(ROWS)]})[0].inputs[name] == Numbers()


def test_numbers_can_be_taken_for_names():
    assert kind_of(["2", "1", "2"], categorical=["extra"]) == Names(2, ("1", "2"))


def test_columns_survive_as_json():
    extra = {"d": ["13/2/24"], "t": ["10:30"], "u": ["5 km", "6 km"]}
    columns, _ = judge(extra)
    assert Columns.from_dict(json.loads(json.dumps(columns.to_dict()))) == columns


@pytest.mark.parametrize(
    "stored",
    [
        {"kind": "numbers"},
        {"kind": "numbers", "unit": 5},
        {"kind": "numbers", "unit": "", "more": 1},
        {"kind": "dates", "day_first": "yes"},
        {"kind": "names", "count": -1, "examples": []},
        {"kind": "names", "count": 1, "examples": [2]},
        {"kind": "colours"},
        "numbers",
        None,
    ],
)
def test_a_kind_that_none_is_is_refused(stored):
    with pytest.raises(ValueError, match="a column"):
        kind_from_dict(stored)


@pytest.mark.parametrize("choice", ["drop", "categorical", "keep"])
def test_a_choice_of_a_column_that_is_not_there_is_refused(choice):
    with pytest.raises(TableError, match=r"t\.csv has no column 'size': it has 'x', 'colour', 'y'"):
        judge(**{choice: ["size"]})


def test_many_absent_columns_are_counted_not_listed():
    table = pd.DataFrame({f"{i}{'c' * 500}": ["1.5"] for i in range(1000)} | {"y": ["1"]})
    absent = [f"{i}{'d' * 500}" for i in range(1000)]
    problems = Problems()
    Choice("y", drop=absent).columns(table, FILE, FORM, problems)
    (said,) = map(str, problems.found)
    assert "and 995 more: it has" in said
    assert len(said) < 3000


def test_many_columns_are_read_at_once_and_as_one_by_one(monkeypatch):
    """The fast path and its slow twin: the calls do not grow with the columns."""
    rng = np.random.default_rng(0)
    text = rng.normal(size=(5, 300)).astype(str).astype(object)
    text[3, 7], text[2, 8], text[1, 9] = "", " NA", "−1"
    table = pd.DataFrame(text, columns=[f"c{i}" for i in range(300)], dtype=object)
    monkeypatch.setattr("sosbands.cli.cells._AT_ONCE", 50)
    plain = plain_numbers(table, list(table), FORM)
    assert {"c8", "c9"} <= set(table) - set(plain)
    assert len(plain) == 290  # all groups of ten but that of c8 and c9
    for name, values in plain.items():
        assert np.array_equal(values, numbers_and_others(table[name], FORM)[0], equal_nan=True)
    alone = []
    monkeypatch.setattr(
        "sosbands.cli.cells.numbers_and_others",
        lambda column, form: alone.append(column.name) or numbers_and_others(column, form),
    )
    X = Columns(dict.fromkeys(table, Numbers())).read_inputs(table, FILE, FORM, Problems())
    assert alone == [f"c{i}" for i in range(10)]
    assert X.shape == (5, 300)
    assert X.loc[1, "c9"] == -1


def test_a_target_alone_is_refused():
    with pytest.raises(TableError, match="no columns are left beside the target"):
        judge(drop=["x", "colour"])


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (["a", "b"], "the target 'y' holds no numbers: name .* with --target, such as x"),
        (["2024-01-01"], "the target 'y' holds no numbers"),
        (["", "NA"], "the target 'y' is empty"),
        (["1", "2", "much"], "'y' must hold finite numbers, got 'much' .*--na-values much$"),
    ],
)
def test_a_target_must_hold_numbers(cells, sentence):
    with pytest.raises(TableError, match=sentence):
        judge({"y": cells})


def test_a_target_may_number_the_rows_or_have_a_unit():
    assert judge({"y": [f"{i} €" for i in range(ROWS)]})[0].output == Numbers("€")
    assert judge({"id": ["1", "2"]})[0].output == Numbers()


def test_inputs_are_found_by_name_in_the_order_of_training():
    table = pd.DataFrame({"z": ["?"], "colour": [" red "], "x": ["4"]}, dtype=object)
    X = judge()[0].read_inputs(table, FILE, FORM, Problems())
    assert list(X) == ["x", "colour"]
    assert X.iloc[0].tolist() == [4.0, "red"]


def test_new_rows_are_read_as_those_of_training():
    extra = {"d": ["13/2/24"], "t": ["10:30"], "u": ["5 km", "6 km"]}
    columns, _ = judge(extra)
    row = {"x": "1", "colour": "pink", "d": "1/2/24", "t": "", "u": "7 km"}
    X = columns.read_inputs(pd.DataFrame([row], dtype=object), FILE, FORM, Problems())
    assert X.loc[0, "d"] == pd.Timestamp("2024-02-01")
    assert np.isnan(X.loc[0, "t"])
    assert X.loc[0, "u"] == 7
    problems = Problems()
    bad = {"x": "1,5", "colour": "pink", "d": "soon", "t": "?", "u": "7"}
    columns.read_inputs(pd.DataFrame([bad], dtype=object), FILE, FORM, problems)
    said = [str(error) for error in problems.found]
    assert [line.partition(":")[0] for line in said] == [
        "column 'x' must hold finite numbers, got '1,5' in row 1",
        "column 'd' must hold dates, got 'soon' in row 1",
        "column 'u' must hold numbers, in km, got '7' in row 1",
    ]
    assert not any("--drop" in line for line in said)  # which predict does not know
    assert "write the unit as well, '7 km'" in said[2]
    assert "--decimal" not in said[2]
