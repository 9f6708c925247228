import gzip
import io
import sys

import numpy as np
import pandas as pd
import pytest

from sosbands.cli import table_reading
from sosbands.cli.csv_records import csv_records
from sosbands.cli.table_file import CsvFormat, Problems, RowError, TableError, TableFile
from sosbands.cli.table_reading import lines_of, read_blocks, with_lines


@pytest.fixture
def write(tmp_path):
    def to_file(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return to_file


def read_table(path, **settings):
    problems, file = Problems(), TableFile(path, CsvFormat(**settings))
    table = table_reading.read_table(file, problems)
    problems.raised(file)
    return table


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


def test_names_lose_the_line_ends_within_them(write):
    assert list(read_table(write('"size\n (m2)",y\n1,2\n')).columns) == ["size (m2)", "y"]


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
    asked = range(len(lines) + 1)  # one more than there are
    assert lines_of(TableFile(path), asked) == dict(enumerate(lines))
    for row, line in enumerate(lines):
        assert lines_of(TableFile(path), [row]) == {row: line}


def test_a_row_error_names_the_line_where_there_are_lines(write):
    error = RowError("a cell in ", 1, " is wrong")

    def said_of(path):
        return str(with_lines(Problems([error]), TableFile(path)).found[0])

    assert said_of(write("x\n1\n2\n")) == "a cell in line 3 is wrong"
    assert said_of("-") == said_of("t.parquet") == str(error) == "a cell in row 2 is wrong"


def test_a_cell_may_have_any_length(write):
    path = write(f"x,y\n1,2\n{'1' * 200_000},2\n3,4\n")
    assert len(read_table(path).loc[1, "x"]) == 200_000
    assert lines_of(TableFile(path), range(3)) == {0: 2, 1: 3, 2: 4}


def test_a_wide_table_is_made_of_one_array(write):
    """Else pandas works on each of its columns apart."""
    names = ",".join(f"c{i}" for i in range(3000))
    table = read_table(write(f"{names}\n{names}\n"))
    assert table.shape == (1, 3000)
    assert np.shares_memory(table["c0"].to_numpy(), table.to_numpy())


@pytest.mark.parametrize(
    "content",
    [
        f"{'n' * 60000}\n1,2\n",
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


def test_a_reader_left_half_way_does_not_mind_that_standard_input_was_closed(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(b"x\n1\n2\n"))
    monkeypatch.setattr(sys, "stdin", stream)
    with csv_records(TableFile("-")) as (_, records):
        assert next(records) == (1, ["x"])
        stream.buffer.close()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("x,y\n", "a header but no rows"),
        ("x,y\n1,2\n1,2,3\n", r"line 3 of .*: 3 cells but the header has 2; .* --drop-ragged"),
        ("x,y\n1,2,3\n1,2\n1,2,3,4\n", r"lines 2, 4 of .*: 3 cells but the header has 2"),
        ('x,y\n1,"2\n3,4\n', "the quotes that open in line 2 of .* do not close"),
    ],
)
def test_a_damaged_csv_file_is_said_to_be_what_it_is(write, content, sentence):
    with pytest.raises(TableError, match=sentence):
        read_table(write(content))


def test_a_separator_that_was_named_wrongly_is_asked_for_again(write):
    with pytest.raises(TableError, match=r"several separated by '\\t': .* --sep '\\t'$"):
        read_table(write("x\ty\n1\t2\n"), sep=";")


def test_bytes_that_are_not_of_the_encoding_that_was_named_are_said_to_be_none(write):
    with pytest.raises(TableError, match=r"is not utf-8 text: .* --encoding cp1252"):
        read_table(write("name\nZoë\n".encode("cp1252")), encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "cells"),
    [
        ("x;y\n1,5;2\n", ["1,5", "2"]),
        ("x;size, m\n1,5;2\n3;4\n", ["1,5", "2"]),
        ("x\ty\na,b\t2\n", ["a,b", "2"]),
        ("x|y\n1|2\n", ["1", "2"]),
        ('"a;b",y\n1,2\n', ["1", "2"]),
        ("x;y\n1,5;2\n1;2;3;4\n", ["1,5", "2"]),
    ],
)
def test_the_separator_is_the_one_that_all_lines_have(write, content, cells):
    file = TableFile(write(content))
    assert table_reading.read_table(file, Problems()).iloc[0].tolist() == cells


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_unicode_is_recognised(write, encoding):
    assert read_table(write("größe,y\nZoë,1\n".encode(encoding))).iloc[0].tolist() == ["Zoë", "1"]


