"""The tree of objects in a model file: nodes of skops, whose names are audited.

A node is a dictionary with ``__loader__`` (the kind of object), ``__module__``, ``__class__``, an
``__id__`` that objects in several places share, and what it is made of.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from sosbands.persistence.archive import PARSERS, ModelFileError
from sosbands.persistence.listed_types import FUNCTIONS, KINDS, SCALARS, TREE

Node: TypeAlias = dict[str, Any]

# The version of the nodes; skops keeps writing it, but not all that it ever wrote.
_PROTOCOL = 2
# Words that belong to skops: messages name places by attributes alone.
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
_TRUSTABLE = ("ConstructorFromReduceNode", "FunctionNode", "ObjectNode", "TypeNode")
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


def check_names(schema: Node, trusted: frozenset[str]) -> list[str]:
    """What a tree names beyond the list of types, all of it trusted; anything else is refused."""
    foreign: dict[str, str] = {}
    unstorable: dict[str, str] = {}  # whomever one trusts
    for loader, name, place in _strangers(schema):
        findable = "<" not in name and not name.startswith("pandas.")  # once the file is read
        kept = foreign if loader in _TRUSTABLE and findable else unstorable
        kept.setdefault(name, place)
    refused = {name: place for name, place in foreign.items() if name not in trusted}
    if any(name.startswith("sklearn.model_selection._search.") for name in refused or unstorable):
        raise ModelFileError("it is a search: save its best_estimator_ instead")
    if unstorable:
        advice = "write it as an estimator of your own"
        if any(name.startswith("scipy.sparse.") for name in unstorable):
            advice = "fit it to dense rows"
        elif any("<" in name for name in unstorable):
            advice = "give functions a name, by def in a module that can be imported"
        elif any(name.startswith("pandas.") for name in unstorable):
            advice = "give groups as texts or numbers"
        raise ModelFileError(f"it holds what no model file can: {_places(unstorable)}; {advice}")
    parsers = [PARSERS[name] for name in sorted(refused) if name in PARSERS]
    if parsers and len(parsers) == len(refused):
        raise ModelFileError(
            f"it holds a model of {' and '.join(parsers)}, whose own parser reads its bytes: if "
            f"you trust whoever made the file, pass trusted={sorted(refused)}"
        )
    if refused:
        names, advice = _places(refused), _advice(refused)
        raise ModelFileError(f"it names what sosbands does not know: {names}; {advice}")
    return sorted(foreign)


def _strangers(value: Any, place: str = "") -> Iterator[tuple[Any, str, str]]:
    """Of all that will be read, what is not on the list: its loader, its name and its place."""
    if isinstance(value, list):
        for item in value:
            yield from _strangers(item, place)
    if not isinstance(value, dict):
        return
    parts = value
    if is_node(value):
        loader, name = value["__loader__"], name_of(value)
        known = isinstance(loader, str) and name in _NAMES.get(loader, ())
        if not known:
            yield loader, name, place or "the model"
        if known and loader == "ObjectNode":
            parts = kept_attributes(value)
            if KINDS[name].parser is not None:
                yield loader, str(KINDS[name].parser), place or "the model"
        elif loader in RANDOM:
            parts = {}
    for key, item in parts.items():
        inside = f"{place}.{key}" if place else key
        if key in _UNNAMED or key.startswith("__"):
            inside = place
        yield from _strangers(item, inside)


def _advice(refused: Mapping[str, str]) -> str:
    advice = f"pass trusted={sorted(refused)} if you trust their code and the file"
    if any(name.startswith("sklearn.") for name in refused):
        advice = (
            "of scikit-learn, files hold the models and transformers that can be checked when they "
            f"are loaded (the page on model files lists them): use one of these, or {advice}"
        )
    if any(place.endswith("calibration_.ratio") for place in refused.values()):
        advice += "; likelihood ratios can also be given to conformalize as an array"
    return advice


def _places(names: Mapping[str, str]) -> str:
    return ", ".join(f"{name} (in {place})" for name, place in sorted(names.items()))


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise ModelFileError(f"a dictionary has two keys that are written {key!r}")
        made[key] = value
    return made
