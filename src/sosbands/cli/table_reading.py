"""Tables in files: CSV and Parquet, read and written in blocks; an output appears when complete.

The cells of a CSV file stay the text that they are: what a cell means must not depend on the block
it is read in, and columns that nobody computes with are written back unchanged. Those of a Parquet
file have their types. Whether a file is one or the other is said by its name; ``-`` is CSV from
standard input, or to standard output.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import pandas as pd

from sosbands.persistence.replacing import replacing
from sosbands.quoting import listed, quoted, shortened

__all__ = [
    "BLOCK_ROWS",
    "CsvFormat",
    "RowError",
    "TableError",
    "is_parquet",
    "line_of",
    "named",
    "read_blocks",
    "read_table",
    "writer",
]

# Rows in memory at once: a hundred columns of text are then some 300 MB.
BLOCK_ROWS = 50_000
STANDARD_STREAM = "-"
# A digit, a sign or a letter between digits would make another number of them.
_DECIMALS, _THOUSANDS = ".,·٫", ".,'’_·٬ \u00a0\u2007\u2009\u202f"

Write: TypeAlias = Callable[[pd.DataFrame], None]


class TableError(ValueError):
    """A file is not the table that it should be; the message says why, and what to do."""


class RowError(TableError):
    """Something is wrong in one row of a table.

    Parameters
    ----------
    before, after : str
        The sentence around the place of the row.
    row : int
        The first row below the header is zero.
    """

    def __init__(self, before: str, row: int, after: str) -> None:
        super().__init__(f"{before}row {row + 1}{after}")
        self.before, self.row, self.after = before, row, after

    def in_file(self, path: str, form: CsvFormat | None = None) -> TableError:
        """The same with the line of the file, where that can be told."""
        line = line_of(path, form, self.row)
        return self if line is None else TableError(f"{self.before}line {line}{self.after}")


@dataclass(frozen=True)
class CsvFormat:
    """How text stands for a table.

    Attributes
    ----------
    sep : str or None
        What is between two cells. None: a tab in a ``.tsv`` file, otherwise a comma.
    encoding : str
    decimal, thousands : str
        What is between units and tenths, and between three digits and the next in a number.
    """

    sep: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    thousands: str = ""

    def __post_init__(self) -> None:
        if self.sep is not None and len(self.sep) != 1:
            raise TableError(f"sep must be one character, got {quoted(self.sep)}")
        if len(self.decimal) != 1 or self.decimal not in _DECIMALS:
            raise TableError(f"decimal must be a point or a comma, got {quoted(self.decimal)}")
        if len(self.thousands) > 1 or self.thousands not in _THOUSANDS:
            raise TableError(
                "thousands must be a comma, a point, a blank, an apostrophe, an underscore or "
                f"nothing, got {quoted(self.thousands)}"
            )
        if self.decimal == self.thousands:
            raise TableError(f"decimal and thousands must differ, got {self.decimal!r} for both")
        try:
            "".encode(self.encoding)
        except LookupError:
            raise TableError(
                f"encoding {quoted(self.encoding)} is unknown: utf-8, cp1252 and latin-1 are usual"
            ) from None

    @property
    def codec(self) -> str:
        """The encoding for reading: a byte order mark is no part of the first name."""
        return "utf-8-sig" if self.encoding.lower() in ("utf-8", "utf8") else self.encoding

    def sep_of(self, path: str) -> str:
        """What is between two cells of this file."""
        by_name = "\t" if path.removesuffix(".gz").endswith(".tsv") else ","
        return self.sep or by_name


def read_table(path: str, form: CsvFormat | None = None) -> pd.DataFrame:
    """All rows of a table; see `read_blocks`."""
    return pd.concat(read_blocks(path, form), ignore_index=True)


def read_blocks(
    path: str, form: CsvFormat | None = None, *, rows: int = BLOCK_ROWS
) -> Iterator[pd.DataFrame]:
    """The rows of a table, block after block; the index counts them from zero.

    Parameters
    ----------
    path : str
        A CSV file (``.gz`` is unpacked), a Parquet file, or ``-``.
    form : CsvFormat, optional
    rows : int
        The most rows of a block.

    Yields
    ------
    DataFrame
        Cells of a CSV file are strings, empty where there is nothing; those of a Parquet file have
        the types of pandas.

    Raises
    ------
    TableError
        If there are no rows, if columns share a name, or if the file is damaged.
    """
    if path.endswith((".xls", ".xlsx", ".ods")):
        raise TableError(f"{path} is a spreadsheet: save it as CSV, or as Parquet")
    if path.endswith((".zip", ".bz2", ".xz", ".zst")):
        raise TableError(f"{path} is compressed, but not by gzip: unpack it, or use gzip")
    blocks = _parquet_blocks(path, rows) if is_parquet(path) else _csv_blocks(path, form, rows)
    start = 0
    for block in blocks:
        if start == 0:
            _check_names(list(block.columns), path)
        block.index = pd.RangeIndex(start, start + len(block))
        start += len(block)
        if len(block):
            yield block
    if start == 0:
        raise TableError(f"{named(path)} has a header but no rows: there is nothing to do")


def line_of(path: str, form: CsvFormat | None, row: int) -> int | None:
    """The line of a CSV file in which a row begins; the first row below the header is zero.

    None where there are no lines to count again: in Parquet files, and in what has come through a
    pipe. Blank lines, and line ends within quotes, are why it is not simply the row plus two.
    """
    if is_parquet(path) or path == STANDARD_STREAM or not Path(path).is_file():
        return None
    form = form or CsvFormat()
    with _bytes_of(path) as stream:
        sep = form.sep_of(path)
        blank_lines, header = _beginning(stream, form.codec, sep)
        text = io.TextIOWrapper(stream, form.codec, newline="")
        records, end, below = csv.reader(text, delimiter=sep), 0, -1 - blank_lines
        try:
            for cells in records:
                begin, end = end + 1, records.line_num
                # Before the header, every blank line has been counted.
                if below < 0 or len(header) == 1 or len(cells) > 1 or "".join(cells).strip():
                    if below == row:
                        return begin
                    below += 1
        except csv.Error:  # a cell that is too long for it, perhaps in this very row
            return end + 1 if below == row else None
    return None


def is_parquet(path: str) -> bool:
    """Whether a name is that of a Parquet file."""
    return path.endswith((".parquet", ".pq"))


def named(path: str) -> str:
    """A file as a message calls it."""
    return "standard input" if path == STANDARD_STREAM else path


@contextmanager
def writer(path: str, form: CsvFormat | None = None) -> Iterator[Write]:
    """A function that appends a block to a table; the file appears when the context ends well."""
    if path == STANDARD_STREAM:
        yield _csv_writer(sys.stdout, path, form)
        sys.stdout.flush()
        return
    with replacing(path) as temporary:
        if is_parquet(path):
            with _parquet_writer(temporary) as write:
                yield write
        else:
            with _opened(temporary) as stream:
                yield _csv_writer(stream, path, form)


def _opened(path: str) -> IO[str]:
    if path.endswith(".gz"):
        return gzip.open(path, "wt", compresslevel=6, encoding="utf-8", newline="")
    return open(path, "w", encoding="utf-8", newline="")


def _csv_writer(stream: Any, path: str, form: CsvFormat | None) -> Write:
    form = form or CsvFormat()
    lines = csv.writer(stream, delimiter=form.sep_of(path), lineterminator="\n")
    begun = False

    def write(block: pd.DataFrame) -> None:
        nonlocal begun
        if not begun:
            lines.writerow(block.columns)
            begun = True
        # A third faster than pandas, and numbers are as exact.
        columns = (_cells(column, form.decimal) for _, column in block.items())
        lines.writerows(zip(*columns, strict=True))

    return write


def _cells(column: pd.Series[Any], decimal: str) -> list[Any]:
    """What stands in a file: nothing where a value is missing, all digits of a number."""
    cells: list[Any] = column.tolist()
    if column.dtype not in (np.float64, object):
        cells = list(map(str, column.array))  # 32-bit numbers keep the digits they print
    if decimal != "." and pd.api.types.is_float_dtype(column.dtype):
        cells = [str(cell).replace(".", decimal) for cell in cells]
    if column.isna().any():
        cells = ["" if lacks else cell for lacks, cell in zip(column.isna(), cells, strict=True)]
    return cells


def _csv_blocks(path: str, form: CsvFormat | None, rows: int) -> Iterator[pd.DataFrame]:
    """The header is read as a row: pandas would rename columns of the same name."""
    form = form or CsvFormat()
    sep = form.sep_of(path)
    try:
        with _bytes_of(path) as stream:
            blank_lines, header = _beginning(stream, form.codec, sep)
            _check_separator(header, sep, path)
            with pd.read_csv(
                stream,
                sep=sep,
                header=None,
                dtype=object,
                na_filter=False,
                encoding=form.codec,
                chunksize=rows,
                skiprows=blank_lines,
                # An empty line is how a single column writes a missing value.
                skip_blank_lines=len(header) != 1,
            ) as reader:
                # Of many columns, each takes longer than its cells: so the header is not a block
                # of its own, and all columns are one array.
                names: list[str] = []
                for block in reader:
                    values = block.to_numpy()
                    if not names:
                        names, values = [str(name).strip() for name in values[0]], values[1:]
                    yield pd.DataFrame(values, columns=names, dtype=object, copy=False)
    except pd.errors.EmptyDataError:
        raise TableError(f"{named(path)} is empty: a header and rows are needed") from None
    except pd.errors.ParserError as error:
        raise TableError(_parser_sentence(str(error), path)) from error
    except UnicodeError as error:
        raise TableError(
            f"{named(path)} is not {form.encoding} text: name its encoding, such as "
            "encoding='cp1252' or --encoding cp1252 for files from Windows"
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableError(f"{named(path)} is not a complete gzip file: {error}") from error


@contextmanager
def _bytes_of(path: str) -> Iterator[io.BufferedReader]:
    """What is in a file, unpacked; its beginning can be looked at before it is read."""
    raw: Any
    if path == STANDARD_STREAM:
        raw = sys.stdin.buffer
        stream = io.BufferedReader(raw)
        try:
            yield stream
        finally:
            stream.detach()  # standard input stays open
    else:
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as raw:
            yield io.BufferedReader(raw)


def _beginning(stream: io.BufferedReader, encoding: str, sep: str) -> tuple[int, list[str]]:
    """The number of blank lines before the header, and its cells as far as they can be seen."""
    text = stream.peek().decode(encoding, errors="replace")
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=sep)
    for blank, cells in enumerate(lines):
        if len(cells) > 1 or "".join(cells).strip():
            return blank, cells
    return 0, []


def _parser_sentence(message: str, path: str) -> str:
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message)
    if found is None:
        return f"{named(path)} is not a CSV table: {shortened(message.strip(), 200)}"
    expected, line, saw = found.groups()
    return (
        f"line {line} of {named(path)} has {saw} cells but the header has {expected}: put quotes "
        "around cells that contain the separator"
    )


def _check_names(names: list[str], path: str) -> None:
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise TableError(
            f"{named(path)} has several columns named {listed(twice)}: give each its own name"
        )


def _check_separator(names: list[str], sep: str, path: str) -> None:
    if len(names) != 1:
        return
    for other in ";,\t|":
        if other != sep and other in names[0]:
            decimal = "; if its numbers have decimal commas, --decimal , too" * (other == ";")
            raise TableError(
                f"{named(path)} has only the column {quoted(names[0])}, which looks like several "
                f"separated by {other!r}: name the separator, sep={other!r} or --sep {other!r}"
                f"{decimal}"
            )


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise TableError(
            'Parquet files need pyarrow, which is not installed: pip install "sosbands[parquet]"'
        ) from None
    return pyarrow.parquet


def _parquet_blocks(path: str, rows: int) -> Iterator[pd.DataFrame]:
    parquet = _parquet()
    import pyarrow as pa

    try:
        with parquet.ParquetFile(path) as file:
            _check_names(file.schema_arrow.names, path)
            for batch in file.iter_batches(batch_size=rows):
                yield batch.to_pandas()
    except pa.ArrowInvalid as error:
        first = shortened(str(error).splitlines()[0], 200)
        raise TableError(f"{path} is not a complete Parquet file: {first}") from error


@contextmanager
def _parquet_writer(path: str) -> Iterator[Write]:
    """All blocks have the types of the first."""
    parquet = _parquet()
    import pyarrow as pa

    file: Any = None

    def write(block: pd.DataFrame) -> None:
        nonlocal file
        if file is None:
            schema = pa.Schema.from_pandas(block, preserve_index=False)
            file = parquet.ParquetWriter(path, schema)
        file.write_table(pa.Table.from_pandas(block, file.schema, preserve_index=False))

    try:
        yield write
    finally:
        if file is not None:
            file.close()
