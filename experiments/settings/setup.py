"""How a default is measured: around which mean, with which rows, and what is changed.

Development sets and development seeds alone: no figure that is reported as evidence of the method
comes from these rows. Half of at most 3000 rows trains, a quarter calibrates, a quarter tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingRegressor

from sosbands import BandRegressor, KernelBand

LEVELS = (0.5, 0.9)
MAX_ROWS = 3000
# Rows of each development set as it is measured, at most `MAX_ROWS`.
ROWS = {
    "mcycle": 133,
    "lidar": 221,
    "triceps": 892,
    "yacht": 308,
    "concrete": 1030,
    "airfoil": 1503,
    "california": MAX_ROWS,
    "bike_uci": MAX_ROWS,
}
SETS = tuple(ROWS)
ONE_INPUT = ("mcycle", "lidar", "triceps")
SEVERAL_INPUTS = ("yacht", "concrete", "airfoil", "california", "bike_uci")
LARGE = ("concrete", "airfoil", "california", "bike_uci")
FEW_ROWS, SEEDS, SEEDS_OF_SMALL = 1000, 4, 8
# Processor seconds of a fit with the defaults on these sets, to tell how long a run will take.
SECONDS = {
    "boosting": (0.25, 0.4, 1.2, 0.5, 1.9, 1.9, 2.3, 2.4),
    "kernel mean": (0.2, 0.3, 0.8, 0.4, 1.0, 1.6, 2.6, 1.9),
    "auto": (0.9, 1.0, 2.0, 1.3, 3.3, 4.2, 6.8, 6.4),
}

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Setup:
    """What a default is measured with; the fits with all defaults are made once for each setup.

    Attributes
    ----------
    mean : {"boosting", "kernel mean", "auto"}
        What the intervals go around.
    cells : {"complete", "missing", "texts", "many inputs", "linear", "even noise"}
        The table as it is; with a fifth of its cells missing; with columns of whole numbers, few of
        them different, as texts; with 90 columns of noise; or with outputs that depend on the
        inputs linearly, with noise that grows or not.
    own_split : bool
        Whether the model holds rows back itself, of those that train and calibrate together.
    max_rows : int
    cost : float
        Of a fit, in units of that of the same mean with `MAX_ROWS` complete rows.
    """

    mean: str
    cells: str = "complete"
    own_split: bool = False
    max_rows: int = MAX_ROWS
    cost: float = 1.0


SETUPS = {
    "boosting": Setup("boosting"),
    "kernel mean": Setup("kernel mean"),
    "auto": Setup("auto"),
    "own split": Setup("boosting", own_split=True, cost=1.2),
    "own split, kernel mean": Setup("kernel mean", own_split=True, cost=1.2),
    "all rows": Setup("boosting", max_rows=1_000_000, cost=3.0),
    "auto, all rows": Setup("auto", max_rows=1_000_000, cost=8.0),
    "missing cells": Setup("auto", cells="missing", cost=1.2),
    "texts": Setup("auto", cells="texts", cost=1.2),
    "many inputs": Setup("auto", cells="many inputs", cost=3.0),
    "boosting, many inputs": Setup("boosting", cells="many inputs", cost=3.0),
    "linear outputs": Setup("auto", cells="linear"),
    "even noise": Setup("auto", cells="even noise"),
}


@dataclass(frozen=True)
class Variant:
    """One change of the defaults.

    Attributes
    ----------
    without : str
        What is there instead of the default.
    setup : str
        One of `SETUPS`.
    parameters : mapping
        Of `BandRegressor`, as `set_params` takes them.
    constants : mapping
        ``"learning.plan._RANKS"`` to its other value, or to a function of the present one:
        constants of the package that have no parameter.
    mean : str, optional
        Another mean than that of the setup, which the baseline keeps.
    sets : sequence of str
    cost : float
        Of a fit, in units of that with the default.
    """

    without: str
    setup: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    mean: str | None = None
    sets: Sequence[str] = SETS
    cost: float = 1.0

    def __post_init__(self) -> None:
        if self.setup not in SETUPS:
            raise ValueError(f"setup must be one of {tuple(SETUPS)}, got {self.setup!r}")
        if not (self.parameters or self.constants or self.mean):
            raise ValueError(f"{self.without!r} changes nothing: name what it changes")

    def model(self, seed: int) -> BandRegressor:
        """The regressor, not fitted."""
        changed = {"estimator": mean_of(self.mean, seed)} if self.mean else {}
        return default_model(SETUPS[self.setup], seed).set_params(**changed, **self.parameters)

    @contextmanager
    def changed_constants(self) -> Iterator[None]:
        """The constants have their other values as long as this lasts, in this process."""
        with ExitStack() as stack:
            for name, value in self.constants.items():
                path, _, constant = f"sosbands.{name}".rpartition(".")
                module = import_module(path)
                other = value(getattr(module, constant)) if callable(value) else value
                stack.enter_context(mock.patch.object(module, constant, other))
            yield


@dataclass(frozen=True)
class Setting:
    """A default, or several that belong together, and what it is compared with.

    Attributes
    ----------
    name : str
        Names the command and the results.
    default : str
        As the page of settings calls it.
    variants : tuple of Variant
    """

    name: str
    default: str
    variants: tuple[Variant, ...]

    def variant(self, without: str, setup: str) -> Variant:
        """The one that is called so."""
        return next(v for v in self.variants if (v.without, v.setup) == (without, setup))


def default_model(setup: Setup, seed: int) -> BandRegressor:
    """With all defaults; the calibration rows are given, or held back by itself."""
    calibration = "split" if setup.own_split else None
    mean = mean_of(setup.mean, seed)
    # With a band of its own: `set_params` cannot reach into the default, which is None.
    return BandRegressor(mean, band=KernelBand(), calibration=calibration, random_state=seed)


def mean_of(kind: str, seed: int) -> Any:
    """What the intervals go around."""
    boosting = HistGradientBoostingRegressor(random_state=seed)
    return {"auto": "auto", "kernel mean": None, "boosting": boosting}[kind]


def seeds_of(name: str) -> range:
    """The splits of a set: more where few test rows make scores noisy."""
    return range(SEEDS_OF_SMALL if ROWS[name] < FEW_ROWS else SEEDS)


def seconds_of(setup: str, name: str) -> float:
    """About what a fit with the defaults takes."""
    found = SETUPS[setup]
    return SECONDS[found.mean][SETS.index(name)] * found.cost