def test_what_is_not_unicode_is_read_as_windows_writes_it_and_said_so(write):
    path = write("größe;y\nZoë;1\n".encode("cp1252"))
    with pytest.warns(UserWarning, match="is not UTF-8 and was read as cp1252"):
        table = read_table(path)
    assert list(table) == ["größe", "y"]


def test_rows_are_cut_to_the_header_only_if_nothing_is_lost(write):
    content = "x,y\n1,2,\n3,4,  ,\n5\n"
    with pytest.warns(UserWarning, match="fewer cells than the header: 1; what"):
        table = read_table(write(content))
    assert table.to_numpy().tolist() == [["1", "2"], ["3", "4"], ["5", ""]]


def test_rows_with_too_many_cells_can_be_left_out(write):
    file, problems = TableFile(write("x,y\n1,2\n1,2,3\n5,6\n")), Problems()
    with pytest.warns(UserWarning, match="more cells than the header: 1; they are left out"):
        table = table_reading.read_table(file, problems, drop_ragged=True)
    assert table.to_numpy().tolist() == [["1", "2"], ["5", "6"]]
    assert not problems.found
    assert lines_of(file, [1]) == {1: 4}


def test_records_are_those_that_pandas_reads(write):
    """The reader and a slow twin, on cells with quotes, line ends and separators."""
    rng = np.random.default_rng(0)
    parts = ["a", "1.5", ",", '"', "\n", "\r\n", " ", ";", "ß", ""]
    cells = ["".join(rng.choice(parts, 4)) for _ in range(600)]
    table = pd.DataFrame(np.array(cells, dtype=object).reshape(-1, 3), columns=["p", "q", "r"])
    path = write(table.to_csv(index=False))
    twin = pd.read_csv(path, dtype=object, keep_default_na=False, na_filter=False)
    assert read_table(path, sep=",").to_numpy().tolist() == twin.to_numpy().tolist()


def test_a_file_that_is_not_compressed_by_gzip_is_refused(write):
    with pytest.raises(TableError, match="not by gzip: unpack it"):
        read_table(write(b"PK", "table.csv.zip"))


def test_parquet_without_pyarrow_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(TableError, match=r"pip install \"sosbands\[parquet\]\""):
        read_table(str(tmp_path / "t.parquet"))


@pytest.mark.parametrize("drop_ragged", [False, True])
def test_a_header_that_lacks_a_name_is_said_to(write, drop_ragged):
    """As R writes tables: rows begin with a name that the header does not have."""
    file = TableFile(write("x,y\n1,2,3\n2,3,4\n"))
    sentence = (
        r"^no row of .*table\.csv has as many cells as the header, 2; line 2 has 3: name every "
        "column in the header, or put quotes around cells that contain the separator"
    )
    with pytest.raises(TableError, match=sentence):
        table_reading.read_table(file, Problems(), drop_ragged=drop_ragged)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_note_for_spreadsheets_is_no_header(write, mark):
    with pytest.raises(TableError, match=r"is 'sep=;', a note .*: delete that line$"):
        read_table(write(f"{mark}sep=;\nx;y\n1;2\n2;3\n"))


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x1f\x8b\x08", "packed by gzip"),
        (b"PK\x03\x04", "a spreadsheet"),
        (b"PAR1\x15", "a Parquet"),
    ],
)
def test_other_files_under_the_name_of_a_csv_file_are_recognised(tmp_path, content, kind):
    (tmp_path / "t.csv").write_bytes(content + bytes(100))
    with pytest.raises(
        TableError, match=rf"t\.csv is not a CSV file but .*{kind}.*let its name end"
    ):
        table_reading.read_table(TableFile(str(tmp_path / "t.csv")), Problems())


def test_a_letter_with_its_mark_is_the_same_however_it_is_written(write):
    file = TableFile(write("gro\u0308\u00dfe,y\n1,2\n"))
    assert list(table_reading.read_table(file, Problems())) == ["gr\u00f6\u00dfe", "y"]


def test_a_column_may_be_called_as_parquet_files_begin(write):
    file = TableFile(write("PAR1,PAR2\n1,2\n"))
    assert list(table_reading.read_table(file, Problems())) == ["PAR1", "PAR2"]
