"""Nearest rows by SciPy, in one thread, and the mean of an output over them.

scikit-learn's search breaks ties by rounding and enters OpenMP, which hangs in forked processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sosbands.types import Array

# Columns up to which a tree finds the nearest row faster than a comparison with all.
_TREE_INPUTS = 5
# Entries of the largest temporary: 8 MB of floats.
_BLOCK_ENTRIES = 1 << 20
# Squared distances by a matrix product are off by less than this fraction of the squared norms.
_PRODUCT_ERROR = 1e-12
# Distances are equal if they differ by less than these fractions of the distance and of the rows.
_EQUAL, _ROUNDING = 1e-9, 1e-12


@dataclass(frozen=True, eq=False)
class NearestRow:
    """New rows ↦ the distance to the nearest of some rows: exactly 0 if it equals one of them."""

    rows: Array

    @cached_property
    def tree(self) -> cKDTree:
        """Searched where there are few inputs."""
        return cKDTree(self.rows)

    @cached_property
    def squared_norms(self) -> Array:
        """‖x‖² of every row."""
        return np.asarray(np.einsum("ij,ij->i", self.rows, self.rows))

    def distance(self, Z: Array) -> Array:
        """Infinite where its square overflows."""
        if self.rows.shape[1] <= _TREE_INPUTS:
            return np.asarray(self.tree.query(Z)[0])
        parts = [self._compared(Z[block]) for block in _blocks(len(Z), len(self.rows))]
        return np.concatenate(parts)

    def _compared(self, Z: Array) -> Array:
        """By a matrix product, and where its rounding would show by all differences."""
        with np.errstate(over="ignore", invalid="ignore"):
            squares = Z @ (-2 * self.rows.T)
            squares += self.squared_norms
            distance = np.linalg.norm(Z - self.rows[np.argmin(squares, axis=1)], axis=1)
            error = np.einsum("ij,ij->i", Z, Z) + self.squared_norms.max()
            sure = _PRODUCT_ERROR * error < _EQUAL * distance**2  # not if that overflows
        unsure = np.flatnonzero(~sure)
        distance[unsure] = cdist(Z[unsure], self.rows).min(axis=1, initial=np.inf)
        return np.asarray(distance)


def distances_among(rows: Array) -> Array:
    """The distance of every row to the nearest other one; 0 for a single row."""
    if len(rows) < 2:
        return np.zeros(1)
    if rows.shape[1] <= _TREE_INPUTS:
        return np.ravel(cKDTree(rows).query(rows, k=[2])[0])
    nearest = np.empty(len(rows))
    for block in _blocks(len(rows), len(rows)):
        between = cdist(rows[block], rows)
        between[np.arange(len(between)), np.arange(block.start, block.stop)] = np.inf
        nearest[block] = between.min(axis=1)
    return nearest


class NeighbourMean(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The mean output around the nearest training rows, in which equally near rows count alike.

    Every training row gets the mean of the k rows nearest to it, and a new row the mean of what its
    k nearest rows got: smoother than one mean of more rows, and of the outputs no single one is
    kept. Where the k-th nearest row is one of several at the same distance, neither their order nor
    rounding chooses among them: they share the places that nearer rows leave.

    Parameters
    ----------
    n_neighbors : int
        k.
    """

    def __init__(self, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Keep the rows; there must be at least k. A row's mean is weighted."""
        rows, outputs = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        if not 1 <= self.n_neighbors <= len(rows):
            raise ValueError(
                f"n_neighbors must be from 1 to the number of rows, {len(rows)}, "
                f"got {self.n_neighbors!r}"
            )
        self.rows_ = rows
        outputs = np.asarray(outputs, dtype=np.float64)
        if sample_weight is None:
            self.means_ = self._means(rows, outputs)
        else:
            weights = np.asarray(sample_weight, dtype=np.float64)
            self.means_ = self._means(rows, weights * outputs) / self._means(rows, weights)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """The mean at each row of X."""
        check_is_fitted(self)
        Z: Any = validate_data(self, X, dtype=np.float64, reset=False)
        return self._means(Z, self.means_)

    def _means(self, Z: Array, values: Array) -> Array:
        """The mean of the values of the k training rows that are nearest to each row."""
        blocks = _blocks(len(Z), len(self.rows_))
        return np.concatenate([self._block_means(Z[block], values) for block in blocks])

    def _block_means(self, Z: Array, values: Array) -> Array:
        k, distances = self.n_neighbors, cdist(Z, self.rows_)
        last = np.partition(distances, k - 1, axis=1)[:, k - 1, None]
        with np.errstate(invalid="ignore"):  # infinite less infinite: distances that overflow
            slack = _EQUAL * last + _ROUNDING * np.abs(self.rows_).max()
            nearer = distances < last - slack
        tied = ~nearer & (distances <= last + slack)
        places = k - nearer.sum(axis=1)
        share = places / tied.sum(axis=1)
        return np.asarray((nearer @ values + share * (tied @ values)) / k)


def _blocks(rows: int, others: int) -> Iterator[slice]:
    """Slices of rows so short that a table of their distances to the others stays small."""
    size = max(1, _BLOCK_ENTRIES // others)
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))
