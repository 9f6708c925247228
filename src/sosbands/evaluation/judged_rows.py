"""Rows with all that a model says of them, and what follows for its intervals."""

import warnings
from collections.abc import Iterator
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
from sosbands.evaluation.band_values import input_names, input_sources
from sosbands.evaluation.coverage_counts import (
    PartCoverage,
    binomial_bounds,
    coverage_by_cluster,
    coverage_by_level,
    coverage_by_width,
    expected_coverage,
    inside,
)
from sosbands.evaluation.results import Evaluation
from sosbands.learning.standardize import Affine
from sosbands.learning.validation import labelled_rows
from sosbands.metrics import Seed, cluster_count, interval_score, mean_width, worst_slab_coverage
from sosbands.types import Array, Indices, Mask

# Levels of the coverage curve, beside the one asked for.
_LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
# Rows that clusters, slabs, dependences and distances are computed from: more only cost time.
_SAMPLE = 20_000
# The coverage of fewer rows in a part is noise; a slab holds a fifth of half the rows.
_PART_ROWS, _DEPENDENCE_ROWS, _SLAB_ROWS = 20, 50, 200
_WIDTH_BINS = 5
# `extrapolation` beyond which the model guesses, and below which a row is a training row.
FAR, _SEEN = 0.5, 1e-9


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
    names, sources : tuple of str
        Of the columns of `inputs`, and the columns of X that they come from.
    units : Affine
        Undoes the standardisation of the inputs.
    n_calibration, seed : int
    """

    y: Array
    mean: Array
    levels: tuple[float, ...]
    intervals: Array
    level: float
    sample: Indices
    inputs: Array
    extrapolation: Array
    names: tuple[str, ...]
    sources: tuple[str, ...]
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
        B = model.band_.encoding(_safe_indexing(checked, sample))
        units, names = Affine.of(B), input_names(model, B.shape[1])
        return cls(
            y=outputs,
            mean=np.asarray(model.predict(X)),
            levels=levels,
            intervals=intervals,
            level=level,
            sample=sample,
            inputs=units(B),
            extrapolation=model.extrapolation(_safe_indexing(X, sample)),
            names=names,
            sources=input_sources(model, names),
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
            seen=float(np.mean(self.extrapolation < _SEEN)),
            by_level=coverage_by_level(self.y, self.intervals, self.levels),
            by_width=by_width,
            by_cluster=by_cluster,
            reasons=reasons,
        )

    def _by_width(self) -> tuple[PartCoverage, ...]:
        n_bins = min(_WIDTH_BINS, len(self.y) // _PART_ROWS)
        return coverage_by_width(self.y, self.chosen, n_bins) if n_bins > 1 else ()

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
        return tuple(sorted(found, key=lambda part: part.coverage))

    def _where(self, part: Indices) -> str:
        """The two columns in which these sampled rows differ most from all, with their medians."""
        middle = np.median(self.inputs[part], axis=0)
        order = np.argsort(-np.abs(middle), kind="stable").tolist()
        telling = list({self.sources[j]: j for j in reversed(order)}.items())[::-1][:2]
        values = self.units.undo(middle)
        return ", ".join(
            self._value(j, values[j]) for _, j in sorted(telling, key=lambda it: it[1])
        )

    def _value(self, j: int, value: float) -> str:
        """An input with its value; an indicator says it by its name."""
        name, column = self.names[j], self.sources[j]
        if name.startswith(f"{column} = ") or name == f"{column} is missing":
            return name if value > 0.5 else name.replace(" = ", " ≠ ").replace(" is ", " is not ")
        return f"{name} ≈ {_rounded(value, self.units.scale[j])}"

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
            **self._dependences(),
        }

    def _worst_slab(self) -> float | str:
        y, intervals = self.y[self.sample], self.chosen[self.sample]
        if len(y) < _SLAB_ROWS:
            return f"slabs need {_SLAB_ROWS} rows, got {len(y)}"
        return float(worst_slab_coverage(self.inputs, y, intervals, random_state=self.seed))

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


def _rounded(value: float, spread: float) -> str:
    """A number to a hundredth of what such numbers vary by: 2015, not 2.02e+03."""
    decimals = 1 - int(np.floor(np.log10(spread)))
    plain = f"{round(value, decimals) + 0.0:.{max(decimals, 0)}f}"
    return plain if len(plain) < 12 else f"{value:.4g}"
