"""What `fit` is told of the rows beside X and y: weights, and parameters of the estimator's fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.validation import _check_method_params, has_fit_parameter

from sosbands.core.checks import checked_weights
from sosbands.learning.kernel_mean import KernelMean
from sosbands.types import Array, Indices


@dataclass(frozen=True, eq=False)
class FitParameters:
    """Weights of some rows, and what fits of a regressor to them are given.

    Attributes
    ----------
    weights : array of shape (n,) or None
        How much each of these rows counts, ≥ 0; None if all count alike.
    passed : mapping
        Parameters of a regressor's fit. Those with one entry for each row are about all rows.
    n_all : int
        The number of all rows.
    rows : array of shape (n,) or None
        Which of all rows these are; None for all.
    """

    weights: Array | None = None
    passed: Mapping[str, Any] = field(default_factory=dict)
    n_all: int = 0
    rows: Indices | None = None

    @classmethod
    def of_weights(cls, weights: Array | None) -> FitParameters:
        """Weights alone, which the fit is given too."""
        if weights is None:
            return cls()
        return cls(weights, {"sample_weight": weights}, len(weights))

    def take(self, rows: Indices) -> FitParameters:
        """Of some of these rows."""
        return replace(
            self,
            weights=None if self.weights is None else self.weights[rows],
            rows=rows if self.rows is None else self.rows[rows],
        )

    def counted(self, n: int) -> Indices | None:
        """Which of these n rows have a positive weight; None if all have."""
        if self.weights is None or np.all(self.weights > 0):
            return None
        counted = np.flatnonzero(self.weights)
        if len(counted) < 5:
            raise ValueError(
                f"sample_weight is 0 for all but {len(counted)} of {n} rows to learn from, at "
                "least 5 are needed: give more rows a positive weight"
            )
        return counted

    def fit(self, estimator: Any, X: Any, y: Array, rows: Indices | None = None) -> Any:
        """A clone of a regressor, fitted to some of these rows; those of weight 0 are left out."""
        if self.weights is not None and not np.all(self.weights > 0):
            kept = self.weights > 0
            rows = np.flatnonzero(kept) if rows is None else rows[kept[rows]]
        part = self if rows is None else self.take(rows)
        if rows is not None:
            X, y = _safe_indexing(X, rows), y[rows]
        if not part.passed:
            return clone(estimator).fit(X, y)
        passed = _check_method_params(np.empty(self.n_all), part.passed, part.rows)
        return clone(estimator).fit(X, y, **passed)


NOTHING_TOLD = FitParameters()


def fit_parameters(
    owner: Any, n: int, sample_weight: ArrayLike | None, passed: Mapping[str, Any]
) -> FitParameters:
    """What an owner with an `estimator` was told about n rows, and what that estimator gets of it.

    With metadata routing that is what it requested, and without it all.
    """
    weights, told = None, dict(passed)
    if sample_weight is not None:
        kept, shares = checked_weights("sample_weight", sample_weight, n)
        told["sample_weight"] = np.array(np.asarray(sample_weight), dtype=np.float64)
        if np.any(told["sample_weight"] != told["sample_weight"][0]):
            weights = np.zeros(n)
            weights[kept] = shares
    if not routes(owner.estimator):
        if passed and not isinstance(owner.estimator, FrozenEstimator):
            raise TypeError(
                f"fit got the unexpected parameters {sorted(passed)}: the mean takes none but "
                "sample_weight"
            )
        return FitParameters(weights, {}, n)
    if get_config()["enable_metadata_routing"]:
        received = process_routing(owner, "fit", **told).estimator.fit
        # That an estimator declines weights is said by set_fit_request.
        request = getattr(get_routing_for_object(owner.estimator), "fit", None)
        declined = request is not None and request.requests.get("sample_weight") is False
        received_weights = declined or "sample_weight" in received
    else:
        received = told
        received_weights = has_fit_parameter(owner.estimator, "sample_weight")
        if any(name.endswith("__sample_weight") for name in passed):  # a pipeline that has its own
            received, received_weights = dict(passed), True
    if sample_weight is not None and not received_weights:
        raise ValueError(_without_weights(owner.estimator))
    return FitParameters(weights, received, n)


def check_takes_weights(estimator: Any) -> None:
    """Raise an error unless sample_weight can be passed to the fit of a regressor."""
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(_without_weights(estimator))


def _without_weights(estimator: Any) -> str:
    name = type(estimator).__name__
    if hasattr(estimator, "steps"):
        last = estimator.steps[-1][0]
        return (
            f"sample_weight does not reach the steps of the {name}: enable metadata routing and "
            f"call set_fit_request(sample_weight=True) of its last step, or pass "
            f"{last}__sample_weight as well"
        )
    return (
        f"the fit of {name} takes no sample_weight: fit without it, or put the band around a "
        "regressor that takes it"
    )


def routes(estimator: Any) -> bool:
    """Whether a mean has a fit of its own that parameters are passed to."""
    return not (estimator is None or isinstance(estimator, str | KernelMean | FrozenEstimator))


def router(owner: Any) -> MetadataRouter:
    """What an owner with an `estimator` uses of the parameters of fit, and what it passes on."""
    made = MetadataRouter(owner=owner).add_self_request(owner)
    if routes(owner.estimator):
        mapping = MethodMapping().add(caller="fit", callee="fit")
        made.add(estimator=owner.estimator, method_mapping=mapping)
    return made
