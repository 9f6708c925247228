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
from sosbands.cli.table_reading import parquet_module
from sosbands.persistence.replacing import replacing

Write: TypeAlias = Callable[[pd.DataFrame], None]


@contextmanager
def writer(file: TableFile) -> Iterator[Write]:
    """A function that appends a block to a table; the file appears when the context ends well."""
    if file.is_spreadsheet:
        raise TableError(f"tables are written as CSV or Parquet, got {file.path}: rename it")
    if file.is_stream:
        yield _csv_writer(sys.stdout, file)
        sys.stdout.flush()
        return
    with replacing(file.path) as temporary:
        if file.is_parquet:
            with _parquet_writer(temporary) as write:
                yield write
        else:
            opened: Any = partial(gzip.open, compresslevel=6) if temporary.endswith(".gz") else open
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
def _parquet_writer(path: str) -> Iterator[Write]:
    """A function that appends blocks to a Parquet file; all have the types of the first."""
    parquet = parquet_module()
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
