"""Which parameters of `fit` reach the estimator, with and without scikit-learn's routing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.validation import has_fit_parameter

from sosbands.learning.fit_parameters import FitParameters
from sosbands.learning.kernel_mean import KernelMean
from sosbands.learning.stacking import StackedMean


def fit_parameters(
    owner: Any, n: int, sample_weight: ArrayLike | None, passed: Mapping[str, Any]
) -> FitParameters:
    """What an owner with an `estimator` was told about n rows, and what that estimator gets of it.

    With metadata routing that is what it requested, and without it all.
    """
    weights, told = FitParameters.of_checked(sample_weight, n).weights, dict(passed)
    if sample_weight is not None:
        told["sample_weight"] = np.array(np.asarray(sample_weight), dtype=np.float64)
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
    own = str | KernelMean | StackedMean | FrozenEstimator
    return not (estimator is None or isinstance(estimator, own))


def router(owner: Any) -> MetadataRouter:
    """What an owner with an `estimator` uses of the parameters of fit, and what it passes on."""
    made = MetadataRouter(owner=owner).add_self_request(owner)
    if routes(owner.estimator):
        mapping = MethodMapping().add(caller="fit", callee="fit")
        made.add(estimator=owner.estimator, method_mapping=mapping)
    return made
