"""Spread calibrations in which rows do not count alike: clusters, and likelihood ratios."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from dask.delayed import Delayed

from sosbands.conformal import Calibration, ClusteredCalibration, WeightedCalibration
from sosbands.conformal.ranks import SLACK
from sosbands.dask.running import Runner
from sosbands.dask.selection import UNITS, Scores, whole_units
from sosbands.dask.spread import SpreadCalibration, SpreadGroups, SpreadSplit
from sosbands.dask.thresholds import Thresholds, WeightedTail
from sosbands.types import Array, Indices


class SpreadClusters(SpreadCalibration):
    """One threshold for rows of new clusters, each of which counts as one."""

    kind = ClusteredCalibration

    @staticmethod
    def _told(part: Any) -> Any:
        return np.unique(part.clusters, return_counts=True)

    def _learn(self, told: Sequence[Any]) -> None:
        # By the number of the cluster; those that others calibrate with have no rows.
        self.rows = np.zeros(1 + max(int(clusters.max()) for clusters, _ in told), dtype=np.intp)
        for clusters, counts in told:
            self.rows[clusters] += counts

    @property
    def size(self) -> int:
        """The number of clusters."""
        return int(np.count_nonzero(self.rows))

    def at(self, levels: Sequence[float]) -> Thresholds:
        """The smallest t with Σ 1{sᵢ ≤ t}/(rows of its cluster) ≥ level·(clusters + 1), or +∞."""
        counts = self.rows[self.rows > 0]
        largest = float(1 / counts.min())
        reader = partial(_by_cluster, self.rows, largest)
        total = _total(np.repeat(1.0 / counts, counts), largest)
        target = np.array(levels) * (self.size + 1) * (1 - SLACK) / largest
        wanted = [("scores", math.ceil(float(one) * UNITS)) for one in target]
        found = self._select(reader, wanted, {"scores": int(counts.sum())}, {"scores": total})
        return Thresholds(dict(zip(levels, found, strict=True)), self.size)

    @property
    def counted(self) -> str:
        """Few are held back even of many rows: their number explains a shortage."""
        return f"groups, got {self.size}"

    def merged(self) -> ClusteredCalibration:
        """With all scores and clusters."""
        return ClusteredCalibration(*self._gathered("scores", "clusters"))


class SpreadWeights(SpreadCalibration):
    """Rows that count by a likelihood ratio: the threshold depends on that of the new row."""

    kind = WeightedCalibration

    @staticmethod
    def _told(part: Any) -> Any:
        return part.size, float(part.weights.max()), part.ratio

    def _learn(self, told: Sequence[Any]) -> None:
        if not told:
            raise ValueError("weights must not all be zero: then no row resembles the new ones")
        self._size = int(sum(size for size, _, _ in told))
        self.largest = max(largest for _, largest, _ in told)
        self.ratio = told[0][2]
        reader = partial(_by_weight, self.largest)
        self.total: int = sum(self._everywhere(_mass, reader))

    @property
    def size(self) -> int:
        """The number of rows."""
        return self._size

    def at(self, levels: Sequence[float]) -> WeightedTail:
        """All rows that a new row of any weight can select, and what the others weigh.

        A new row of weight zero has the smallest threshold t: rows below it are one row.
        """
        reader = partial(_by_weight, self.largest)
        # A little less, as sums of floats are rounded where new rows are weighed.
        target = math.ceil(min(levels) * (1 - 8 * SLACK) * self.total)
        wanted = [("scores", target)]
        (least,) = self._select(reader, wanted, {"scores": self.size}, {"scores": self.total})
        tails = self._everywhere(_tail, reader, least)
        below = self.total - sum(mass for mass, _, _ in tails)
        scores, weights = (np.concatenate([tail[at] for tail in tails]) for at in (1, 2))
        lump = below / UNITS * self.largest
        before = float(np.nextafter(least, -np.inf))
        if lump > 0:
            scores, weights = np.append(scores, before), np.append(weights, lump)
        return WeightedTail(scores, weights, self.ratio)

    def merged(self) -> WeightedCalibration:
        """With all scores and weights."""
        scores, weights = self._gathered("scores", "weights")
        return WeightedCalibration(scores, weights, self.ratio)


def spread_calibration(
    kind: type[Calibration], runner: Runner, parts: Sequence[Delayed]
) -> SpreadCalibration:
    """Of blocks that calibrate in this way."""
    kinds = (SpreadSplit, SpreadGroups, SpreadClusters, SpreadWeights)
    return next(one for one in kinds if one.kind is kind)(runner, parts)


def _by_cluster(rows: Indices, largest: float, part: Any) -> dict[Hashable, Scores]:
    return {"scores": Scores(part.scores, whole_units(1.0 / rows[part.clusters], largest))}


def _by_weight(largest: float, part: Any) -> dict[Hashable, Scores]:
    return {"scores": Scores(part.scores, whole_units(part.weights, largest))}


def _mass(part: Any, reader: Callable[[Any], Mapping[Hashable, Scores]]) -> int:
    return reader(part)["scores"].mass


def _total(weights: Array, largest: float) -> int:
    return Scores(weights, whole_units(weights, largest)).mass


def _tail(
    part: Any, reader: Callable[[Any], Mapping[Hashable, Scores]], least: float
) -> tuple[int, Array, Array]:
    """The rows with a score of at least `least`: their mass, their scores and their weights."""
    upper = part.scores >= least
    return reader(part)["scores"].take(upper).mass, part.scores[upper], part.weights[upper]
