"""`TuningDisplay`: the search for the lengthscale and the weight of the width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sosbands.estimator import BandRegressor
from sosbands.evaluation.band_values import check_model
from sosbands.evaluation.tuning_path import SearchLine, SearchPicture
from sosbands.plotting.marks import INK, PALETTE, legend_beside, own_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_MARKERS = "os^Dvp"


@dataclass(eq=False, repr=False, kw_only=True)
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

    trials: Any
    criterion: str

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> Self:
        """Draw, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes or two of them, optional
            Two axes: for the criterion and for the score. One: its place is divided between them.
            By default a new figure.
        """
        picture = SearchPicture.of(self.trials, self.criterion)
        upper, lower = self.axes_ = _two_axes(ax)
        self.ax_, self.figure_ = upper, upper.figure
        lines, self.chosen_ = [], []
        for panel, what in zip(self.axes_, picture.y_labels, strict=True):
            lines.append(_draw(panel, picture.lines, what))
            self.chosen_.append(_ring(panel, picture.chosen, what))
            label = ",\n".join(picture.y_labels[what])
            panel.set(xscale=picture.x_scale, yscale=picture.y_scale, ylabel=label)
            _plain_ticks(panel)
        self.criterion_lines_, self.score_lines_ = lines
        lower.set(xlabel=picture.x_label)
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


def _draw(ax: Axes, lines: Sequence[SearchLine], what: str) -> list[Line2D]:
    """One line for each b and number of sides."""
    drawn = []
    for place, line in enumerate(lines):
        drawn += ax.plot(
            line.lengthscale,
            line.panels[what],
            color=PALETTE[place % len(PALETTE)],
            marker=_MARKERS[place % len(_MARKERS)],
            linestyle="-" if line.joined else "none",
            markersize=5,
            linewidth=1.2,
            label=line.label,
        )
    return drawn


def _ring(ax: Axes, chosen: SearchLine, what: str) -> Line2D:
    look: dict[str, Any] = {"marker": "o", "markersize": 12, "markerfacecolor": "none"}
    place = chosen.lengthscale, chosen.panels[what]
    (ring,) = ax.plot(*place, linestyle="none", color=INK, label=chosen.label, zorder=3, **look)
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


def _plain_ticks(ax: Axes) -> None:
    """Lengthscales have ticks like 0.5, 1, 2: the axis rarely spans a decade."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
