"""The first pass over the rows: all blocks are checked, and a sample travels to the driver.

Faults of a block far away are told with the positions of its rows in the whole table, from zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import dask
import numpy as np

from sosbands.conformal import named
from sosbands.dask.row_blocks import RowBlocks, joined, taken
from sosbands.dask.running import Runner
from sosbands.learning.folds import numbered
from sosbands.learning.tables import is_frame, numbers_of, read_table
from sosbands.quoting import listed, quoted
from sosbands.types import Array, Indices

_KINDS = {"number": "numbers", "text": "text or categories", "date": "dates"}


@dataclass(frozen=True, eq=False)
class BlockReport:
    """What there is to say of a block, and the rows that were asked for.

    Attributes
    ----------
    fault : str or None
        What is wrong with it.
    kinds : dict
        What columns hold, by name; without those that hold nothing.
    lowest, highest : float
        Outputs.
    picked : list
        X, and what is told of the rows, at the rows asked for.
    """

    fault: str | None
    kinds: dict[Any, str]
    lowest: float
    highest: float
    picked: list[Any]


class _Asked(NamedTuple):
    """Of a block: the position of its first row, the rows to bring, and what reads its columns."""

    start: int
    rows: Indices
    reads_tables: bool


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that travelled to the driver, in the order of their positions.

    Attributes
    ----------
    X : array or data frame
    beside : dict
        What is told of them, by name: y among it.
    range : tuple of float
        The smallest and the largest output of all rows.
    """

    X: Any
    beside: dict[str, Any]
    range: tuple[float, float]


def surveyed(runner: Runner, rows: RowBlocks, positions: Indices, *, reads_tables: bool) -> Sample:
    """Check all blocks, and bring the rows at these ascending positions.

    `reads_tables` says that columns are encoded, rather than left to a transformer of the user.
    """
    picks, names = rows.local(positions), ["y", *(name for name in rows.beside if name != "y")]
    tasks = []
    for k in np.flatnonzero(rows.lengths).tolist():
        y, *others = (rows.beside[name][k] for name in names)
        asked = _Asked(int(rows.starts[k]), picks[k], reads_tables)
        tasks.append(_report(rows.X[k], y, others, asked))
    reports: list[BlockReport] = runner.results(tasks, reading="checks and sample")
    for report in reports:
        if report.fault is not None:
            raise ValueError(report.fault)
    _check_kinds(reports, np.flatnonzero(rows.lengths))
    parts = [report.picked for report in reports if len(report.picked[0])]
    X, *beside = (joined(column) for column in zip(*parts, strict=True))
    extremes = min(r.lowest for r in reports), max(r.highest for r in reports)
    return Sample(X, dict(zip(names, beside, strict=True)), extremes)


def _check_kinds(reports: Sequence[BlockReport], blocks: Indices) -> None:
    """Columns must hold the same in all blocks."""
    first: dict[Any, tuple[str, int]] = {}
    for report, block in zip(reports, blocks, strict=True):
        for name, kind in report.kinds.items():
            known, where = first.setdefault(name, (kind, int(block)))
            if known != kind:
                raise ValueError(
                    f"column {quoted(name)} holds {_KINDS[known]} in block {where} and "
                    f"{_KINDS[kind]} in block {block}: give all blocks the same types"
                )


@dask.delayed(pure=False)  # type: ignore[untyped-decorator]
def _report(X: Any, y: Any, others: Sequence[Any], asked: _Asked) -> BlockReport:
    start = asked.start
    try:
        outputs = checked_outputs(y, start)
        if len(y) != len(X):
            raise ValueError(
                f"the block from row {start} on has {len(X)} rows of X and {len(y)} of y: chunks "
                "are not as they say"
            )
        kinds = checked_inputs(X, start) if asked.reads_tables else {}
    except ValueError as error:
        return BlockReport(str(error), {}, np.inf, -np.inf, [])
    picked = [taken(part, asked.rows) for part in (X, y, *others)]
    return BlockReport(None, kinds, float(outputs.min()), float(outputs.max()), picked)


def checked_outputs(y: Any, start: int) -> Array:
    """Outputs of a block as finite numbers."""
    try:
        outputs = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        rows = f"rows {start} to {start + len(y) - 1}"
        raise ValueError(f"y is not numeric in {rows}: {error}") from None
    bad = np.flatnonzero(~np.isfinite(outputs))
    if len(bad):
        raise ValueError(f"y is NaN or infinite in {_rows(bad + start)}: drop or correct them")
    return outputs


def checked_inputs(X: Any, start: int) -> dict[Any, str]:
    """The kinds of the columns of a block without infinite numbers."""
    block = f"rows {start} to {start + len(X) - 1}"
    if not is_frame(X):
        infinite = _infinite(X)
        if len(infinite):
            raise ValueError(f"X is infinite in {_rows(infinite + start)}: drop or correct them")
        try:
            numbers_of(X)
        except ValueError as error:
            raise ValueError(f"in {block}: {error}") from None
        return {}
    numeric = X.select_dtypes("number")
    infinite = _infinite(numeric.to_numpy(dtype=np.float64, na_value=np.nan))
    if len(infinite):
        values = numeric.iloc[int(infinite[0])]
        names = [name for name, value in values.items() if np.isinf(float(value))]
        raise ValueError(
            f"column {quoted(names[0])} of X is infinite in {_rows(infinite + start)}: drop or "
            "correct them"
        )
    try:
        table = read_table(X)
    except ValueError as error:
        raise ValueError(f"in {block}: {error}") from None
    return {column.name: column.kind for column in table if column.kind != "empty"}


def _infinite(X: Any) -> Indices:
    """Rows with infinite numbers."""
    values = np.asarray(X)
    if values.dtype.kind != "f":
        return np.arange(0)
    return np.flatnonzero(np.isinf(values).any(axis=1))


def _rows(rows: Indices) -> str:
    """Positions, the first of them by number."""
    return f"{'row' if len(rows) == 1 else 'rows'} {listed(rows.tolist())} (counted from 0)"


def group_numbers(runner: Runner, names: Sequence[Any]) -> Indices:
    """The group of every row by number, as `learning.folds.numbered` has it for rows in memory."""
    blocks = runner.results([_distinct(block) for block in names])
    known = list(dict.fromkeys(name for distinct, _ in blocks for name in distinct))
    number = dict(zip(known, numbered(known).tolist(), strict=True))
    return np.concatenate(
        [
            np.array([number[name] for name in distinct], dtype=np.intp)[of]
            for distinct, of in blocks
        ]
    )


@dask.delayed(pure=True)  # type: ignore[untyped-decorator]
def _distinct(names: Any) -> tuple[list[Any], Any]:
    """The distinct names of a block, and which of them each row has."""
    places: dict[Any, int] = {}
    of = [places.setdefault(name, len(places)) for name in named(names)]
    return list(places), np.array(of, dtype=np.int32)
