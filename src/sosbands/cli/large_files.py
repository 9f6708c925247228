"""``sosbands fit`` of Parquet files with millions of rows: in blocks, in bounded memory.

The mean and the band are learned from a sample, all rows that are held back calibrate, and all
that are held out judge. Of the file there is one row group for each thread in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from sosbands.cli.fit_summary import certificate_told, columns_told, limits_told, model_told
from sosbands.cli.number_marks import marks_shown
from sosbands.cli.table_columns import Choice, Columns
from sosbands.cli.table_file import CsvFormat, Problems, TableError, TableFile
from sosbands.cli.table_reading import parquet_module
from sosbands.cli.table_rows import LabelledRows, labelled_block
from sosbands.types import Mask

# From here on a mean of all rows would take hours; below, files are read as a whole.
MANY_ROWS = 2_000_000
# Rows by which the columns are judged.
_SEEN_ROWS = 100_000


def has_many_rows(file: TableFile) -> bool:
    """Whether a file is one of columns with so many rows that they are not read at once."""
    if not file.is_parquet:
        return False
    try:
        with parquet_module().ParquetFile(file.path) as opened:
            return int(opened.metadata.num_rows) > MANY_ROWS
    except (OSError, ValueError):  # whoever reads it says what is wrong
        return False


@dataclass(frozen=True, eq=False)
class LargeRows:
    """The rows of a large file in blocks, some of which judge.

    Attributes
    ----------
    file : TableFile
    columns : Columns
    form : CsvFormat
        Of its cells.
    left_out : mapping
        Columns that are no inputs, with the reason.
    lengths : list of int
        Rows of each row group.
    judges : array of bool
        Which rows judge, by position.
    drop_missing : bool
    """

    file: TableFile
    columns: Columns
    form: CsvFormat
    left_out: Mapping[str, str]
    lengths: Sequence[int]
    judges: Mask
    drop_missing: bool

    @classmethod
    def of(
        cls, file: TableFile, choice: Choice, *, test_size: float, seed: int, drop_missing: bool
    ) -> LargeRows:
        """What the columns are is judged by some rows, spread over the file."""
        from sosbands.learning.folds import held_back

        with parquet_module().ParquetFile(file.path) as opened:
            meta = opened.metadata
            lengths = [meta.row_group(k).num_rows for k in range(meta.num_row_groups)]
        step = max(1, sum(lengths) // _SEEN_ROWS)
        seen = pd.concat(
            [_some_rows(file, k, step) for k in range(len(lengths))], ignore_index=True
        )
        problems = Problems()
        form = marks_shown(seen, file, problems)
        columns, left_out = choice.columns(seen, file, form, problems)
        problems.raised(file)
        judges = np.zeros(sum(lengths), dtype=bool)
        if test_size > 0:
            judges = held_back(len(judges), test_size, cv=5, groups=None, seed=seed)
        return cls(file, columns, form, left_out, lengths, judges, drop_missing)

    def collections(self) -> tuple[Any, Any]:
        """X and y of the rows that do not judge, as collections of Dask."""
        import dask
        import dask.dataframe as dd

        first = read_group(self.file, 0)[:1]
        meta = self.columns.read_inputs(first, self.file, self.form, Problems())[:0]
        blocks = [
            dask.delayed(partial(self._rows, k, np.packbits(~part)), pure=True)()
            for k, part in enumerate(self._parts())
        ]
        X = dd.from_delayed([block.X for block in blocks], meta=meta, verify_meta=False)
        y = dd.from_delayed(
            [dask.delayed(pd.Series)(block.y) for block in blocks],
            meta=pd.Series(np.empty(0)),
            verify_meta=False,
        )
        return X, y

    def judged(self, model: Any, level: float) -> dict[str, str]:
        """How many of the rows that judge are covered, and how wide their intervals are."""
        counts, hits, widths, low, high = 0, 0, 0.0, np.inf, -np.inf
        for k, part in enumerate(self._parts()):
            if not part.any():
                continue
            rows = self._rows(k, np.packbits(part))
            ends = model.predict_interval(rows.X, level)
            counts += len(rows.y)
            hits += int(np.sum((ends[:, 0] <= rows.y) & (rows.y <= ends[:, 1])))
            widths += float(np.sum(ends[:, 1] - ends[:, 0]))
            low, high = min(low, rows.y.min()), max(high, rows.y.max())
        if not counts:
            return {"coverage": "not measured: no rows were held out"}
        return {
            "coverage": f"{hits / counts:.3f} of the rows held out, asked for {level:g}",
            "mean width": f"{widths / counts:.4g}; {self.columns.target} goes from {low:.4g} to "
            f"{high:.4g}",
        }

    def _parts(self) -> list[Mask]:
        return list(np.split(self.judges, np.cumsum(self.lengths)[:-1]))

    def _rows(self, group: int, bits: Any) -> LabelledRows:
        """Some rows of a row group."""
        table = read_group(self.file, group)
        chosen = np.flatnonzero(np.unpackbits(bits, count=len(table)))
        block = table.iloc[chosen if len(chosen) else [0]]
        rows = labelled_block(block, self.columns, self.file, self.form, self.drop_missing)
        return rows if len(chosen) else rows.take(slice(0))


def read_group(file: TableFile, group: int) -> pd.DataFrame:
    """A row group; the index counts rows from the beginning of the file."""
    with parquet_module().ParquetFile(file.path) as opened:
        start = sum(opened.metadata.row_group(k).num_rows for k in range(group))
        table: pd.DataFrame = opened.read_row_group(group).to_pandas()
    table.index = pd.RangeIndex(start, start + len(table))
    return table


def _some_rows(file: TableFile, group: int, step: int) -> pd.DataFrame:
    """One in `step` rows of a row group; a copy, as a view would keep the whole group in memory."""
    return read_group(file, group).iloc[::step].copy()


def fit_in_blocks(rows: LargeRows, model: Any, *, jobs: int) -> Any:
    """A model in memory like this one, learned from a sample and calibrated with all rows."""
    try:
        import dask

        from sosbands.dask import DaskBandRegressor
    except ImportError:
        raise TableError(
            f"{rows.file.path} has {len(rows.judges)} rows: to read so many in blocks, pip install "
            '"sosbands[dask]"'
        ) from None
    far = DaskBandRegressor(**model.get_params(deep=False))
    threads = {} if jobs < 1 else {"num_workers": jobs}
    with dask.config.set(scheduler="threads", **threads):
        return far.fit(*rows.collections()).to_local()


def large_summary(rows: LargeRows, model: Any, level: float) -> dict[str, str]:
    """What `fit` says of the model."""
    n, judges = len(rows.judges), int(rows.judges.sum())
    parts = f"{model.n_train_} learn, {model.calibration_.size} calibrate, {judges} judge"
    return {
        "rows": f"{n}: {parts}",
        **columns_told(rows.columns, rows.left_out),
        "model": model_told(model),
        **limits_told(model),
        **rows.judged(model, level),
        "certificate": certificate_told(model),
    }
