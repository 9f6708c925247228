"""What of a model is left out of its file, and how it comes back when the file is loaded.

Left out are values that only training needs (features of all training rows: gigabytes), values
that follow from others, and the search tree of the nearest neighbours, which is built anew: the
file of a kernel band depends on no internals of scikit-learn. Words stand for themselves in the
file, so that the advice in a `Status` may be put better.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from sosbands.conformal import GroupCalibration
from sosbands.features import FeatureRows
from sosbands.inputs import Extrapolation
from sosbands.persistence.contents import objects
from sosbands.problem import BandProblem
from sosbands.solvers import Solution, Status

_TRAINING = ("rows", "squared_norms")


def portable(model: Any) -> Any:
    """A copy that holds what is written; it shares its arrays with the model."""
    # What stands for an object in the copy, by the object's id.
    instead: dict[int, Any] = {id(status): status.name for status in Status}
    for item in objects(model):
        if isinstance(item, np.ndarray):
            instead[id(item)] = item
        elif isinstance(item, FeatureRows):
            instead[id(item)] = _only(item, {field.name for field in fields(item)} - {*_TRAINING})
        elif isinstance(item, BandProblem | Extrapolation):
            instead[id(item)] = _only(item, {field.name for field in fields(item)})
        elif isinstance(item, GroupCalibration):
            instead[id(item.by_group)] = None
    return deepcopy(model, instead)


def restore(found: Iterable[Any]) -> None:
    """Bring back what was left out; everything of ours is then checked as when it was made."""
    ours = [item for item in found if type(item).__module__.partition(".")[0] == "sosbands"]
    for item in ours:
        if isinstance(item, FeatureRows):
            vars(item).update(rows=np.empty((0, item.features.rank)), squared_norms=np.empty(0))
        elif isinstance(item, Solution):
            vars(item).update(status=Status[str(item.status)])
    for item in ours:
        if is_dataclass(item) and hasattr(item, "__post_init__"):
            item.__post_init__()


def _only(item: Any, names: set[str]) -> Any:
    """An object of the same type with some of the attributes; values in caches are not among."""
    twin = object.__new__(type(item))
    vars(twin).update({name: value for name, value in vars(item).items() if name in names})
    return twin
