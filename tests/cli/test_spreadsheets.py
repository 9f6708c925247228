import sys
from datetime import datetime, time

import pandas as pd
import pytest
from openpyxl import Workbook

from sosbands.cli.spreadsheets import spreadsheet_table
from sosbands.cli.table_file import TableError, TableFile
from tests.cli.conftest import KERNEL_MEAN, rows


@pytest.fixture
def book(tmp_path):
    """Write sheets of rows; returns the path."""

    def write(**sheets):
        made = Workbook()
        made.remove(made.active)
        for name, lines in sheets.items():
            sheet = made.create_sheet(name)
            for line in lines:
                sheet.append(line)
        path = tmp_path / "book.xlsx"
        made.save(path)
        return str(path)

    return write


def test_cells_of_a_spreadsheet_have_their_types(book):
    day = datetime(2024, 2, 29)
    path = book(s=[["x", "day", "at", "name", "yes"], [1, day, time(10, 30), "a", True], [1.5]])
    table = spreadsheet_table(TableFile(path))
    assert list(table) == ["x", "day", "at", "name", "yes"]
    first = table.iloc[0].tolist()
    assert first[0] == 1
    assert isinstance(first[0], int)
    assert pd.Timestamp(first[1]) == day
    assert first[2:] == [time(10, 30), "a", True]
    assert table.iloc[1].tolist() == [1.5, None, None, None, None]


def test_empty_rows_around_a_table_are_none_of_it(book):
    path = book(s=[[], [None, None], ["x", "y"], [1, 2], [], [3, 4]])
    assert spreadsheet_table(TableFile(path)).to_numpy().tolist() == [[1, 2], [3, 4]]


def test_another_sheet_is_named(book):
    path = book(cover=[["hello"]], data=[["x"], [1]])
    assert list(spreadsheet_table(TableFile(path))) == ["hello"]
    assert list(spreadsheet_table(TableFile(path, sheet="data"))) == ["x"]
    with pytest.raises(TableError, match="no sheet 'dota': --sheet is one of 'cover', 'data'"):
        spreadsheet_table(TableFile(path, sheet="dota"))


def test_an_empty_sheet_and_a_file_that_is_none_are_refused(book, tmp_path):
    with pytest.raises(TableError, match=r"sheet 's' of .* is empty: name another with --sheet"):
        spreadsheet_table(TableFile(book(s=[])))
    (tmp_path / "none.xlsx").write_bytes(b"PK and so on")
    with pytest.raises(TableError, match="is not a complete spreadsheet"):
        spreadsheet_table(TableFile(str(tmp_path / "none.xlsx")))


def test_without_its_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(TableError, match=r"pip install \"sosbands\[excel\]\""):
        spreadsheet_table(TableFile("t.xlsx"))


def test_a_spreadsheet_gives_the_model_and_the_predictions_of_its_csv_file(
    book, sosbands, folder, tmp_path
):
    table = rows(160, 0)
    path = book(cover=[["see next"]], data=[list(table), *table.to_numpy().tolist()])
    made = {}
    for data, options in ((path, ("--sheet", "data")), (folder / "train.csv", ())):
        out = tmp_path / "m.skops"
        fit = ("fit", data, "--target", "y", "--out", out, *KERNEL_MEAN, *options)
        assert sosbands(*fit).exit_code == 0
        shown = sosbands("predict", out, data, *options)
        assert shown.exit_code == 0, shown.output
        made[str(data)] = shown.stdout
        judged = sosbands("evaluate", out, data, *options)
        assert "of it, the 32 rows it has not seen count" in judged.stderr
    first, second = made.values()
    assert first == second
