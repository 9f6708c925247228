"""From the tree of a model file to its objects, once every name in it has been judged.

Nothing is called but the makers of listed types (see `listed_types`), and what the user trusts.
Arrays are made once for each member of the archive, so that they take no more memory than the file;
the depth of the tree is bounded.
"""

import io
import json
import math
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils import Bunch

from sosbands.persistence.archive import Archive, ModelFileError
from sosbands.persistence.listed_types import FUNCTIONS, KINDS, SCALARS
from sosbands.persistence.schema import (
    RANDOM,
    Node,
    check_names,
    is_node,
    kept_attributes,
    name_of,
    parsed,
)
from sosbands.persistence.trees import compiled_tree

# Nodes within nodes: pipelines in pipelines have some sixty.
_DEEPEST = 200
# Bytes of arrays that objects are made of, if an array counts for each of them: so many times those
# of all arrays, and this beside. Models share few arrays, and what is built of them takes time.
_LARGEST_SHARE, _FREE = 20, 1 << 20
# Whole numbers fit into 64 bits: more of them could be made to collide in a dictionary.
_LARGEST_NUMBER, _LARGEST_KEY = 1 << 64, 1 << 31
# Numbers and truth values, beside which there are texts. Objects are written in the tree instead.
_NUMBERS, _LARGEST_ITEM = "biuf", 8
# Arrays with fields are the nodes of trees; these are among their names.
_NODES = ({"left_child", "right_child", "feature"}, {"left", "right", "feature_idx"})
_UNFINISHED = object()


def read_model(archive: Archive, trusted: frozenset[str]) -> Any:
    """The model of a file, once every name in it has been judged."""
    schema = parsed(archive.schema)
    check_names(schema, trusted)
    reader = _Reader(archive, trusted)
    with warnings.catch_warnings():
        # One warning for the file instead of one for every part that is trusted.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = reader.read(schema)
    if isinstance(model, type) or not hasattr(model, "fit"):
        raise ModelFileError(f"it holds no estimator, but {type(model).__name__}")
    return model


class _Reader:
    """Objects of one file; what has the same number in the tree is one object.

    Such an object is described in full wherever it appears. Otherwise a short tree could stand for
    a model whose parts ask each other without end. For the same reason all objects together have no
    more nodes than the text of the tree, however they are shared.
    """

    def __init__(self, archive: Archive, trusted: frozenset[str]) -> None:
        self._files = archive.arrays
        self._trusted = trusted
        self._arrays: dict[str, NDArray[Any]] = {}
        # Objects by their number, each with the nodes that describe it.
        self._made: dict[int, tuple[Any, int]] = {}
        self._depth = 0
        self._bytes_left = _LARGEST_SHARE * sum(map(len, self._files.values())) + _FREE
        self._nodes_left = archive.schema.count(b'"__loader__"')  # at most

        def content(node: Node) -> Any:
            return self.read(node.get("content"))

        # The audit has compared the names with the list for each of these loaders.
        self._ways: dict[str, Callable[[Node, str], Any]] = {
            "ConstructorFromReduceNode": lambda node, name: self._imported(name)(*content(node)),
            "DTypeNode": lambda node, name: np.asarray(content(node)).dtype,
            "DictNode": self._dictionary,
            "FunctionNode": lambda node, name: FUNCTIONS.get(name) or self._imported(name),
            "JsonNode": _scalar,
            "ListNode": lambda node, name: self._list(node),
            "NdArrayNode": self._array,
            "ObjectNode": self._object,
            "SliceNode": _slice,
            "TreeNode": lambda node, name: compiled_tree(
                self.read(node.get("__reduce__", {}).get("args")), content(node)
            ),
            "TupleNode": lambda node, name: tuple(self._list(node)),
            "TypeNode": lambda node, name: SCALARS.get(name) or self._imported(name),
            # In the place of a generator of random numbers.
            **dict.fromkeys(RANDOM, lambda node, name: None),
        }

    def read(self, node: Any) -> Any:
        """The object that a node stands for."""
        if not is_node(node):
            raise ModelFileError(f"the tree holds {type(node).__name__} where an object should be")
        number = node.get("__id__")
        numbered = type(number) is int
        if numbered and number in self._made:
            made, size = self._made[number]
            if made is _UNFINISHED:
                raise ModelFileError(f"the object {number} is a part of itself")
            return self._counted(made, size)
        if self._depth >= _DEEPEST:
            raise ModelFileError(f"the tree is more than {_DEEPEST} objects deep")
        if numbered:
            self._made[number] = _UNFINISHED, 0
        before = self._nodes_left
        self._depth += 1
        loader = node["__loader__"]
        if not isinstance(loader, str) or loader not in self._ways:
            raise ModelFileError(f"nothing in a model is made by {loader!r}")
        made = self._counted(self._ways[loader](node, name_of(node)), 1)
        self._depth -= 1
        if numbered:
            self._made[number] = made, before - self._nodes_left
        return made

    def _counted(self, made: Any, size: int) -> Any:
        self._nodes_left -= size
        self._bytes_left -= made.nbytes if isinstance(made, np.ndarray) else 0
        if self._nodes_left < 0 or self._bytes_left < 0:
            raise ModelFileError("its objects share parts far more often than those of models")
        return made

    def _list(self, node: Node) -> list[Any]:
        return [self.read(item) for item in _listed(node.get("content"))]

    def _object(self, node: Node, name: str) -> Any:
        if name not in KINDS:
            return self._foreign(node, name)
        attributes = {key: self.read(item) for key, item in kept_attributes(node).items()}
        return KINDS[name].make(KINDS[name].type, attributes)

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
            self._arrays[file] = _read_array(file, self._files[file])
        array = self._arrays[file]
        if name == "numpy.ndarray":
            return array
        if array.ndim or type(array[()]) is not SCALARS[name]:
            raise ModelFileError(f"{file!r} must be one {name}, got {array.dtype} {array.shape}")
        return array[()]

    def _objects(self, node: Node) -> NDArray[Any]:
        """An array of objects in one or two dimensions, from lists in lists."""
        shape, content = self.read(node.get("shape")), _listed(node.get("content"))
        whole = isinstance(shape, tuple) and all(type(size) is int and size >= 0 for size in shape)
        if not whole or len(shape) not in (1, 2):
            raise ModelFileError(f"an array of objects cannot have the shape {shape!r}")
        items = [self.read(item) for row in _rows(content, shape) for item in row]
        array: NDArray[Any] = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):
            array[place] = item
        return array.reshape(shape)

    def _foreign(self, node: Node, name: str) -> Any:
        """An object of a type that the user trusts, made as its class says."""
        found = self._imported(name)
        made = found.__new__(found)
        state = self.read(node["content"]) if node.get("content") is not None else None
        if hasattr(made, "__setstate__"):
            made.__setstate__(state)
        elif state is not None:
            vars(made).update(state)
        return made

    def _imported(self, name: str) -> Any:
        """Import what the user trusts; its code may run."""
        if name not in self._trusted:
            raise ModelFileError(f"{name} is not on the list")
        module, _, attribute = name.rpartition(".")
        return getattr(import_module(module), attribute)


