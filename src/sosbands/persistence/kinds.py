"""How an object of a listed type is made of its attributes.

A `Kind` belongs to each type on the list (see `listed_types`). It says which attributes a file
holds and which function makes the object: no type is listed without one. Here are the makers of
estimators that need NumPy alone, and of those that are built anew because they have compiled parts,
or memory that depends on their state: what decides where compiled code reads and writes is computed
from plain arrays again, by the constructors and by `fit` of scikit-learn, which check them.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sosbands.persistence.archive import ModelFileError

Attributes: TypeAlias = dict[str, Any]
Maker: TypeAlias = Callable[[Any, Attributes], Any]

# Matters of a machine, not of a model: a path to write to, a number of processes.
_OF_A_MACHINE = {"memory": None, "n_jobs": None}
# What estimators keep of their training and do not need to predict; most of it belongs to
# compiled code or has one entry for each training row.
_OF_TRAINING = {
    *("_base_loss", "_optimizer", "_random_state", "_rng", "_sklearn_version"),
    "_metadata_request",
    *("cv_results_", "oob_prediction_", "outliers_"),
}
# What fitted estimators of scikit-learn know of the columns.
COLUMNS = frozenset({"n_features_in_", "feature_names_in_"})
NEIGHBOURS_FITTED = COLUMNS | {"_fit_X", "_y"}
ENCODER_FITTED = COLUMNS | {"categories_", "drop_idx_"}
_METRICS = ("chebyshev", "cityblock", "euclidean", "l1", "l2", "manhattan", "minkowski")
_KERNELS = ("cosine", "laplacian", "linear", "poly", "polynomial", "rbf", "sigmoid")
# One row of so many columns is half a megabyte, and sixteen times as many come out at most.
_MOST_COLUMNS, _MOST_PRODUCTS = 1 << 16, 1 << 20


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
    # The library whose parser reads bytes that nobody can check: it must be trusted by name.
    parser: str | None = None

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
        # In place of what the class defines, one could replace a check.
        if name.startswith("__") or (name not in parameters(kind) and hasattr(kind, name)):
            raise ModelFileError(f"an attribute hides what is {kind.__name__}.{name}")
    known = parameters(kind).items()
    # Of parameters that another version of scikit-learn did not have.
    defaults = {name: value for name, value in known if value is not inspect.Parameter.empty}
    item: Any = object.__new__(kind)
    vars(item).update({**defaults, **attributes, **_machine(kind)})
    _check_parameters(item)
    return item


def made_anew(kind: type, attributes: Attributes) -> Any:
    """What the constructor makes of its parameters; the other attributes are not set."""
    given = {name: value for name, value in attributes.items() if name in parameters(kind)}
    item = kind(**{**given, **_machine(kind)})
    _check_parameters(item)
    return item


def fitted_by(
    attribute: str, *, most_columns: int
) -> Callable[[Callable[[Any, Attributes], None]], Maker]:
    """A maker of what `made_anew` makes; if a file holds `attribute`, a function sets the rest."""

    def maker(set_rest: Callable[[Any, Attributes], None]) -> Maker:
        @wraps(set_rest)
        def make(kind: type, attributes: Attributes) -> Any:
            model = made_anew(kind, attributes)
            if attribute in attributes:
                set_columns(model, attributes, most=most_columns)
                set_rest(model, attributes)
            return model

        return make

    return maker


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


def set_columns(item: Any, attributes: Attributes, *, most: int) -> int:
    """Set, and give back, the number of columns; set their names if they have any."""
    item.n_features_in_ = _columns_of(attributes, most=most)
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
    model.fit(np.zeros((1, _columns_of(attributes, most=_MOST_COLUMNS))))
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
        # They must ascend: the place of one is searched for, and none is past the end.
        check(isinstance(values, np.ndarray) and values.ndim == 1 and len(values), "no categories")
        if values.dtype != object:
            missing = values != values  # noqa: PLR0124
            known = values[~missing]
            check(np.all(known[:-1] < known[1:]), "categories must ascend")
            check(not np.any(missing[:-1]), "NaN must be the last category")
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
        _columns_of(attributes, most=_MOST_COLUMNS)
    return model


def _machine(kind: type) -> Attributes:
    return {name: value for name, value in _OF_A_MACHINE.items() if name in parameters(kind)}


def _check_parameters(item: Any) -> None:
    """Check the parameters of an estimator as scikit-learn does in `fit`."""
    if hasattr(item, "_parameter_constraints"):
        item._validate_params()


def _columns_of(attributes: Attributes, *, most: int) -> int:
    """n_features_in_, without which scikit-learn does not compare the columns of new rows."""
    return whole(attributes.get("n_features_in_"), "n_features_in_", least=1, most=most)


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
