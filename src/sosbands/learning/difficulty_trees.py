"""Two kinds of trees that guess how large a residual is, in the place of one."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, clone

from sosbands.types import Array


class DifficultyTrees(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """√|r|: what boosted trees learn of it, averaged with what extra trees learn of |r|³ᐟ².

    Both kinds err in different places, and say different things: means of √|r| tell how large
    residuals usually are, those of |r|³ᐟ² also where a few of them are very large, which outer
    levels have to know.

    Parameters
    ----------
    boosting, extra : regressor
    """

    # Guesses alone, around "auto", seeds 0 to 2 of the four larger development sets: scores at .9
    # are .981 to .997 of those with extra trees of √|r|, at .95 .941 to .992, at .5 and .8 .992 to
    # 1.001. In bands, seeds 0 to 7, r² scored 1.003 at .9 and 1.004 at .95; twice as many trees and
    # leaves of 3 rows instead of 5 .9995 and 1.000.

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
