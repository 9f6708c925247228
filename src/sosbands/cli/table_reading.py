"""Tables read block by block, from CSV and Parquet files and from spreadsheets.

The cells of a CSV file stay the text that they are: what a cell means must not depend on the block
it is read in, and columns that nobody computes with are written back unchanged. Those of other
files have their types.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sosbands.cli.csv_records import Layout, csv_records
from sosbands.cli.spreadsheets import spreadsheet_table
from sosbands.cli.table_file import Problems, RowError, TableError, TableFile, column_name
from sosbands.quoting import listed, quoted, shortened

# Rows in memory at once: a hundred columns of text are then some 300 MB.
BLOCK_ROWS = 50_000
# Lines that a message names.
_TOLD = 5


def read_table(file: TableFile, problems: Problems, *, drop_ragged: bool = False) -> pd.DataFrame:
    """All rows of a table, and what is wrong with them; see `read_blocks`.

    Rows with more cells than the header are a problem, or are left out if `drop_ragged`. Names that
    repeat are a matter of those who use the columns.
    """
    ragged = _Ragged(stop=False)
    table = pd.concat(_blocks(file, BLOCK_ROWS, ragged), ignore_index=True)
    if ragged.long and not drop_ragged:
        problems.add(f"{_ragged_lines(ragged, file)}, or leave them out with --drop-ragged")
    ragged.warn(file)
    if ragged.long and drop_ragged:
        warnings.warn(
            f"rows of {file.name} with more cells than the header: {len(ragged.long)}; they are "
            "left out",
            stacklevel=2,
        )
    return table


def read_blocks(file: TableFile, *, rows: int = BLOCK_ROWS) -> Iterator[pd.DataFrame]:
    """The rows of a table in blocks of at most `rows`; the index counts them from zero.

    Cells of a CSV file (``.gz`` is unpacked) are strings, empty where there is nothing, and
    ``attrs["sep"]`` is what was between them; those of others have their types. A `TableError` is
    raised if there are no rows or the file is damaged.
    """
    ragged = _Ragged(stop=True)
    yield from _blocks(file, rows, ragged)
    ragged.warn(file)


def repeated(names: Iterable[str]) -> list[str]:
    """The names that several columns have."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


def with_lines(problems: Problems, file: TableFile) -> Problems:
    """The same problems, with lines of the file, as an editor shows them, in place of rows."""
    lines = lines_of(file, {error.row for error in problems.found if isinstance(error, RowError)})
    return Problems(
        [
            error.at_line(lines.get(error.row)) if isinstance(error, RowError) else error
            for error in problems.found
        ]
    )


def lines_of(file: TableFile, rows: Collection[int]) -> dict[int, int]:
    """The lines of a CSV file in which rows begin; the first row below the header is zero.

    Empty where there are no lines to count again: in other files, and in what has come through a
    pipe. Blank lines, and line ends within quotes, are why it is not simply the row plus two.
    """
    found: dict[int, int] = {}
    if not rows or file.is_parquet or file.is_spreadsheet:
        return found
    if file.content is None and (file.is_stream or not Path(file.path).is_file()):
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all that there is to say of the file has been said
        with csv_records(file) as (_, records):
            width, below = len(next(records)[1]), -1
            for line, cells in records:
                below += len(_trimmed(cells, width)) <= width
                if below in rows:
                    found.setdefault(below, line)
                if len(found) == len(rows):
                    break
    return found


