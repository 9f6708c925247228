"""`Calibration`: all that the rest of the package asks of one, and what it may ask of a band."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sosbands.conformal.bounded_family import BoundedFamily
from sosbands.conformal.families import IntervalFamily
from sosbands.conformal.nested_family import NestedFamily
from sosbands.conformal.ranks import ascending, row_shortage, shown_level
from sosbands.types import Array

Family: TypeAlias = IntervalFamily | NestedFamily | BoundedFamily


class CalibratedBand(Protocol):
    """What a calibration needs of a band.

    Examples
    --------
    >>> from sosbands import BandRegressor
    >>> from sosbands.conformal import CalibratedBand
    >>> from sosbands.datasets import case
    >>> model = BandRegressor(None, random_state=0).fit(*case(1).sample(60, random_state=0))
    >>> band: CalibratedBand = model.band_
    >>> band.typical_inputs.shape
    (42, 1)
    """

    @property
    def symmetric(self) -> bool:
        """Whether intervals are as wide below as above the mean."""

    @property
    def typical_inputs(self) -> Array:
        """Inputs of pre-training rows, in the units of `BandRows.local_inputs`."""

    def at(self, X: Any) -> "BandRows":
        """The band at the rows of X."""


@dataclass(frozen=True, eq=False)
class BandRows:
    """A band at the rows of X, which it has transformed once.

    Attributes
    ----------
    mean : array of shape (n,)
    family : IntervalFamily, NestedFamily or BoundedFamily
        The nested intervals of the rows.
    local_inputs : array of shape (n, d)
        The inputs in units in which one bandwidth suits all columns.
    sizes : array of shape (n,) or None
        A first guess of |y − mean|, if the band makes one.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands import BandRegressor
    >>> from sosbands.datasets import case
    >>> model = BandRegressor(None, random_state=0).fit(*case(1).sample(60, random_state=0))
    >>> rows = model.band_.at(np.array([[0.0], [0.5]]))
    >>> rows.mean.shape, rows.local_inputs.shape
    ((2,), (2, 1))
    """

    band: CalibratedBand
    X: Any
    mean: Array
    family: Family
    local_inputs: Array
    sizes: Array | None = None


@dataclass(frozen=True, eq=False)
class Companion:
    """The `groups` or `weights` of some rows, and the function that made them, if it was one.

    Examples
    --------
    >>> from sosbands.conformal import Companion
    >>> Companion(["a", "b", "c"])[:2].values
    ['a', 'b']
    """

    values: Any = None
    function: Callable[[Any], Any] | None = None

    def __getitem__(self, rows: slice) -> Self:
        return self if self.values is None else type(self)(self.values[rows])


class Calibration:
    """Scores of rows that trained nothing, and the intervals that they make of a band.

    A subclass says which `quantiles` of the scores are the thresholds, or makes `intervals_at` new
    rows in another way. What is not overridden is as for exchangeable rows. Parameters of a
    constructor are attributes of the same name: model files hold these, and no others.

    Attributes
    ----------
    scores : array of shape (m,)
        Ascending.

    Examples
    --------
    >>> from sosbands.conformal import Calibration, SplitCalibration
    >>> calibration: Calibration = SplitCalibration([0.3, 0.1, 0.2])
    >>> calibration.scores.tolist(), calibration.size
    ([0.1, 0.2, 0.3], 3)
    """

    # How it is asked for: the value of `calibration=`, and the argument that tells its companion.
    name: ClassVar[str | None] = None
    takes: ClassVar[str | None] = None
    # Whether every row trains, and calibrates the band that was learned without its fold.
    by_folds: ClassVar[bool] = False
    # Why `partial_conformalize` cannot add rows; None if it can.
    closed: ClassVar[str | None] = (
        "this calibration takes its rows at once: use conformalize with old and new ones together"
    )
    # In words: what is exchangeable, what of it a level needs, and which new rows are covered.
    unit: ClassVar[str] = "rows"
    counted: str = "rows"
    # In words, what is asked for by a number in (0, 1), and what one gets.
    asked_for: ClassVar[tuple[str, str]] = "level", "intervals"
    covered: ClassVar[str] = "from the same source"
    # In words, what must be told of new rows beside X.
    needs: str | None = None
    # Of the same rows, if a predictive distribution can be made of them: `quantiles_at` new rows,
    # `counts_at` and `drawn_at` them.
    distribution: Any = None

    def __init__(self, scores: ArrayLike, *beside: Any) -> None:
        (self.scores,) = ascending(scores)

    @classmethod
    def of(cls, rows: BandRows, y: Array, companion: Companion, seed: int) -> Self:
        """From rows that trained nothing, and their outputs."""
        return cls(rows.family.scores(y), *cls.beside(rows, companion))

    @classmethod
    def of_folds(cls, held_out: Sequence[tuple[BandRows, Array]]) -> Self:
        """From the rows of each fold, at the band that was learned without them."""
        raise NotImplementedError

    def with_rows(self, rows: BandRows, y: Array, companion: Companion) -> Self:
        """With further rows that trained nothing."""
        return self.extended(rows.family.scores(y), *self.beside(rows, companion))

    def extended(self, scores: ArrayLike, *beside: Any) -> Self:
        """With the scores of further rows, and what else it keeps of them."""
        return type(self)(np.concatenate([self.scores, scores]))

    def intervals_at(self, rows: BandRows, levels: Sequence[float], companion: Companion) -> Array:
        """The intervals of new rows, shape (n, 2, len(levels))."""
        return rows.family.intervals(self.quantiles(levels, *self.beside(rows, companion)))

    def quantiles(self, levels: Sequence[float], *beside: Any) -> Array:
        """The thresholds, shape (len(levels),), or (n, len(levels)) if they differ by row."""
        raise NotImplementedError

    @classmethod
    def beside(cls, rows: BandRows, companion: Companion) -> tuple[Any, ...]:
        """What beside their scores tells rows apart, if anything does."""
        return () if companion.values is None else (companion.values,)

    @property
    def size(self) -> int:
        """How many units calibrate."""
        return len(self.scores)

    def shortage(self, levels: Sequence[float]) -> int | None:
        """How much a bounded interval needs of what is counted; None if it is there."""
        return row_shortage(levels, self.size)

    def notes(self, levels: Sequence[float], companion: Companion) -> Iterator[str]:
        """What to warn of when these levels are asked for."""
        needed = self.shortage(levels)
        if needed is not None:
            hardest = max(levels, key=lambda level: self.shortage([level]) or 0)
            one, several = self.asked_for
            yield (
                f"a {one} of {shown_level(hardest)} needs at least {needed} calibration "
                f"{self.counted}: {several} without them are infinite"
            )

    def promise(self, level: float) -> str:
        """What is guaranteed, as a sentence."""
        return (
            f"Guaranteed, whatever the distribution, by {count(self.size)} calibration "
            f"{self.unit}: at least {self.claim(level)}; it is no promise for each single input."
        )

    def claim(self, level: float) -> str:
        """How many of which new rows are covered."""
        return f"{asked(level)} of new rows {self.covered} are covered on average"

    @staticmethod
    def column(values: Any, /) -> Any:
        """What is told of rows as an array, checked."""
        return np.asarray(values)

    @classmethod
    def told(cls, X: Any, **given: Any) -> Companion:
        """What is given beside the rows X, by name: it must be what this calibration takes.

        It is a value for each row, or a function of X that gives them.
        """
        for name, value in given.items():
            if name == cls.takes and value is None:
                raise ValueError(f"conformalize had {name}: pass the {name} of these rows as well")
            if name != cls.takes and value is not None:
                raise ValueError(f"{name} are of no use here: conformalize had none")
        if cls.takes not in given:
            return Companion()
        value, rows = given[cls.takes], X.shape[0] if hasattr(X, "shape") else len(X)
        values = cls.column(value(X) if callable(value) else value)
        if len(values) != rows:
            raise ValueError(
                f"{cls.takes} must have one entry for each of the {rows} rows, got {len(values)}"
            )
        return Companion(values, value if callable(value) else None)

    def told_anew(self, X: Any, **given: Any) -> Companion:
        """The same for rows after the first."""
        return self.told(X, **given)


def asked(level: float) -> str:
    """A level in percent, with the decimals it was given with."""
    return f"{100 * level:.10g}\N{NO-BREAK SPACE}%"


def count(rows: int) -> str:
    """A whole number with thin spaces between thousands."""
    return f"{rows:,}".replace(",", "\u202f")
