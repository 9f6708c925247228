"""Ways to prediction intervals, one file each, all called alike.

    load("boosted_cqr").fit(X, y, X_cal, y_cal, levels=(0.8, 0.9), seed=0).intervals(X_new)

A new method is one new file that defines ``METHOD = Method(__name__, title, fit)``. Modules whose
name starts with an underscore hold what several methods share. Methods that take a mean go around
boosted trees, and once more around our default mean, as ``boosted_scale_around_auto``: so mean and
band can be told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sosbands import StackedMean

Array: TypeAlias = npt.NDArray[np.float64]
# A seed ↦ the regressor that a method goes around.
Learner: TypeAlias = Callable[[int], Any]

# The levels by which a predictive distribution is judged.
QUANTILES = tuple(k / 20 for k in range(1, 20))
# The methods that take a mean: their `fit` has one more argument, ``learner``.
TAKE_A_MEAN = (
    *("boosted_quantiles", "boosted_scale", "boosted_split", "gibbs_conditional"),
    *("knn_difficulty", "mondrian", "residual_normalised", "rlcp"),
)
AROUND_AUTO = "_around_auto"


@dataclass(frozen=True)
class Fitted:
    """What a method has learned and calibrated.

    `intervals` gives the bounds of the k levels at new rows, shape (n, 2, k). `mean` and `scale`,
    where a method has them, give (n,) each: the interval is the mean ± a multiple of the scale.
    `quantiles`, where a method predicts a distribution, gives those of `QUANTILES`, shape (n, 19):
    our own are calibrated, the others' come from their training rows alone.
    """

    intervals: Callable[[Array], Array]
    mean: Callable[[Array], Array] | None = None
    scale: Callable[[Array], Array] | None = None
    quantiles: Callable[[Array], Array] | None = None


class Fit(Protocol):
    """Learn from the training rows, calibrate with the others; nothing else is seen."""

    def __call__(
        self, X: Array, y: Array, X_cal: Array, y_cal: Array, *, levels: Sequence[float], seed: int
    ) -> Fitted: ...


@dataclass(frozen=True)
class Method:
    """A method and where it can be used.

    `variant_of` names the method that takes part for it: variants are not ranked, and no rivals.
    Above `max_rows` training rows or `max_inputs` inputs a method does not apply. `suffix` follows
    the name of the file.
    """

    module: str
    title: str
    fit: Fit
    variant_of: str | None = None
    max_rows: int | None = None
    max_inputs: int | None = None
    suffix: str = ""

    @property
    def name(self) -> str:
        """The name of its file, and the suffix."""
        return self.file.stem + self.suffix

    @property
    def file(self) -> Path:
        """Where it is written."""
        return Path(__file__).parent / f"{self.module.rpartition('.')[2]}.py"

    @property
    def ranked(self) -> bool:
        """Whether it takes part itself."""
        return self.variant_of is None

    def applies(self, n_train: int, d: int) -> bool:
        """Whether it can be used with so many training rows and inputs."""
        few_rows = self.max_rows is None or n_train <= self.max_rows
        return few_rows and (self.max_inputs is None or d <= self.max_inputs)


def names() -> list[str]:
    """All methods, in the order of the alphabet."""
    files = [info.name for info in iter_modules(__path__) if not info.name.startswith("_")]
    return sorted([*files, *(name + AROUND_AUTO for name in TAKE_A_MEAN)])


def load(name: str) -> Method:
    """One of them."""
    if name not in names():
        raise ValueError(f"no method {name!r}: choose from {', '.join(names())}")
    file = name.removesuffix(AROUND_AUTO)
    method: Method = import_module(f"{__name__}.{file}").METHOD
    return method if name == file else around_auto(method)


def around_auto(method: Method) -> Method:
    """The same band around the mean of ``BandRegressor(estimator="auto")``: a variant."""
    return replace(
        method,
        title=f'{method.title}, around "auto"',
        fit=partial(method.fit, learner=lambda seed: StackedMean(random_state=seed)),
        variant_of=method.name,
        suffix=AROUND_AUTO,
    )
