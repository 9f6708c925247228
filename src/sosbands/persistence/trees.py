"""Trees, forests and gradient boosting: indices that compiled code follows, checked.

scikit-learn walks from node to node without looking at bounds, and compares the columns of new rows
with those of the ensemble alone. So every tree must stay within itself and see the columns that the
estimators around it ask for.

Of a `HistGradientBoostingRegressor` the file holds the nodes of the trees and the names of the
categories. Losses, bins and the encoder of categories follow from these and from the parameters;
their compiled parts and the functions in them never come from a file.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.tree import DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE, Tree
from sklearn.utils import check_array

from sosbands.persistence.archive import ModelFileError
from sosbands.persistence.kinds import COLUMNS, Attributes, check, fitted_by, numbers, plain, whole

TREE_FITTED = COLUMNS | {"max_features_", "tree_"}
FOREST_FITTED = COLUMNS | {"estimators_", "oob_score_"}
BOOSTING_FITTED = COLUMNS | {"max_features_", "init_", "estimators_", "train_score_"}
# Columns of float32 rows beyond these would not fit into the memory of any machine.
_MOST_COLUMNS = 1 << 31
# What a boosted model tells of its training and nothing follows from.
_TOLD = ("do_early_stopping_", "train_score_", "validation_score_")
HIST_BOOSTING_FITTED = COLUMNS | {
    *("is_categorical_", "_preprocessor", "_baseline_prediction", "_predictors"),
    *_TOLD,
}
# A row of zeros is made for each column.
_MOST_BOOSTED_COLUMNS = 1 << 20
# The categories of a column are bits of so many words; more of them there cannot be.
_WORDS, _MOST_CATEGORIES = 8, 255


def compiled_tree(arguments: Any, state: Any) -> Tree:
    """The compiled part of a tree for one output, from nodes that stay within it."""
    check(isinstance(arguments, tuple) and len(arguments) == 3, "a tree takes three arguments")
    check(isinstance(state, dict), "a tree has a state")
    n_features = whole(arguments[0], "columns of a tree", least=1, most=_MOST_COLUMNS)
    if type(arguments[2]) is not int or arguments[2] != 1:
        raise ModelFileError(
            f"a tree must have one output, got {arguments[2]!r}: fit a model for each output"
        )
    nodes = _checked_nodes(state.get("nodes"), NODE_DTYPE)
    values = numbers(state.get("values"), "the values of a tree", ndim=3)
    values = np.ascontiguousarray(values, np.float64)
    check(values.shape == (len(nodes), 1, 1), "a tree needs one value for each node")
    left, right = nodes["left_child"], nodes["right_child"]
    leaf = left == -1
    check(np.all(right[leaf] == -1), "a tree has nodes with one child")
    depth = _checked_depth(left, right, ~leaf)
    feature = nodes["feature"][~leaf]
    check(np.all((feature >= 0) & (feature < n_features)), "a tree points to unknown columns")
    tree = Tree(n_features, np.ones(1, dtype=np.intp), 1)
    tree.__setstate__(
        {"max_depth": depth, "node_count": len(nodes), "nodes": nodes, "values": values}
    )
    return tree


def _checked_nodes(nodes: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The nodes of a tree, with the fields that compiled code reads."""
    known = isinstance(nodes, np.ndarray) and nodes.ndim == 1 and len(nodes) > 0
    check(known, "a tree has no nodes")
    check(nodes.dtype.names == dtype.names, "a tree has nodes of another kind")
    return np.ascontiguousarray(nodes.astype(dtype, casting="same_kind"))


def _checked_depth(left: NDArray[Any], right: NDArray[Any], inner: NDArray[np.bool_]) -> int:
    """The length of the longest path; children come after their parents, so that every path ends.

    Each node but the first is the child of one other, so that the time is that of one visit each.
    """
    own = np.flatnonzero(inner)
    children = np.concatenate([left[inner], right[inner]]).astype(np.int64)
    parents = np.concatenate([own, own])
    check(
        np.all(children > parents) and np.all(children < len(left)),
        "a tree points to nodes that it does not have",
    )
    check(len(np.unique(children)) == len(children), "a tree has nodes with two parents")
    depth = np.zeros(len(left), dtype=np.int64)
    order = np.argsort(parents, kind="stable")
    for child, parent in zip(children[order].tolist(), parents[order].tolist(), strict=True):
        depth[child] = depth[parent] + 1
    return int(depth.max())


@fitted_by("tree_", most_columns=_MOST_COLUMNS)
def decision_tree(model: Any, attributes: Attributes) -> None:
    """A tree as an estimator, fitted or not."""
    tree = attributes["tree_"]
    same = type(tree) is Tree and tree.n_features == model.n_features_in_
    check(same, "trees disagree on the columns")
    model.max_features_ = attributes.get("max_features_")
    model.n_outputs_, model.tree_ = 1, tree


