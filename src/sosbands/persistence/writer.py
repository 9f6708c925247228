"""What of a model is written: a copy with the attributes that its kind keeps, and no others.

Left out are values that only training needs (outputs, residuals and multipliers, features of all
training rows), values that follow from others, and what belongs to a machine or to compiled code.
"""

import io
import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Any
from zipfile import ZipFile

import numpy as np
import skops.io
from sklearn.ensemble import HistGradientBoostingRegressor

from sosbands.core.solvers import Status
from sosbands.persistence.archive import (
    FORMAT,
    PARSERS,
    ModelFileError,
    explained,
    packed,
    unpacked,
)
from sosbands.persistence.boosters import stand_in
from sosbands.persistence.listed_types import kind_of
from sosbands.persistence.reader import read_model
from sosbands.persistence.schema import Node, check_names, is_node, parsed
from sosbands.persistence.trees import categories_of

_PACKAGES = ("sosbands", "scikit-learn", "numpy", "skops")


def written(model: Any, metadata: dict[str, Any], trusted: frozenset[str]) -> bytes:
    """The bytes of a model file; a model has been made of them once, as a test."""
    trusted |= PARSERS.keys()  # the bytes come from the model, not from a file
    refused = f"this {type(model).__name__} cannot be saved"
    with explained(refused, "it holds something without a storable state"):
        with ZipFile(io.BytesIO(skops.io.dumps(_portable(model)))) as dumped:
            schema, files = _renumbered(parsed(dumped.read("schema.json")))
            arrays = {new: dumped.read(old) for old, new in files.items()}
        foreign = check_names(schema, trusted)
    parsers = [name for name in foreign if name in PARSERS]
    manifest = {
        "format_version": FORMAT,
        "model": f"{type(model).__module__}.{type(model).__qualname__}",
        "versions": {name: version(name) for name in (*_PACKAGES, *parsers)},
        "foreign_types": foreign,
        "metadata": metadata,
    }
    try:
        data = packed(manifest, json.dumps(schema, separators=(",", ":")).encode(), arrays)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"metadata must be expressible in JSON: {error}") from None
    with explained(refused, "it could not be loaded again"):
        read_model(unpacked(data), trusted)
    return data


def _portable(model: Any) -> Any:
    """A copy that holds what is written, each object once; it shares its arrays with the model."""
    # With the objects themselves, which keeps their ids from being used again.
    made: dict[int, tuple[Any, Any]] = {}

    def copy(item: Any) -> Any:
        if id(item) not in made:
            made[id(item)] = item, _copied(item, copy)
        return made[id(item)][1]

    return copy(model)


def _copied(item: Any, copy: Callable[[Any], Any]) -> Any:
    """What is written of an object, with copies of its parts."""
    item = stand_in(item)
    kind = kind_of(item)
    if kind is not None:
        attributes = vars(item)
        if isinstance(item, HistGradientBoostingRegressor) and "_preprocessor" in attributes:
            attributes = {**attributes, "_preprocessor": categories_of(item)}
        kept = {name: copy(value) for name, value in attributes.items() if kind.keeps(name)}
        twin = object.__new__(type(item))
        vars(twin).update(kept)
        return twin
    if isinstance(item, np.ndarray) and item.dtype == object:
        objects = np.empty(item.shape, dtype=object)
        for place in np.ndindex(item.shape):
            objects[place] = copy(item[place])
        return objects
    if type(item) in (list, tuple):
        return type(item)(copy(part) for part in item)
    if type(item) is dict:
        return {key: copy(value) for key, value in item.items()}
    if isinstance(item, Status):
        return item.name  # so that its advice may be put better
    generator = isinstance(item, np.random.RandomState | np.random.Generator)
    return None if generator else item


def _renumbered(schema: Node) -> tuple[Node, dict[str, str]]:
    """The tree with its objects and files numbered as they appear, and the new name of each file.

    skops numbers them by their addresses, which differ from run to run.
    """
    numbers: dict[int, int] = {}
    files: dict[str, str] = {}

    def visit(value: Any) -> Any:
        if isinstance(value, list):
            return [visit(item) for item in value]
        if not isinstance(value, dict):
            return value
        made = {key: visit(item) for key, item in value.items()}
        if is_node(value) and "__id__" in value:
            made["__id__"] = numbers.setdefault(value["__id__"], len(numbers) + 1)
        if is_node(value) and "file" in value:
            made["file"] = files.setdefault(value["file"], f"{len(files) + 1}.npy")
        return made

    return visit(schema), files
