"""Numbers that compiled code would trust, checked: trees, neighbours, sparse matrices.

scikit-learn follows the indices in these without looking at their bounds, so a file of allowed
types with made-up numbers could read foreign memory. Other compiled models, such as support vector
machines, check their arrays themselves or are taken as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.neighbors import BallTree, KDTree
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.tree._tree import Tree
from sklearn.utils import check_array

from sosbands.persistence.archive import ModelFileError

# Categories of a feature in gradient boosting are bits of so many words.
_WORDS = 8


def objects(root: Any) -> list[Any]:
    """All that a model is made of, itself first, each once."""
    found, seen, waiting = [], set(), [root]
    while waiting:
        item = waiting.pop()
        if id(item) not in seen:
            seen.add(id(item))
            found.append(item)  # which also keeps its id from being used again
            waiting.extend(_parts(item))
    return found


def check_contents(found: list[Any]) -> None:
    """Refuse indices that point out of their arrays."""
    for item in found:
        if isinstance(item, KDTree | BallTree):
            _check_neighbours(item)
        elif issparse(item) and hasattr(item, "check_format"):
            item.check_format(full_check=True)
        elif isinstance(item, Tree):
            _check_tree(item)
        elif hasattr(item, "__dict__") and not isinstance(item, type):
            _check_methods(item)
            _check_boosting(item)
            _check_ensemble(item)


def _parts(item: Any) -> Iterator[Any]:
    if isinstance(item, dict):
        yield from item.keys()
        yield from item.values()
    elif isinstance(item, list | tuple | set | frozenset):
        yield from item
    elif isinstance(item, np.ndarray) and item.dtype == object:
        yield from item.flat
    if hasattr(item, "__dict__") and not isinstance(item, type):
        yield from vars(item).values()


def _check_methods(item: Any) -> None:
    """An attribute in place of a method could take the place of a check."""
    if type(item).__module__.partition(".")[0] not in ("sklearn", "sosbands"):
        return
    for name in vars(item):
        if callable(getattr(type(item), name, None)):
            raise ModelFileError(f"an attribute hides the method {type(item).__name__}.{name}")


def _check_tree(tree: Tree) -> None:
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    _check_children(left, right, feature, left >= 0, tree.n_features)
    if np.any(right[left < 0] >= 0) or tree.node_count < 1:
        raise ModelFileError("a decision tree has nodes with one child, or none at all")


def _check_boosting(model: Any) -> None:
    """The trees of an estimator, with what it knows of their features."""
    if "_predictors" not in vars(model):
        return
    n_features = _n_features(model)
    categorical = np.asarray(model._bin_mapper.is_categorical_, dtype=bool)
    if categorical.shape != (n_features,):
        raise ModelFileError("gradient boosting disagrees with itself on the number of features")
    if model._preprocessor is not None:
        _check_preprocessor(model._preprocessor, n_features)
    for predictor in (tree for stage in model._predictors for tree in stage):
        _check_predictor(predictor, categorical)


def _check_preprocessor(columns: Any, n_features: int) -> None:
    """What gradient boosting puts before its trees keeps the number of columns."""
    steps = [(step, np.asarray(mask)) for _, step, mask in columns.transformers_ if step != "drop"]
    together = np.sum([mask for _, mask in steps], axis=0)
    if np.shape(together) != (n_features,) or np.any(together != 1):
        raise ModelFileError("gradient boosting does not encode each column once")
    for step, _ in steps:
        function = getattr(getattr(step, "func", None), "func", None)
        plain = isinstance(step, FunctionTransformer) and function is check_array
        if not plain and not isinstance(step, OrdinalEncoder):
            raise ModelFileError(f"gradient boosting encodes columns with {step!r}")


def _check_predictor(predictor: TreePredictor, categorical: NDArray[np.bool_]) -> None:
    nodes = predictor.nodes
    inner = nodes["is_leaf"] == 0
    _check_children(nodes["left"], nodes["right"], nodes["feature_idx"], inner, len(categorical))
    by_set = inner & (nodes["is_categorical"] != 0)
    sets = predictor.raw_left_cat_bitsets, predictor.binned_left_cat_bitsets
    if any(part.ndim != 2 or part.shape[1] != _WORDS for part in sets) or (
        np.any(by_set)
        and (
            nodes["bitset_idx"][by_set].max() >= min(map(len, sets))
            or not np.all(categorical[nodes["feature_idx"][by_set]])
        )
    ):
        raise ModelFileError("a boosted tree points to categories that it does not have")


def _check_children(
    left: NDArray[Any],
    right: NDArray[Any],
    feature: NDArray[Any],
    inner: NDArray[np.bool_],
    n_features: int,
) -> None:
    """Children come after their parents, so that every path ends."""
    own = np.arange(len(left))[inner]
    for child in (left[inner].astype(np.int64), right[inner].astype(np.int64)):
        if np.any((child <= own) | (child >= len(left))):
            raise ModelFileError("a tree points to nodes that it does not have")
    if np.any((feature[inner] < 0) | (feature[inner] >= n_features)):
        raise ModelFileError("a tree points to features that it does not have")


def _check_ensemble(model: Any) -> None:
    """Trees must not look at more columns than the estimator asks for."""
    members = [model, *_parts(vars(model).get("estimators_"))]
    trees = [vars(item).get("tree_") for item in members if hasattr(item, "__dict__")]
    sizes = {tree.n_features for tree in trees if isinstance(tree, Tree)}
    if sizes and (len(sizes) > 1 or max(sizes) > _n_features(model)):
        raise ModelFileError("trees disagree on the number of features")


def _n_features(model: Any) -> int:
    number = model.n_features_in_
    if not isinstance(number, int | np.integer):
        raise ModelFileError(f"n_features_in_ must be a whole number, got {number!r}")
    return int(number)


def _check_neighbours(tree: Any) -> None:
    """The search tree is the one that its data would give."""
    state = tree.__getstate__()
    data, leaf_size, metric, weights = state[0], state[4], state[11], state[12]
    anew = type(tree)(data, leaf_size=leaf_size, metric=metric, sample_weight=weights)
    for mine, other in zip(state[:7], anew.__getstate__()[:7], strict=True):  # then come counters
        if np.asarray(mine).tobytes() != np.asarray(other).tobytes():
            raise ModelFileError("a search tree of nearest neighbours does not fit its data")
