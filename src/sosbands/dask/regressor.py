"""`DaskBandRegressor`: the bands of `BandRegressor` for collections of Dask."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from sosbands.conformal.registry import calibration_named, calibration_of_rows
from sosbands.core.solvers import Certificate
from sosbands.dask.collection_means import fits_collections
from sosbands.dask.fitting import FitRows, learned_far
from sosbands.dask.lazy_predictions import LazyPredictions, check_told
from sosbands.dask.row_blocks import RowBlocks
from sosbands.dask.running import Runner
from sosbands.dask.scoring import BlockScoring, block_calibrations
from sosbands.dask.weighted_spread import spread_calibration
from sosbands.estimator import BandRegressor
from sosbands.learning.kernel_band import KernelBand
from sosbands.learning.parameters import check_number
from sosbands.learning.validation import MIN_ROWS, check_limits

# Of so many rows the default mean still learns a kernel mean.
_MEAN_ROWS = 50_000


class DaskBandRegressor(LazyPredictions, BandRegressor):
    """`BandRegressor` for Dask arrays and dataframes: tables beyond the memory of one machine.

    The rows stay where they are. `fit` reads them to check them and to bring a sample to the
    driver, where the band is learned; workers score all rows that are held back, and thresholds
    are exact quantiles of all their scores. Which rows train, calibrate and travel depends on
    `random_state` and on their positions in the table alone, not on chunks nor on workers.

    Parameters
    ----------
    estimator : "auto", regressor or None
        As in `BandRegressor`: trained by the driver, with `mean_rows` rows. Or a regressor that
        fits and predicts on collections, such as ``xgboost.dask.DaskXGBRegressor`` and
        ``lightgbm.DaskLGBMRegressor``: trained by the workers, with all pre-training rows, and
        once more without each fold.
    mean_rows : int, "auto" or None
        The most rows that a mean is trained with by the driver. None: all pre-training rows, by
        the workers; the estimator fits on collections. "auto": None for estimators whose class
        is called Dask…, otherwise 50 000.
    client : distributed.Client or None
        None: the client in scope, or the local scheduler if there is none.
    band, calibration_size, cv, band_transformer, remove_outliers, y_min, y_max, n_jobs, \
random_state, verbose
        As in `BandRegressor`. The band is learned from ``KernelBand(band_rows=...)`` rows. With a
        mean that is trained on collections, `cv` is a number of folds.
    calibration : {"split"} or None
        "cv+" and "localized" need all rows in one place.

    Attributes
    ----------
    calibration_ : SpreadCalibration or None
        The scores of the calibration rows, which stay on the workers.
    passes_ : dict
        How often all rows were read, by what for.
    n_train_ : int
        Rows that the mean was learned from.
    estimator_, band_, symmetric_, lengthscale_, width_weight_, certificate_, tuning_, \
