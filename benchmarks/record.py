"""What a benchmark reports: one measured figure, its target, and the raw times behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

SEEDS = (0, 1, 2, 3, 4)

# By name of what was timed: for every seed, the seconds of every repetition.
Times = Mapping[str, Sequence[Sequence[float]]]


@dataclass(frozen=True)
class Record:
    """One figure; without a target it is there for information.

    Attributes
    ----------
    name : str
        What was measured.
    measured : float
        The figure: the median over the seeds.
    comparison : {"<=", ">="} or None
        On which side of the target the figure should be.
    unit : str
        "×" for a ratio.
    capped : bool
        Whether a time limit cut the numerator off: the figure is a lower bound.
    details : dict
        Sizes and tolerances, and whatever else explains the figure.
    """

    name: str
    measured: float
    comparison: str | None = None
    target: float | None = None
    unit: str = "×"
    times: Times = field(default_factory=dict)
    seeds: Sequence[int] = SEEDS
    notes: str = ""
    capped: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the target is met; a lower bound can only prove that a figure is large."""
        if self.target is None:
            return True
        if self.comparison == ">=":
            return bool(self.measured >= self.target)
        return bool(self.measured <= self.target) and not self.capped

    def as_dict(self) -> dict[str, Any]:
        """The record with its verdict, ready for JSON."""
        return {**asdict(self), "seeds": list(self.seeds), "ok": self.ok}


def power_of_ten(tol: float) -> str:
    """A tolerance as one writes it: 1e-4, not 1e-04."""
    return np.format_float_scientific(tol, trim="-", exp_digits=1)


def ratio_of_medians(times: Times, numerator: str, denominator: str) -> float:
    """The median over the seeds of median(numerator) / median(denominator)."""
    ratios = [
        np.median(over) / np.median(under)
        for over, under in zip(times[numerator], times[denominator], strict=True)
    ]
    return float(np.median(ratios))
