import gzip
import io
import os
import sys

import numpy as np
import pandas as pd
import pytest

from sosbands.cli import tables
from sosbands.cli.tables import (
    CsvFormat,
    RowError,
    TableError,
    line_of,
    read_blocks,
    read_table,
    replacing,
    writer,
)


@pytest.fixture
def write(tmp_path):
    def to_file(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return to_file


def written(path, *blocks, form=None):
    with writer(str(path), form) as append:
        for block in blocks:
            append(block)
    return str(path)


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
    blocks = list(read_blocks(path, rows=rows))
    assert max(map(len, blocks)) <= rows
    whole = pd.concat(blocks)
    assert whole["x"].tolist() == [str(i) for i in range(10)]
    assert whole.index.tolist() == list(range(10))


def test_a_byte_order_mark_is_no_part_of_the_first_name(write):
    assert list(read_table(write("\ufeffx,y\n1,2\n")).columns) == ["x", "y"]


def test_names_lose_the_blanks_around_them(write):
    assert list(read_table(write("x, y\n1,2\n")).columns) == ["x", "y"]


def test_a_tsv_file_is_separated_by_tabs_and_written_so(write, tmp_path):
    table = read_table(write("x\ty\n1\ta,b\n", "t.tsv"))
    assert table.iloc[0].tolist() == ["1", "a,b"]
    written(tmp_path / "out.tsv", table)
    assert (tmp_path / "out.tsv").read_text() == "x\ty\n1\ta,b\n"


def test_another_separator_is_used_when_it_is_named(write):
    assert read_table(write("x;y\n1,5;2\n"), CsvFormat(sep=";")).iloc[0].tolist() == ["1,5", "2"]


def test_another_encoding_is_used_when_it_is_named(write):
    path = write("name\nZoë\n".encode("cp1252"))
    assert read_table(path, CsvFormat(encoding="cp1252"))["name"].tolist() == ["Zoë"]


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
    assert [line_of(path, None, row) for row in range(len(lines))] == lines
    assert line_of(path, None, len(lines)) is None


def test_a_row_error_names_the_line_where_there_are_lines(write):
    error = RowError("a cell in ", 1, " is wrong")
    assert str(error) == "a cell in row 2 is wrong"
    assert str(error.in_file(write("x\n1\n2\n"))) == "a cell in line 3 is wrong"
    assert error.in_file("-") is error.in_file("t.parquet") is error


def test_lines_are_counted_up_to_a_cell_that_is_too_long(write):
    path = write(f"x,y\n1,2\n{'1' * 200_000},2\n3,4\n")
    assert [line_of(path, None, row) for row in range(3)] == [2, 3, None]


def test_names_that_repeat_are_found_in_one_pass_and_a_few_are_shown(write):
    class Counted(str):
        compared = 0
        __hash__ = str.__hash__

        def __eq__(self, other):
            Counted.compared += 1
            return str.__eq__(self, other)

    names = [Counted(f"c{i}") for i in range(2000)] * 2
    with pytest.raises(TableError, match=r"named 'c0', 'c1', 'c10', .* and 1995 more: give"):
        tables._check_names(names, "t.csv")
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


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"sep": ""}, "sep must be one character, got ''"),
        ({"decimal": ",", "thousands": ","}, "decimal and thousands must differ, got ','"),
        ({"decimal": "1"}, "decimal must be a point or a comma, got '1'"),
        ({"decimal": ""}, "decimal must be a point or a comma, got ''"),
        ({"thousands": "-"}, "thousands must be a comma, .* got '-'"),
        ({"thousands": ".,"}, "thousands must be a comma, .* got '.,'"),
        ({"encoding": "utf-9"}, "encoding 'utf-9' is unknown"),
    ],
)
def test_an_impossible_format_is_refused(settings, sentence):
    with pytest.raises(TableError, match=sentence):
        CsvFormat(**settings)


def test_gzip_is_read_and_written(tmp_path):
    table = pd.DataFrame({"x": ["1", "2"]})
    path = written(tmp_path / "t.csv.gz", table)
    assert gzip.decompress((tmp_path / "t.csv.gz").read_bytes()) == b"x\n1\n2\n"
    assert read_table(path)["x"].tolist() == ["1", "2"]


def test_a_gzip_file_without_its_end_is_refused(tmp_path):
    path = written(tmp_path / "t.csv.gz", pd.DataFrame({"x": np.arange(1000.0)}))
    whole = (tmp_path / "t.csv.gz").read_bytes()
    (tmp_path / "t.csv.gz").write_bytes(whole[:-20])
    with pytest.raises(TableError, match="not a complete gzip file"):
        read_table(path)


