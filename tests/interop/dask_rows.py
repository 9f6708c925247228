"""Rows for the tests of collections, and regressors that fit on them."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin

from sosbands import KernelBand

BAND = KernelBand(lengthscale=1.0, band_rows=300)


def rows(n=3000, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + (0.2 + np.abs(X[:, 1])) * rng.normal(size=n)


def table(n=1200, seed=0):
    """Numbers with missing ones, and categories."""
    X, y = rows(n, 2, seed)
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(n) * 2)
    frame["kind"] = np.random.default_rng(seed + 1).choice(["x", "y", "z"], n)
    frame.loc[frame.index[::11], "b"] = np.nan
    return frame, pd.Series(y, index=frame.index, name="y")


def chunked(X, y, size=700):
    return da.from_array(X, chunks=(size, X.shape[1])), da.from_array(y, chunks=size)


def partitioned(X, y, parts=4):
    return dd.from_pandas(X, npartitions=parts), dd.from_pandas(y, npartitions=parts)


class DaskLeastSquares(RegressorMixin, BaseEstimator):
    """A regressor that fits collections, by sums over their blocks, and arrays in memory."""

    def fit(self, X, y, sample_weight=None):
        A, z = X, y
        if not isinstance(X, da.Array):
            A, z = da.from_array(np.asarray(X)), da.from_array(np.asarray(y))
        w = da.ones_like(z) if sample_weight is None else da.asarray(sample_weight)
        gram, right = dask.compute((A * w[:, None]).T @ A, A.T @ (w * z))
        self.coef_ = np.linalg.solve(gram, right)
        return self

    def predict(self, X):
        return np.asarray(X) @ self.coef_
