"""Who trains, who calibrates and who travels; and what the driver learns from the rows that did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sosbands.dask.collection_means import collection_mean
from sosbands.dask.row_blocks import RowBlocks
from sosbands.dask.running import Runner
from sosbands.dask.survey import group_numbers, surveyed
from sosbands.learning.fitting import Fitted, learn_all
from sosbands.learning.folds import band_sample, folds_of_rows, held_back
from sosbands.learning.learner import BandLearner
from sosbands.learning.routing import fit_parameters
from sosbands.learning.validation import MIN_ROWS, check_outputs_within, fitting_rows
from sosbands.types import Indices, Mask

# Entries of a mask that are looked at together.
_SLAB = 1 << 20


@dataclass(frozen=True, eq=False)
class FitRows:
    """The rows of a fit, by position.

    For a moment the driver holds an order of all rows, 4 bytes for each (8 from two billions on),
    as `BandRegressor` does: so both choose the same rows. What stays is one byte.

    Attributes
    ----------
    rows : RowBlocks
    held : array of bool, of shape (n,)
        Which rows calibrate.
    groups : array of int, of shape (n,), or None
        The number of the group of each row.
    """

    rows: RowBlocks
    held: Mask
    groups: Indices | None

    @classmethod
    def of(
        cls, runner: Runner, rows: RowBlocks, learner: BandLearner, size: float | int | None
    ) -> FitRows:
        """Hold a share or a number of the rows back; none if `size` is None."""
        n = rows.n
        if n < MIN_ROWS:
            raise ValueError(f"at least {MIN_ROWS} rows are needed, got {n}")
        groups = None
        if "groups" in rows.beside:
            groups = group_numbers(runner, rows.beside.pop("groups"))
        held = np.zeros(n, dtype=bool)
        if size is not None:
            held = held_back(n, size, cv=learner.cv, groups=groups, seed=learner.seed)
        return cls(rows, held, groups)


def learned_far(
    owner: Any, runner: Runner, parts: FitRows, learner: BandLearner, mean_rows: int | None
) -> Fitted:
    """The mean and the band, from rows that travel to the driver: at most `mean_rows`.

    With None the workers train the mean, with all rows that are not held back, and the rows of
    the band travel. The `owner` is the estimator whose parameters and columns are checked.
    """
    train, by_workers = ~parts.held, mean_rows is None
    n_train = int(np.count_nonzero(train))
    chosen = band_sample(n_train, learner.band.band_rows if by_workers else mean_rows, learner.seed)
    positions = _places(train, chosen)
    groups = None if parts.groups is None else parts.groups[train]
    sample = surveyed(runner, parts.rows, positions, reads_tables=owner.band_transformer is None)
    check_outputs_within(owner, *sample.range)
    X, y = fitting_rows(owner, sample.X, sample.beside["y"], reset=True)
    told = fit_parameters(owner, len(y), sample.beside.get("sample_weight"), {})
    learner.rules.check_weights(told.weights)
    own = None if groups is None else groups[chosen]
    if not by_workers:
        return learn_all(learner, X, y, own, told)
    numbers = folds_of_rows(n_train, cv=learner.cv, groups=groups, seed=learner.seed)
    mean, folds = collection_mean(
        runner,
        learner.estimator,
        parts.rows,
        train,
        numbers=numbers,
        X=X,
        chosen=numbers[chosen],
        progress=learner.progress,
    )
    fitted = learn_all(learner, X, y, own, told, folds=folds, mean=mean)
    return Fitted(fitted.learned, None, n_train, fitted.certificates)


def _places(mask: Mask, ranks: Indices) -> Indices:
    """Where the true entries with these ascending ranks are, without an index of all of them."""
    starts = range(0, len(mask), _SLAB)
    counts = [int(np.count_nonzero(mask[start : start + _SLAB])) for start in starts]
    ends = np.searchsorted(ranks, np.cumsum(counts))
    found, before = [], 0
    for start, count, own in zip(starts, counts, np.split(ranks, ends[:-1]), strict=True):
        if len(own):
            found.append(start + np.flatnonzero(mask[start : start + _SLAB])[own - before])
        before += count
    return np.concatenate(found)
