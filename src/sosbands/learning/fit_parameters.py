"""What `fit` is told of the rows beside X and y: weights, and parameters of the estimator's fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from sosbands.core.checks import checked_weights
from sosbands.types import Array, Indices


@dataclass(frozen=True, eq=False)
class FitParameters:
    """Weights of some rows, and what fits of a regressor to them are given.

    Attributes
    ----------
    weights : array of shape (n,) or None
        How much each of these rows counts, ≥ 0; None if all count alike.
    passed : mapping
        Parameters of a regressor's fit. Those with one entry for each row are about all rows.
    n_all : int
        The number of all rows.
    rows : array of shape (n,) or None
        Which of all rows these are; None for all.
    """

    weights: Array | None = None
    passed: Mapping[str, Any] = field(default_factory=dict)
    n_all: int = 0
    rows: Indices | None = None

    @classmethod
    def of_weights(cls, weights: Array | None) -> FitParameters:
        """Weights alone, which the fit is given too."""
        if weights is None:
            return cls()
        return cls(weights, {"sample_weight": weights}, len(weights))

    @classmethod
    def of_checked(cls, sample_weight: ArrayLike | None, n: int) -> FitParameters:
        """Weights of n rows as users give them; equal ones are none."""
        if sample_weight is None:
            return cls()
        kept, shares = checked_weights("sample_weight", sample_weight, n)
        weights = np.zeros(n)
        weights[kept] = shares
        return cls.of_weights(weights if np.ptp(weights) > 0 else None)

    def take(self, rows: Indices) -> FitParameters:
        """Of some of these rows."""
        return replace(
            self,
            weights=None if self.weights is None else self.weights[rows],
            rows=rows if self.rows is None else self.rows[rows],
        )

    def counted(self, n: int) -> Indices | None:
        """Which of these n rows have a positive weight; None if all have."""
        if self.weights is None or np.all(self.weights > 0):
            return None
        counted = np.flatnonzero(self.weights)
        if len(counted) < 5:
            raise ValueError(
                f"sample_weight is 0 for all but {len(counted)} of {n} rows to learn from, at "
                "least 5 are needed: give more rows a positive weight"
            )
        return counted

    def fit(self, estimator: Any, X: Any, y: Array, rows: Indices | None = None) -> Any:
        """A clone of a regressor, fitted to some of these rows; those of weight 0 are left out."""
        if self.weights is not None and not np.all(self.weights > 0):
            kept = self.weights > 0
            rows = np.flatnonzero(kept) if rows is None else rows[kept[rows]]
        part = self if rows is None else self.take(rows)
        if rows is not None:
            X, y = _safe_indexing(X, rows), y[rows]
        if not part.passed:
            return clone(estimator).fit(X, y)
        passed = _check_method_params(np.empty(self.n_all), part.passed, part.rows)
        return clone(estimator).fit(X, y, **passed)


NOTHING_TOLD = FitParameters()
