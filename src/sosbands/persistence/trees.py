"""Decision trees, forests and gradient boosting: indices that compiled code follows, checked.

scikit-learn walks from node to node without looking at bounds, and compares the columns of new rows
with those of the ensemble alone. So every tree must stay within itself and see the columns that the
estimators around it ask for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyRegressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE, Tree

from sosbands.persistence.archive import ModelFileError
from sosbands.persistence.kinds import (
    COLUMNS,
    Attributes,
    check,
    made_anew,
    numbers,
    plain,
    set_columns,
    whole,
)

TREE_FITTED = COLUMNS | {"max_features_", "tree_"}
FOREST_FITTED = COLUMNS | {"estimators_", "oob_score_"}
BOOSTING_FITTED = COLUMNS | {"max_features_", "init_", "estimators_", "train_score_"}
# Columns of float32 rows beyond these would not fit into the memory of any machine.
_MOST_COLUMNS = 1 << 31


def compiled_tree(arguments: Any, state: Any) -> Tree:
    """The compiled part of a tree for one output, from nodes that stay within it."""
    check(isinstance(arguments, tuple) and len(arguments) == 3, "a tree takes three arguments")
    check(isinstance(state, dict), "a tree has a state")
    n_features = whole(arguments[0], "columns of a tree", least=1, most=_MOST_COLUMNS)
    if type(arguments[2]) is not int or arguments[2] != 1:
        raise ModelFileError(
            f"a tree must have one output, got {arguments[2]!r}: fit a model for each output"
        )
    nodes = checked_nodes(state.get("nodes"), NODE_DTYPE)
    values = numbers(state.get("values"), "the values of a tree", ndim=3)
    values = np.ascontiguousarray(values, np.float64)
    check(values.shape == (len(nodes), 1, 1), "a tree needs one value for each node")
    left, right = nodes["left_child"], nodes["right_child"]
    leaf = left == -1
    check(np.all(right[leaf] == -1), "a tree has nodes with one child")
    depth = checked_depth(left, right, ~leaf)
    feature = nodes["feature"][~leaf]
    check(np.all((feature >= 0) & (feature < n_features)), "a tree points to unknown columns")
    tree = Tree(n_features, np.ones(1, dtype=np.intp), 1)
    tree.__setstate__(
        {"max_depth": depth, "node_count": len(nodes), "nodes": nodes, "values": values}
    )
    return tree


def checked_nodes(nodes: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The nodes of a tree, with the fields that compiled code reads."""
    known = isinstance(nodes, np.ndarray) and nodes.ndim == 1 and len(nodes) > 0
    check(known, "a tree has no nodes")
    check(nodes.dtype.names == dtype.names, "a tree has nodes of another kind")
    return np.ascontiguousarray(nodes.astype(dtype, casting="same_kind"))


def checked_depth(left: NDArray[Any], right: NDArray[Any], inner: NDArray[np.bool_]) -> int:
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


def decision_tree(kind: type, attributes: Attributes) -> Any:
    """A tree as an estimator, fitted or not."""
    model = made_anew(kind, attributes)
    if "tree_" not in attributes:
        return model
    n_features = set_columns(model, attributes, most=_MOST_COLUMNS)
    tree = attributes["tree_"]
    check(type(tree) is Tree and tree.n_features == n_features, "trees disagree on the columns")
    model.max_features_ = attributes.get("max_features_")
    model.n_outputs_, model.tree_ = 1, tree
    return model


def forest(kind: type, attributes: Attributes) -> Any:
    """A forest whose trees see the same columns."""
    model = made_anew(kind, attributes)
    if "estimators_" not in attributes:
        return model
    n_features = set_columns(model, attributes, most=_MOST_COLUMNS)
    trees = attributes["estimators_"]
    check(isinstance(trees, list) and trees, "a forest has no trees")
    _check_members(trees, n_features)
    model.n_outputs_, model.estimators_, model.estimator_ = 1, trees, model.estimator
    if "oob_score_" in attributes:
        model.oob_score_ = attributes["oob_score_"]
    return model


def gradient_boosting(kind: type, attributes: Attributes) -> Any:
    """Gradient boosting: a constant, and one tree for each stage."""
    model = made_anew(kind, attributes)
    if "estimators_" not in attributes:
        return model
    n_features = set_columns(model, attributes, most=_MOST_COLUMNS)
    stages, start = attributes["estimators_"], attributes.get("init_")
    check(
        isinstance(stages, np.ndarray) and stages.dtype == object and len(stages),
        "gradient boosting has no trees",
    )
    check(stages.shape == (len(stages), 1), "gradient boosting needs one tree for each stage")
    _check_members(stages[:, 0].tolist(), n_features)
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
    return model


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
