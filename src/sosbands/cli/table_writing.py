"""Tables written block by block, as CSV or Parquet; a file appears when it is complete."""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from sosbands.cli.table_file import TableError, TableFile
from sosbands.cli.table_reading import parquet_module, repeated
from sosbands.persistence.replacing import replacing
from sosbands.quoting import listed

Write: TypeAlias = Callable[[pd.DataFrame], None]


@contextmanager
def writer(file: TableFile, source: TableFile | None = None) -> Iterator[Write]:
    """A function that appends a block to a table; the file appears when the context ends well.

    Columns of the source keep their types, if both are Parquet files.
    """
    if file.is_spreadsheet:
        raise TableError(f"tables are written as CSV or Parquet, got {file.path}: rename it")
    if file.is_stream:
        yield _csv_writer(sys.stdout, file)
        sys.stdout.flush()
        return
    with replacing(file.path) as temporary:
        if file.is_parquet:
            with _parquet_writer(temporary, source) as write:
                yield write
        else:
            opened: Any = partial(gzip.open, compresslevel=6) if file.is_gzip else open
            with opened(temporary, "wt", encoding="utf-8", newline="") as stream:
                yield _csv_writer(stream, file)


def _csv_writer(stream: Any, file: TableFile) -> Write:
    lines = csv.writer(stream, delimiter=file.sep, lineterminator="\n")
    begun = False

    def write(block: pd.DataFrame) -> None:
        nonlocal begun
        if not begun:
            lines.writerow(block.columns)
            begun = True
        # A third faster than pandas, and numbers are as exact.
        columns = (_cells(column, file.form.decimal) for _, column in block.items())
        lines.writerows(zip(*columns, strict=True))

    return write


def _cells(column: pd.Series[Any], decimal: str) -> list[Any]:
    """A column as it is written: all digits of numbers, nothing where a value is missing."""
    cells: list[Any] = column.tolist()
    if column.dtype not in (np.float64, object):
        cells = list(map(str, column.array))  # 32-bit numbers keep the digits they print
    if decimal != "." and pd.api.types.is_float_dtype(column.dtype):
        cells = [str(cell).replace(".", decimal) for cell in cells]
    if column.isna().any():
        cells = ["" if lacks else cell for lacks, cell in zip(column.isna(), cells, strict=True)]
    return cells


@contextmanager
def _parquet_writer(path: str, source: TableFile | None) -> Iterator[Write]:
    """A function that appends blocks to a Parquet file; all have the types of the first."""
    parquet = parquet_module()
    import pyarrow as pa

    file: Any = None
    types: dict[str, Any] = {}
    if source is not None and source.is_parquet:
        stored = parquet.read_schema(source.path)
        types = dict(zip(stored.names, stored.types, strict=True))

    def write(block: pd.DataFrame) -> None:
        nonlocal file
        twice = repeated(block.columns)
        if twice:
            raise TableError(
                f"a Parquet file cannot have several columns named {listed(twice)}: give each its "
                "own name, or write a CSV file"
            )
        new = block.drop(columns=list(types), errors="ignore")
        mixed = {str(name): _as_text(part) for name, part in new.items() if _is_mixed(part)}
        block = block.assign(**mixed)
        if file is None:
            made = pa.Schema.from_pandas(block, preserve_index=False)
            kept = [part.with_type(types.get(part.name, part.type)) for part in made]
            file = parquet.ParquetWriter(path, pa.schema(kept))
        file.write_table(pa.Table.from_pandas(block, file.schema, preserve_index=False))

    try:
        yield write
    finally:
        if file is not None:
            file.close()


def _is_mixed(column: pd.Series[Any]) -> bool:
    """Whether cells of a spreadsheet are of several types, which no column of Parquet can have."""
    return column.dtype == object and pd.api.types.infer_dtype(column).startswith("mixed")


def _as_text(column: pd.Series[Any]) -> pd.Series[Any]:
    return column.map(str, na_action="ignore")
