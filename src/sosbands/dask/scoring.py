"""The calibration of the rows that a block holds back, computed where the block is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple

import dask
import numpy as np
from dask.delayed import Delayed
from numpy.typing import NDArray

from sosbands.conformal import BandRows, Calibration, Companion
from sosbands.dask.allocation import kept_memory
from sosbands.dask.row_blocks import RowBlocks, taken
from sosbands.dask.running import constant
from sosbands.dask.survey import checked_inputs, checked_outputs
from sosbands.learning.fitted_band import FittedBand
from sosbands.learning.validation import fitting_rows
from sosbands.types import Mask

# Rows that a band is evaluated at together.
_BATCH = 2048


class Place(NamedTuple):
    """Where a block is.

    Attributes
    ----------
    start : int
        The position of its first row in the table.
    slot : int
        How many rows of earlier blocks calibrate.
    bits : array of uint8 or None
        A bit for each row, set if it calibrates; None if all do.
    """

    start: int
    slot: int
    bits: NDArray[np.uint8] | None


@dataclass(frozen=True, eq=False)
class BlockScoring:
    """Rows of a block ↦ their calibration.

    Attributes
    ----------
    model : BandRegressor
        With a band; its calibration does not matter.
    kind : type of Calibration
    function : callable or None
        Gives what is told of rows, if it was a function.
    checked : bool
        Whether blocks have been surveyed.
    """

    model: Any
    kind: type[Calibration]
    function: Callable[[Any], Any] | None
    checked: bool

    def __call__(self, X: Any, y: Any, told: Any, place: Place) -> Calibration | None:
        """The calibration of a block; None if no row of it counts."""
        if place.bits is not None:
            rows = np.flatnonzero(np.unpackbits(place.bits, count=len(y)))
            X, y = taken(X, rows), taken(y, rows)
            told = None if told is None else taken(told, rows)
        outputs = checked_outputs(y, place.start)
        if not self.checked and self.model.band_transformer is None:
            checked_inputs(X, place.start)
        X, outputs = fitting_rows(self.model, X, outputs, reset=False)
        given = self.function if self.function is not None else told
        companion = Companion()
        if given is not None and self.kind.takes is not None:
            companion = self.kind.told(X, **{self.kind.takes: given})
        if self.kind.takes == "weights" and not np.any(companion.values):
            return None  # no row of this block resembles the new ones
        at_rows = evaluated(self.model.band_, X, place.slot)
        return self.kind.of(at_rows, outputs, companion, self.model._seed)


def evaluated(band: FittedBand, X: Any, slot: int) -> BandRows:
    """A band at rows, each at the same place of a batch of one size however blocks are cut.

    Products of matrices round differently at the edges of a matrix. In place of the rows of other
    blocks there are copies.
    """
    n, front = len(X), slot % _BATCH
    size = -(-(front + n) // _BATCH) * _BATCH
    rows = np.clip(np.arange(size) - front, 0, n - 1)
    batches = [band.at(taken(X, rows[k : k + _BATCH])) for k in range(0, size, _BATCH)]
    own = slice(front, front + n)
    family = _joined([batch.family for batch in batches], own)
    mean = _joined([batch.mean for batch in batches], own)
    inputs = _joined([batch.local_inputs for batch in batches], own)
    return BandRows(band, X, mean, family, inputs)


def _joined(parts: Sequence[Any], own: slice) -> Any:
    """An entry for each row, of all batches; what is not about rows stays as it is."""
    first = parts[0]
    if is_dataclass(first):
        names = [one.name for one in fields(first)]
        joined = {name: _joined([getattr(part, name) for part in parts], own) for name in names}
        return replace(first, **joined)  # type: ignore[type-var]
    return np.concatenate(parts)[own] if np.ndim(first) else first


def block_calibrations(
    scoring: BlockScoring, rows: RowBlocks, held: Mask | None, told: Sequence[Any] | None
) -> list[Delayed]:
    """The calibration of every block: of all its rows, or of those that are held back."""
    call = constant(scoring, "scoring")
    parts = None if held is None else rows.parts(held)
    counts = rows.lengths
    if parts is not None:
        counts = np.array([np.count_nonzero(part) for part in parts], dtype=np.intp)
    slots = (np.cumsum(counts) - counts).tolist()
    tasks = []
    for k in np.flatnonzero(counts).tolist():
        bits = None if parts is None else np.packbits(parts[k])
        place = Place(int(rows.starts[k]), slots[k], bits)
        own = None if told is None else told[k]
        tasks.append(_calibrated(call, rows.X[k], rows.beside["y"][k], own, place))
    return tasks


@dask.delayed(pure=False)  # type: ignore[untyped-decorator]
def _calibrated(call: BlockScoring, *block: Any) -> Calibration | None:
    with kept_memory():
        return call(*block)
