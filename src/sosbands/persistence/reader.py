"""From the tree of a model file to its objects, once every name in it has been judged.

Nothing is called but the makers of listed types (see `types`), and what the user trusts. Arrays are
made once for each member of the archive, so that they take no more memory than the file; the depth of
the tree is bounded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from sosbands.persistence.archive import ModelFileError
from sosbands.persistence.arrays import read_array
from sosbands.persistence.schema import RANDOM, Node, is_node, kept_attributes, name_of
from sosbands.persistence.trees import compiled_tree
from sosbands.persistence.types import FUNCTIONS, KINDS, SCALARS

# Nodes within nodes: pipelines in pipelines have some sixty.
_DEEPEST = 200
# Bytes of arrays that objects are made of, if an array counts for each of them: so many times those
# of all arrays, and this beside. Models share few arrays, and what is built of them takes time.
_LARGEST_SHARE, _FREE = 20, 1 << 20
_KEYS = {"str": str, "int": int, "float": float}
_UNFINISHED = object()


class Reader:
    """Objects of one file; what has the same number in the tree is one object."""

    def __init__(self, arrays: Mapping[str, bytes], trusted: frozenset[str]) -> None:
        self._files = arrays
        self._trusted = trusted
        self._arrays: dict[str, NDArray[Any]] = {}
        self._made: dict[int, Any] = {}
        self._depth = 0
        self._left = _LARGEST_SHARE * sum(map(len, arrays.values())) + _FREE

    def read(self, node: Any) -> Any:
        """The object that a node stands for."""
        if not is_node(node):
            raise ModelFileError(f"the tree holds {type(node).__name__} where an object should be")
        number = node.get("__id__")
        if type(number) is int and number in self._made:
            if self._made[number] is _UNFINISHED:
                raise ModelFileError(f"the object {number} is a part of itself")
            return self._counted(self._made[number])
        if self._depth >= _DEEPEST:
            raise ModelFileError(f"the tree is more than {_DEEPEST} objects deep")
        self._depth += 1
        if type(number) is int:
            self._made[number] = _UNFINISHED
        made = self._read(node)
        if type(number) is int:
            self._made[number] = made
        self._depth -= 1
        return self._counted(made)

    def _counted(self, made: Any) -> Any:
        self._left -= made.nbytes if isinstance(made, np.ndarray) else 0
        if self._left < 0:
            raise ModelFileError("its objects share arrays far more often than those of models")
        return made

    def _read(self, node: Node) -> Any:
        loader, name = node["__loader__"], name_of(node)
        if loader == "JsonNode":
            return _scalar(node.get("content"))
        if loader in ("ListNode", "TupleNode", "SetNode"):
            items = [self.read(item) for item in _listed(node.get("content"))]
            return {"ListNode": list, "TupleNode": tuple, "SetNode": set}[loader](items)
        if loader == "DictNode":
            return self._dictionary(node, name)
        if loader == "NdArrayNode":
            return self._array(node, name)
        if loader in RANDOM:
            return None
        if loader == "DTypeNode":
            return np.asarray(self.read(node.get("content"))).dtype
        if loader == "SliceNode":
            return _slice(node.get("content"))
        if loader == "TreeNode":
            arguments = node.get("__reduce__", {}).get("args")
            return compiled_tree(self.read(arguments), self.read(node.get("content")))
        if loader == "TypeNode" and name in SCALARS:
            return SCALARS[name]
        if loader == "FunctionNode" and name in FUNCTIONS:
            return FUNCTIONS[name]
        if loader == "ObjectNode" and name in KINDS:
            attributes = {key: self.read(item) for key, item in kept_attributes(node).items()}
            return KINDS[name].make(KINDS[name].type, attributes)
        return self._foreign(node, loader, name)

    def _dictionary(self, node: Node, name: str) -> Any:
        content, kinds = node.get("content"), node.get("key_types")
        types = _listed(kinds.get("content")) if isinstance(kinds, dict) else []
        if not isinstance(content, dict) or len(types) != len(content):
            raise ModelFileError("a dictionary needs a type for each of its keys")
        made = {}
        for kind, (key, value) in zip(types, content.items(), strict=True):
            made[_key(kind, key)] = self.read(value)
        return Bunch(**made) if name == "sklearn.utils._bunch.Bunch" else made

    def _array(self, node: Node, name: str) -> Any:
        if node.get("type") == "json":
            return self._objects(node)
        file = node.get("file")
        if not isinstance(file, str) or file not in self._files:
            raise ModelFileError(f"the file holds no array called {file!r}")
        if file not in self._arrays:
            self._arrays[file] = read_array(file, self._files[file])
        array = self._arrays[file]
        if name == "numpy.ndarray":
            return array
        if array.ndim or type(array[()]) is not SCALARS[name]:
            raise ModelFileError(f"{file!r} must be one {name}, got {array.dtype} {array.shape}")
        return array[()]

    def _objects(self, node: Node) -> NDArray[Any]:
        """An array of objects, from lists in lists."""
        shape = self.read(node.get("shape"))
        whole = isinstance(shape, tuple) and all(type(size) is int and size >= 0 for size in shape)
        if not whole or not 1 <= len(shape) <= 2:
            raise ModelFileError(f"an array of objects cannot have the shape {shape!r}")
        rows = [_listed(node.get("content"))]
        if len(shape) == 2:
            rows = [_listed(row.get("content")) for row in rows[0] if is_node(row)]
        counts = {len(row) for row in rows}
        if counts - {shape[-1]} or (len(shape) == 2 and len(rows) != shape[0]):
            raise ModelFileError(f"an array of objects does not fill its shape {shape!r}")
        items = [self.read(item) for row in rows for item in row]
        array: NDArray[Any] = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):
            array[place] = item
        return array.reshape(shape)

    def _foreign(self, node: Node, loader: str, name: str) -> Any:
        """What the user trusts: its module is imported and its code may run."""
        if name not in self._trusted:
            raise ModelFileError(f"{name} is not on the list")  # unreachable after an audit
        module, _, attribute = name.rpartition(".")
        found = getattr(import_module(module), attribute)
        if loader in ("FunctionNode", "TypeNode"):
            return found
        if loader == "ConstructorFromReduceNode":
            return found(*self.read(node.get("content")))
        made = found.__new__(found)
        state = self.read(node["content"]) if node.get("content") is not None else None
        if hasattr(made, "__setstate__"):
            made.__setstate__(state)
        elif state is not None:
            vars(made).update(state)
        return made


def _scalar(text: Any) -> Any:
    value = json.loads(text) if isinstance(text, str) else ()
    if value is not None and type(value) not in (bool, int, float, str):
        raise ModelFileError(f"a number or a text was expected, got {text!r:.60}")
    return value


def _listed(items: Any) -> list[Any]:
    if not isinstance(items, list):
        raise ModelFileError(f"a list was expected, got {type(items).__name__}")
    return items


def _key(kind: Any, key: str) -> Any:
    """Keys are texts in the tree; they were whole numbers or floats perhaps."""
    name = name_of(kind) if is_node(kind) and kind["__loader__"] == "TypeNode" else ""
    scalar = SCALARS.get(name)
    if scalar in (bool, np.bool_):
        raise ModelFileError("a dictionary with the keys True and False cannot be stored")
    for python, base in ((str, np.str_), (int, np.integer), (float, np.floating)):
        if scalar is python or (isinstance(scalar, type) and issubclass(scalar, base)):
            return _KEYS[python.__name__](key)
    raise ModelFileError(f"a dictionary cannot have keys of the type {name or kind!r}")


def _slice(content: Any) -> slice:
    ends = [content.get(end) for end in ("start", "stop", "step")] if content else [""]
    if not all(end is None or type(end) is int for end in ends):
        raise ModelFileError(f"a slice needs whole numbers, got {ends!r}")
    return slice(*ends)
