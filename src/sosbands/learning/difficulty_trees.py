"""Two kinds of trees that guess how large a residual is, in the place of one."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, clone

from sosbands.types import Array


class DifficultyTrees(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """√|r|: what boosted trees learn of it, averaged with what extra trees learn of |r|³ᐟ².

    Both kinds err in different places, and about different things: means of √|r| say how large
    residuals usually are, those of |r|³ᐟ² also where a few of them are very large. Inner levels
    need the one, outer levels the other.

    Parameters
    ----------
    boosting, extra : regressor
    """

    def __init__(self, boosting: Any, extra: Any) -> None:
        self.boosting = boosting
        self.extra = extra

    def fit(self, X: Array, y: Array, sample_weight: ArrayLike | None = None) -> Self:
        """From rows of numbers and their √|r|."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.boosting_ = clone(self.boosting).fit(X, y, **weights)
        self.extra_ = clone(self.extra).fit(X, y * y * y, **weights)
        return self

    def predict(self, X: Array) -> Array:
        """The guess of √|r| at new rows."""
        usual, large = self.boosting_.predict(X), np.cbrt(self.extra_.predict(X))
        return np.asarray((usual + large) / 2)
