"""The predictions of a `DaskBandRegressor`: those of `BandRegressor`, as lazy collections."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from dask.delayed import Delayed
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sosbands.conformal import checked_levels
from sosbands.core.checks import check_count
from sosbands.dask.predictions import lazily, lazy_draws, lazy_frame, with_distribution
from sosbands.dask.row_blocks import checked_table
from sosbands.dask.running import Runner, constant
from sosbands.dask.spread import SpreadCalibration
from sosbands.estimator import BandRegressor
from sosbands.prediction import table_columns
from sosbands.types import Array


class LazyPredictions:
    """What a band says of collections, block by block.

    Arrays have the shape that they have in memory, with as many rows as X if that is known.
    """

    calibration_: SpreadCalibration | None
    symmetric_: bool
    client: Any

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean as an array of shape (n,), and the scale as another if `return_std`."""
        if not return_std:
            return self._lazily(BandRegressor.predict, X)
        both = self._lazily(_mean_and_std, X, shape=(2,))
        return both[:, 0], both[:, 1]

    def predict_scale(self, X: Any) -> Any:
        """√f of shape (n,), or f_low and f_up of shape (n, 2) for a two-sided band."""
        check_is_fitted(self)
        shape = () if self.symmetric_ else (2,)
        return self._lazily(BandRegressor.predict_scale, X, shape=shape)

    def extrapolation(self, X: Any) -> Any:
        """How far each row is from the pre-training rows, in [0, 1), of shape (n,)."""
        return self._lazily(BandRegressor.extrapolation, X)

    def predict_interval(
        self,
        X: Any,
        confidence_level: float | Sequence[float] = 0.9,
        *,
        groups: Any = None,
        weights: Any = None,
    ) -> Any:
        """Intervals as an array of shape (n, 2), or (n, 2, k) for a sequence of k levels.

        The thresholds are selected at once, among the scores that the workers keep; the rows of X
        are read later. `groups` and `weights` are collections.
        """
        levels, scalar = checked_levels(confidence_level)
        told = {"groups": groups, "weights": weights}
        model = self._at_levels("predict_interval", levels, **told)
        shape, asked = ((2,), levels[0]) if scalar else ((2, len(levels)), levels)
        return self._lazily(
            BandRegressor.predict_interval, X, asked, model=model, shape=shape, beside=told
        )

    def predict_table(
        self,
        X: Any,
        confidence_level: float | Sequence[float] = 0.9,
        *,
        groups: Any = None,
        weights: Any = None,
    ) -> Any:
        """Means and intervals in one table: a dataframe with the index of X, if X is one."""
        levels, scalar = checked_levels(confidence_level)
        told = {"groups": groups, "weights": weights}
        model = self._at_levels("predict_table", levels, **told)
        asked = levels[0] if scalar else levels
        names = table_columns(levels, scalar=scalar)
        method, X = BandRegressor.predict_table, checked_table(X)
        if hasattr(X, "columns"):
            runner = Runner.of(self.client)
            return lazy_frame(runner, model, method, X, asked, names=names, beside=told)
        shape = (len(names),)
        return self._lazily(method, X, asked, model=model, shape=shape, beside=told)

    def predict_quantiles(self, X: Any, quantiles: float | Sequence[float]) -> Any:
        """Quantiles of a predictive distribution, of shape (n,), or (n, k) for a sequence."""
        levels, scalar = checked_levels(quantiles, name="quantiles")
        spread = self._calibrated("predict_quantiles")
        distribution = spread.distribution_at(levels)
        if distribution is None:
            raise ValueError(_no_distribution("predict_quantiles", spread))
        _warn(distribution.shortage_notes(levels))
        model = self._in_memory(distribution)
        model.calibration_.distribution = distribution
        shape, asked = ((), levels[0]) if scalar else ((len(levels),), levels)
        return self._lazily(BandRegressor.predict_quantiles, X, asked, model=model, shape=shape)

    def predict_cdf(self, X: Any, y: Any) -> Any:
        """The predictive distribution at y, a collection beside X: an array of shape (n,).

        The signed scores of all calibration rows travel to each worker, 8 bytes for each.
        """
        model = self._with_distribution("predict_cdf")
        return self._lazily(BandRegressor.predict_cdf, X, model=model, beside={"y": y})

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Any:
        """Outputs drawn from the predictive distribution of each row, of shape (n, n_samples).

        Draws depend on `random_state` and on the position of the row. Scores travel as for
        `predict_cdf`, and blocks of unknown length are counted at once.
        """
        model = self._with_distribution("sample")
        check_count("n_samples", n_samples)
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        return lazy_draws(Runner.of(self.client), model, X, n_samples, seed)

    def _in_memory(self, calibration: Any) -> BandRegressor:
        """A `BandRegressor` with this band."""
        raise NotImplementedError

    def _with_distribution(self, method: str) -> Delayed:
        """A model in memory that knows all signed scores; they do not pass the driver."""
        spread = self._calibrated(method)
        scores = spread.signed_scores()
        if scores is None:
            raise ValueError(_no_distribution(method, spread))
        return with_distribution(constant(self._in_memory(None), "model"), scores)

    def _calibrated(self, method: str) -> SpreadCalibration:
        check_is_fitted(self)
        BandRegressor._check_calibrated(self, method)  # type: ignore[arg-type]
        assert self.calibration_ is not None
        return self.calibration_

    def _at_levels(
        self, method: str, levels: Sequence[float], groups: Any, weights: Any
    ) -> BandRegressor:
        """A model in memory that knows the thresholds of these levels, and no scores."""
        spread = self._calibrated(method)
        if weights is None:
            weights = getattr(spread, "ratio", None)
        check_told(spread.kind, groups=groups, weights=weights)
        _warn(spread.shortage(levels))
        return self._in_memory(spread.at(levels))

    def _lazily(self, method: Any, X: Any, *arguments: Any, model: Any = None, **how: Any) -> Any:
        check_is_fitted(self)
        model = self._in_memory(None) if model is None else model
        return lazily(Runner.of(self.client), model, method, X, *arguments, **how)


def check_told(kind: Any, **given: Any) -> None:
    """Raise an error unless rows come with what their calibration takes, and with nothing else."""
    # Of no rows: those of collections are not here.
    kind.told(np.empty((0, 1)), **{k: None if v is None else [] for k, v in given.items()})


def _no_distribution(method: str, spread: SpreadCalibration) -> str:
    return (
        f"{method} needs a predictive distribution, which {spread.kind.__name__} has not: "
        "calibrate without groups or weights"
    )


def _mean_and_std(model: BandRegressor, X: Any) -> Array:
    mean, std = model.predict(X, return_std=True)
    return np.column_stack([mean, std])


def _warn(notes: Any) -> None:
    for note in notes:
        warnings.warn(note, stacklevel=4)
