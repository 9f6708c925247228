"""What a fitted band says of new rows: means, scales, intervals, quantiles, extrapolation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted

from sosbands.conformal import Companion, checked_levels
from sosbands.conformal.ranks import shown_level
from sosbands.core.checks import check_count
from sosbands.learning.fitted_band import FittedBand
from sosbands.learning.tables import frame_like, is_frame, row_blocks
from sosbands.learning.validation import labelled_rows, new_rows
from sosbands.types import Array


class BandPredictions:
    """The predictions of a `BandRegressor`, which fits and calibrates what they need."""

    band_: FittedBand
    calibration_: Any  # a Calibration, or None before there are rows
    symmetric_: bool
    y_min: float | str | None
    y_max: float | str | None

    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """The mean, and the scale if `return_std`.

        Parameters
        ----------
        X : array-like of shape (n, d)
        return_std : bool
            Also return √f, or half the width of the outermost band of two sides: one number per
            row that is larger where larger errors are to be expected, not calibrated.

        Returns
        -------
        array of shape (n,), or two of them
        """
        check_is_fitted(self)
        X = new_rows(self, X)
        if not return_std:
            return self.band_.mean(X)
        mean, scale = self.band_.mean_and_scale(X)
        return mean, scale if scale.ndim == 1 else scale.mean(axis=1)

    def predict_scale(self, X: Any) -> Array:
        """√f of shape (n,), or how far the outermost learned band of two sides reaches, (n, 2).

        The latter are distances from the band's centre, which may leave the mean; not calibrated.
        """
        check_is_fitted(self)
        return self.band_.mean_and_scale(new_rows(self, X))[1]

    def predict_interval(
        self,
        X: Any,
        confidence_level: float | Sequence[float] = 0.9,
        *,
        groups: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Array:
        """Intervals that hold y with the given probability.

        Parameters
        ----------
        X : array-like of shape (n, d)
        confidence_level : float or sequence of float
            In (0, 1). Intervals of several levels are nested.
        groups, weights : array-like of shape (n,), optional
            Those of the rows of X, if `conformalize` had them.

        Returns
        -------
        array of shape (n, 2), or (n, 2, k) for a sequence of k levels
            Lower and upper ends, infinite where too few rows calibrate.
        """
        check_is_fitted(self)
        levels, scalar = checked_levels(confidence_level)
        self._check_calibrated("predict_interval")
        _, intervals = self._mean_and_intervals(X, levels, groups=groups, weights=weights)
        return intervals[:, :, 0] if scalar else intervals

    def predict_table(
        self,
        X: Any,
        confidence_level: float | Sequence[float] = 0.9,
        *,
        groups: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Any:
        """Means and intervals in one table, from one pass over the rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        confidence_level : float or sequence of float
            In (0, 1).
        groups, weights : array-like of shape (n,), optional
            Those of the rows of X, if `conformalize` had them.

        Returns
        -------
        array or DataFrame of shape (n, 3), or (n, 1 + 2k) for a sequence of k levels
            The columns mean, lower and upper; of several levels mean, lower_0.5, upper_0.5 and so
            on. A frame of the same library if X is one, with its index.
        """
        check_is_fitted(self)
        levels, scalar = checked_levels(confidence_level)
        self._check_calibrated("predict_table")
        mean, intervals = self._mean_and_intervals(X, levels, groups=groups, weights=weights)
        # One level after the other, its lower end first.
        table = np.column_stack([mean, intervals.transpose(0, 2, 1).reshape(len(mean), -1)])
        names = table_columns(levels, scalar=scalar)
        return frame_like(X, table, names) if is_frame(X) else table

    def predict_quantiles(self, X: Any, quantiles: float | Sequence[float]) -> Array:
        """Quantiles of a conformal predictive distribution: outputs at quantiles of signed scores.

        Quantiles below one half are rounded down in rank and the others up, so that with
        ``calibration="split"`` the interval between those of p and 1 − p holds y with probability
        at least 1 − 2p. `predict_interval` is calibrated apart, and differs a little from it.

        Parameters
        ----------
        X : array-like of shape (n, d)
        quantiles : float or sequence of float
            In (0, 1).

        Returns
        -------
        array of shape (n,), or (n, k) for a sequence of k quantiles
        """
        check_is_fitted(self)
        levels, scalar = checked_levels(quantiles, name="quantiles")
        distribution = self._distribution("predict_quantiles")
        X = new_rows(self, X)
        for note in distribution.notes(levels, Companion()):
            warnings.warn(note, stacklevel=2)
        out = np.empty((X.shape[0], len(levels)))
        for rows in row_blocks(X):
            at = self.band_.at(_safe_indexing(X, rows))
            out[rows] = distribution.quantiles_at(at, levels)
        out = self._clipped(out)
        return out[:, 0] if scalar else out

    def predict_cdf(self, X: Any, y: ArrayLike) -> Array:
        """The predictive distribution at y: the share of calibration rows that score no more.

        With k of m rows it is k/m, between k/(m + 1) and (k + 1)/(m + 1): at the outputs of new
        rows, numbers drawn between these two are uniform on (0, 1), whatever the distribution. At
        another y it is as good as the shape of the band. At a limit that was found in the data
        (``y_max="auto"``) rows count by their scores as elsewhere, so that k/m may be below one
        where no quantile is larger; at a limit that is given it is one.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            An output for each row.

        Returns
        -------
        array of shape (n,)
            k/m, which grows with y from 0 to 1.
        """
        check_is_fitted(self)
        distribution = self._distribution("predict_cdf")
        X, y = labelled_rows(self, X, y, reset=False)
        out = np.empty(len(y))
        for rows in row_blocks(X):
            at = self.band_.at(_safe_indexing(X, rows))
            out[rows] = distribution.counts_at(at, y[rows]) / distribution.size
        low, high = self._given_limits
        return np.where(y < low, 0.0, np.where(y >= high, 1.0, out))

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Outputs drawn from the predictive distribution of each row.

        Each draw takes the score of a calibration row, among those that are finite.

        Parameters
        ----------
        X : array-like of shape (n, d)
        n_samples : int
            Draws for each row, independent of each other.
        random_state : int, RandomState or None

        Returns
        -------
        array of shape (n, n_samples)
        """
        check_is_fitted(self)
        distribution = self._distribution("sample")
        check_count("n_samples", n_samples)
        X = new_rows(self, X)
        shares = check_random_state(random_state).uniform(size=(X.shape[0], n_samples))
        for rows in row_blocks(X):
            at = self.band_.at(_safe_indexing(X, rows))
            shares[rows] = distribution.drawn_at(at, shares[rows])
        return self._clipped(shares)

    def extrapolation(self, X: Any) -> Array:
        """How far each row is from the pre-training rows, in [0, 1): near 1, the model guesses.

        1 − exp(−d²/2), with d the distance to the nearest of at most 5000 pre-training rows. The
        unit of d is twice the distance to the nearest neighbour that 95 % of these rows stay
        below; rows that are the same but for a jitter count as one.
        """
        check_is_fitted(self)
        X = new_rows(self, X)
        return np.concatenate(
            [
                self.band_.extrapolation.share(self.band_.distance(_safe_indexing(X, rows)))
                for rows in row_blocks(X)
            ]
        )

    def _mean_and_intervals(
        self, X: Any, levels: Sequence[float], *, groups: Any, weights: Any
    ) -> tuple[Array, Array]:
        """m and the intervals, of shapes (n,) and (n, 2, k), block by block."""
        companion = self.calibration_.told_anew(X, groups=groups, weights=weights)
        X = new_rows(self, X)
        for note in self.calibration_.notes(levels, companion):
            warnings.warn(note, stacklevel=3)
        mean, intervals = np.empty(X.shape[0]), np.empty((X.shape[0], 2, len(levels)))
        for rows in row_blocks(X):
            at = self.band_.at(_safe_indexing(X, rows))
            mean[rows] = at.mean
            intervals[rows] = self.calibration_.intervals_at(at, levels, companion[rows])
        return mean, self._clipped(intervals)

    def _check_calibrated(self, method: str) -> None:
        if self.calibration_ is None:
            raise NotFittedError(
                f"{method} needs calibration rows: call conformalize(X_cal, y_cal) first, "
                'or fit with calibration="split"'
            )

    def _distribution(self, method: str) -> Any:
        """The predictive distribution that the calibration has."""
        self._check_calibrated(method)
        if self.calibration_.distribution is None:
            raise ValueError(
                f"{method} needs a predictive distribution, which "
                f"{type(self.calibration_).__name__} has not: calibrate with one threshold for all "
                'rows, calibration="split" or "cv+" without groups or weights'
            )
        return self.calibration_.distribution

    def _clipped(self, values: Array) -> Array:
        """Infinite ends, too, stop at limits that the user has given."""
        return np.clip(values, *self._given_limits, out=values)

    @property
    def _given_limits(self) -> tuple[float, float]:
        """Those that `fit` was given; one that was set later has no say before the next fit."""
        limits = self.band_.limits
        low = -np.inf if limits is None or self.y_min != limits.low else limits.low
        high = np.inf if limits is None or self.y_max != limits.high else limits.high
        return (-np.inf if low is None else low), (np.inf if high is None else high)


def table_columns(levels: Sequence[float], *, scalar: bool) -> list[str]:
    """The columns of `predict_table`; a level that was given as a number is not in their names."""
    if twice := [level for at, level in enumerate(levels) if level in levels[:at]]:
        raise ValueError(
            f"confidence_level names {shown_level(twice[0])} twice, and no two columns may have "
            "one name: name each level once"
        )
    ends = [""] if scalar else [f"_{shown_level(level)}" for level in levels]
    return ["mean", *(f"{side}{end}" for end in ends for side in ("lower", "upper"))]
