"""`BandDisplay`: intervals over one input, with the data."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from sosbands.conformal import checked_levels, named
from sosbands.datasets import Case
from sosbands.estimator import BandRegressor
from sosbands.evaluation.band_values import (
    BandValues,
    Truth,
    as_table,
    axis_column,
    band_at,
    check_model,
    checked_band,
    places_along,
)
from sosbands.evaluation.drawn_rows import side_by_side
from sosbands.evaluation.judged_rows import row_sample
from sosbands.learning.validation import labelled_rows
from sosbands.plotting import marks
from sosbands.plotting.marks import BLUE, Style, legend_beside, own_axes
from sosbands.types import Array, Indices

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BandKind: TypeAlias = Literal["curve", "rows"]


@dataclass(eq=False, repr=False, kw_only=True)
class BandDisplay:
    """Intervals over one input: a band for models of one input, a partial view for others.

    Make one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    levels : sequence of k floats
        The levels of the intervals.
    rows : BandValues
        The band at the rows of the data.
    curve : BandValues or None
        The band along the axis. None: it depends on more than one input, so that each row gets its
        own interval, a vertical segment; rows with equal x are drawn side by side.
    y : array of shape (n,) or None
        The outputs of the rows.
    feature_name, target_name : str
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    intervals_ : list of k artists
        Areas or segments, in the order of `levels`.
    mean_ : matplotlib Line2D
    covered_, missed_ : matplotlib Line2D or None
        Outputs inside and outside the interval of the largest level; None without `y`.
    truth_ : list of artists or None
    extrapolation_ : matplotlib artist or None
        Where the model guesses (`extrapolation` > 0.5): a grey background, or rings around rows.
    infinite_ : list of two matplotlib Line2D or None
        Arrow heads where intervals have no lower, and no upper end.
    legend_ : matplotlib Legend

    Notes
    -----
    `from_estimator` and `from_predictions` take some of these, beside what `plot` takes:

    levels : float or sequence of float
        Confidence levels of the intervals.
    kind : {"curve", "rows"}
        A band along the axis, for models of one input; or an interval for each row, a partial view
        of models of several. A model without a given kind gets whichever fits.
    feature : int or str
        The column on the axis. By default the one that the scale depends on most: that with the
        shortest lengthscale θᶠ, the first of equals.
    truth : Case or callable
        A case of `sosbands.datasets`, or a function of X and a level that gives the true intervals,
        of shape (n, 2). For rows only those of the largest level are drawn.
    extrapolation : bool
        Whether to show where `estimator.extrapolation` exceeds one half.
    groups, weights : array-like of shape (n,)
        Those of the rows, if the model was calibrated with some.
    subsample : int or None
        At most this many rows are drawn, chosen by `random_state`; None: all.

    Examples
    --------
    >>> from sosbands import BandDisplay, BandRegressor
    >>> from sosbands.datasets import case
    >>> X, y = case(1).sample(200, random_state=0)
    >>> model = BandRegressor(random_state=0).fit(X, y)
    >>> display = BandDisplay.from_estimator(model, X, y, levels=[0.5, 0.9], truth=case(1))
    >>> display.ax_.get_ylabel()
    'y'
    """

    levels: Sequence[float]
    rows: BandValues
    curve: BandValues | None = None
    y: Array | None = None
    feature_name: str = "x"
    target_name: str = "y"

    def plot(
        self,
        ax: Axes | None = None,
        *,
        color: Any = BLUE,
        line_kwargs: Style | None = None,
        scatter_kwargs: Style | None = None,
    ) -> Self:
        """Draw, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        color : matplotlib colour
            Of the mean; intervals have its tints, darker for smaller levels.
        line_kwargs, scatter_kwargs : dict, optional
            Line properties of the mean, and of the outputs.
        """
        self.ax_ = own_axes()[0] if ax is None else ax
        self.figure_ = self.ax_.figure
        rows = self.rows
        if self.curve is None:
            rows = replace(rows, x=side_by_side(rows.x))
        band, joined = self.curve or rows, self.curve is not None
        edges = marks.visible_range(band, self.y)
        drawn = marks.BandMarks(self.ax_, band, self.levels, joined, edges, color)
        self.intervals_, self.mean_ = drawn.intervals(), drawn.mean(line_kwargs)
        self.truth_, self.extrapolation_ = drawn.truth(), drawn.extrapolation()
        self.infinite_ = drawn.infinite()
        self.covered_ = self.missed_ = None
        if self.y is not None:
            self.covered_, self.missed_ = marks.draw_outputs(
                self.ax_, rows, self.y, self.levels, scatter_kwargs
            )
        self.ax_.set(xlabel=self.feature_name, ylabel=self.target_name)
        self.legend_ = legend_beside(self.ax_)
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: BandRegressor,
        X: Any,
        y: ArrayLike | None = None,
        *,
        levels: float | Sequence[float] = 0.9,
        feature: int | str | None = None,
        kind: BandKind | None = None,
        truth: Case | Truth | None = None,
        extrapolation: bool = False,
        groups: Iterable[Hashable] | None = None,
        weights: ArrayLike | None = None,
        subsample: int | None = 200,
        random_state: int | np.random.Generator | None = None,
        ax: Axes | None = None,
        **style: Any,
    ) -> Self:
        """Predict at the rows of X, and draw.

        Parameters
        ----------
        estimator : BandRegressor
            Fitted and calibrated.
        X, y : array-like of shapes (n, d) and (n,)
            X may be a DataFrame; without y no outputs are drawn.
        levels, feature, kind, truth, extrapolation, groups, weights, subsample, random_state
            See the notes on the class.
        ax, **style
            Passed to `plot`.
        """
        check_model(estimator)
        X, wanted = as_table(X), checked_levels(levels, name="levels")[0]
        kind = _checked_kind(kind, alone=X.shape[1] == 1 and groups is None and weights is None)
        outputs = None if y is None else labelled_rows(estimator, X, y, reset=False)[1]
        name, x = axis_column(estimator, X, feature)
        shown = _shown(x, subsample, random_state)
        companions: dict[str, Any] = {
            "groups": None if groups is None else named(groups)[shown],
            "weights": None if weights is None else np.asarray(weights)[shown],
        }
        band = partial(band_at, estimator, wanted, truth=truth, extrapolation=extrapolation)
        return cls(
            levels=wanted,
            rows=band(x[shown], _safe_indexing(X, shown), **companions),
            curve=band(*places_along(X, x.min(), x.max())) if kind == "curve" else None,
            y=None if outputs is None else outputs[shown],
            feature_name=name,
            target_name=str(getattr(y, "name", None) or "y"),
        ).plot(ax, **style)

    @classmethod
    def from_predictions(
        cls,
        x: ArrayLike,
        y: ArrayLike | None,
        mean: ArrayLike,
        intervals: ArrayLike,
        *,
        levels: float | Sequence[float] = 0.9,
        kind: BandKind = "curve",
        feature_name: str = "x",
        target_name: str = "y",
        ax: Axes | None = None,
        **style: Any,
    ) -> Self:
        """Draw predictions of any model.

        Parameters
        ----------
        x : array-like of shape (n,)
            The input on the axis.
        y : array-like of shape (n,) or None
        mean : array-like of shape (n,)
        intervals : array-like of shape (n, 2), or (n, 2, k) for k levels
        levels, kind
            See the notes on the class; a curve joins the intervals, as if x were the only input.
        feature_name, target_name : str
            Labels of the axes.
        ax, **style
            Passed to `plot`.
        """
        kind = _checked_kind(kind, alone=True)
        wanted = checked_levels(levels, name="levels")[0]
        rows, outputs = checked_band(x, y, mean, intervals, len(wanted))
        return cls(
            levels=wanted,
            rows=rows,
            curve=rows if kind == "curve" else None,
            y=outputs,
            feature_name=feature_name,
            target_name=target_name,
        ).plot(ax, **style)


def _checked_kind(kind: BandKind | None, *, alone: bool) -> BandKind:
    if kind is None:
        return "curve" if alone else "rows"
    if kind not in ("curve", "rows"):
        raise ValueError(f'kind must be "curve" or "rows", got {kind!r}')
    if kind == "curve" and not alone:
        raise ValueError(
            'kind="curve" needs intervals that depend on one input alone, got more inputs, groups '
            'or weights: use kind="rows"'
        )
    return kind


def _shown(
    x: Array, subsample: int | None, random_state: int | np.random.Generator | None
) -> Indices:
    """The rows to draw, by ascending x."""
    if subsample is not None and subsample < 1:
        raise ValueError(f"subsample must be ≥ 1, got {subsample}: write None for all rows")
    rows = row_sample(len(x), subsample, random_state)
    shown: Indices = rows[np.argsort(x[rows], kind="stable")]
    return shown
