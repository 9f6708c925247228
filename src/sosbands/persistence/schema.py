"""The tree of objects in a model file: nodes of skops, numbered anew and audited.

A node is a dictionary with ``__loader__`` (how skops makes the object), ``__module__``,
``__class__``, an ``__id__`` that objects in several places share, and what it is made of.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sosbands.persistence.archive import ModelFileError
from sosbands.persistence.types import is_known

Node: TypeAlias = dict[str, Any]

# The version of the nodes; skops keeps reading older ones, but not all that it ever wrote.
_PROTOCOL = 2
_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
_UNNAMED = ("content", "attrs", "__reduce__", "args")


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


def name_of(node: Node) -> str:
    """The dotted name of the type, or of the function."""
    module, name = node["__module__"], node["__class__"]
    if not isinstance(module, str) or not isinstance(name, str):
        raise ModelFileError(f"a type must have a name, got {module!r} and {name!r}")
    return f"{module}.{name}"


def is_node(value: Any) -> bool:
    """Whether a part of the tree stands for an object."""
    return isinstance(value, dict) and "__loader__" in value


def renumbered(schema: Node) -> tuple[Node, dict[str, str]]:
    """The tree with its objects and their files numbered in the order of appearance.

    skops numbers objects and their files by their addresses, which differ from run to run.

    Returns
    -------
    dict
        The tree.
    dict
        The new name of each file.
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
            ending = value["file"].rpartition(".")[2]
            made["file"] = files.setdefault(value["file"], f"{len(files) + 1}.{ending}")
        return made

    return visit(schema), files


@dataclass
class Audit:
    """What a tree names, compared with the list of types.

    Attributes
    ----------
    trusted : frozenset of str
        Dotted names that the user adds to the list.
    names : set of str
        Everything that is named.
    foreign : dict
        Names that are not on the list, trusted or not, and where each was found first.
    """

    trusted: frozenset[str]
    names: set[str] = field(default_factory=set)
    foreign: dict[str, str] = field(default_factory=dict)
    _sizes: dict[int, int] = field(default_factory=dict)

    @property
    def refused(self) -> dict[str, str]:
        """Names that are neither on the list nor trusted, and where they were found first."""
        return {name: place for name, place in self.foreign.items() if name not in self.trusted}

    def visit(self, value: Any, place: str = "") -> int:
        """Audit a part of the tree and all that it contains; returns the number of nodes."""
        if isinstance(value, list):
            return sum(self.visit(item, place) for item in value)
        if not isinstance(value, dict):
            return 0
        if is_node(value):
            self._judge(value, place)
        elif "__id__" in value:
            raise ModelFileError("the tree refers to an object that it does not describe")
        size = sum(self.visit(item, _inside(place, key)) for key, item in value.items())
        if not is_node(value):
            return size
        # All appearances of an object describe it alike, or the tree would be larger than it looks.
        number = value.get("__id__", 0)
        if type(number) is not int or (number and self._sizes.setdefault(number, size) != size):
            raise ModelFileError(f"the tree describes the object {number!r} in two ways")
        return size + 1

    def _judge(self, node: Node, place: str) -> None:
        loader, name = node["__loader__"], name_of(node)
        for used, known in _uses(node, name, loader):
            self.names.add(used)
            if not known:
                self.foreign.setdefault(used, place or "the model")


def _uses(node: Node, name: str, loader: str) -> Iterator[tuple[str, bool]]:
    """The names behind a node, and whether each is on the list."""
    yield name, is_known(loader, name)
    if loader == "MethodNode":
        yield f"{name}.{node['content']['func']}", False
    elif loader == "RandomGeneratorNode":
        text = node["content"]["bit_generator"]["content"]["bit_generator"]["content"]
        generator = json.loads(text)
        yield f"numpy.random.{generator}", generator in _BIT_GENERATORS
    elif loader == "DictNode":
        kinds = {name_of(kind) for kind in node["key_types"]["content"]}
        if kinds & {"builtins.bool", "numpy.bool"}:
            raise ModelFileError("a dictionary with the keys True and False cannot be stored")


def _inside(place: str, key: str) -> str:
    """The attribute path for messages, without the words that belong to skops."""
    if key in _UNNAMED or key.startswith("__"):
        return place
    return f"{place}.{key}" if place else key


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise ModelFileError(f"a dictionary has two keys that are written {twice!r}")
    return made
