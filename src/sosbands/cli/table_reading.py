"""Tables read block by block, from CSV and Parquet files.

The cells of a CSV file stay the text that they are: what a cell means must not depend on the block
it is read in, and columns that nobody computes with are written back unchanged. Those of a Parquet
file have their types.
"""

import csv
import gzip
import io
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from sosbands.cli.table_file import RowError, TableError, TableFile
from sosbands.quoting import listed, quoted, shortened

# Rows in memory at once: a hundred columns of text are then some 300 MB.
BLOCK_ROWS = 50_000


def read_table(file: TableFile) -> pd.DataFrame:
    """All rows of a table; see `read_blocks`."""
    return pd.concat(read_blocks(file), ignore_index=True)


def read_blocks(file: TableFile, *, rows: int = BLOCK_ROWS) -> Iterator[pd.DataFrame]:
    """The rows of a table in blocks of at most `rows`; the index counts them from zero.

    Cells of a CSV file (``.gz`` is unpacked) are strings, empty where there is nothing; those of a
    Parquet file have the types of pandas. A `TableError` is raised if there are no rows, if columns
    share a name, or if the file is damaged.
    """
    if file.path.endswith((".xls", ".xlsx", ".ods")):
        raise TableError(f"{file.path} is a spreadsheet: save it as CSV, or as Parquet")
    if file.path.endswith((".zip", ".bz2", ".xz", ".zst")):
        raise TableError(f"{file.path} is compressed, but not by gzip: unpack it, or use gzip")
    start = 0
    for block in (_parquet_blocks if file.is_parquet else _csv_blocks)(file, rows):
        if start == 0:
            _check_names(list(block.columns), file)
        block.index = pd.RangeIndex(start, start + len(block))
        start += len(block)
        if len(block):
            yield block
    if start == 0:
        raise TableError(f"{file.name} has a header but no rows: there is nothing to do")


@contextmanager
def naming_lines(file: TableFile) -> Iterator[None]:
    """Let errors name the line of the file, as an editor shows it, in place of the row."""
    try:
        yield
    except RowError as error:
        raise error.at_line(line_of(file, error.row)) from None


def line_of(file: TableFile, row: int) -> int | None:
    """The line of a CSV file in which a row begins; the first row below the header is zero.

    None where there are no lines to count again: in Parquet files, and in what has come through a
    pipe. Blank lines, and line ends within quotes, are why it is not simply the row plus two.
    """
    if file.is_parquet or file.is_stream or not Path(file.path).is_file():
        return None
    with _bytes_of(file) as stream:
        blank_lines, header = _beginning(stream, file)
        text = io.TextIOWrapper(stream, file.form.codec, newline="")
        records, end, below = csv.reader(text, delimiter=file.sep), 0, -1 - blank_lines
        try:
            for cells in records:
                begin, end = end + 1, records.line_num
                # Before the header, every blank line has been counted.
                if below < 0 or len(header) == 1 or not _is_blank(cells):
                    if below == row:
                        return begin
                    below += 1
        except csv.Error:  # a cell that is too long for it, perhaps in this very row
            return end + 1 if below == row else None
    return None


def parquet_module() -> Any:
    """``pyarrow.parquet``, or an error that names the extra."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise TableError(
            'Parquet files need pyarrow, which is not installed: pip install "sosbands[parquet]"'
        ) from None
    return pyarrow.parquet


def _parquet_blocks(file: TableFile, rows: int) -> Iterator[pd.DataFrame]:
    parquet = parquet_module()
    import pyarrow as pa

    try:
        with parquet.ParquetFile(file.path) as opened:
            _check_names(opened.schema_arrow.names, file)
            for batch in opened.iter_batches(batch_size=rows):
                yield batch.to_pandas()
    except pa.ArrowInvalid as error:
        first = shortened(str(error).splitlines()[0], 200)
        raise TableError(f"{file.path} is not a complete Parquet file: {first}") from error


def _csv_blocks(file: TableFile, rows: int) -> Iterator[pd.DataFrame]:
    try:
        with _bytes_of(file) as stream:
            yield from _parsed_blocks(stream, file, rows)
    except pd.errors.EmptyDataError:
        raise TableError(f"{file.name} is empty: a header and rows are needed") from None
    except pd.errors.ParserError as error:
        found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        said = f"{file.name} is not a CSV table: {shortened(str(error).strip(), 200)}"
        if found is not None:
            said = (
                f"line {found[2]} of {file.name} has {found[3]} cells but the header has "
                f"{found[1]}: put quotes around cells that contain the separator"
            )
        raise TableError(said) from error
    except UnicodeError as error:
        raise TableError(
            f"{file.name} is not {file.form.encoding} text: name its encoding, such as "
            "encoding='cp1252' or --encoding cp1252 for files from Windows"
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableError(f"{file.name} is not a complete gzip file: {error}") from error


def _parsed_blocks(stream: io.BufferedReader, file: TableFile, rows: int) -> Iterator[pd.DataFrame]:
    """The header is read as a row: pandas would rename columns of the same name."""
    blank_lines, header = _beginning(stream, file)
    _check_separator(header, file)
    with pd.read_csv(
        stream,
        sep=file.sep,
        header=None,
        dtype=object,
        na_filter=False,
        encoding=file.form.codec,
        chunksize=rows,
        skiprows=blank_lines,
        # An empty line is how a single column writes a missing value.
        skip_blank_lines=len(header) != 1,
    ) as reader:
        # Of many columns, each takes longer than its cells: so the header is not a block of its
        # own, and all columns are one array.
        names: list[str] = []
        for block in reader:
            values = block.to_numpy()
            if not names:
                names, values = [str(name).strip() for name in values[0]], values[1:]
            yield pd.DataFrame(values, columns=names, dtype=object, copy=False)


@contextmanager
def _bytes_of(file: TableFile) -> Iterator[io.BufferedReader]:
    """What is in a file, unpacked; its beginning can be looked at before it is read."""
    raw: Any
    if file.is_stream:
        raw = sys.stdin.buffer
        stream = io.BufferedReader(raw)
        try:
            yield stream
        finally:
            stream.detach()  # standard input stays open
    else:
        with gzip.open(file.path) if file.path.endswith(".gz") else open(file.path, "rb") as raw:
            yield io.BufferedReader(raw)


def _beginning(stream: io.BufferedReader, file: TableFile) -> tuple[int, list[str]]:
    """The number of blank lines before the header, and its cells as far as they can be seen."""
    text = stream.peek().decode(file.form.codec, errors="replace")
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=file.sep)
    for blank, cells in enumerate(lines):
        if not _is_blank(cells):
            return blank, cells
    return 0, []


def _is_blank(cells: list[str]) -> bool:
    return len(cells) <= 1 and not "".join(cells).strip()


def _check_names(names: list[str], file: TableFile) -> None:
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise TableError(
            f"{file.name} has several columns named {listed(twice)}: give each its own name"
        )


def _check_separator(header: list[str], file: TableFile) -> None:
    if len(header) != 1:
        return
    for other in ";,\t|":
        if other != file.sep and other in header[0]:
            decimal = "; if its numbers have decimal commas, --decimal , too" * (other == ";")
            raise TableError(
                f"{file.name} has only the column {quoted(header[0])}, which looks like several "
                f"separated by {other!r}: name the separator, sep={other!r} or --sep {other!r}"
                f"{decimal}"
            )
