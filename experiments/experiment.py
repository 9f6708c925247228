"""What an experiment is: units of work, how one is measured, and how the results are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Key: TypeAlias = Mapping[str, Any]
Row: TypeAlias = Mapping[str, Any]
Measure: TypeAlias = Callable[..., Row | Sequence[Row]]


class Work(Protocol):
    """What is run: it has a name, measures a unit, and says whether units must not run together."""

    @property
    def name(self) -> str: ...
    @property
    def measure(self) -> Measure: ...
    @property
    def timed(self) -> bool: ...


class NamedWork(NamedTuple):
    """Work that is no experiment of the paper."""

    name: str
    measure: Measure
    timed: bool = False


@dataclass(frozen=True)
class Experiment:
    """One figure or table of the paper, declared.

    Attributes
    ----------
    name : str
        Names the command, the results and the figure; the name of its file.
    item : int
        Its place in the list of experiments.
    title : str
        One line.
    claims : tuple of str
        What the paper says and this experiment tests.
    keys : callable
        full ↦ the units of work, a list of dictionaries with the same names in each. The values are
        numbers, strings or booleans that tell the units apart, the seed among them.
    measure : callable
        ``measure(**key)`` ↦ one row, or several, of what was found: numbers, strings or booleans.
        It must be importable (not a lambda), for it runs in another process.
    figure : callable
        results ↦ a matplotlib figure. It reads the results alone.
    summary : callable
        results ↦ a small table with the numbers by which the claims are judged.
    minutes : (float, float)
        How long the reduced and the paper's size take on two cores.
    timed : bool
        Whether seconds are among the results: units then run one at a time.
    """

    name: str
    item: int
    title: str
    claims: tuple[str, ...]
    keys: Callable[[bool], Sequence[Key]]
    measure: Measure
    figure: Callable[[pd.DataFrame], Figure]
    summary: Callable[[pd.DataFrame], pd.DataFrame]
    minutes: tuple[float, float]
    timed: bool = False

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ValueError(f"name must be that of a module, got {self.name!r}: use a_b_c")

    def units(self, full: bool) -> list[dict[str, Any]]:
        """The units of work, checked: same names in each, no two alike."""
        keys = [dict(key) for key in self.keys(full)]
        if not keys:
            raise ValueError(f"{self.name} has no units of work: keys() must give at least one")
        if any(key.keys() != keys[0].keys() for key in keys):
            raise ValueError(f"the keys of {self.name} must all have the names {list(keys[0])}")
        if len({tuple(key.values()) for key in keys}) < len(keys):
            raise ValueError(f"two keys of {self.name} are alike: drop one, or name the difference")
        return keys
