"""`BandDisplay`: intervals over one input, with the data."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from sosbands.conformal import checked_levels, named
from sosbands.learning.validation import labelled_rows
from sosbands.metrics import coverage
from sosbands.plotting import columns, marks
from sosbands.plotting.marks import BandValues
from sosbands.plotting.style import BLUE, Style, legend_beside, own_axes
from sosbands.types import Array, Indices

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sosbands.datasets import Case
    from sosbands.estimator import BandRegressor

Kind: TypeAlias = Literal["curve", "rows"]
Truth: TypeAlias = Callable[[Any, float], ArrayLike]

# Points of a curve.
_POINTS = 400


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

    def __init__(
        self,
        *,
        levels: Sequence[float],
        rows: BandValues,
        curve: BandValues | None = None,
        y: Array | None = None,
        feature_name: str = "x",
        target_name: str = "y",
    ) -> None:
        self.levels = levels
        self.rows = rows
        self.curve = curve
        self.y = y
        self.feature_name = feature_name
        self.target_name = target_name

    def plot(
        self,
        ax: Axes | None = None,
        *,
        color: Any = BLUE,
        line_kwargs: Style | None = None,
        scatter_kwargs: Style | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        color : matplotlib colour
            Of the mean; intervals have its tints, darker for smaller levels.
        line_kwargs, scatter_kwargs : dict, optional
            Line properties of the mean, and of the outputs.

        Returns
        -------
        self
        """
        self.ax_ = own_axes()[0] if ax is None else ax
        self.figure_ = self.ax_.figure
        rows = self.rows
        if self.curve is None:
            rows = replace(rows, x=marks.side_by_side(rows.x))
        band = self.curve or rows
        draw = marks.draw_rows if self.curve is None else marks.draw_curve
        drawn = draw(
            self.ax_,
            band,
            self.levels,
            edges=marks.visible_range(band, self.y),
            colour=color,
            line_kwargs=line_kwargs,
        )
        self.intervals_, self.mean_, self.truth_ = drawn.intervals, drawn.mean, drawn.truth
        self.extrapolation_, self.infinite_ = drawn.extrapolation, drawn.infinite
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
        kind: Kind | None = None,
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
        X : array-like or DataFrame of shape (n, d)
        y : array-like of shape (n,), optional
        levels : float or sequence of float
            Confidence levels of the intervals.
        feature : int or str, optional
            The column on the axis. By default the one that the scale depends on most: that with
            the shortest lengthscale θᶠ, the first of equals.
        kind : {"curve", "rows"}, optional
            A band along the axis, for models of one input; or an interval for each row, a partial
            view of models of several. By default whichever fits.
        truth : Case or callable, optional
            A case of `sosbands.datasets`, or a function of X and a level that gives the true
            intervals, of shape (n, 2). For rows only those of the largest level are drawn.
        extrapolation : bool
            Whether to show where `estimator.extrapolation` exceeds one half.
        groups, weights : array-like of shape (n,), optional
            Those of the rows, if the model was calibrated with some.
        subsample : int or None
            At most this many rows are drawn; None: all.
        random_state : int, Generator or None
            Chooses them.
        ax : matplotlib Axes, optional
        **style
            Passed to `plot`.

        Returns
        -------
        BandDisplay
        """
        columns.check_model(estimator)
        X, wanted = columns.table(X), checked_levels(levels, name="levels")[0]
        alone = X.shape[1] == 1 and groups is None and weights is None
        kind = _checked_kind(kind, alone=alone)
        outputs = None if y is None else labelled_rows(estimator, X, y, reset=False)[1]
        position = columns.chosen_column(estimator, X, feature)
        name = columns.column_names(estimator, X)[position]
        x = columns.column(X, position, name)
        shown = _shown(x, subsample, random_state)
        companions: dict[str, Any] = {}
        if groups is not None:
            companions["groups"] = named(groups)[shown]
        if weights is not None:
            companions["weights"] = np.asarray(weights)[shown]
        predicted = partial(
            _predicted, estimator, levels=wanted, truth=truth, extrapolation=extrapolation
        )
        curve = None
        if kind == "curve":
            grid = np.linspace(x.min(), x.max(), _POINTS)
            curve = predicted(grid, columns.single_column(X, grid), companions={})
        display = cls(
            levels=wanted,
            rows=predicted(x[shown], _safe_indexing(X, shown), companions=companions),
            curve=curve,
            y=None if outputs is None else outputs[shown],
            feature_name=name,
            target_name=str(getattr(y, "name", None) or "y"),
        )
        return display.plot(ax, **style)

    @classmethod
    def from_predictions(
        cls,
        x: ArrayLike,
        y: ArrayLike | None,
        mean: ArrayLike,
        intervals: ArrayLike,
        *,
        levels: float | Sequence[float] = 0.9,
        kind: Kind = "curve",
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
        levels : float or sequence of k floats
        kind : {"curve", "rows"}
            Whether the intervals are joined, as they are if x is the only input.
        feature_name, target_name : str
            Labels of the axes.
        ax : matplotlib Axes, optional
        **style
            Passed to `plot`.

        Returns
        -------
        BandDisplay
        """
        kind = _checked_kind(kind, alone=True)
        wanted = checked_levels(levels, name="levels")[0]
        places, means = np.asarray(x, dtype=np.float64), np.asarray(mean, dtype=np.float64)
        ends = np.asarray(intervals, dtype=np.float64)
        ends = ends[:, :, None] if ends.ndim == 2 else ends
        n = len(places)
        if places.ndim != 1 or means.shape != (n,) or ends.shape != (n, 2, len(wanted)):
            raise ValueError(
                f"x, mean and intervals must have shapes (n,), (n,) and (n, 2, "
                f"{len(wanted)}), got {places.shape}, {means.shape} and {ends.shape}: give "
                "one row of each per place, and one set of intervals per level"
            )
        if y is not None:
            coverage(y, ends)  # says what is wrong with either
        order = np.argsort(places, kind="stable")
        rows = BandValues(places[order], means[order], ends[order])
        display = cls(
            levels=wanted,
            rows=rows,
            curve=rows if kind == "curve" else None,
            y=None if y is None else np.asarray(y, dtype=np.float64)[order],
            feature_name=feature_name,
            target_name=target_name,
        )
        return display.plot(ax, **style)


def _checked_kind(kind: Kind | None, *, alone: bool) -> Kind:
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
    rows = np.arange(len(x))
    if subsample is not None and subsample < len(x):
        rows = np.random.default_rng(random_state).choice(rows, subsample, replace=False)
        rows.sort()
    shown: Indices = rows[np.argsort(x[rows], kind="stable")]
    return shown


def _predicted(
    model: BandRegressor,
    x: Array,
    X: Any,
    *,
    levels: Sequence[float],
    truth: Case | Truth | None,
    extrapolation: bool,
    companions: Mapping[str, Any],
) -> BandValues:
    return BandValues(
        x=x,
        mean=np.asarray(model.predict(X)),
        intervals=model.predict_interval(X, levels, **companions),
        truth=None if truth is None else _true_intervals(truth, X, levels),
        extrapolation=model.extrapolation(X) if extrapolation else None,
    )


def _true_intervals(truth: Case | Truth, X: Any, levels: Sequence[float]) -> Array:
    interval = truth if callable(truth) else truth.interval
    return np.stack([np.asarray(interval(X, level)) for level in levels], axis=2)
