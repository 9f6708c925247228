"""The tree of objects in a model file: nodes of skops, numbered anew and audited.

A node is a dictionary with ``__loader__`` (the kind of object), ``__module__``, ``__class__``, an
``__id__`` that objects in several places share, and what it is made of.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sosbands.persistence.archive import ModelFileError
from sosbands.persistence.listed_types import FUNCTIONS, KINDS, SCALARS, TREE

Node: TypeAlias = dict[str, Any]

# The version of the nodes; skops keeps writing it, but not all that it ever wrote.
_PROTOCOL = 2
_UNNAMED = ("content", "attrs", "__reduce__", "args", "key_types")
# What of a file stands for which names; objects and functions can be trusted beyond these.
_NAMES: dict[str, frozenset[str]] = {
    "ConstructorFromReduceNode": frozenset(),
    "DTypeNode": frozenset({"numpy.dtype"}),
    "DictNode": frozenset({"builtins.dict", "sklearn.utils._bunch.Bunch"}),
    "FunctionNode": frozenset(FUNCTIONS),
    "JsonNode": frozenset({"builtins.str"}),
    "ListNode": frozenset({"builtins.list"}),
    "NdArrayNode": frozenset({"numpy.ndarray", *SCALARS}),
    "ObjectNode": frozenset(KINDS),
    "RandomGeneratorNode": frozenset({"numpy.random._generator.Generator"}),
    "RandomStateNode": frozenset({"numpy.random.mtrand.RandomState"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "TreeNode": frozenset({TREE}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "TypeNode": frozenset(SCALARS),
}
TRUSTABLE = ("ConstructorFromReduceNode", "FunctionNode", "ObjectNode", "TypeNode")
# A generator of random numbers goes on where it was; a model that is loaded starts anew.
RANDOM = ("RandomGeneratorNode", "RandomStateNode")


def parsed(text: bytes) -> Node:
    """The tree; keys that differ in Python but not in JSON, such as 1 and "1", are refused."""
    schema = json.loads(text, object_pairs_hook=_distinct)
    if not isinstance(schema, dict) or schema.get("protocol") != _PROTOCOL:
        seen = schema.get("protocol") if isinstance(schema, dict) else None
        raise ModelFileError(
            f"the tree of objects has protocol {seen!r}, sosbands needs {_PROTOCOL}: install "
            "another version of skops"
        )
    return schema


def count_nodes(text: bytes) -> int:
    """The number of nodes in the text of a tree, at most."""
    return text.count(b'"__loader__"')


def name_of(node: Node) -> str:
    """The dotted name of the type, or of the function."""
    module, name = node.get("__module__"), node.get("__class__")
    if not isinstance(module, str) or not isinstance(name, str):
        raise ModelFileError(f"a type must have a name, got {module!r} and {name!r}")
    return f"{module}.{name}"


def is_node(value: Any) -> bool:
    """Whether a part of the tree stands for an object."""
    return isinstance(value, dict) and "__loader__" in value


def kept_attributes(node: Node) -> dict[str, Any]:
    """The attributes of an object on the list that are read; nobody looks at the others."""
    content = node.get("content")
    inner = content.get("content") if isinstance(content, dict) else None
    if not isinstance(inner, dict):
        raise ModelFileError(f"{name_of(node)} has no attributes")
    keeps = KINDS[name_of(node)].keeps
    return {name: value for name, value in inner.items() if keeps(name)}


def renumbered(schema: Node) -> tuple[Node, dict[str, str]]:
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


@dataclass
class Audit:
    """What a tree names, compared with the list of types and with what the user trusts."""

    trusted: frozenset[str]
    # Names that are not on the list, trusted or not, and where each was found first.
    foreign: dict[str, str] = field(default_factory=dict)
    # The same for things that no file holds, whomever one trusts.
    unstorable: dict[str, str] = field(default_factory=dict)

    @property
    def refused(self) -> dict[str, str]:
        """Names that are neither on the list nor trusted, and where they were found first."""
        return {name: place for name, place in self.foreign.items() if name not in self.trusted}

    def visit(self, value: Any, place: str = "") -> None:
        """Audit a part of the tree and all that will be read of it."""
        if isinstance(value, list):
            for item in value:
                self.visit(item, place)
        elif isinstance(value, dict):
            for key, item in self._parts(value, place):
                self.visit(item, _inside(place, key))

    def _parts(self, value: Node, place: str) -> Iterator[tuple[str, Any]]:
        if not is_node(value):
            yield from value.items()
            return
        loader, name = value["__loader__"], name_of(value)
        known = isinstance(loader, str) and name in _NAMES.get(loader, ())
        if not known:
            found = self.foreign if loader in TRUSTABLE else self.unstorable
            found.setdefault(name, place or "the model")
        if known and loader == "ObjectNode":
            yield from kept_attributes(value).items()
        elif loader not in RANDOM:
            yield from value.items()


def _inside(place: str, key: str) -> str:
    """The attribute path for messages, without the words that belong to skops."""
    if key in _UNNAMED or key.startswith("__"):
        return place
    return f"{place}.{key}" if place else key


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise ModelFileError(f"a dictionary has two keys that are written {key!r}")
        made[key] = value
    return made
