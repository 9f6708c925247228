"""The records of a CSV file with their lines, and how its beginning says it is laid out."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from sosbands.cli.file_bytes import encoding_of, opened
from sosbands.cli.table_file import TableError, TableFile
from sosbands.quoting import quoted

# Cells of a table are separated by one of these; and lines that show by which.
_SEPARATORS = ",;\t|"
_LINES_LOOKED_AT = 30
# First bytes of files that are no text.
_OTHER_KINDS = {
    b"\x1f\x8b": ("one packed by gzip", "unpack it, or let its name end in .gz"),
    b"PK\x03\x04": ("a spreadsheet or a zip archive", "let its name end in .xlsx, or unpack it"),
    b"PAR1\x15": ("a Parquet file", "let its name end in .parquet"),
}


@dataclass(frozen=True)
class Layout:
    """How a CSV file is laid out."""

    encoding: str
    sep: str
    blank_lines: int  # before the header
    header: tuple[str, ...]  # as far as the beginning of the file shows it

    @classmethod
    def of(cls, file: TableFile, stream: io.BufferedReader) -> Layout:
        """What the beginning shows, unless the user has said it."""
        start = stream.peek()
        _check_text(start, file)
        encoding = encoding_of(file, start)
        if file.form.encoding is None and not encoding.startswith("utf"):
            warnings.warn(
                f"{file.name} is not UTF-8 and was read as {encoding}: if letters are wrong, name "
                "another with --encoding",
                stacklevel=2,
            )
        text = start.decode(encoding, errors="replace")
        sep = file.sep if file.form.sep is not None else _separator(text, file.sep)
        blank, cells = _first(csv.reader(io.StringIO(text, newline=""), delimiter=sep))
        return cls(encoding, sep, blank, tuple(cells))


def _check_text(start: bytes, file: TableFile) -> None:
    """Refuse other kinds of files under the name of a CSV file."""
    for mark, (kind, advice) in _OTHER_KINDS.items():
        if start.startswith(mark):
            raise TableError(f"{file.name} is not a CSV file but {kind}: {advice}")


@contextmanager
def csv_records(file: TableFile) -> Iterator[tuple[Layout, Iterator[tuple[int, list[str]]]]]:
    """The layout of a file, and its records from the header on, each after its line.

    Blank lines are no records, unless there is one column, where they are missing values. Errors
    about bytes and quotes are `TableError`.
    """
    with _explained(file), opened(file) as stream, _cells_of_any_length():
        layout = Layout.of(file, stream)
        text = io.TextIOWrapper(stream, layout.encoding, newline="")
        try:
            yield layout, _records(text, layout, file)
        finally:
            if file.is_stream and not text.closed:
                text.detach()  # standard input stays open


def _records(
    text: io.TextIOWrapper, layout: Layout, file: TableFile
) -> Iterator[tuple[int, list[str]]]:
    ended = False

    def lines() -> Iterator[str]:
        nonlocal ended
        yield from iter(text.readline, "")  # not from the stream itself, which would be closed
        ended = True

    reader, end, single = csv.reader(lines(), delimiter=layout.sep), 0, len(layout.header) == 1
    for number, cells in enumerate(reader):
        begin, end = end + 1, reader.line_num
        if ended:  # the reader wanted more lines than there are
            raise TableError(
                f"the quotes that open in line {begin} of {file.name} do not close: close them, or "
                'double the quotes that belong to a cell, as in "5"" wide"'
            )
        if number >= layout.blank_lines and (len(cells) > 1 or single or not is_blank(cells)):
            yield begin, cells


def is_blank(cells: list[str]) -> bool:
    """Whether a line has no cells."""
    return len(cells) <= 1 and not "".join(cells).strip()


def _first(records: Iterable[list[str]]) -> tuple[int, list[str]]:
    """The number of blank lines, and the record after them."""
    for blank, cells in enumerate(records):
        if not is_blank(cells):
            return blank, cells
    return 0, []


def _separator(text: str, usual: str) -> str:
    """The usual separator, or another one by which all lines have as many cells as the first."""
    fits: dict[str, int] = {}
    for sep in dict.fromkeys((usual, *_SEPARATORS)):
        records = csv.reader(io.StringIO(text, newline=""), delimiter=sep)
        lines = [cells for cells in islice(records, _LINES_LOOKED_AT + 1) if not is_blank(cells)]
        if len(lines) > 2 and text[-1] not in "\r\n":  # then the last line may be cut
            lines = lines[:-1]
        counts = {len(cells) for cells in lines}
        fits[sep] = max(counts) if len(counts) == 1 else 0
    if fits[usual] > 1:
        return usual
    best = max(fits, key=fits.__getitem__)
    if fits[best] > 1:
        return best
    # No separator fits all lines: then the one that the header has most often, if it has one.
    _, header = _first(csv.reader(io.StringIO(text, newline=""), delimiter="\0"))
    counted: dict[str, int] = {sep: "".join(header).count(sep) for sep in fits}
    return usual if counted[usual] else max(counted, key=counted.__getitem__)


@contextmanager
def _cells_of_any_length() -> Iterator[None]:
    limit = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


@contextmanager
def _explained(file: TableFile) -> Iterator[None]:
    """Say what is wrong with bytes that cannot be read."""
    try:
        yield
    except UnicodeError as error:
        raise TableError(
            f"{file.name} is not {file.form.encoding or 'utf-8'} text: name its encoding, such as "
            "--encoding cp1252 for files from Windows"
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableError(f"{file.name} is not a complete gzip file: {error}") from error
    except csv.Error as error:
        raise TableError(f"{file.name} is not a CSV table: {quoted(str(error))}") from error
