"""Where the width of an interval comes from: the inputs, the distance to the data, the calibration.

The method is simple, and does not look inside the model. Take a usual row, and give it the inputs
of the row in question one after the other, in a random order. Each time the learned width changes,
and that change counts for the input that was given. The mean over several usual rows and orders is
the part of the input: Shapley's value (1953), by sampling (Štrumbelj and Kononenko, 2014). All this
is done with `caution` set to zero, so that mixtures of two rows are not called far from the data.
What `caution` adds to the row itself is the part of the distance, and what lies between the learned
and the final width is the part of the calibration. For every row all parts add up to its width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from sosbands.learning.tables import is_frame, mixed_rows
from sosbands.types import Array, Indices

# Usual rows that a row is compared with; each lends its cells in two orders.
_USUAL_ROWS = 16
# Mixed rows whose widths are learned at once.
_BLOCK = 1 << 14
# Fewer rows do not say what is usual.
_LEAST_ROWS = 10


@dataclass(frozen=True, eq=False)
class WidthParts:
    """The widths of intervals and what they are sums of, in the units of y.

    Attributes
    ----------
    width : array of shape (n,)
        usual + the sum of inputs + distance + calibration.
    usual : float
        The mean of what was learned as the width of usual rows.
    inputs : array of shape (n, d)
        What every column of X adds to it, or takes away.
    distance : array of shape (n,)
        What the distance to the training rows adds.
    calibration : array of shape (n,)
        What the calibration to the level, and the limits `y_min` and `y_max`, add or take away.
    """

    width: Array
    usual: float
    inputs: Array
    distance: Array
    calibration: Array


class WidthExplanation:
    """`explain_width` for a `BandRegressor`."""

    def explain_width(
        self,
        X: Any,
        *,
        rows: Sequence[int] | None = None,
        confidence_level: float = 0.9,
        groups: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        random_state: int = 0,
    ) -> Any:
        """Why intervals are as wide as they are: the parts that add up to each width.

        Usual rows get the inputs of the row in question one after the other, in random orders, and
        each change of the learned width counts for the input that was given (Shapley values). What
        the distance to the training rows adds to that, and what the calibration adds or takes away,
        are parts of their own.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            At least ten rows: they say what is usual.
        rows : sequence of int, optional
            The positions of the rows to explain; all rows by default, which takes
            32·(d + 1) predictions for each.
        confidence_level : float
            In (0, 1).
        groups, weights : array-like of shape (n,), optional
            Those of the rows of X, if `conformalize` had them.
        random_state : int
            Decides the orders.

        Returns
        -------
        DataFrame
            A row for each row explained, with its index if X has one: width, usual, one column for
            each column of X, distance, and calibration, all in the units of y.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from sosbands import BandRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = pd.DataFrame({"noise": rng.uniform(0, 1, 300), "other": rng.uniform(0, 1, 300)})
        >>> y = X["other"] + X["noise"] * rng.normal(size=300)
        >>> model = BandRegressor(None, random_state=0).fit(X, y)
        >>> parts = model.explain_width(X, rows=[int(X["noise"].argmax())])
        >>> bool((parts["noise"] > 2 * parts["other"].abs()).all())
        True
        >>> bool(np.allclose(parts.drop(columns="width").sum(axis=1), parts["width"]))
        True
        """
        import pandas as pd

        ends = self.predict_interval(  # type: ignore[attr-defined]
            X, confidence_level, groups=groups, weights=weights
        )
        chosen = _checked_places(rows, len(ends))
        found = width_parts(self, X, chosen, np.ptp(ends[chosen], axis=1), random_state)
        names = [str(name) for name in column_names(self, X)]
        table = np.column_stack(
            [
                found.width,
                np.full(len(chosen), found.usual),
                found.inputs,
                found.distance,
                found.calibration,
            ]
        )
        index = X.index[chosen] if hasattr(X, "index") and hasattr(X, "iloc") else None
        columns = ["width", "usual", *names, "distance", "calibration"]
        return pd.DataFrame(table, index=index, columns=columns)


def width_parts(model: Any, X: Any, rows: Indices, widths: Array, seed: int = 0) -> WidthParts:
    """The parts of the widths of some rows of X; all rows of X say what is usual."""
    X = X if is_frame(X) else np.asarray(X)
    n, d = X.shape
    if n < _LEAST_ROWS:
        raise ValueError(
            f"X must have at least {_LEAST_ROWS} rows, got {n}: they say what is usual; name the "
            "rows to explain with rows="
        )
    near = copy(model)
    near.band_ = replace(model.band_, caution=0.0)
    learned = _learned_width(near, X)
    usual = _spread_rows(learned)
    inputs = _shapley(
        lambda places: _learned_width(near, mixed_rows(X, places)), rows, usual, d, seed
    )
    cautious = _learned_width(model, _safe_indexing(X, rows))
    return WidthParts(
        width=widths,
        usual=float(learned[usual].mean()),
        inputs=inputs,
        distance=cautious - learned[rows],
        calibration=widths - cautious,
    )


def _learned_width(model: Any, X: Any) -> Array:
    """The width before calibration: 2√f, or f_low + f_up."""
    scale = np.asarray(model.predict_scale(X))
    return 2 * scale if scale.ndim == 1 else scale.sum(axis=1)


def _spread_rows(widths: Array) -> Indices:
    """Rows from the narrowest to the widest, in even steps: they stand for all."""
    order = np.argsort(widths, kind="stable")
    k = min(_USUAL_ROWS, len(order))
    return order[((np.arange(k) + 0.5) * len(order) / k).astype(np.intp)]


def _shapley(
    width_at: Callable[[Indices], Array], rows: Indices, usual: Indices, d: int, seed: int
) -> Array:
    """The mean change of the width when an input is given to a usual row, shape (len(rows), d)."""
    rng = np.random.default_rng(seed)
    orders = np.array([rng.permutation(d) for _ in usual])
    orders, usual = np.concatenate([orders, orders[:, ::-1]]), np.concatenate([usual, usual])
    # Of each order the d + 1 mixtures: which cells the row in question has given so far.
    given = np.argsort(orders, axis=1)[:, None, :] < np.arange(d + 1)[None, :, None]
    parts = np.zeros((len(rows), d))
    step = max(1, _BLOCK // (len(orders) * (d + 1)))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        places = np.where(given[None], block[:, None, None, None], usual[None, :, None, None])
        widths = width_at(places.reshape(-1, d)).reshape(len(block), len(orders), d + 1)
        for change, order in zip(np.diff(widths).transpose(1, 0, 2), orders, strict=True):
            parts[start : start + step, order] += change / len(orders)
    return parts


def _checked_places(rows: Sequence[int] | None, n: int) -> Indices:
    if rows is None:
        return np.arange(n)
    places = np.asarray(rows)
    if places.ndim != 1 or places.dtype.kind not in "iu" or np.any((places < 0) | (places >= n)):
        raise ValueError(
            f"rows must be positions from 0 to {n - 1} in a flat list, got {rows!r}: X has {n} rows"
        )
    return places.astype(np.intp)


def column_names(model: Any, X: Any) -> list[Any]:
    """Of the columns of X; x0, x1 and so on if nobody has named them."""
    if is_frame(X):
        return list(getattr(X, "column_names", None) or X.columns)
    return list(getattr(model, "feature_names_in_", [f"x{j}" for j in range(np.shape(X)[1])]))