@fitted_by("estimators_", most_columns=_MOST_COLUMNS)
def forest(model: Any, attributes: Attributes) -> None:
    """A forest whose trees see the same columns."""
    trees = attributes["estimators_"]
    check(isinstance(trees, list) and trees, "a forest has no trees")
    _check_members(trees, model.n_features_in_)
    model.n_outputs_, model.estimators_, model.estimator_ = 1, trees, model.estimator
    if "oob_score_" in attributes:
        model.oob_score_ = attributes["oob_score_"]


@fitted_by("estimators_", most_columns=_MOST_COLUMNS)
def gradient_boosting(model: Any, attributes: Attributes) -> None:
    """Gradient boosting: a constant, and one tree for each stage."""
    stages, start = attributes["estimators_"], attributes.get("init_")
    check(
        isinstance(stages, np.ndarray) and stages.dtype == object and len(stages),
        "gradient boosting has no trees",
    )
    check(stages.shape == (len(stages), 1), "gradient boosting needs one tree for each stage")
    _check_members(stages[:, 0].tolist(), model.n_features_in_)
    # A model that starts with the prediction of another cannot be checked: how many rows it gives
    # decides what compiled code writes to.
    if not _is_constant(start) and not (isinstance(start, str) and start == "zero"):
        raise ModelFileError(
            f"gradient boosting must start with a constant, got {type(start).__name__}: fit it "
            "with init=None or init='zero'"
        )
    model._loss = model._get_loss(sample_weight=None)
    model.n_trees_per_iteration_, model.n_estimators_ = 1, len(stages)
    model.estimators_, model.init_ = stages, start
    model.max_features_ = attributes.get("max_features_")
    model.train_score_ = attributes.get("train_score_")


def constant(kind: type, attributes: Attributes) -> Any:
    """`DummyRegressor`, with one constant for one output."""
    model = plain(kind, attributes)
    if "constant_" in attributes:
        check(_is_constant(model), "DummyRegressor needs one constant")
    return model


def _is_constant(model: Any) -> bool:
    if type(model) is not DummyRegressor or getattr(model, "n_outputs_", None) != 1:
        return False
    value = getattr(model, "constant_", None)
    return isinstance(value, np.ndarray) and value.shape == (1, 1) and value.dtype.kind == "f"


def _check_members(trees: list[Any], n_features: int) -> None:
    for tree in trees:
        fitted = isinstance(tree, DecisionTreeRegressor) and hasattr(tree, "tree_")
        check(fitted and tree.n_features_in_ == n_features, "trees disagree on the columns")


def boosted_tree(kind: type, attributes: Attributes) -> TreePredictor:
    """One tree, as far as its nodes can be checked without the model around it."""
    nodes = _checked_nodes(attributes.get("nodes"), PREDICTOR_RECORD_DTYPE)
    for flag in ("is_leaf", "is_categorical", "missing_go_to_left"):
        check(np.all(nodes[flag] <= 1), f"{flag} of a boosted tree must be 0 or 1")
    inner = nodes["is_leaf"] == 0
    _checked_depth(nodes["left"], nodes["right"], inner)
    sets = []
    for name in ("binned", "raw"):
        what = f"the {name} categories of a boosted tree"
        words = numbers(attributes.get(f"{name}_left_cat_bitsets"), what, ndim=2, kinds="u")
        check(words.dtype == np.uint32 and words.shape[1] == _WORDS, f"{what} are of another shape")
        sets.append(np.ascontiguousarray(words))
    by_set = inner & (nodes["is_categorical"] == 1)
    check(
        np.all(nodes["bitset_idx"][by_set] < min(map(len, sets))),
        "a boosted tree points to categories that it does not have",
    )
    return TreePredictor(nodes, *sets)


@fitted_by("_predictors", most_columns=_MOST_BOOSTED_COLUMNS)
def hist_boosting(model: Any, attributes: Attributes) -> None:
    """The model around the trees."""
    categories = attributes.get("_preprocessor")
    categorical = np.zeros(model.n_features_in_, dtype=bool)
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
        _check_boosted_columns(stage[0].nodes, categorical)
    start = numbers(attributes.get("_baseline_prediction"), "_baseline_prediction", ndim=2)
    check(start.shape == (1, 1), "boosting must start with one constant")
    model._baseline_prediction, model._predictors = start, stages
    model._loss = model._get_loss(sample_weight=None)
    model.n_trees_per_iteration_ = 1
    for name in _TOLD:
        setattr(model, name, attributes.get(name))


def categories_of(model: Any) -> list[NDArray[Any]] | None:
    """The categories of each categorical column, which the encoder before the trees holds."""
    if model._preprocessor is None:
        return None
    return list(model._preprocessor.named_transformers_["encoder"].categories_)


def _check_boosted_columns(nodes: NDArray[Any], categorical: NDArray[np.bool_]) -> None:
    inner = nodes[nodes["is_leaf"] == 0]
    feature = inner["feature_idx"]
    check(
        np.all((feature >= 0) & (feature < len(categorical))),
        "a boosted tree points to columns that it does not have",
    )
    by_set = feature[inner["is_categorical"] == 1]
    check(np.all(categorical[by_set]), "a boosted tree points to categories that it does not have")


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
