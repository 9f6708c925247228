"""`TuningDisplay`: the search for the lengthscale and the weight of the width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sosbands.plotting.columns import check_model
from sosbands.plotting.style import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    legend_beside,
    own_axes,
)
from sosbands.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from sosbands.estimator import BandRegressor

_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
_MARKERS = "os^Dvp"
_CRITERIA = {
    "hsic": "HSIC",
    "distance_correlation": "distance correlation",
    "mutual_information": "mutual information",
}
# Lengthscales in proportions that agree to this are one shape in several sizes.
_SAME_SHAPE = 1e-6


class TuningDisplay:
    """All trials of the search: the criterion and the interval score against the lengthscale.

    The criterion (above; larger is better) chooses the lengthscale θᶠ, the out-of-fold interval
    score (below; smaller is better) the weight b of the width and the number of sides. Several
    inputs have a lengthscale each; the axis is the shortest one. Trials with the same b and sides
    are joined if their lengthscales differ in size alone.

    Make one with `from_estimator`.

    Parameters
    ----------
    trials : DataFrame
        One row per trial, as `Tuning.to_frame` gives it.
    criterion : str
        The name of the criterion.

    Attributes
    ----------
    axes_ : list of two matplotlib Axes
        Of the criterion and of the interval score.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
    criterion_lines_, score_lines_ : list of matplotlib Line2D
        One for each b and number of sides.
    chosen_ : list of two matplotlib Line2D
        Rings around the chosen trial.
    legend_ : matplotlib Legend

    Examples
    --------
    >>> from sosbands import BandRegressor, TuningDisplay
    >>> from sosbands.datasets import case
    >>> model = BandRegressor(random_state=0).fit(*case(1).sample(200, random_state=0))
    >>> [ax.get_ylabel().split(",")[0] for ax in TuningDisplay.from_estimator(model).axes_]
    ['HSIC', 'interval score']
    """

    def __init__(self, *, trials: Any, criterion: str) -> None:
        self.trials = trials
        self.criterion = criterion

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or two of them, optional
            Two axes: for the criterion and for the score. One: its place is divided between them.
            By default a new figure.

        Returns
        -------
        self
        """
        upper, lower = self.axes_ = _two_axes(ax)
        self.ax_, self.figure_ = upper, upper.figure
        self.criterion_lines_ = self._draw(upper, "criterion")
        self.score_lines_ = self._draw(lower, "interval_score")
        self.chosen_ = [
            self._ring(ax, what) for ax, what in ((upper, "criterion"), (lower, "interval_score"))
        ]
        name = _CRITERIA.get(self.criterion, self.criterion)
        for panel in self.axes_:
            _plain_logarithmic(panel)
        upper.set(ylabel=f"{name},\nlarger is better")
        several = max(map(np.size, self.trials["lengthscale"])) > 1
        lower.set(
            xlabel=f"{'shortest ' if several else ''}lengthscale θᶠ",
            ylabel="interval score,\nsmaller is better",
        )
        self.legend_ = legend_beside(upper)
        return self

    @classmethod
    def from_estimator(
        cls, estimator: BandRegressor, *, ax: Axes | Sequence[Axes] | None = None
    ) -> Self:
        """Draw the search of a fitted model.

        Parameters
        ----------
        estimator : BandRegressor
            Fitted, with something left to tune.
        ax : matplotlib Axes or two of them, optional
            See `plot`.

        Returns
        -------
        TuningDisplay
        """
        check_model(estimator)
        if estimator.tuning_ is None:
            raise ValueError(
                "the model was not tuned, since its lengthscale, width_weight and symmetric were "
                'all given, or no residual was left: fit with lengthscale="hsic" or '
                'width_weight="auto" to an output that varies'
            )
        display = cls(trials=estimator.tuning_.to_frame(), criterion=estimator.tuning_.criterion)
        return display.plot(ax)

    def _draw(self, ax: Axes, what: str) -> list[Line2D]:
        """One line for each b and number of sides."""
        two_kinds = self.trials["symmetric"].nunique() > 1
        plans = self.trials.groupby(["symmetric", "width_weight"], sort=True)
        lines = []
        for place, ((symmetric, weight), part) in enumerate(plans):
            sides = f", {'symmetric' if symmetric else 'two-sided'}" if two_kinds else ""
            x, order = _shortest(part["lengthscale"])
            lines += ax.plot(
                x,
                part[what].to_numpy()[order],
                color=_COLOURS[place % len(_COLOURS)],
                marker=_MARKERS[place % len(_MARKERS)],
                linestyle="-" if _one_shape(part["lengthscale"]) else "none",
                markersize=5,
                linewidth=1.2,
                label=f"b = {weight:.4g}{sides}",
            )
        return lines

    def _ring(self, ax: Axes, what: str) -> Line2D:
        chosen = self.trials[self.trials["chosen"]]
        look: dict[str, Any] = {"marker": "o", "markersize": 12, "markerfacecolor": "none"}
        x, _ = _shortest(chosen["lengthscale"])
        (ring,) = ax.plot(
            x, chosen[what], linestyle="none", color=INK, label="chosen", zorder=3, **look
        )
        return ring


def _two_axes(ax: Axes | Sequence[Axes] | None) -> list[Axes]:
    if ax is None:
        return own_axes(2, size=(6.5, 5.0))
    given: list[Axes] = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(given) == 2:
        return given
    place = given[0].get_subplotspec() if len(given) == 1 else None
    if place is None:
        raise ValueError(f"ax must be one subplot or two axes, got {ax!r}: one for each panel")
    given[0].set_axis_off()
    grid, figure = place.subgridspec(2, 1), given[0].figure
    upper = figure.add_subplot(grid[0])
    return [upper, figure.add_subplot(grid[1], sharex=upper)]


def _plain_logarithmic(ax: Axes) -> None:
    """A logarithmic axis of lengthscales with ticks like 0.5, 1, 2: it rarely spans a decade."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def _shortest(lengthscales: Any) -> tuple[Array, Any]:
    """The shortest lengthscale of each trial, ascending, and the order that sorts them."""
    shortest = np.array([np.min(lengthscale) for lengthscale in lengthscales])
    order = np.argsort(shortest, kind="stable")
    return shortest[order], order


def _one_shape(lengthscales: Any) -> bool:
    """Whether all are multiples of one."""
    shapes = np.array([np.ravel(l) / np.min(l) for l in lengthscales])
    return bool(np.ptp(np.log(shapes), axis=0).max() < _SAME_SHAPE)
