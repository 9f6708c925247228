"""`HistGradientBoostingRegressor`: its trees checked, what is before and after them built anew.

The file holds the nodes of the trees and the names of the categories. Losses, bins and the encoder
of categories follow from these and from the parameters; their compiled parts and the functions in
them never come from a file.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.utils import check_array

from sosbands.persistence.kinds import COLUMNS, Attributes, check, made_anew, numbers, set_columns
from sosbands.persistence.trees import checked_depth, checked_nodes

# What a model tells of its training and nothing follows from.
_TOLD = ("do_early_stopping_", "train_score_", "validation_score_")
FITTED = COLUMNS | {
    *("is_categorical_", "_preprocessor", "_baseline_prediction", "_predictors"),
    *_TOLD,
}
# A row of zeros is made for each column.
_MOST_COLUMNS = 1 << 20
# The categories of a column are bits of so many words; more of them there cannot be.
_WORDS, _MOST_CATEGORIES = 8, 255


def predictor(kind: type, attributes: Attributes) -> TreePredictor:
    """One tree, as far as its nodes can be checked without the model around it."""
    nodes = checked_nodes(attributes.get("nodes"), PREDICTOR_RECORD_DTYPE)
    for flag in ("is_leaf", "is_categorical", "missing_go_to_left"):
        check(np.all(nodes[flag] <= 1), f"{flag} of a boosted tree must be 0 or 1")
    inner = nodes["is_leaf"] == 0
    checked_depth(nodes["left"], nodes["right"], inner)
    sets = [
        _bits(
            attributes.get(f"{name}_left_cat_bitsets"), f"the {name} categories of a boosted tree"
        )
        for name in ("binned", "raw")
    ]
    by_set = inner & (nodes["is_categorical"] == 1)
    check(
        np.all(nodes["bitset_idx"][by_set] < min(map(len, sets))),
        "a boosted tree points to categories that it does not have",
    )
    return TreePredictor(nodes, *sets)


def hist_gradient_boosting(kind: type, attributes: Attributes) -> Any:
    """The model around the trees."""
    model = made_anew(kind, attributes)
    if "_predictors" not in attributes:
        return model
    n_features = set_columns(model, attributes, most=_MOST_COLUMNS)
    categories = attributes.get("_preprocessor")
    categorical = np.zeros(n_features, dtype=bool)
    model.is_categorical_ = model._preprocessor = model._is_categorical_remapped = None
    if categories is not None:
        mask = attributes.get("is_categorical_")
        model.is_categorical_ = numbers(mask, "is_categorical_", ndim=1, kinds="b").copy()
        model._preprocessor = _encoder(model, _checked_categories(categories, model))
        categorical[: len(categories)] = True  # they come first once they are encoded
        model._is_categorical_remapped = categorical
    model._bin_mapper = _bins(model, categorical)
    stages = attributes["_predictors"]
    check(isinstance(stages, list), "boosting has no trees")
    for stage in stages:
        one = isinstance(stage, list) and len(stage) == 1 and type(stage[0]) is TreePredictor
        check(one, "boosting needs one tree for each stage")
        _check_columns(stage[0].nodes, categorical)
    start = numbers(attributes.get("_baseline_prediction"), "_baseline_prediction", ndim=2)
    check(start.shape == (1, 1), "boosting must start with one constant")
    model._baseline_prediction, model._predictors = start, stages
    model._loss = model._get_loss(sample_weight=None)
    model.n_trees_per_iteration_ = 1
    for name in _TOLD:
        setattr(model, name, attributes.get(name))
    return model


def categories_of(model: Any) -> list[NDArray[Any]] | None:
    """The categories of each categorical column, which the encoder before the trees holds."""
    if model._preprocessor is None:
        return None
    return list(model._preprocessor.named_transformers_["encoder"].categories_)


def _check_columns(nodes: NDArray[Any], categorical: NDArray[np.bool_]) -> None:
    inner = nodes[nodes["is_leaf"] == 0]
    feature = inner["feature_idx"]
    check(
        np.all((feature >= 0) & (feature < len(categorical))),
        "a boosted tree points to columns that it does not have",
    )
    by_set = feature[inner["is_categorical"] == 1]
    check(np.all(categorical[by_set]), "a boosted tree points to categories that it does not have")


def _bits(value: Any, what: str) -> NDArray[np.uint32]:
    words = numbers(value, what, ndim=2, kinds="u")
    check(words.dtype == np.uint32 and words.shape[1] == _WORDS, f"{what} are of another shape")
    return np.ascontiguousarray(words)


def _checked_categories(categories: Any, model: Any) -> list[NDArray[Any]]:
    mask = model.is_categorical_
    check(mask.shape == (model.n_features_in_,), "is_categorical_ needs an entry for each column")
    known = isinstance(categories, list) and len(categories) == int(mask.sum()) > 0
    check(known, "boosting needs the categories of each categorical column")
    for values in categories:
        short = isinstance(values, np.ndarray) and values.ndim == 1 and len(values) > 0
        check(short and len(values) <= _MOST_CATEGORIES + 1, "a column has too many categories")
    return list(categories)


def _encoder(model: Any, categories: list[NDArray[Any]]) -> ColumnTransformer:
    """What `fit` puts before the trees: categories to whole numbers, other columns to floats."""
    mask = model.is_categorical_
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        dtype=np.float64,
    )
    numeric = FunctionTransformer(partial(check_array, dtype=[np.float64], ensure_all_finite=False))
    columns = ColumnTransformer([("encoder", encoder, mask), ("numerical", numeric, ~mask)])
    columns.set_output(transform="default")
    row: Any = np.zeros((1, len(mask)))
    if hasattr(model, "feature_names_in_"):
        import pandas as pd

        row = pd.DataFrame(row, columns=model.feature_names_in_)
    columns.fit(row)
    fitted = columns.named_transformers_["encoder"]
    # The categories of a row of zeros, in whose place come those of the training rows.
    fitted.categories_ = categories
    fitted._missing_indices = {
        column: len(values) - 1 for column, values in enumerate(categories) if _ends_missing(values)
    }
    return columns


def _bins(model: Any, categorical: NDArray[np.bool_]) -> _BinMapper:
    """The part of the bins that prediction needs: which categories are known."""
    known = [
        np.arange(len(values) - _ends_missing(values), dtype=np.float64)
        for values in categories_of(model) or []
    ]
    bins = _BinMapper(n_bins=model.max_bins + 1)
    bins.bin_thresholds_ = known  # of the categorical columns, which come first
    # Without categories a view of one zero, so that it takes no memory however many columns.
    nothing = np.broadcast_to(np.uint8(0), len(categorical))
    bins.is_categorical_ = categorical.astype(np.uint8) if known else nothing
    bins.missing_values_bin_idx_ = model.max_bins
    return bins


def _ends_missing(categories: NDArray[Any]) -> bool:
    """Whether NaN is one of the categories; it is the last one."""
    return isinstance(categories[-1], float | np.floating) and bool(np.isnan(categories[-1]))
