"""Our intervals beside plain split conformal ones and conformalized quantiles, on the same rows."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_array, check_consistent_length

from sosbands.conformal import IntervalFamily, SplitCalibration, checked_levels
from sosbands.estimator import BandRegressor
from sosbands.learning.encoding import BandInputs, TableEncoder
from sosbands.learning.folds import calibration_split, numbered
from sosbands.learning.means import checked_prediction
from sosbands.learning.standardize import Affine
from sosbands.learning.tables import read_table
from sosbands.learning.validation import MIN_ROWS
from sosbands.metrics import cluster_count, coverage, coverage_gap, interval_score, mean_width
from sosbands.types import Array

LabelledRows: TypeAlias = tuple[Any, Array]
Method: TypeAlias = Callable[["Parts"], Array]


@dataclass(frozen=True, eq=False)
class Parts:
    """The rows and settings that all methods share."""

    train: LabelledRows
    calibration: LabelledRows
    test: LabelledRows
    transformer: Any
    level: float
    seed: int

    @classmethod
    def of(
        cls,
        X: Any,
        y: ArrayLike,
        *,
        groups: ArrayLike | None,
        test_size: float,
        calibration_size: float,
        seed: int,
        **settings: Any,
    ) -> Self:
        """Test rows, then calibration rows of the rest, then training rows."""
        outputs: Array = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if outputs.ndim != 1:
            raise ValueError(f"y must be of shape (n,), got {outputs.shape}: give one flat column")
        check_consistent_length(X, outputs)
        _check_sizes(len(outputs), test_size=test_size, calibration_size=calibration_size)
        together = None if groups is None else numbered(groups)
        rest, test = calibration_split(
            len(outputs), test_size, cv=5, groups=together, seed=seed, name="test_size"
        )
        of_rest = None if together is None else together[rest]
        train, cal = calibration_split(len(rest), calibration_size, cv=5, groups=of_rest, seed=seed)
        cut = [(_safe_indexing(X, rows), outputs[rows]) for rows in (rest[train], rest[cal], test)]
        return cls(cut[0], cut[1], cut[2], seed=seed, **settings)

    @property
    def transformed(self) -> Self:
        """The rows that the transformer makes, with nothing left to transform."""
        if self.transformer is None:
            return self
        learned = clone(self.transformer).fit(*self.train)
        rows = (self.train, self.calibration, self.test)
        made = [(learned.transform(X), y) for X, y in rows]
        return replace(self, train=made[0], calibration=made[1], test=made[2], transformer=None)

    def piped(self, model: Any) -> Any:
        """A copy of a regressor, after the transformer; boosting reads texts and dates encoded."""
        copy, transformer = clone(model), self.transformer
        if transformer is None and isinstance(model, HistGradientBoostingRegressor):
            kinds = {column.kind for column in read_table(self.train[0])}
            transformer = TableEncoder() if kinds & {"text", "date"} else None
        return copy if transformer is None else make_pipeline(clone(transformer), copy)


def compare(
    X: Any,
    y: ArrayLike,
    *,
    estimator: Any = None,
    transformer: Any = None,
    confidence_level: float = 0.9,
    groups: ArrayLike | None = None,
    test_size: float = 0.25,
    calibration_size: float = 0.3,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: Callable[[str], object] = lambda name: None,
) -> pd.DataFrame:
    """Fit several kinds of intervals and judge them on rows that none of them has seen.

    Ours are as they come, around an average of models, and around `estimator`. Their rivals are a
    band of constant width around `estimator` (split conformal) and boosted quantiles (conformalized
    quantile regression).

    Parameters
    ----------
    X, y : array-like of shapes (n, d) and (n,)
        X may be any DataFrame that `estimator` takes; boosting takes all.
    estimator : regressor, optional
        Your model; gradient boosting as it comes if there is none.
    transformer : transformer, optional
        Comes before every model, and is fitted with it.
    confidence_level, n_jobs, random_state
        As in `BandRegressor`.
    groups : array-like of shape (n,), optional
        Rows of one group stay in one part.
    test_size, calibration_size : float
        The share of the rows that judge, and of the others that calibrate.
    progress : callable
        Is told the name of each method before it starts.

    Returns
    -------
    DataFrame
        A row for each method, the best interval score first: interval_score, mean_width, coverage,
        gap (the mean of |coverage − level| over clusters of the inputs, NaN below 100 rows), and
        seconds (of fitting, calibrating and predicting).

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from sosbands.datasets import case
    >>> from sosbands.evaluation import compare
    >>> table = compare(*case(1).sample(200, random_state=0), estimator=LinearRegression())
    >>> sorted(table.columns)
    ['coverage', 'gap', 'interval_score', 'mean_width', 'seconds']
    >>> len(table)
    4
    """
    (level, *_), _ = checked_levels(confidence_level)
    settings = {"transformer": transformer, "level": level, "seed": random_state}
    sizes: dict[str, Any] = {"test_size": test_size, "calibration_size": calibration_size}
    parts = Parts.of(X, y, groups=groups, **sizes, **settings)
    return _judged(parts, _methods(estimator, random_state, n_jobs), progress)


def _methods(estimator: Any, seed: int, n_jobs: int | None) -> dict[str, Method]:
    if estimator is None:
        estimator = HistGradientBoostingRegressor(random_state=seed)
    mean = type(estimator[-1] if isinstance(estimator, Pipeline) else estimator).__name__
    return {
        "sosbands, as it comes": lambda parts: _default_band(parts, n_jobs),
        f"sosbands, {mean}": lambda parts: _band(parts, parts.piped(estimator), n_jobs),
        f"split conformal, {mean}": lambda parts: _conformalized(parts, estimator),
        "CQR, boosted quantiles": _boosted_quantiles,
    }


def _judged(
    parts: Parts, methods: Mapping[str, Method], progress: Callable[[str], object]
) -> pd.DataFrame:
    """A row for each method, with the seconds that it took."""
    (X, y), level = parts.test, parts.level
    # Clusters are made of the inputs as numbers, standardised.
    B = BandInputs.learn(*parts.train, parts.transformer, None)[0](X)
    regions, found = Affine.of(B)(B), {}
    clusters = min(cluster_count(len(y)), len(np.unique(regions, axis=0)))
    gap = partial(coverage_gap, level=level, n_clusters=clusters, random_state=parts.seed)
    for name, method in methods.items():
        progress(name)
        start = time.perf_counter()
        C = method(parts)
        seconds = time.perf_counter() - start
        found[name] = {
            "interval_score": interval_score(y, C, level),
            "mean_width": mean_width(C),
            "coverage": coverage(y, C),
            "gap": gap(regions, y, C) if clusters > 1 else np.nan,
            "seconds": seconds,
        }
    return pd.DataFrame.from_dict(found, orient="index").sort_values("interval_score")


def _check_sizes(n: int, **shares: float) -> None:
    """Raise an error if too few of n rows are left when each share of the others is taken."""
    left = n
    for name, share in shares.items():
        if not (isinstance(share, Real) and 0 < share < 1):
            raise ValueError(f"{name} must be a share in (0, 1), got {share!r}")
        left -= min(left, max(1, round(share * left)))
    if left < MIN_ROWS:
        taken = " and ".join(f"{name}={share:g}" for name, share in shares.items())
        raise ValueError(
            f"at least {MIN_ROWS} rows must be left to learn from, but {taken} leave {left} of "
            f"{n}: give more rows"
        )


def _default_band(parts: Parts, n_jobs: int | None) -> Array:
    """Inside the default mean no transformer has a place: it makes the rows instead."""
    return _band(parts.transformed, "auto", n_jobs)


def _band(parts: Parts, estimator: Any, n_jobs: int | None) -> Array:
    model = BandRegressor(
        estimator,
        band_transformer=parts.transformer,
        calibration=None,
        n_jobs=n_jobs,
        random_state=parts.seed,
    )
    model.fit(*parts.train).conformalize(*parts.calibration)
    return model.predict_interval(parts.test[0], parts.level)


def _boosted_quantiles(parts: Parts) -> Array:
    """Conformalized quantile regression (Romano, Patterson and Candès, 2019)."""
    models = (
        HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=parts.seed)
        for q in ((1 - parts.level) / 2, (1 + parts.level) / 2)
    )
    return _conformalized(parts, *models)


def _conformalized(parts: Parts, *models: Any) -> Array:
    """[l(x) − q, u(x) + q] of a lower and an upper regressor, m(x) ± q of one; shape (n, 2)."""
    fitted = [parts.piped(model).fit(*parts.train) for model in models]

    def family(X: Any) -> IntervalFamily:
        ends = checked_prediction(fitted[0], X), checked_prediction(fitted[-1], X)
        return IntervalFamily(*ends, np.ones(len(ends[0])))

    X, y = parts.calibration
    q = SplitCalibration(family(X).scores(y)).quantiles([parts.level])
    intervals: Array = family(parts.test[0]).intervals(q)[:, :, 0]
    return intervals
