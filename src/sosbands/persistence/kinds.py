"""How an object of a listed type is made of its attributes.

A `Kind` belongs to each type on the list (see `listed_types`). It says which attributes a file
holds and which function makes the object: no type is listed without one.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from sosbands.persistence.archive import ModelFileError

Attributes: TypeAlias = dict[str, Any]
Maker: TypeAlias = Callable[[Any, Attributes], Any]

# Matters of a machine, not of a model: a path to write to, a number of processes.
_OF_A_MACHINE = {"memory": None, "n_jobs": None}
# What estimators keep of their training and do not need to predict; most of it belongs to
# compiled code or has one entry for each training row.
_OF_TRAINING = {
    *("_base_loss", "_optimizer", "_random_state", "_rng", "_sklearn_version"),
    *("cv_results_", "oob_prediction_", "outliers_"),
}
# What fitted estimators of scikit-learn know of the columns.
COLUMNS = frozenset({"n_features_in_", "feature_names_in_"})


@dataclass(frozen=True)
class Kind:
    """A type, and how its objects come out of a file."""

    type: Any
    # (type, attributes) ↦ the object, once the attributes are known to be harmless.
    make: Maker
    # The attributes that a file holds beside the parameters of the constructor; None for all but
    # those of training.
    fitted: frozenset[str] | None = None
    # Parameters that a file does not hold: `make` knows them, or only training needs them.
    without: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The dotted name of the type."""
        return f"{self.type.__module__}.{self.type.__name__}"

    def keeps(self, attribute: str) -> bool:
        """Whether a file holds this attribute; others are neither written nor read."""
        if attribute in parameters(self.type):
            return attribute not in self.without and attribute not in _OF_A_MACHINE
        if self.fitted is None:
            return attribute not in _OF_TRAINING
        return attribute in self.fitted


@cache
def parameters(kind: type) -> Mapping[str, Any]:
    """The parameters of the constructor with their defaults; `inspect.Parameter.empty` if none."""
    known = inspect.signature(kind).parameters.values()
    named = (one for one in known if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD))
    return {one.name: one.default for one in named}


def plain(kind: type, attributes: Attributes) -> Any:
    """An estimator that needs Python and NumPy alone: these check whatever they are given."""
    for name in attributes:
        _check_name(kind, name)
    known = parameters(kind).items()
    # Of parameters that another version of scikit-learn did not have.
    defaults = {name: value for name, value in known if value is not inspect.Parameter.empty}
    item: Any = object.__new__(kind)
    vars(item).update({**defaults, **attributes, **_machine(kind)})
    check_parameters(item)
    return item


def made_anew(kind: type, attributes: Attributes) -> Any:
    """What the constructor makes of its parameters; the other attributes are not set."""
    given = {name: value for name, value in attributes.items() if name in parameters(kind)}
    item = kind(**{**given, **_machine(kind)})
    check_parameters(item)
    return item


def check_parameters(item: Any) -> None:
    """Check the parameters of an estimator as scikit-learn does in `fit`."""
    if hasattr(item, "_parameter_constraints"):
        item._validate_params()


def check(true: Any, what: str) -> None:
    """Refuse the file, naming what is wrong with it, unless `true`."""
    if not true:
        raise ModelFileError(f"{what}: the file was changed, use another copy")


def whole(value: Any, what: str, *, least: int, most: int) -> int:
    """A whole number of a file, or an error if it is none or out of bounds."""
    number = isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)
    if not number or not least <= value <= most:
        raise ModelFileError(f"{what} must be whole and in [{least}, {most}], got {value!r}")
    return int(value)


def columns_of(attributes: Attributes, *, most: int) -> int:
    """n_features_in_, without which scikit-learn does not compare the columns of new rows."""
    return whole(attributes.get("n_features_in_"), "n_features_in_", least=1, most=most)


def set_columns(item: Any, attributes: Attributes, *, most: int) -> int:
    """Set, and give back, the number of columns; set their names if they have any."""
    item.n_features_in_ = columns_of(attributes, most=most)
    names = attributes.get("feature_names_in_")
    if names is not None:
        named = isinstance(names, np.ndarray) and names.shape == (item.n_features_in_,)
        check(named, "columns must have a name")
        item.feature_names_in_ = names
    return int(item.n_features_in_)


def numbers(value: Any, what: str, *, ndim: int, kinds: str = "f") -> Any:
    """An array of a file, or an error if its dimensions or its kind of numbers are others."""
    known = isinstance(value, np.ndarray) and value.ndim == ndim and value.dtype.kind in kinds
    if not known:
        seen = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else value
        raise ModelFileError(f"{what} must be numbers in {ndim} dimensions, got {seen!r}")
    return value


def _machine(kind: type) -> Attributes:
    return {name: value for name, value in _OF_A_MACHINE.items() if name in parameters(kind)}


def _check_name(kind: type, name: str) -> None:
    """Refuse attributes in place of what the class defines: one could replace a check."""
    if name.startswith("__") or (name not in parameters(kind) and hasattr(kind, name)):
        raise ModelFileError(f"an attribute hides what is {kind.__name__}.{name}")