n_outliers_, n_features_in_, feature_names_in_
        As in `BandRegressor`; a mean that was trained on collections is one in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from sosbands.dask import DaskBandRegressor
    >>> X = da.from_array(np.linspace(0, 1, 400)[:, None], chunks=(100, 1))
    >>> noise = np.random.default_rng(0).normal(size=400)
    >>> y = X[:, 0] * da.from_array(noise, chunks=100)
    >>> model = DaskBandRegressor(None, random_state=0).fit(X, y)
    >>> model.predict_interval(X, 0.9).shape
    (400, 2)
    """

    passes_: dict[str, int]

    def __init__(
        self,
        estimator: Any = "auto",
        *,
        mean_rows: Any = "auto",
        band: KernelBand | None = None,
        calibration: str | None = "split",
        calibration_size: float | int = 0.3,
        cv: Any = 5,
        band_transformer: Any = None,
        remove_outliers: float | None = None,
        y_min: float | str | None = "auto",
        y_max: float | str | None = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        client: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            band=band,
            calibration=calibration,
            calibration_size=calibration_size,
            cv=cv,
            band_transformer=band_transformer,
            remove_outliers=remove_outliers,
            y_min=y_min,
            y_max=y_max,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.mean_rows = mean_rows
        self.client = client

    def __sklearn_clone__(self) -> Self:
        """Clients cannot be copied: the clone has the same one."""
        given = self.get_params(deep=False)
        client = given.pop("client")
        copied = {name: clone(value, safe=False) for name, value in given.items()}
        return type(self)(**copied, client=client)

    def fit(
        self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None, **fit_params: Any
    ) -> Self:
        """Sample, tune, solve, and calibrate with all rows that are held back.

        Parameters
        ----------
        X : Dask array of shape (n, d) or Dask dataframe
            Chunk sizes may be unknown, and partitions empty.
        y : Dask array of shape (n,) or Dask series
            In chunks of its own, if need be: rows go by their position.
        groups, sample_weight : Dask array of shape (n,) or Dask series, optional
            As in `BandRegressor`.
        **fit_params
            None: a mean takes nothing but weights.

        Returns
        -------
        self
        """
        super().fit(X, y, groups=groups, sample_weight=sample_weight, **fit_params)
        return self

    def conformalize(self, X: Any, y: Any, *, groups: Any = None, weights: Any = None) -> Self:
        """Calibrate with collections that `fit` has not seen; earlier rows are forgotten.

        Parameters
        ----------
        X, y : Dask collections
        groups : Dask array or series, optional
            A level for each group, as in `BandRegressor`.
        weights : Dask array or series, or callable, optional
            Likelihood ratios, or a function that gives them for a block of X.
        """
        check_is_fitted(self)
        kind = calibration_of_rows(self.calibration, groups=groups, weights=weights)
        runner = Runner.of(self.client)
        parts = self._new_parts(runner, kind, X, y, groups=groups, weights=weights)
        self.calibration_ = spread_calibration(kind, runner, parts)
        return self

    def partial_conformalize(
        self, X: Any, y: Any, *, groups: Any = None, weights: Any = None
    ) -> Self:
        """Add calibration rows to those there are, of the same kind."""
        check_is_fitted(self)
        if self.calibration_ is None:
            return self.conformalize(X, y, groups=groups, weights=weights)
        spread = self.calibration_
        if spread.kind.closed is not None:
            raise ValueError(spread.kind.closed)
        if weights is None:
            weights = getattr(spread, "ratio", None)
        check_told(spread.kind, groups=groups, weights=weights)
        given = {"groups": groups, "weights": weights}
        parts = self._new_parts(spread.runner, spread.kind, X, y, **given)
        self.calibration_ = spread.with_parts(parts)
        return self

    def to_local(self) -> BandRegressor:
        """A `BandRegressor` in memory with the same predictions, which can be saved.

        All calibration scores travel to the driver, 16 bytes for each row.
        """
        check_is_fitted(self)
        calibration = None if self.calibration_ is None else self.calibration_.merged()
        return self._in_memory(calibration)

    def _fit(
        self, X: Any, y: Any, groups: Any, sample_weight: Any, passed: dict[str, Any]
    ) -> list[Certificate]:
        """Check, sample, learn, calibrate and record; what proves the band that was learned."""
        if passed:
            raise TypeError(f"fit got the unexpected parameters {sorted(passed)}")
        learner, kind = self._learner(), calibration_named(self.calibration)
        if kind is not None and kind.name != "split":
            raise ValueError(
                f'calibration must be "split" or None for collections, got {kind.name!r}: it needs '
                "all rows in one place"
            )
        check_limits(self.y_min, self.y_max)
        most = self._mean_rows()
        runner = Runner.of(self.client)
        told = {"y": y, "sample_weight": sample_weight, "groups": groups}
        rows = RowBlocks.of(runner, X, told)
        size = None if kind is None else self.calibration_size
        parts = FitRows.of(runner, rows, learner, size)
        fitted = learned_far(self, runner, parts, learner, most)
        self._record(fitted, learner.seed)
        if kind is not None:
            kind = calibration_of_rows(self.calibration, clusters=parts.groups)
            clusters = None if parts.groups is None else rows.parts(parts.groups)
            scoring = BlockScoring(self._in_memory(None), kind, None, checked=True)
            blocks = block_calibrations(scoring, rows, parts.held, clusters)
            kept = runner.kept(blocks, reading="calibration")
            self.calibration_ = spread_calibration(kind, runner, kept)
        self.passes_ = runner.passes
        return fitted.certificates

    def _mean_rows(self) -> int | None:
        """The most rows of a mean that the driver trains; None if the workers do."""
        if isinstance(self.mean_rows, str) and self.mean_rows == "auto":
            return None if fits_collections(self.estimator) else _MEAN_ROWS
        if self.mean_rows is not None:
            check_number("mean_rows", self.mean_rows, positive=True)
            if self.mean_rows < MIN_ROWS or self.mean_rows != int(self.mean_rows):
                raise ValueError(
                    f"mean_rows must be a number of rows >= {MIN_ROWS}, got {self.mean_rows!r}"
                )
            return int(self.mean_rows)
        if self.estimator is None or isinstance(self.estimator, str):
            raise ValueError(
                f"mean_rows=None needs an estimator that fits on collections, got "
                f"{self.estimator!r}: give a number of rows"
            )
        return None

    def _new_parts(self, runner: Runner, kind: Any, X: Any, y: Any, **told: Any) -> list[Any]:
        """The calibrations of blocks that `fit` has not seen."""
        value = None if kind.takes is None else told[kind.takes]
        function = value if callable(value) else None
        rows = RowBlocks.of(runner, X, {"y": y, kind.takes or "told": None if function else value})
        beside = rows.beside.get(kind.takes)
        scoring = BlockScoring(self._in_memory(None), kind, function, checked=False)
        return runner.kept(block_calibrations(scoring, rows, None, beside), reading="calibration")

    def _in_memory(self, calibration: Any) -> BandRegressor:
        """A `BandRegressor` with this band."""
        given = self.get_params(deep=False)
        for name in ("client", "mean_rows"):
            del given[name]
        if fits_collections(self.estimator):
            given["estimator"] = clone(self.estimator_)
        local = BandRegressor(**given)
        own = {"calibration_", "passes_", *self.get_params(deep=False)}
        fitted = {name: value for name, value in self.__dict__.items() if name not in own}
        local.__dict__.update(fitted, calibration_=calibration)
        return local