def parquet_module() -> Any:
    """``pyarrow.parquet``, or an error that names the extra."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise TableError(
            'Parquet files need pyarrow, which is not installed: pip install "sosbands[parquet]"'
        ) from None
    return pyarrow.parquet


class _Ragged:
    """Rows that have more or fewer cells than the header."""

    def __init__(self, *, stop: bool) -> None:
        self.stop = stop  # at the first that has more
        self.long: list[int] = []  # their lines
        self.cells = 0  # of the first of these
        self.columns = 0
        self.short = 0

    def warn(self, file: TableFile) -> None:
        """Say how many rows were filled up."""
        if self.short:
            warnings.warn(
                f"rows of {file.name} with fewer cells than the header: {self.short}; what they "
                "lack is taken for missing",
                stacklevel=3,
            )


def _ragged_lines(ragged: _Ragged, file: TableFile) -> str:
    lines = ", ".join(map(str, ragged.long[:_TOLD]))
    more = f" and {len(ragged.long) - _TOLD} more" if len(ragged.long) > _TOLD else ""
    where = f"line {lines}" if len(ragged.long) == 1 else f"lines {lines}{more}"
    return (
        f"{where} of {file.name}: {ragged.cells} cells but the header has {ragged.columns}; put "
        "quotes around cells that contain the separator"
    )


def _blocks(file: TableFile, rows: int, ragged: _Ragged) -> Iterator[pd.DataFrame]:
    if file.path.lower().endswith((".zip", ".bz2", ".xz", ".zst")):
        raise TableError(f"{file.path} is compressed, but not by gzip: unpack it, or use gzip")
    start = 0
    for block in _kind_of_blocks(file, rows, ragged):
        block.index = pd.RangeIndex(start, start + len(block))
        start += len(block)
        if len(block):
            yield block
    if start == 0 and ragged.long:
        raise TableError(
            f"no row of {file.name} has as many cells as the header, {ragged.columns}; line "
            f"{ragged.long[0]} has {ragged.cells}: name every column in the header, or put quotes "
            "around cells that contain the separator, such as numbers with a comma"
        )
    if start == 0:
        raise TableError(f"{file.name} has a header but no rows: there is nothing to do")


def _kind_of_blocks(file: TableFile, rows: int, ragged: _Ragged) -> Iterator[pd.DataFrame]:
    if file.is_parquet:
        return _parquet_blocks(file, rows)
    if file.is_spreadsheet:
        return iter([spreadsheet_table(file)])
    return _csv_blocks(file, rows, ragged)


def _parquet_blocks(file: TableFile, rows: int) -> Iterator[pd.DataFrame]:
    parquet = parquet_module()
    import pyarrow as pa

    try:
        with parquet.ParquetFile(file.path) as stored:
            twice = repeated(stored.schema_arrow.names)
            if twice:  # which pyarrow does not hold apart
                raise TableError(
                    f"{file.name} has several columns named {listed(twice)}: give each its own name"
                )
            for batch in stored.iter_batches(batch_size=rows):
                yield _pandas_of(batch)
    except pa.ArrowInvalid as error:
        first = shortened(str(error).splitlines()[0], 200)
        raise TableError(f"{file.path} is not a complete Parquet file: {first}") from error


def _pandas_of(batch: Any) -> pd.DataFrame:
    """Whole numbers stay whole where some are missing; floats would lose digits of them."""
    import pyarrow as pa

    kinds = {column.type for column in batch.columns if column.null_count}
    whole = {
        kind: pd.api.types.pandas_dtype(str(kind).replace("u", "U").replace("i", "I"))
        for kind in kinds
        if pa.types.is_integer(kind)
    }
    table: pd.DataFrame = batch.to_pandas(types_mapper=whole.get)
    return table


def _csv_blocks(file: TableFile, rows: int, ragged: _Ragged) -> Iterator[pd.DataFrame]:
    with csv_records(file) as (layout, records):
        _, header = next(records, (0, []))
        if not header:
            raise TableError(f"{file.name} is empty: a header and rows are needed")
        if header[0].lower().startswith("sep="):
            raise TableError(
                f"the first line of {file.name} is {quoted(layout.sep.join(header))}, a note for "
                "spreadsheet programs and not a header: delete that line"
            )
        names = [column_name(name) for name in header]
        _check_separator(layout, file)
        filled = _filled(records, len(names), ragged, file)
        while block := list(islice(filled, rows)):
            # One array: of many columns, each would take longer than its cells.
            values = np.empty((len(block), len(names)), dtype=object)
            values[:] = block
            made = pd.DataFrame(values, columns=names, dtype=object, copy=False)
            made.attrs["sep"] = layout.sep
            yield made


def _filled(
    records: Iterator[tuple[int, list[str]]], width: int, ragged: _Ragged, file: TableFile
) -> Iterator[list[str]]:
    """Rows with as many cells as the header; those with more are noted, and left out."""
    ragged.columns = width
    for line, cells in records:
        if len(cells) == width:
            yield cells
        elif len(kept := _trimmed(cells, width)) > width:
            ragged.cells = ragged.cells or len(kept)
            ragged.long.append(line)
            if ragged.stop:
                raise TableError(_ragged_lines(ragged, file))
        else:
            ragged.short += len(kept) < width and bool(cells)
            yield kept + [""] * (width - len(kept))


def _trimmed(cells: list[str], width: int) -> list[str]:
    """A row without the empty cells that separators at its end make."""
    while len(cells) > width and not cells[-1].strip():
        cells = cells[:-1]
    return cells


def _check_separator(layout: Layout, file: TableFile) -> None:
    if len(layout.header) != 1:
        return
    for other in ";,\t|":
        if other != layout.sep and other in layout.header[0]:
            raise TableError(
                f"{file.name} has only the column {quoted(layout.header[0])}, which looks like "
                f"several separated by {other!r}: name the separator, --sep {other!r}"
            )
