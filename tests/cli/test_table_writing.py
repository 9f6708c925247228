import gzip
import os
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from sosbands.cli import table_reading
from sosbands.cli.table_file import CsvFormat, Problems, TableError, TableFile
from sosbands.cli.table_reading import read_blocks
from sosbands.cli.table_writing import writer
from sosbands.persistence.replacing import replacing


def read_table(file):
    return table_reading.read_table(file, Problems())


def written(path, *blocks, **settings):
    file = TableFile(str(path), CsvFormat(**settings))
    with writer(file) as append:
        for block in blocks:
            append(block)
    return file


def test_a_tsv_file_is_separated_by_tabs_and_written_so(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("x\ty\n1\ta,b\n")
    table = read_table(TableFile(str(path)))
    assert table.iloc[0].tolist() == ["1", "a,b"]
    written(tmp_path / "out.tsv", table)
    assert (tmp_path / "out.tsv").read_text() == path.read_text()


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
    written(tmp_path / "t.csv", table, sep=";", decimal=",")
    expected = "text;a;b;c;n\n1.5;0,25;0,1;;1\n2,5;;inf;1,5;2\n"
    assert (tmp_path / "t.csv").read_text() == expected


def test_blocks_are_written_below_one_header(tmp_path):
    block = pd.DataFrame({"x": ["1"]})
    written(tmp_path / "t.csv", block, block)
    assert (tmp_path / "t.csv").read_text() == "x\n1\n1\n"


def test_an_output_appears_when_it_is_complete_and_not_before(tmp_path):
    with writer(TableFile(str(tmp_path / "t.csv"))) as append:
        append(pd.DataFrame({"x": ["1"]}))
        assert not (tmp_path / "t.csv").exists()
    assert (tmp_path / "t.csv").exists()
    assert len(os.listdir(tmp_path)) == 1


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, name, failure):
    (tmp_path / name).write_text("old")

    def fail():
        with writer(TableFile(str(tmp_path / name))) as append:
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


def parquet_with_gaps(path):
    """Columns that pandas would change: whole numbers with gaps, decimals, text that comes late."""
    big = 2**60
    table = pa.table(
        {
            "id": pa.array([big + 1, None, big + 3], pa.int64()),
            "small": pa.array([1, 2, None], pa.uint8()),
            "price": pa.array([None, Decimal("1.50"), None], pa.decimal128(12, 2)),
            "late": pa.array([None, None, "x"], pa.string()),
            "parts": pa.array([[1, 2], None, [3]], pa.list_(pa.int64())),
        }
    )
    parquet.write_table(table, path)
    return table


def test_columns_of_a_parquet_file_are_written_as_they_were_read(tmp_path):
    table = parquet_with_gaps(tmp_path / "t.parquet")
    source = TableFile(str(tmp_path / "t.parquet"))
    with writer(TableFile(str(tmp_path / "out.PARQUET")), source) as append:
        for block in read_blocks(source, rows=1):
            append(block)
    found = parquet.read_table(tmp_path / "out.PARQUET")
    assert found.equals(table)
    assert found.schema.types == table.schema.types
    with writer(TableFile(str(tmp_path / "out.csv"))) as append:
        for block in read_blocks(source):
            append(block)
    assert (tmp_path / "out.csv").read_text() == (
        f"id,small,price,late,parts\n{2**60 + 1},1,,,[1 2]\n,2,1.50,,\n{2**60 + 3},,,x,[3]\n"
    )


def test_cells_of_several_types_become_text_in_a_parquet_file(tmp_path):
    block = pd.DataFrame({"when": [date(2024, 1, 2), "later", None], "x": [1, 2, 3]})
    path = written(tmp_path / "t.parquet", block)
    assert read_table(path)["when"].tolist() == ["2024-01-02", "later", None]


def test_names_that_repeat_are_refused_in_a_parquet_file(tmp_path):
    block = pd.DataFrame([[1, 2]], columns=["x", "x"])
    with pytest.raises(TableError, match=r"several columns named 'x': give each its own name"):
        written(tmp_path / "t.parquet", block)
    assert os.listdir(tmp_path) == []


def test_the_end_of_a_name_says_what_it_does_in_capitals_too(tmp_path):
    path = written(tmp_path / "t.CSV.GZ", pd.DataFrame({"x": ["1"]}))
    assert gzip.decompress((tmp_path / "t.CSV.GZ").read_bytes()) == b"x\n1\n"
    assert read_table(path)["x"].tolist() == ["1"]
    assert TableFile("T.TSV").sep == "\t"
