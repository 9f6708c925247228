"""A threshold for each group of rows: Mondrian conformal prediction."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sosbands.conformal.calibration import Calibration, Companion
from sosbands.conformal.ranks import ascending, row_shortage
from sosbands.conformal.split import SplitCalibration
from sosbands.quoting import listed
from sosbands.types import Array

Groups: TypeAlias = NDArray[np.object_]


def named(groups: Iterable[Hashable]) -> Groups:
    """An object array: joining numbers and strings in any other would rename groups.

    Examples
    --------
    >>> from sosbands.conformal import named
    >>> named(["a", 1]).tolist()
    ['a', 1]
    """
    names = list(groups)
    try:
        missing = any(_is_missing(name) for name in set(names))
    except TypeError:
        raise ValueError(
            "groups must be hashable, got rows that are not: name each group"
        ) from None
    if missing:
        raise ValueError("groups must be known, got NaN: give the rows without one a name")
    return np.fromiter(names, dtype=object, count=len(names))


def _is_missing(name: Hashable) -> bool:
    """NaN and NaT are not equal to themselves; pandas' NA does not say whether it is."""
    return type(name).__name__ == "NAType" or bool(name != name)  # noqa: PLR0124


class GroupCalibration(Calibration):
    """One q for each group of rows: P(Y ∈ C(X) | group) ≥ level (Mondrian conformal prediction).

    Attributes
    ----------
    groups : object array of shape (m,)
        The name of each row's group: any hashable values.
    by_group : dict
        The calibration of each group.

    Examples
    --------
    >>> from sosbands.conformal import GroupCalibration
    >>> sites = GroupCalibration([0.1, 0.2, 3.0, 4.0], ["quiet", "quiet", "noisy", "noisy"])
    >>> sites.quantiles([0.5], ["noisy", "quiet", "new"]).ravel().tolist()
    [4.0, 0.2, inf]
    """

    takes: ClassVar = "groups"
    needs = "groups"
    counted = "rows in every group"
    covered: ClassVar = "of every group, from the same source,"
    closed: ClassVar = None
    column = staticmethod(named)

    def __init__(self, scores: ArrayLike, groups: Iterable[Hashable]) -> None:
        self.scores, self.groups = ascending(scores, groups=named(groups))
        parts: dict[Hashable, list[float]] = {}
        for group, score in zip(self.groups, self.scores, strict=True):
            parts.setdefault(group, []).append(score)
        self.by_group = {group: SplitCalibration(part) for group, part in parts.items()}

    def extended(self, scores: ArrayLike, groups: Iterable[Hashable]) -> Self:
        """With the scores and the groups of further rows."""
        names = np.concatenate([self.groups, named(groups)])
        return type(self)(np.concatenate([self.scores, scores]), names)

    def quantiles(self, levels: Sequence[float], groups: Iterable[Hashable]) -> Array:
        """The quantiles of each row's group, shape (n, len(levels)); +∞ for an unseen group."""
        names = named(groups)
        codes = {group: code for code, group in enumerate(self.by_group)}
        table = [part.quantiles(levels) for part in self.by_group.values()]
        table.append(np.full(len(levels), np.inf))
        rows = np.array([codes.get(name, len(codes)) for name in names], dtype=np.intp)
        return np.array(table)[rows]

    def shortage(self, levels: Sequence[float]) -> int | None:
        """The rows that every group needs at the largest level; None if all have them."""
        return row_shortage(levels, min(part.size for part in self.by_group.values()))

    def notes(self, levels: Sequence[float], companion: Companion) -> Iterator[str]:
        """Also that groups have not calibrated; they may be spelled in another way."""
        yield from super().notes(levels, companion)
        unseen = [name for name in companion.values if name not in self.by_group]
        if unseen:
            yield (
                f"{len(unseen)} of {len(companion.values)} rows are of groups that did not "
                f"calibrate, such as {listed(unseen[:1])} (those that did: "
                f"{listed(self.by_group, 3)}): their intervals are infinite"
            )
