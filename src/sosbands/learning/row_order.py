"""An order of the rows that follows from what they hold, not from how they came.

Samples, pivots and starting points are drawn by position. With the rows in an order of their own
they are the same whatever order the user's file has, and rounding does not choose among them.
"""

from __future__ import annotations

import numpy as np

from sosbands.types import Array, Indices

# Numbers that differ by a smaller share of their range are equal but for rounding.
_EQUAL = 1e-10


def row_order(
    Z: Array, y: Array, predictions: Array, folds: Indices, weights: Array | None = None
) -> Indices:
    """The rows by output; of equal ones by inputs, prediction, fold and weight.

    Parameters
    ----------
    Z : array of shape (n, d)
        Standardised inputs. Sums of their powers stand for them, so that the order of the columns
        does not matter.
    y, predictions : arrays of shape (n,)
    folds : array of shape (n,)
        Numbers of the folds.
    weights : array of shape (n,), optional
    """
    powers = [graded(np.sum(Z**power, axis=1)) for power in (3, 2, 1)]
    last = [] if weights is None else [weights]
    return np.lexsort([*last, folds, graded(predictions), *powers, graded(y)])


def graded(values: Array) -> Indices:
    """The rank of every value among the distinct ones; equal but for rounding is equal.

    NaN comes last.
    """
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    known = ascending[np.isfinite(ascending)]
    span = float(np.ptp(known)) if len(known) else 0.0
    with np.errstate(invalid="ignore"):
        steps = np.diff(ascending) > _EQUAL * span
    steps |= np.diff(np.isnan(ascending).astype(int)) > 0
    ranks = np.empty(len(values), dtype=np.intp)
    ranks[order] = np.concatenate([[0], np.cumsum(steps)])
    return ranks
