"""`CoverageDisplay`: what intervals cover, by level, width or cluster, and where outputs fall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length

from sosbands.conformal import checked_levels
from sosbands.estimator import BandRegressor
from sosbands.evaluation.band_values import as_table, check_model, checked_intervals
from sosbands.evaluation.coverage_counts import (
    LevelCoverage,
    PartCoverage,
    coverage_by_cluster,
    coverage_by_level,
    coverage_by_width,
    distribution_shares,
)
from sosbands.learning.standardize import Affine
from sosbands.learning.validation import labelled_rows
from sosbands.metrics import Seed, pit
from sosbands.plotting.marks import BLUE, INK, Style, own_axes, styled
from sosbands.types import Array, Indices

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CoverageKind: TypeAlias = Literal["level", "width", "cluster", "pit"]

_LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_LEVEL = 0.9


@dataclass(eq=False, repr=False, kw_only=True)
class CoverageDisplay:
    """The share of outputs inside their intervals, with 95 % binomial bounds.

    Bounds tell what chance does to the rows that are counted here. After a split calibration with
    m rows the true coverage itself is above or below the level by about √(level (1 − level)/m).

    Make one with `from_estimator`, `from_predictions` or `from_pit`.

    Parameters
    ----------
    kind : {"level", "width", "cluster", "pit"}
        What the points are.
    levels : array of shape (p,)
        The level that was asked for at each point.
    coverage : array of shape (p,)
        The share of outputs inside.
    bounds : array of shape (p, 2)
        Bounds of the probability behind that share.
    n_rows : array of shape (p,)
        The rows of each point.
    labels : sequence of str
        What each point is, for the ticks of the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    target_ : matplotlib Line2D
        The coverage that was asked for.
    errorbar_ : matplotlib ErrorbarContainer
        Coverage and bounds.
    legend_ : matplotlib Legend

    Notes
    -----
    `from_estimator` and `from_predictions` take these, beside what `plot` takes:

    kind : {"level", "width", "cluster", "pit"}
        Coverage against the level; of narrow to wide intervals, cut at the quantiles of the width;
        of k-means clusters of the inputs; or the share of outputs in each of `n_bins` parts of
        their predictive distribution, which is the same for all if the distributions are right
        (`from_estimator` alone; high at both ends: they are too narrow).
    levels : float or sequence of float
        By width and by cluster, one. A model has by default 0.1 to 0.95, or 0.9.
    n_bins : int
        Bins of the width, of which equal widths share one, or of the distribution.
    n_clusters : int
        By default one for 50 rows, but at most 15; `random_state` starts them.

    Examples
    --------
    >>> from sosbands import BandRegressor, CoverageDisplay
    >>> from sosbands.datasets import case
    >>> model = BandRegressor(random_state=0).fit(*case(1).sample(300, random_state=0))
    >>> X, y = case(1).sample(1000, random_state=1)
    >>> display = CoverageDisplay.from_estimator(model, X, y, kind="width")
    >>> display.coverage.shape
    (5,)
    """

    kind: CoverageKind
    levels: Array
    coverage: Array
    bounds: Array
    n_rows: Indices
    labels: Sequence[str]

    def plot(self, ax: Axes | None = None, *, errorbar_kwargs: Style | None = None) -> Self:
        """Draw, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        errorbar_kwargs : dict, optional
            Line properties of the points and their bounds.
        """
        from matplotlib.lines import Line2D

        by_level = self.kind == "level"
        if ax is None:
            ax = own_axes(size=(4.8, 4.5) if by_level else (6.0, 4.0))[0]
        place = self.levels if by_level else np.arange(len(self.levels))
        dashed: dict[str, Any] = {"color": INK, "linestyle": "--", "linewidth": 1.0}
        if by_level:
            (self.target_,) = ax.plot([0, 1], [0, 1], label="asked for", **dashed)
            ax.set(xlim=(0, 1), ylim=(0, 1.01), aspect="equal")
        else:
            self.target_ = ax.axhline(float(self.levels[0]), label="asked for", **dashed)
            ax.set_xticks(place, self.labels)
            ax.set_xlim(-0.5, len(place) - 0.5)
        look = {"color": BLUE, "marker": "o", "markersize": 5, "linewidth": 1.2, "capsize": 3}
        what = "found" if self.kind == "pit" else "covered"
        look |= {"linestyle": "-" if by_level else "none", "label": f"{what}, 95 % bounds"}
        errors = np.abs(self.bounds - self.coverage[:, None]).T
        self.errorbar_ = ax.errorbar(
            place, self.coverage, errors, **styled(Line2D, look, errorbar_kwargs)
        )
        share = "share of outputs" if self.kind == "pit" else "share of outputs inside"
        ax.set(xlabel=self._place_label(), ylabel=share)
        self.legend_ = ax.legend(frameon=False, loc="best")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: BandRegressor,
        X: Any,
        y: ArrayLike,
        *,
        kind: CoverageKind = "level",
        levels: float | Sequence[float] | None = None,
        groups: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        n_bins: int = 5,
        n_clusters: int | None = None,
        random_state: int | np.random.Generator | None = None,
        ax: Axes | None = None,
        **style: Any,
    ) -> Self:
        """Predict intervals for rows that the model has not seen, count, and draw.

        Parameters
        ----------
        estimator : BandRegressor
            Fitted and calibrated.
        X, y : array-like of shapes (n, d) and (n,)
            Clusters are those of what the band sees of X, standardised.
        groups, weights : array-like of shape (n,), optional
            Those of the rows, if the model was calibrated with some.
        kind, levels, n_bins, n_clusters, random_state
            See the notes on the class.
        ax, **style
            Passed to `plot`.
        """
        check_model(estimator)
        X, wanted = as_table(X), _checked_levels(kind, levels)
        if kind == "pit":
            below = estimator.predict_cdf(X, y)
            estimator.calibration_.told_anew(X, groups=groups, weights=weights)
            m = estimator.calibration_.distribution.size
            bounds = below * m / (m + 1), (below * m + 1) / (m + 1)
            values = pit(*bounds, random_state=random_state)
            return cls.from_pit(values, n_bins=n_bins, ax=ax, **style)
        B = estimator.band_.encoding(X) if kind == "cluster" else None
        return cls.from_predictions(
            labelled_rows(estimator, X, y, reset=False)[1],
            estimator.predict_interval(X, wanted, groups=groups, weights=weights),
            levels=wanted,
            kind=kind,
            X=None if B is None else Affine.of(B)(B),
            n_bins=n_bins,
            n_clusters=n_clusters,
            random_state=random_state,
            ax=ax,
            **style,
        )

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        intervals: ArrayLike,
        *,
        levels: float | Sequence[float],
        kind: CoverageKind = "level",
        X: ArrayLike | None = None,
        n_bins: int = 5,
        n_clusters: int | None = None,
        random_state: int | np.random.Generator | None = None,
        ax: Axes | None = None,
        **style: Any,
    ) -> Self:
        """Count what intervals of any model cover, and draw.

        Parameters
        ----------
        y : array-like of shape (n,)
        intervals : array-like of shape (n, 2), or (n, 2, k) for k levels
        X : array-like of shape (n, d), optional
            What clusters are made of, as it is: scale its columns if their units differ.
        levels, kind, n_bins, n_clusters, random_state
            See the notes on the class.
        ax, **style
            Passed to `plot`.
        """
        wanted = _checked_levels(kind, levels)
        if kind == "pit":
            raise ValueError('kind="pit" needs distributions, got intervals: use from_pit')
        outputs, ends = np.asarray(y, dtype=np.float64), checked_intervals(y, intervals)
        if ends.shape[2] != (k := len(wanted)):
            raise ValueError(
                f"intervals of {k} levels must have shape (n, 2, {k}), got {ends.shape}: predict "
                "them for the same levels"
            )
        found: Sequence[LevelCoverage | PartCoverage]
        if kind == "level":
            found = coverage_by_level(outputs, ends, wanted)
        elif kind == "width":
            found = coverage_by_width(outputs, ends[:, :, 0], n_bins)
        else:
            found = _by_cluster(X, outputs, ends[:, :, 0], n_clusters, random_state)
        return cls(
            kind=kind,
            levels=np.array([getattr(part, "level", wanted[0]) for part in found]),
            coverage=np.array([part.coverage for part in found]),
            bounds=np.array([part.bounds for part in found]),
            n_rows=np.array([getattr(part, "n_rows", len(outputs)) for part in found]),
            labels=[_label(part) for part in found],
        ).plot(ax, **style)

    @classmethod
    def from_pit(
        cls, values: ArrayLike, *, n_bins: int = 5, ax: Axes | None = None, **style: Any
    ) -> Self:
        """Count where outputs fall in their predictive distributions, and draw.

        Parameters
        ----------
        values : array-like of shape (n,)
            F(y) of any model, as `sosbands.metrics.pit` gives them.
        n_bins : int
            Parts of the distribution.
        ax, **style
            Passed to `plot`.
        """
        shares = distribution_shares(pit(values), n_bins)
        return cls(
            kind="pit",
            levels=np.full(n_bins, 1 / n_bins),
            coverage=np.array([part.coverage for part in shares]),
            bounds=np.array([part.bounds for part in shares]),
            n_rows=np.full(n_bins, np.size(values)),
            labels=[_label(part) for part in shares],
        ).plot(ax, **style)

    def _place_label(self) -> str:
        if self.kind == "pit":
            return f"part of the predictive distribution ({self.n_rows[0]} rows)"
        if self.kind == "level":
            return f"level asked for ({self.n_rows[0]} rows)"
        if self.kind == "width":
            few, many = self.n_rows.min(), self.n_rows.max()
            count = f"{few}" if few == many else f"{few} to {many}"
            return f"width of the interval ({count} rows each)"
        return "rows in each cluster of the inputs"


def _checked_levels(
    kind: CoverageKind, levels: float | Sequence[float] | None
) -> tuple[float, ...]:
    if kind not in get_args(CoverageKind):
        raise ValueError(f"kind must be one of {get_args(CoverageKind)}, got {kind!r}")
    if levels is None:
        levels = _LEVELS if kind == "level" else _LEVEL
    checked = checked_levels(levels, name="levels")[0]
    if kind != "level" and len(checked) > 1:
        raise ValueError(f'kind="{kind}" shows one level, got {len(checked)}: give levels=0.9')
    return checked


def _by_cluster(
    X: ArrayLike | None, y: Array, intervals: Array, n_clusters: int | None, random_state: Seed
) -> list[PartCoverage]:
    """The largest cluster first."""
    if X is None:
        raise ValueError('kind="cluster" needs the inputs, got none: give X')
    check_consistent_length(X, y)
    found = coverage_by_cluster(X, y, intervals, n_clusters=n_clusters, random_state=random_state)
    return sorted(found, key=lambda part: part.n_rows, reverse=True)


def _label(part: LevelCoverage | PartCoverage) -> str:
    """In two lines if it is a range: ticks are close together."""
    return (
        f"{part.level:g}" if isinstance(part, LevelCoverage) else part.label.replace(" to ", " –\n")
    )