def _scalar(node: Node, name: str) -> Any:
    text = str(node.get("content"))
    value = json.loads(text)
    if value is not None and type(value) not in (bool, int, float, str):
        raise ModelFileError(f"a number or a text was expected, got {text!r:.60}")
    if type(value) is int and abs(value) >= _LARGEST_NUMBER:
        raise ModelFileError(f"whole numbers have at most 64 bits, got {text[:60]}")
    return value


def _listed(items: Any) -> list[Any]:
    if not isinstance(items, list):
        raise ModelFileError(f"a list was expected, got {type(items).__name__}")
    return items


def _rows(content: list[Any], shape: tuple[int, ...]) -> list[list[Any]]:
    """The nodes of an array of objects, row by row; one of a single dimension is one row."""
    rows = [content]
    if len(shape) == 2:
        rows = [_listed(row.get("content")) for row in content if is_node(row)]
    lengths = {len(row) for row in rows}
    if lengths - {shape[-1]} or (len(shape) == 2 and len(rows) != shape[0]):
        raise ModelFileError(f"an array of objects does not fill its shape {shape!r}")
    return rows


def _key(kind: Any, key: str) -> Any:
    """The key of a dictionary, which is text in the tree but may have been a whole number."""
    name = name_of(kind) if is_node(kind) and kind["__loader__"] == "TypeNode" else ""
    scalar = SCALARS.get(name)
    if scalar in (str, np.str_):
        return key
    whole = scalar is int or (isinstance(scalar, type) and issubclass(scalar, np.integer))
    if not whole or abs(int(key)) >= _LARGEST_KEY:
        raise ModelFileError(
            f"keys of a dictionary are texts or numbers below {_LARGEST_KEY}, got {key!r:.60} of "
            f"the type {name.rpartition('.')[2] or 'unknown'}"
        )
    return int(key)


def _slice(node: Node, name: str) -> slice:
    content = node.get("content")
    ends = [content.get(end) for end in ("start", "stop", "step")] if content else [""]
    if not all(end is None or type(end) is int for end in ends):
        raise ModelFileError(f"a slice needs whole numbers, got {ends!r}")
    return slice(*ends)


def _read_array(name: str, content: bytes) -> NDArray[Any]:
    """The array in a member of the archive; everything it claims is compared with its bytes."""
    stream = io.BytesIO(content)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(np.lib.format.read_magic(stream))
    if read is None:
        raise ModelFileError(f"the array {name!r} has an unknown version")
    shape, fortran, dtype = read(stream)
    if dtype.hasobject:
        raise ModelFileError(f"the array {name!r} holds pickled objects")
    start = stream.tell()
    _check_dtype(name, dtype, len(content) - start)
    # An axis without end would let loops over an array of no bytes run for ever.
    sizes = all(0 <= size <= len(content) for size in shape)
    if not sizes or start + math.prod(shape) * dtype.itemsize != len(content):
        raise ModelFileError(f"the array {name!r} is not as long as it claims")
    # A copy: aligned, and writable as an array that was just made.
    array = np.frombuffer(content, dtype=dtype, offset=start).copy()
    # NumPy counts on truth values of 0 and 1, and on characters that exist.
    if dtype.kind == "b" and np.any(array.view(np.uint8) > 1):
        raise ModelFileError(f"the array {name!r} holds truth values that are neither 0 nor 1")
    if dtype.kind == "U" and array.size:
        points = array.view(np.uint32)
        if np.any(points > 0x10FFFF) or np.any((points >= 0xD800) & (points <= 0xDFFF)):
            raise ModelFileError(f"the array {name!r} holds characters that do not exist")
    return array.reshape(shape, order="F" if fortran else "C")


def _check_dtype(name: str, dtype: np.dtype[Any], available: int) -> None:
    if dtype.names is not None:
        plain = all(dtype[field].kind in "iuf" for field in dtype.names)
        known = plain and any(fields <= set(dtype.names) for fields in _NODES)
    else:
        number = dtype.kind in _NUMBERS and dtype.itemsize <= _LARGEST_ITEM
        known = dtype.subdtype is None and (number or dtype.kind == "U")
    if not known or not dtype.isnative or not 0 < dtype.itemsize <= max(available, 64):
        raise ModelFileError(f"the array {name!r} holds {dtype!s:.60}, which no model needs")
