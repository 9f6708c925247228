"""Calibrations of rows that stay on the workers: their thresholds are selected.

Every block of rows has a calibration of its own, an ordinary one. `SpreadCalibration` makes of all
of them what one calibration of all rows would say: its thresholds at some levels, by an exact
selection, or that calibration itself, if the driver has room for its scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import dask
import numpy as np
from dask.delayed import Delayed

from sosbands.conformal import (
    Calibration,
    GroupCalibration,
    SignedCalibration,
    SplitCalibration,
    order_rank,
)
from sosbands.conformal.ranks import quantile_rank
from sosbands.dask.running import Runner
from sosbands.dask.selection import Scores, selected
from sosbands.dask.thresholds import GroupThresholds, SignedThresholds, Thresholds
from sosbands.types import Array


class SpreadCalibration:
    """The calibrations of all blocks as one.

    Attributes
    ----------
    runner : Runner
        Where they are.
    parts : list of Delayed
        The calibration of each block that has rows.
    """

    kind: ClassVar[type[Calibration]]

    def __init__(self, runner: Runner, parts: Sequence[Delayed]) -> None:
        self.runner, self.parts = runner, list(parts)
        told = self._everywhere(_told, type(self)._told)
        # Blocks of which no row counts have no calibration.
        self.parts = [part for part, one in zip(parts, told, strict=True) if one is not None]
        self._learn([one for one in told if one is not None])

    def with_parts(self, parts: Sequence[Delayed]) -> Any:
        """With further blocks."""
        return type(self)(self.runner, [*self.parts, *parts])

    @property
    def size(self) -> int:
        """How many units calibrate."""
        raise NotImplementedError

    @property
    def counted(self) -> str:
        """What they are called."""
        return self.kind.counted

    def at(self, levels: Sequence[float]) -> Calibration:
        """A small calibration that says the same at these levels."""
        raise NotImplementedError

    def merged(self) -> Calibration:
        """The calibration of all rows, brought to the driver."""
        raise NotImplementedError

    def distribution_at(self, levels: Sequence[float]) -> SignedThresholds | None:
        """The same as `at` for quantiles of signed scores; None if there are none."""
        return None

    def signed_scores(self) -> list[Delayed] | None:
        """The signed scores of each block, where they are; None if there are none."""
        return None

    def shortage(self, levels: Sequence[float]) -> Iterator[str]:
        """What to warn of when these levels are asked for."""
        return Thresholds({}, self.size, self.counted).shortage_notes(levels)

    @staticmethod
    def _told(part: Any) -> Any:
        """What the driver needs to know of a block."""
        raise NotImplementedError

    def _learn(self, told: Sequence[Any]) -> None:
        raise NotImplementedError

    def _everywhere(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        call = dask.delayed(partial(_called, function, arguments), pure=False, traverse=False)
        return self.runner.results([call(part) for part in self.parts])

    def _select(
        self,
        reader: Callable[[Any], Mapping[Hashable, Scores]],
        wanted: Sequence[tuple[Hashable, int]],
        counts: Mapping[Hashable, int],
        masses: Mapping[Hashable, int] | None = None,
    ) -> list[float]:
        return selected(self._everywhere, reader, wanted, counts, masses)

    def _gathered(self, *names: str) -> list[Any]:
        """Attributes of all blocks, each as one array."""
        parts = self._everywhere(_attributes, names)
        return [np.concatenate(column) for column in zip(*parts, strict=True)]


class SpreadSplit(SpreadCalibration):
    """One threshold for all rows."""

    kind = SplitCalibration

    @staticmethod
    def _told(part: Any) -> int:
        return int(part.size)

    def _learn(self, told: Sequence[Any]) -> None:
        self._size = int(sum(told))

    @property
    def size(self) -> int:
        """The number of rows."""
        return self._size

    def at(self, levels: Sequence[float]) -> Thresholds:
        """The k-th smallest score of each level, k = ⌈level·(m + 1)⌉."""
        ranks = [("scores", order_rank(level, self.size)) for level in levels]
        found = self._select(_plain, ranks, {"scores": self.size})
        return Thresholds(dict(zip(levels, found, strict=True)), self.size)

    def distribution_at(self, levels: Sequence[float]) -> SignedThresholds:
        """As `SignedCalibration.quantiles`: rounded away from the median, ±∞ beyond."""
        m = self.size
        ranks = [quantile_rank(level, m) for level in levels]
        found = self._select(_signed, [("signed", rank) for rank in ranks], {"signed": m})
        table = [q if rank else -math.inf for rank, q in zip(ranks, found, strict=True)]
        return SignedThresholds(dict(zip(levels, table, strict=True)), m)

    def signed_scores(self) -> list[Delayed]:
        """They stay on the workers."""
        return [_signed_scores(part) for part in self.parts]

    def merged(self) -> SplitCalibration:
        """With all scores, signed ones too."""
        (scores,) = self._gathered("scores")
        signed = np.concatenate(self.runner.results(self.signed_scores()))
        return SplitCalibration(scores, SignedCalibration(signed))


class SpreadGroups(SpreadCalibration):
    """A threshold for each group of rows."""

    kind = GroupCalibration

    @staticmethod
    def _told(part: Any) -> dict[Hashable, int]:
        return {group: one.size for group, one in part.by_group.items()}

    def _learn(self, told: Sequence[Any]) -> None:
        self.sizes: dict[Hashable, int] = {}
        for part in told:
            for group, size in part.items():
                self.sizes[group] = self.sizes.get(group, 0) + size

    @property
    def size(self) -> int:
        """Rows in the smallest group."""
        return min(self.sizes.values())

    def at(self, levels: Sequence[float]) -> GroupThresholds:
        """The k-th smallest score of each group and level."""
        wanted = [(g, order_rank(level, m)) for g, m in self.sizes.items() for level in levels]
        found = iter(self._select(_by_group, wanted, self.sizes))
        return GroupThresholds(
            {
                g: Thresholds({level: next(found) for level in levels}, m)
                for g, m in self.sizes.items()
            }
        )

    def merged(self) -> GroupCalibration:
        """With all scores and groups."""
        return GroupCalibration(*self._gathered("scores", "groups"))


def _called(function: Callable[..., Any], arguments: Sequence[Any], part: Any) -> Any:
    return function(part, *arguments)


def _told(part: Any, tells: Callable[[Any], Any]) -> Any:
    return None if part is None else tells(part)


def _attributes(part: Any, names: Sequence[str]) -> list[Any]:
    return [getattr(part, name) for name in names]


@dask.delayed(pure=False)  # type: ignore[untyped-decorator]
def _signed_scores(part: Any) -> Array:
    scores: Array = part.distribution.scores
    return scores


def _plain(part: Any) -> dict[Hashable, Scores]:
    return {"scores": Scores(part.scores)}


def _signed(part: Any) -> dict[Hashable, Scores]:
    return {"signed": Scores(part.distribution.scores)}


def _by_group(part: Any) -> dict[Hashable, Scores]:
    return {group: Scores(one.scores) for group, one in part.by_group.items()}
