"""Rows with all that a model says of them, and what follows for its intervals."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from sosbands.conformal import checked_levels
from sosbands.dependence import distance_correlation, hsic, mutual_information
from sosbands.estimator import BandRegressor
from sosbands.evaluation.band_values import input_names
from sosbands.evaluation.coverage_counts import (
    PartCoverage,
    binomial_bounds,
    coverage_by_cluster,
    coverage_by_level,
    coverage_by_width,
    expected_coverage,
    inside,
    with_expected,
)
from sosbands.evaluation.results import Evaluation
from sosbands.evaluation.shown_columns import ShownColumn, column_of_inputs, shown_columns
from sosbands.learning.standardize import Affine
from sosbands.learning.validation import labelled_rows
from sosbands.metrics import (
    Seed,
    cluster_count,
    ert,
    interval_score,
    mean_width,
    worst_slab_coverage,
)
from sosbands.types import Array, Indices, Mask

# Levels of the coverage curve, beside the one asked for.
_LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
# Rows that clusters, slabs, dependences and distances are computed from: more only cost time.
_SAMPLE = 20_000
# The coverage of fewer rows in a part is noise; a slab holds a fifth of half the rows; a classifier
# of misses learns from a tenth of the rows at level 0.9.
_PART_ROWS, _DEPENDENCE_ROWS, _SLAB_ROWS, _CLASSIFIED_ROWS = 20, 50, 200, 200
_WIDTH_BINS = 5
# `extrapolation` beyond which the model guesses, and below which a row is a training row.
FAR, SEEN = 0.5, 1e-9


@dataclass(frozen=True, eq=False)
class PredictedRows:
    """Rows with their outputs and all that a model says of them.

    Attributes
    ----------
    y, mean : array of shape (n,)
    levels : tuple of k floats
    intervals : array of shape (n, 2, k)
    level : float
        The one that was asked for.
    sample : array of at most 20 000 indices
        The rows that the next two are about.
    inputs : array
        What the band sees of them, standardised.
    extrapolation : array
    columns : tuple of ShownColumn
        The columns of X at those rows, as their owner knows them.
    origin : tuple of int
        For each column of `inputs` the one of `columns` that it comes from.
    names : tuple of str
        Of the columns of `inputs`.
    units : Affine
        Undoes the standardisation of the inputs.
    n_calibration, seed : int

    Examples
    --------
    >>> from sosbands import BandRegressor
    >>> from sosbands.datasets import case
    >>> from sosbands.evaluation import PredictedRows
    >>> model = BandRegressor(None, random_state=0).fit(*case(1).sample(100, random_state=0))
    >>> X, y = case(1).sample(50, random_state=1)
    >>> rows = PredictedRows.of(model, X, y, confidence_level=0.9, random_state=0)
    >>> rows.intervals.shape == (50, 2, len(rows.levels)), rows.widths.shape
    (True, (50,))
    """

    y: Array
    mean: Array
    levels: tuple[float, ...]
    intervals: Array
    level: float
    sample: Indices
    inputs: Array
    extrapolation: Array
    columns: tuple[ShownColumn, ...]
    origin: tuple[int, ...]
    names: tuple[str, ...]
    units: Affine
    n_calibration: int
    seed: int

    @classmethod
    def of(
        cls,
        model: BandRegressor,
        X: Any,
        y: ArrayLike,
        *,
        confidence_level: float,
        random_state: int,
    ) -> Self:
        """Predict once; everything else follows from that."""
        check_is_fitted(model)
        (level, *others), scalar = checked_levels(confidence_level)
        if others or not scalar:
            raise ValueError(f"confidence_level must be one number, got {confidence_level!r}")
        needs = None if model.calibration_ is None else model.calibration_.needs
        if needs is not None:
            raise ValueError(
                f"the model was calibrated with {needs}, which X and y do not tell: judge "
                "predict_interval(...) of each part with sosbands.metrics, or conformalize without"
            )
        checked, outputs = labelled_rows(model, X, y, reset=False)
        levels = tuple(sorted({*_LEVELS, level}))
        with without_shortage_warning():  # the curve asks for more levels than the user did
            intervals = model.predict_interval(X, levels)
        sample = row_sample(len(outputs), _SAMPLE, random_state)
        sampled = _safe_indexing(checked, sample)
        B = model.band_.encoding(sampled)
        units = Affine.of(B)
        return cls(
            y=outputs,
            mean=np.asarray(model.predict(X)),
            levels=levels,
            intervals=intervals,
            level=level,
            sample=sample,
            inputs=units(B),
            extrapolation=model.extrapolation(_safe_indexing(X, sample)),
            columns=shown_columns(model, sampled, B),
            origin=column_of_inputs(model, B.shape[1]),
            names=input_names(model, B.shape[1]),
            units=units,
            n_calibration=model.calibration_.size,
            seed=random_state,
        )

    @property
    def chosen(self) -> Array:
        """The intervals of the level asked for, shape (n, 2)."""
        chosen: Array = self.intervals[:, :, self.levels.index(self.level)]
        return chosen

    @property
    def covered(self) -> Mask:
        """Whether each interval of that level holds its y."""
        return inside(self.y, self.chosen)

    @property
    def widths(self) -> Array:
        """Of the intervals of that level."""
        return self.chosen[:, 1] - self.chosen[:, 0]

    def evaluation(self) -> Evaluation:
        """Every diagnostic."""
        n, intervals, widths, hits = len(self.y), self.chosen, self.widths, self.covered
        by_width, by_cluster = self._by_width(), self._by_cluster()
        found = self._conditional(by_width, by_cluster)
        reasons = {name: value for name, value in found.items() if isinstance(value, str)}
        values: dict[str, Any] = {**found, **dict.fromkeys(reasons)}
        return Evaluation(
            level=self.level,
            n_rows=n,
            n_calibration=self.n_calibration,
            coverage=float(hits.mean()),
            coverage_bounds=binomial_bounds(int(hits.sum()), n),
            expected_coverage=expected_coverage(self.level, self.n_calibration, n),
            mean_width=float(mean_width(intervals)),
            median_width=float(np.median(widths)),
            interval_score=float(interval_score(self.y, intervals, self.level)),
            n_infinite=int(np.sum(np.isinf(widths))),
            rmse=float(np.sqrt(np.mean((self.y - self.mean) ** 2))),
            **values,
            extrapolating=float(np.mean(self.extrapolation > FAR)),
            seen=float(np.mean(self.extrapolation < SEEN)),
            by_level=coverage_by_level(
                self.y, self.intervals, self.levels, self.n_calibration, asked=self.level
            ),
            by_width=by_width,
            by_cluster=by_cluster,
            reasons=reasons,
        )

    def _by_width(self) -> tuple[PartCoverage, ...]:
        n_bins = min(_WIDTH_BINS, len(self.y) // _PART_ROWS)
        found = coverage_by_width(self.y, self.chosen, n_bins) if n_bins > 1 else ()
        return self.expected(found)

    def expected(self, parts: Sequence[PartCoverage]) -> tuple[PartCoverage, ...]:
        """Parts of these rows with the range of coverage that was to be expected."""
        return with_expected(parts, self.level, self.n_calibration)

    def _by_cluster(self) -> tuple[PartCoverage, ...]:
        """Clusters of the standardised inputs, named by where they are; the worst one first."""
        # There are no more clusters than different rows.
        n_clusters = min(cluster_count(len(self.sample)), len(np.unique(self.inputs, axis=0)))
        if n_clusters < 2:
            return ()
        found = coverage_by_cluster(
            self.inputs,
            self.y[self.sample],
            self.chosen[self.sample],
            n_clusters=n_clusters,
            random_state=self.seed,
            label=self._where,
        )
        return self.expected(sorted(found, key=lambda part: part.coverage))

    def _where(self, part: Indices) -> str:
        """The two columns in which these sampled rows differ most from all, in words."""
        order = np.argsort(-np.abs(np.median(self.inputs[part], axis=0)), kind="stable")
        telling = list(dict.fromkeys(self.origin[j] for j in order.tolist()))[:2]
        return ", ".join(self.columns[at].typical(part) for at in sorted(telling))

    def _conditional(
        self, by_width: tuple[PartCoverage, ...], by_cluster: tuple[PartCoverage, ...]
    ) -> dict[str, float | str]:
        """The diagnostics that few rows cannot tell: a value, or the reason why there is none."""
        n, m = len(self.y), len(self.sample)
        bins: float | str = f"width bins need {2 * _PART_ROWS} rows, got {n}"
        if by_width:
            bins = min(part.coverage for part in by_width)
        gap: float | str = f"clusters need 100 rows, and different ones, got {m}"
        if by_cluster:
            gap = float(np.mean([abs(part.coverage - self.level) for part in by_cluster]))
        return {
            "size_stratified_coverage": bins,
            "coverage_gap": gap,
            "worst_slab_coverage": self._worst_slab(),
            "ert": self._excess_risk(),
            **self._dependences(),
        }

    def _worst_slab(self) -> float | str:
        y, intervals = self.y[self.sample], self.chosen[self.sample]
        if len(y) < _SLAB_ROWS:
            return f"slabs need {_SLAB_ROWS} rows, got {len(y)}"
        return float(worst_slab_coverage(self.inputs, y, intervals, random_state=self.seed))

    def _excess_risk(self) -> float | str:
        y, intervals = self.y[self.sample], self.chosen[self.sample]
        if len(y) < _CLASSIFIED_ROWS:
            return f"a classifier of misses needs {_CLASSIFIED_ROWS} rows, got {len(y)}"
        return float(ert(self.inputs, y, intervals, self.level, random_state=self.seed))

    def _dependences(self) -> dict[str, float | str]:
        """Of the rows with a finite interval; a score is |y − centre|/(half width)."""
        names = "hsic", "distance_correlation", "mutual_information"
        rows = self.sample[np.isfinite(self.widths[self.sample])]
        if len(rows) < _DEPENDENCE_ROWS:
            reason = f"it needs {_DEPENDENCE_ROWS} rows with a finite interval, got {len(rows)}"
            return dict.fromkeys(names, reason)
        width, error = self.widths[rows], np.abs(self.y - self.mean)[rows]
        information: float | str = "some intervals have no width"
        if np.all(width > 0):
            score = np.abs(self.y[rows] - self.chosen[rows].mean(axis=1)) / (width / 2)
            information = mutual_information(width, score, random_state=self.seed)
        values = hsic(error, width), distance_correlation(error, width), information
        return dict(zip(names, values, strict=True))


def row_sample(n: int, most: int | None, random_state: Seed) -> Indices:
    """At most so many of n rows, ascending; all of them for None."""
    if most is None or most >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).choice(n, most, replace=False))


@contextmanager
def without_shortage_warning() -> Iterator[None]:
    """Let intervals be infinite silently, where they are counted and said."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="a level of .* needs at least")
        yield
