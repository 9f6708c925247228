"""Scorers for ``scoring=`` in scikit-learn's `cross_validate` and `GridSearchCV`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from sosbands.metrics import coverage, interval_score
from sosbands.types import Array

__all__ = ["coverage_scorer", "interval_scorer"]


@dataclass(frozen=True)
class IntervalScorer:
    """(model, X, y) ↦ what the model's intervals of one level are worth; larger is better.

    Rows may be weighted, as by a `GridSearchCV` that is fitted with ``sample_weight``. With
    metadata routing they count alike.

    Attributes
    ----------
    figure : callable
        (y, intervals, level, weights) ↦ a number.
    level : float
    """

    figure: Callable[[ArrayLike, Array, float, ArrayLike | None], float]
    level: float

    def __post_init__(self) -> None:
        """Refuse a level that no interval has."""
        if not 0 < self.level < 1:
            raise ValueError(f"level must be in (0, 1), got {self.level!r}: write 90 % as 0.9")

    def __call__(
        self, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """The figure of a fitted model, which may be the last step of a pipeline."""
        model = estimator
        while isinstance(model, Pipeline):
            X = model[:-1].transform(X) if len(model) > 1 else X
            model = model[-1]
        if not hasattr(model, "predict_interval"):
            raise TypeError(
                f"{type(model).__name__} has no predict_interval: score a BandRegressor, or a "
                "pipeline that ends in one"
            )
        intervals = model.predict_interval(X, self.level)
        return self.figure(y, intervals, self.level, sample_weight)


def interval_scorer(level: float = 0.9) -> IntervalScorer:
    """Minus the mean interval score of intervals of this level: larger is better.

    Parameters
    ----------
    level : float
        The confidence level, in (0, 1).

    Notes
    -----
    By default a kernel mean makes up for what a model lacks, and intervals say little about the
    model itself: to choose one by them, keep them around it, ``centre_penalty=None``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sosbands import BandRegressor, KernelBand, interval_scorer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(120, 1))
    >>> y = 3 * X[:, 0] + X[:, 0] * rng.normal(size=120)
    >>> model = BandRegressor(Ridge(), band=KernelBand(centre_penalty=None), random_state=0)
    >>> grid = {"estimator__alpha": [0.01, 100.0]}
    >>> search = GridSearchCV(model, grid, scoring=interval_scorer(0.8), cv=2).fit(X, y)
    >>> search.best_params_
    {'estimator__alpha': 0.01}
    """
    return IntervalScorer(_minus_interval_score, level)


def coverage_scorer(level: float = 0.9) -> IntervalScorer:
    """−|coverage − level|, so that 0 is best: coverage beyond the level is no merit either.

    It says whether intervals keep their level, not how good they are, and is no guide to choose a
    model by: all calibrated models differ by chance alone.

    Parameters
    ----------
    level : float
        The confidence level, in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import cross_val_score
    >>> from sosbands import BandRegressor, coverage_scorer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(120, 1))
    >>> y = 3 * X[:, 0] + X[:, 0] * rng.normal(size=120)
    >>> model = BandRegressor(Ridge(), random_state=0)
    >>> scores = cross_val_score(model, X, y, scoring=coverage_scorer(0.8), cv=2)
    >>> bool(np.all(scores > -0.3))
    True
    """
    return IntervalScorer(_minus_coverage_error, level)


def _minus_interval_score(
    y: ArrayLike, intervals: Array, level: float, weights: ArrayLike | None
) -> float:
    return -float(interval_score(y, intervals, level, sample_weight=weights))


def _minus_coverage_error(
    y: ArrayLike, intervals: Array, level: float, weights: ArrayLike | None
) -> float:
    return -abs(float(coverage(y, intervals, sample_weight=weights)) - level)