def test_numbers_come_back_exactly_as_they_were_written(tmp_path):
    x = np.random.default_rng(0).normal(size=100) * 10.0 ** np.arange(-50, 50)
    path = written(tmp_path / "t.csv", pd.DataFrame({"x": x}))
    assert np.array_equal(read_table(path)["x"].astype(float), x)


def test_a_csv_file_has_nothing_where_a_value_is_missing(tmp_path):
    table = pd.DataFrame(
        {
            "a": [1.5, np.nan],
            "b": [None, "x"],
            "c": pd.array([None, 3], dtype="Int64"),
            "d": np.array([0.1, np.inf], dtype=np.float32),
            "e": ['say "hi"', "1,2"],
        }
    )
    written(tmp_path / "t.csv", table)
    expected = 'a,b,c,d,e\n1.5,,,0.1,"say ""hi"""\n,x,3,inf,"1,2"\n'
    assert (tmp_path / "t.csv").read_text() == expected


def test_numbers_are_written_with_the_decimal_mark_of_the_format(tmp_path):
    table = pd.DataFrame(
        {
            "text": ["1.5", "2,5"],
            "a": [0.25, np.nan],
            "b": np.array([0.1, np.inf], dtype=np.float32),
            "c": pd.array([None, 1.5], dtype="Float64"),
            "n": [1, 2],
        }
    )
    written(tmp_path / "t.csv", table, form=CsvFormat(sep=";", decimal=","))
    expected = "text;a;b;c;n\n1.5;0,25;0,1;;1\n2,5;;inf;1,5;2\n"
    assert (tmp_path / "t.csv").read_text() == expected


def test_blocks_are_written_below_one_header(tmp_path):
    block = pd.DataFrame({"x": ["1"]})
    written(tmp_path / "t.csv", block, block)
    assert (tmp_path / "t.csv").read_text() == "x\n1\n1\n"


def test_an_output_appears_when_it_is_complete_and_not_before(tmp_path):
    with writer(str(tmp_path / "t.csv")) as append:
        append(pd.DataFrame({"x": ["1"]}))
        assert not (tmp_path / "t.csv").exists()
    assert (tmp_path / "t.csv").exists()
    assert len(os.listdir(tmp_path)) == 1


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, name, failure):
    (tmp_path / name).write_text("old")

    def fail():
        with writer(str(tmp_path / name)) as append:
            append(pd.DataFrame({"x": ["1"]}))
            raise failure

    with pytest.raises(failure):
        fail()
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "old"


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    written(tmp_path / "link.csv", pd.DataFrame({"x": ["1"]}))
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "x\n1\n"


def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with replacing(str(tmp_path / "pipe")) as name:
        assert name == str(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


def test_a_pipe_without_a_name_is_written_to(tmp_path):
    out, into = os.pipe()
    (tmp_path / "link").symlink_to(f"/dev/fd/{into}")  # as /dev/stdout is one
    written(tmp_path / "link", pd.DataFrame({"x": ["1"]}))
    os.close(into)
    with open(out) as stream:
        assert stream.read() == "x\n1\n"


def test_a_parquet_file_keeps_its_types(tmp_path):
    table = pd.DataFrame({"x": [1.5, 2.5], "n": [1, 2], "yes": [True, False], "name": ["a", None]})
    path = written(tmp_path / "t.parquet", table, table)
    found = read_table(path)
    assert found["x"].dtype == np.float64
    assert found["n"].dtype == np.int64
    assert found["yes"].dtype == np.bool_
    assert found["name"].isna().tolist() == [False, True] * 2
    assert [len(block) for block in read_blocks(path, rows=3)] in ([3, 1], [2, 2])


@pytest.mark.parametrize("rows", [0, 2])
def test_a_parquet_file_that_is_none_or_empty_is_refused(tmp_path, rows):
    path = written(tmp_path / "t.parquet", pd.DataFrame({"x": np.zeros(rows)}))
    if rows:
        (tmp_path / "t.parquet").write_bytes(b"PAR1 and so on")
    with pytest.raises(TableError, match="not a complete Parquet file" if rows else "no rows"):
        read_table(path)


def test_parquet_without_pyarrow_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(TableError, match=r"pip install \"sosbands\[parquet\]\""):
        read_table(str(tmp_path / "t.parquet"))
