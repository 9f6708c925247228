import gzip
import io
import sys

import numpy as np
import pandas as pd
import pytest

from sosbands.cli import table_reading
from sosbands.cli.table_file import CsvFormat, RowError, TableError, TableFile
from sosbands.cli.table_reading import line_of, naming_lines, read_blocks


@pytest.fixture
def write(tmp_path):
    def to_file(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return to_file


def read_table(path, **settings):
    return table_reading.read_table(TableFile(path, CsvFormat(**settings)))


def test_cells_of_a_csv_file_stay_the_text_they_are(write):
    table = read_table(write('id,when,x\n007,1/2/24,1.50\n" a, b ",,NA\n'))
    assert table.to_dict("list") == {
        "id": ["007", " a, b "],
        "when": ["1/2/24", ""],
        "x": ["1.50", "NA"],
    }


@pytest.mark.parametrize("rows", [1, 3, 4, 100])
def test_blocks_hold_all_rows_in_order(write, rows):
    path = write("x\n" + "".join(f"{i}\n" for i in range(10)))
    blocks = list(read_blocks(TableFile(path), rows=rows))
    assert max(map(len, blocks)) <= rows
    whole = pd.concat(blocks)
    assert whole["x"].tolist() == [str(i) for i in range(10)]
    assert whole.index.tolist() == list(range(10))


def test_a_byte_order_mark_is_no_part_of_the_first_name(write):
    assert list(read_table(write("\ufeffx,y\n1,2\n")).columns) == ["x", "y"]


def test_names_lose_the_blanks_around_them(write):
    assert list(read_table(write("x, y\n1,2\n")).columns) == ["x", "y"]


def test_another_separator_is_used_when_it_is_named(write):
    assert read_table(write("x;y\n1,5;2\n"), sep=";").iloc[0].tolist() == ["1,5", "2"]


def test_another_encoding_is_used_when_it_is_named(write):
    path = write("name\nZoë\n".encode("cp1252"))
    assert read_table(path, encoding="cp1252")["name"].tolist() == ["Zoë"]


@pytest.mark.parametrize(
    ("content", "cells"),
    [
        ("x\n1\n\n3\n", ["1", "", "3"]),
        ("x\n1\n3", ["1", "3"]),
        ("x\r\n\r\n3\r\n", ["", "3"]),
        ("\n\nx\n1\n\n", ["1", ""]),
        ('"x"\n1\n""\n  \n', ["1", "", "  "]),
    ],
)
def test_an_empty_line_of_a_single_column_is_a_row(write, content, cells):
    for name in ("table.csv", "table.csv.gz"):
        path = write(content if name == "table.csv" else gzip.compress(content.encode()), name)
        assert read_table(path)["x"].tolist() == cells


def test_an_empty_line_between_wider_rows_is_none(write):
    table = read_table(write("\n \nx,y\n1,2\n\n,\n\n"))
    assert table.to_numpy().tolist() == [["1", "2"], ["", ""]]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("x,y\n1,2\n3,4\n", [2, 3]),
        ("\n\nx,y\n1,2\n\n  \n3,4\n", [4, 7]),
        ('x,y\r\n"a\r\nb",2\r\n3,4\r\n', [2, 4]),
        ('"x\nx",y\n1,5" wide\n3,4\n', [3, 4]),
        ("x\n1\n\n3\n", [2, 3, 4]),
        ("x,\n,\n", [2]),
    ],
)
def test_a_row_is_found_in_the_line_that_an_editor_shows(write, content, lines):
    path = write(content)
    assert len(read_table(path)) == len(lines)
    assert [line_of(TableFile(path), row) for row in range(len(lines))] == lines
    assert line_of(TableFile(path), len(lines)) is None


def test_a_row_error_names_the_line_where_there_are_lines(write):
    error = RowError("a cell in ", 1, " is wrong")

    def said_of(path):
        with pytest.raises(TableError) as caught, naming_lines(TableFile(path)):
            raise error
        return str(caught.value)

    assert said_of(write("x\n1\n2\n")) == "a cell in line 3 is wrong"
    assert said_of("-") == said_of("t.parquet") == str(error) == "a cell in row 2 is wrong"


def test_lines_are_counted_up_to_a_cell_that_is_too_long(write):
    path = write(f"x,y\n1,2\n{'1' * 200_000},2\n3,4\n")
    assert [line_of(TableFile(path), row) for row in range(3)] == [2, 3, None]


def test_names_that_repeat_are_found_in_one_pass_and_a_few_are_shown(write):
    class Counted(str):
        compared = 0
        __hash__ = str.__hash__

        def __eq__(self, other):
            Counted.compared += 1
            return str.__eq__(self, other)

    names = [Counted(f"c{i}") for i in range(2000)] * 2
    with pytest.raises(TableError, match=r"named 'c0', 'c1', 'c10', .* and 1995 more: give"):
        table_reading._check_names(names, TableFile("t.csv"))
    assert Counted.compared <= 10 * len(names)


def test_a_wide_table_is_made_of_one_array(write):
    """Else pandas works on each of its columns apart."""
    names = ",".join(f"c{i}" for i in range(3000))
    table = read_table(write(f"{names}\n{names}\n"))
    assert table.shape == (1, 3000)
    assert np.shares_memory(table["c0"].to_numpy(), table.to_numpy())


@pytest.mark.parametrize(
    "content",
    [
        f"{'n' * 10**6},{'n' * 10**6}\n1,2\n",
        f"{'n' * 6000};b\n1,2\n",
        f"x,y\n{'1,' * 10**5}\n",
    ],
)
def test_no_message_holds_all_of_a_long_text(write, content):
    with pytest.raises(TableError) as caught:
        read_table(write(content))
    assert len(str(caught.value)) < 600


def test_standard_input_stays_open(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(b"x\n1\n\n"))
    monkeypatch.setattr(sys, "stdin", stream)
    assert read_table("-")["x"].tolist() == ["1", ""]
    assert not stream.buffer.closed


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("x,y\n", "a header but no rows"),
        ("x,y,x\n1,2,3\n", "several columns named 'x'"),
        ("x,y\n1,2\n1,2,3\n", r"line 3 of .* has 3 cells but the header has 2"),
        ("x;y\n1;2\n", "looks like several separated by ';'"),
        ("x;y\n1,5;2,5\n", "separated by ';': .* --sep ';'; if .* decimal commas, --decimal ,"),
        ("x\ty\n1,5\t2,5\n", r"or --sep '\\t'$"),
        ("name\nZoë\n".encode("cp1252"), "is not utf-8 text"),
        ('x,y\n1,"2\n', "is not a CSV table"),
    ],
)
def test_a_damaged_csv_file_is_said_to_be_what_it_is(write, content, sentence):
    with pytest.raises(TableError, match=sentence):
        read_table(write(content))


def test_a_spreadsheet_is_refused(write):
    with pytest.raises(TableError, match="save it as CSV"):
        read_table(write(b"PK", "table.xlsx"))


def test_a_file_that_is_not_compressed_by_gzip_is_refused(write):
    with pytest.raises(TableError, match="not by gzip: unpack it"):
        read_table(write(b"PK", "table.csv.zip"))


def test_parquet_without_pyarrow_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(TableError, match=r"pip install \"sosbands\[parquet\]\""):
        read_table(str(tmp_path / "t.parquet"))
