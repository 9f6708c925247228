"""Other estimators with compiled parts, or with memory that depends on their state: built anew.

What decides where compiled code reads and writes is computed from plain arrays again, by the
constructors and by `fit` of scikit-learn, which check them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sosbands.persistence.archive import ModelFileError
from sosbands.persistence.kinds import (
    COLUMNS,
    Attributes,
    check,
    columns_of,
    made_anew,
    numbers,
    plain,
    set_columns,
)

NEIGHBOURS_FITTED = COLUMNS | {"_fit_X", "_y"}
ENCODER_FITTED = COLUMNS | {"categories_", "drop_idx_"}
_METRICS = ("chebyshev", "cityblock", "euclidean", "l1", "l2", "manhattan", "minkowski")
_KERNELS = ("cosine", "laplacian", "linear", "poly", "polynomial", "rbf", "sigmoid")
# One row of so many columns is half a megabyte, and sixteen times as many come out at most.
_MOST_COLUMNS, _MOST_PRODUCTS = 1 << 16, 1 << 20


def neighbours(kind: type, attributes: Attributes) -> Any:
    """Nearest neighbours: the search tree is built of the rows."""
    model = made_anew(kind, attributes)
    known = isinstance(model.metric, str) and model.metric in _METRICS
    if not known or model.metric_params is not None or callable(model.weights):
        raise ModelFileError(
            f"neighbours are found by a metric of {_METRICS}, without metric_params, and weighed "
            f"by a name, got {model.metric!r}"
        )
    if "_fit_X" not in attributes:
        return model
    rows = numbers(attributes["_fit_X"], "rows of neighbours", ndim=2, kinds="fiu")
    outputs = attributes.get("_y")
    check(
        isinstance(outputs, np.ndarray) and outputs.dtype.kind in "fiu" and outputs.ndim <= 2,
        "neighbours need outputs",
    )
    model.fit(rows, outputs)
    n_features = set_columns(model, attributes, most=rows.shape[1])
    check(n_features == rows.shape[1], "neighbours disagree on the columns")
    return model


def polynomial(kind: type, attributes: Attributes) -> Any:
    """Products of columns; how many there are follows from the parameters."""
    model = made_anew(kind, attributes)
    if "n_features_in_" not in attributes:
        return model
    model.fit(np.zeros((1, columns_of(attributes, most=_MOST_COLUMNS))))
    check(model._n_out_full <= _MOST_PRODUCTS, "PolynomialFeatures makes too many columns")
    set_columns(model, attributes, most=_MOST_COLUMNS)  # fit has forgotten their names
    return model


def one_hot(kind: type, attributes: Attributes) -> Any:
    """A column for each category; how many there are follows from the categories."""
    model = made_anew(kind, attributes)
    if model.min_frequency is not None or model.max_categories is not None:
        raise ModelFileError(
            "OneHotEncoder can be stored without min_frequency and max_categories: group rare "
            "categories before"
        )
    if "categories_" not in attributes:
        return model
    n_features = set_columns(model, attributes, most=_MOST_COLUMNS)
    categories = attributes["categories_"]
    check(
        isinstance(categories, list) and len(categories) == n_features,
        "OneHotEncoder needs the categories of each column",
    )
    for values in categories:
        _check_categories(values)
    # Copies: what shares an array with another object could be changed after it was checked.
    model.categories_, model._infrequent_enabled = list(map(np.array, categories)), False
    model.drop_idx_ = _dropped(attributes.get("drop_idx_"), categories)
    model._drop_idx_after_grouping = model.drop_idx_
    model._n_features_outs = model._compute_n_features_outs()
    return model


def generalized_linear(kind: type, attributes: Attributes) -> Any:
    """A linear predictor and a link, which follows from the parameters."""
    model = plain(kind, attributes)
    if "coef_" in attributes:
        model._base_loss = model._get_loss()
    return model


def kernel_ridge(kind: type, attributes: Attributes) -> Any:
    """Products with the training rows, by a kernel that scikit-learn knows by name."""
    model = plain(kind, attributes)
    if not isinstance(model.kernel, str) or model.kernel not in _KERNELS:
        raise ModelFileError(f"kernel must be one of {_KERNELS}, got {model.kernel!r}")
    if "X_fit_" in attributes:
        numbers(model.X_fit_, "rows of KernelRidge", ndim=2, kinds="fiu")
        columns_of(attributes, most=_MOST_COLUMNS)
    return model


def _check_categories(values: Any) -> None:
    """Categories must ascend: the place of one is searched for, and none is past the end."""
    check(isinstance(values, np.ndarray) and values.ndim == 1 and len(values), "no categories")
    if values.dtype != object:
        missing = values != values  # noqa: PLR0124
        known = values[~missing]
        check(np.all(known[:-1] < known[1:]), "categories must ascend")
        check(not np.any(missing[:-1]), "NaN must be the last category")


def _dropped(places: Any, categories: list[NDArray[Any]]) -> NDArray[Any] | None:
    if places is None:
        return None
    check(isinstance(places, np.ndarray) and places.shape == (len(categories),), "drop_idx_")
    made: NDArray[Any] = np.empty(len(categories), dtype=object)
    for column, (place, values) in enumerate(zip(places.tolist(), categories, strict=True)):
        inside = place is None or (type(place) is int and 0 <= place < len(values))
        check(inside, "OneHotEncoder drops a category that it does not have")
        made[column] = place
    return made
