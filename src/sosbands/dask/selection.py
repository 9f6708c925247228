"""Exact quantiles of scores that lie in many places, in a few passes and without sorting them.

A pass brings a sample to the driver, which brackets the wanted score by two of the sample. The next
one counts what is below the bracket and brings what is in it: nearly always the score is there. If
not, or if too many scores are in it, the search goes on in the part that holds it. Samples decide
how long it takes, never what is found.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sosbands.types import Array, Mask

Units: TypeAlias = NDArray[np.int64]

# Scores that a sample has at least, and that one place may send of a bracket.
_LEAST_SAMPLE, _MOST_SENT = 1 << 16, 1 << 20
# Scores compared at once: they stay in the processor's cache.
_SLAB = 1 << 16
# A bracket reaches so many standard deviations to both sides of the rank that is wanted.
_DEVIATIONS = 4.0
# A weight is a whole multiple of the largest one times 2⁻⁶². Sums of whole numbers do not depend on
# their order; in two parts they stay within 64 bits.
UNITS, _LOW_BITS = 2.0**62, 31


class Scores(NamedTuple):
    """Scores, and their weights in whole units; None if each counts as one."""

    values: Array
    units: Units | None = None

    def take(self, rows: Mask | slice) -> Scores:
        """Some of them."""
        return Scores(self.values[rows], None if self.units is None else self.units[rows])

    @property
    def cumulated(self) -> Callable[[int], int]:
        """i ↦ the exact mass of the first i + 1 of scores with weights."""
        high, low = (np.cumsum(part) for part in _limbs(self.units))
        return lambda i: (int(high[i]) << _LOW_BITS) + int(low[i])

    @property
    def mass(self) -> int:
        """What they weigh together; without units, their number."""
        if self.units is None:
            return len(self.values)
        high, low = (int(np.sum(part)) for part in _limbs(self.units))
        return (high << _LOW_BITS) + low


# What is in a place ↦ the lists of scores there, by key.
Reader: TypeAlias = Callable[[Any], Mapping[Hashable, Scores]]
# (function, *arguments) ↦ what function(place, *arguments) is for each place.
Everywhere: TypeAlias = Callable[..., Sequence[Any]]


def whole_units(weights: Array, largest: float) -> Units:
    """Weights as multiples of largest·2⁻⁶², to which small ones are rounded."""
    units: Units = np.rint(weights / largest * UNITS).astype(np.int64)
    return units


@dataclass(frozen=True)
class Search:
    """The smallest score of a list up to which the mass is at least `target`: in [low, high].

    Attributes
    ----------
    key : hashable
        Which list.
    target : int
        Of scores without weights it is a rank.
    count, mass : int
        How many scores are in [low, high], of all places together, and what they weigh.
    below : int
        The mass below `low`.
    """

    key: Hashable
    target: int
    count: int
    mass: int
    below: int = 0
    low: float = -math.inf
    high: float = math.inf

    @property
    def step(self) -> int:
        """One of so many scores is in the sample; 1 if it has them all."""
        return math.ceil(self.count / max(_LEAST_SAMPLE, int(self.count ** (2 / 3))))

    @property
    def narrowed(self) -> bool:
        """Whether some scores are known to be too small or too large."""
        return self.low > -math.inf or self.high < math.inf

    def within(self, scores: Scores) -> Scores:
        """Those of [low, high]."""
        if not self.narrowed:
            return scores
        return scores.take((scores.values >= self.low) & (scores.values <= self.high))

    def bracket(self, sample: Scores) -> tuple[float, float]:
        """Two scores of the sample that the answer is probably between.

        Ranks in a sample of s scores deviate from those in all by √(s·p·(1 − p)).
        """
        values, units = _ascending(sample)
        share = (self.target - self.below) / self.mass
        weight = np.ones(len(values)) if units is None else units.astype(np.float64)
        reached = np.cumsum(weight)
        rank = int(np.searchsorted(reached, share * reached[-1]))
        reach = math.ceil(_DEVIATIONS * math.sqrt(len(values) * share * (1 - share))) + 8
        first, last = max(rank - reach, 0), min(rank + reach, len(values) - 1)
        return float(values[first]), float(values[last])

    def answer(self, scores: Scores, before: int) -> float:
        """The answer, among scores that hold it and all between them; `before` weigh the lower."""
        wanted, n = self.target - before, len(scores.values)
        if scores.units is None:
            return float(np.partition(scores.values, wanted - 1)[wanted - 1])
        ordered = _ascending(scores)
        return float(ordered.values[bisect_left(range(n), wanted, key=ordered.cumulated)])


class Cut(NamedTuple):
    """The scores of a place in [low, high], cut at a ≤ b: below a, at a, between, at b.

    Attributes
    ----------
    counts, masses : tuple of four int
    sent : Scores or None
        Those in [a, b]; None if they are too many.
    """

    counts: tuple[int, ...]
    masses: tuple[int, ...]
    sent: Scores | None


def selected(
    everywhere: Everywhere,
    reader: Reader,
    wanted: Sequence[tuple[Hashable, int]],
    counts: Mapping[Hashable, int],
    masses: Mapping[Hashable, int] | None = None,
) -> list[float]:
    """For each key and target the smallest score up to which the mass is ≥ target; +∞ if none.

    Parameters
    ----------
    everywhere : callable
        ``everywhere(function, *arguments)`` is the list of ``function(place, *arguments)``.
    reader : callable
        What is in a place ↦ the lists of scores there, by key; there may be none of a key.
    wanted : sequence of (key, target)
        Of scores without weights, the target is the rank.
    counts, masses : mapping
        How many scores each list has, of all places together, and what they weigh if they have
        weights.
    """
    found = [math.inf] * len(wanted)
    weigh = counts if masses is None else masses
    searches = {
        at: Search(key, max(target, 1), counts[key], weigh[key])
        for at, (key, target) in enumerate(wanted)
        if key in counts and target <= weigh[key]
    }
    while searches:
        samples = everywhere(_sampled, reader, list(searches.values()))
        brackets = {}
        for (at, search), parts in zip(tuple(searches.items()), _by_search(samples), strict=True):
            sample = _joined(parts)
            if search.step == 1:
                found[at] = search.answer(sample, search.below)
                del searches[at]
            else:
                brackets[at] = search.bracket(sample)
        asked = [(search, *brackets[at]) for at, search in searches.items()]
        cuts = everywhere(_cut, reader, asked) if asked else []
        for (at, search), parts in zip(tuple(searches.items()), _by_search(cuts), strict=True):
            narrower = _narrowed(search, *brackets[at], parts)
            if isinstance(narrower, Search):
                searches[at] = narrower
            else:
                found[at] = narrower
                del searches[at]
    return found


def _narrowed(search: Search, a: float, b: float, cuts: Sequence[Cut]) -> Search | float:
    """The answer, or where to look for it: below a, strictly between a and b, or above b."""
    counts = [sum(column) for column in zip(*(cut.counts for cut in cuts), strict=True)]
    masses = [sum(column) for column in zip(*(cut.masses for cut in cuts), strict=True)]
    # The masses up to, but without, a; with a; without b; with b.
    upto = search.below + np.cumsum(np.array(masses, dtype=object))
    if search.target <= upto[0]:
        high = float(np.nextafter(a, -np.inf))
        return replace(search, high=high, count=counts[0], mass=masses[0])
    if search.target > upto[3]:
        low, left = float(np.nextafter(b, np.inf)), search.mass - sum(masses)
        return replace(search, low=low, below=upto[3], count=search.count - sum(counts), mass=left)
    sent = [cut.sent for cut in cuts if cut.sent is not None]
    if len(sent) == len(cuts):
        return search.answer(_joined(sent), upto[0])
    if search.target <= upto[1]:
        return a
    if search.target > upto[2]:
        return b
    low, high = float(np.nextafter(a, np.inf)), float(np.nextafter(b, -np.inf))
    return replace(search, low=low, high=high, below=upto[1], count=counts[2], mass=masses[2])


def _sampled(place: Any, reader: Reader, searches: Sequence[Search]) -> list[Scores]:
    """One in `step` of the scores that each search is about."""
    lists = reader(place)
    return [
        search.within(lists.get(search.key, _NONE)).take(slice(None, None, search.step))
        for search in searches
    ]


def _cut(place: Any, reader: Reader, asked: Sequence[tuple[Search, float, float]]) -> list[Cut]:
    """Each list, cut at two of its scores."""
    lists = reader(place)
    return [_cut_list(search, a, b, lists.get(search.key, _NONE)) for search, a, b in asked]


def _cut_list(search: Search, a: float, b: float, scores: Scores) -> Cut:
    below, below_mass, kept = 0, 0, []
    for slab in _slabs(search.within(scores)):
        upper = slab.values >= a
        below += len(upper) - int(np.count_nonzero(upper))
        if slab.units is not None:
            below_mass += slab.take(~upper).mass
        kept.append(slab.take(upper & (slab.values <= b)))
    bracket = _joined(kept or [_NONE])
    at_a, at_b = bracket.values == a, (bracket.values == b) & (a < b)
    parts = [bracket.take(at_a), bracket.take(~(at_a | at_b)), bracket.take(at_b)]
    return Cut(
        (below, *(len(part.values) for part in parts)),
        (below if scores.units is None else below_mass, *(part.mass for part in parts)),
        bracket if len(bracket.values) <= _MOST_SENT else None,
    )


def _slabs(scores: Scores) -> Iterator[Scores]:
    for start in range(0, len(scores.values), _SLAB):
        yield scores.take(slice(start, start + _SLAB))


def _by_search(answers: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*answers, strict=True))


def _joined(parts: Sequence[Scores]) -> Scores:
    """Scores of several places in one list."""
    values = np.concatenate([part.values for part in parts])
    units = [part.units for part in parts if part.units is not None]
    return Scores(values, np.concatenate(units) if units else None)


def _ascending(scores: Scores) -> Scores:
    if scores.units is None:
        return Scores(np.sort(scores.values))
    order = np.argsort(scores.values, kind="stable")
    return Scores(scores.values[order], scores.units[order])


def _limbs(units: Any) -> tuple[Units, Units]:
    return units >> _LOW_BITS, units & ((1 << _LOW_BITS) - 1)


_NONE = Scores(np.empty(0))
