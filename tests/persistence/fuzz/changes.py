"""What can be done to a model file: to its nodes, numbers, arrays and their headers."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sosbands.persistence import archive

Node = dict[str, Any]
_NUMBERS = [0, 1, 2, 3, -1, -2, 7, 255, 256, 65536, 2**31, -(2**31), 2**32, 2**63 - 1, 10**30]
_SCALARS = [
    *_NUMBERS,
    *(0.0, 0.5, 1.5, -0.5, 1e-300, 1e308, float("nan"), float("inf"), -float("inf")),
    *(
        None,
        True,
        False,
        "",
        "a",
        "zero",
        "brute",
        "kd_tree",
        "ball_tree",
        "minkowski",
        "haversine",
    ),
    *("precomputed", "poly", "laplacian", "chi2", "distance", "drop", "passthrough", "pandas"),
    *("polars", "first", "if_binary", "error", "ignore", "CONVERGED", "quantile", "gamma", "hsic"),
]
_NAMES = [
    *("predict", "fit", "transform", "_in_fit", "__class__", "__dict__", "__reduce__", "_tree"),
    *("n_features_in_", "_loss", "_preprocessor", "_bin_mapper", "n_jobs", "memory", "metric"),
    *("func", "kernel", "estimators_", "_sklearn_output_config", "whitening", "neighbours"),
    *("_n_features_outs", "_drop_idx_after_grouping", "categories_", "rows", "y", "verbose"),
]
_TYPES = [
    "f8",
    "f4",
    "f2",
    "i8",
    "i4",
    "i1",
    "u8",
    "u4",
    "u1",
    "?",
    "c16",
    ">f8",
    "U3",
    "S3",
    "M8[s]",
]


@dataclass
class Parts:
    """A model file, taken apart."""

    manifest: dict[str, Any]
    schema: Node
    arrays: dict[str, bytes]

    @classmethod
    def of(cls, data: bytes) -> Parts:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            manifest = json.loads(file.read("manifest.json"))
            del manifest["checksum"]
            names = [name for name in file.namelist() if name.endswith(".npy")]
            arrays = {name: file.read(name) for name in names}
            return cls(manifest, json.loads(file.read("schema.json")), arrays)

    def packed(self) -> bytes:
        """The file again, with a checksum that is right."""
        return archive.packed(self.manifest, json.dumps(self.schema).encode(), self.arrays)

    def nodes(self) -> list[Node]:
        return list(_nodes(self.schema))


def changed(parts: Parts, other: Parts, rng: np.random.Generator) -> list[str]:
    """Change a file in one to three places; returns what was done. `other` lends parts."""
    done: list[str] = []
    while len(done) < 1 + rng.integers(3) * (rng.random() < 0.3):
        change = _CHANGES[rng.choice(len(_CHANGES), p=_WEIGHTS)]
        try:
            change(parts, other, rng)
        except Exception:
            continue  # it does not suit this place
        done.append(change.__name__.strip("_"))
    return done


def _nodes(value: Any) -> Iterator[Node]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if "__loader__" in item:
                yield item
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


def _pick(parts: Parts, rng: np.random.Generator, *loaders: str) -> Node:
    found = [node for node in parts.nodes() if not loaders or node["__loader__"] in loaders]
    return found[rng.integers(len(found))]


def _array(parts: Parts, rng: np.random.Generator) -> tuple[str, np.ndarray]:
    """One of the arrays; those that compiled code follows more often."""
    names = list(parts.arrays)
    for name in rng.permutation(names)[: 1 if rng.random() < 0.5 else 20]:
        array = np.load(io.BytesIO(parts.arrays[name]), allow_pickle=False)
        if array.dtype.names or array.dtype.kind in "iub":
            break
    return str(name), array


def _npy(array: np.ndarray, **options: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def _text(value: Any) -> Node:
    content = json.dumps(value)
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": content,
    }


def _value(parts: Parts, other: Parts, rng: np.random.Generator) -> None:
    """Some numbers of an array."""
    name, array = _array(parts, rng)
    array = np.array(array)
    names = array.dtype.names
    part = array[names[rng.integers(len(names))]] if names else array
    numbers = [one for one in _SCALARS if isinstance(one, int | float)]
    for _ in range(1 + rng.integers(3)):
        place = tuple(rng.integers(size) for size in part.shape)
        if part.dtype.kind == "U":
            part[place] = str(rng.integers(100))
        elif part.dtype.kind in "iu" and rng.random() < 0.3:
            limits = np.iinfo(part.dtype)
            part[place] = [limits.min, limits.max][rng.integers(2)]
        elif part.dtype.kind in "iu" and rng.random() < 0.4:
            part[place] += [-1, 1][rng.integers(2)]
        else:
            part[place] = numbers[rng.integers(len(numbers))]
    parts.arrays[name] = _npy(array)


def _path(parts: Parts, other: Parts, rng: np.random.Generator) -> None:
    """Where a node of a tree leads to, and what it looks at."""
    trees = []
    for name, content in parts.arrays.items():
        array = np.load(io.BytesIO(content), allow_pickle=False)
        trees += [(name, np.array(array))] if array.dtype.names else []
    name, nodes = trees[rng.integers(len(trees))]
    places = [-2, -1, 0, 1, len(nodes) - 1, len(nodes), 10**6, 2**31 - 1, 2**32 - 1]
    row = nodes[rng.integers(len(nodes))]
    names = [field for field in nodes.dtype.names if nodes.dtype[field].kind in "iu"]
    joint = places[rng.integers(len(places))]
    for field in names:
        if field.startswith(("left", "right")) and rng.random() < 0.6:
            row[field] = joint
        elif rng.random() < 0.25:
            row[field] = places[rng.integers(len(places))]
    parts.arrays[name] = _npy(nodes)


def _shape(parts: Parts, other: Parts, rng: np.random.Generator) -> None:
    """The shape of an array, or how many rows it has."""
    name, array = _array(parts, rng)
    forms = [
        array.reshape(-1),
        array[None],
        array[..., None],
        array.T,
        np.asfortranarray(array),
        array.reshape(array.shape[::-1]),
        array.reshape(1, -1),
        array.reshape(-1, 1),
        array.reshape(1, 1, -1),
        np.concatenate([array, array]) if array.ndim else array,
        array[:1] if array.ndim else array,
        array[:-1] if array.ndim else array,
        array[:0] if array.ndim else array,
        array[..., :0] if array.ndim else array,
        array[..., :1] if array.ndim else array,
        np.repeat(array, 40, axis=0) if array.ndim else array,
        np.repeat(array, 3, axis=-1) if array.ndim else array,
        array[::-1] if array.ndim else array,
        np.zeros((0, 3)),
        np.array(1.0),
    ]
    parts.arrays[name] = _npy(forms[rng.integers(len(forms))])


def _dtype(parts: Parts, other: Parts, rng: np.random.Generator) -> None:
    """What an array is made of."""
    name, array = _array(parts, rng)
    if array.dtype.names:
        kept = [field for field in array.dtype.names if rng.random() < 0.8]
        kinds = {field: array.dtype[field] for field in kept}
        changed = kept[rng.integers(len(kept))]
        if rng.random() < 0.7:
            kinds[changed] = np.dtype(_TYPES[rng.integers(len(_TYPES))])
        made = np.zeros(array.shape, dtype=list(kinds.items()))
        for field in kept:
            made[field] = array[field]
        parts.arrays[name] = _npy(made)
    elif rng.random() < 0.1:
        parts.arrays[name] = _npy(np.array([{}, None]), allow_pickle=True)
    else:
        parts.arrays[name] = _npy(array.astype(_TYPES[rng.integers(len(_TYPES))]))


def _bytes(parts: Parts, other: Parts, rng: np.random.Generator) -> None:
    """Bytes of an array or of its header."""
    name, _ = _array(parts, rng)
    content = bytearray(parts.arrays[name])
    start = 0 if rng.random() < 0.5 else min(128, len(content) - 1)
    for place in rng.integers(start, len(content), size=1 + rng.integers(4)):
        content[place] = rng.integers(256)
    parts.arrays[name] = bytes(content)


def _header(parts: Parts, other: Parts, rng: np.random.Generator) -> None:
    """What the header claims."""
    name, array = _array(parts, rng)
    content = parts.arrays[name]
    claims = [(0,), (10**12,), (-1,), (0, 10**12), (2, 2), ()]
    header = np.lib.format.header_data_from_array_1_0(array)
    header["shape"] = claims[rng.integers(len(claims))]
    if rng.random() < 0.3:
        header["descr"] = ["|V0", "<U0", "|O", "<f8", "<f16", "|S0"][rng.integers(6)]
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, header)
    parts.arrays[name] = stream.getvalue() + content[-array.nbytes :] * int(rng.integers(2))


def _swap(parts: Parts, other: Parts, rng: np.random.Generator) -> None:
    """One array in the place of another."""
    first, second = (_pick(parts, rng, "NdArrayNode") for _ in range(2))
    first["file"] = second["file"] if rng.random() < 0.9 else "9999.npy"


def _scalar(parts: Parts, other: Parts, rng: np.random.Generator) -> None:
    """A number or a text."""
    node = _pick(parts, rng, "JsonNode")
    node["content"] = json.dumps(_SCALARS[rng.integers(len(_SCALARS))])
    if rng.random() < 0.05:
        node["content"] = "[" * 50


def _replace(parts: Parts, other: Parts, rng: np.random.Generator) -> None:
    """An object in the place of another, from this file or another one."""
    node = _pick(parts, rng)
    if rng.random() < 0.6:
        donor = json.loads(json.dumps(_pick(parts, rng)))
    else:
        donor = json.loads(json.dumps(_pick(other, rng)))
        for inner in _nodes(donor):
            if isinstance(inner.get("__id__"), int):
                inner["__id__"] += 10**6
            if isinstance(inner.get("file"), str) and inner["file"] in other.arrays:
                name = f"{10**6 + int(inner['file'][:-4])}.npy"
                parts.arrays[name] = other.arrays[inner["file"]]
                inner["file"] = name
    protocol = node.get("protocol")
    node.clear()
    node.update(donor)
    if protocol is not None:
        node["protocol"] = protocol


def _attribute(parts: Parts, other: Parts, rng: np.random.Generator) -> None:
    """An attribute more, less, or under another name."""
    node = _pick(parts, rng, "DictNode")
    content, kinds = node["content"], node["key_types"]["content"]
    text = {"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"}
    action = rng.integers(4)
    if action == 0:
        name = list(content)[rng.integers(len(content))]
        del content[name]
        kinds.pop()
    elif action == 1:
        donor = json.loads(json.dumps(_pick(parts, rng)))
        name = _NAMES[rng.integers(len(_NAMES))]
        if name not in content:
            kinds.append(text)
        content[name] = donor
    elif action == 2:
        first, second = (list(content)[rng.integers(len(content))] for _ in range(2))
        content[first], content[second] = content[second], content[first]
    else:
        donor = json.loads(json.dumps(_pick(parts, rng)))
        kinds[rng.integers(len(kinds))] = donor


def _items(parts: Parts, other: Parts, rng: np.random.Generator) -> None:
    """The items of a list or of a tuple."""
    lists = [node for node in parts.nodes() if isinstance(node.get("content"), list)]
    items = lists[rng.integers(len(lists))]["content"]
    action = rng.integers(5)
    if action == 0:
        items.pop(rng.integers(len(items)))
    elif action == 1:
        items.append(items[rng.integers(len(items))])
    elif action == 2:
        items.clear()
    elif action == 3:
        items.extend(items * 50)
    else:
        rng.shuffle(items)


def _kind(parts: Parts, other: Parts, rng: np.random.Generator) -> None:
    """The type of an object, or the way in which it is made."""
    node, model = _pick(parts, rng), _pick(other if rng.random() < 0.5 else parts, rng)
    keys = ["__class__", "__module__"] if rng.random() < 0.5 else ["__loader__"]
    for key in keys if rng.random() < 0.8 else ["__class__", "__module__", "__loader__"]:
        node[key] = model[key]


def _number(parts: Parts, other: Parts, rng: np.random.Generator) -> None:
    """Which object it is."""
    node, model = _pick(parts, rng), _pick(parts, rng)
    choices = [model.get("__id__"), 10**9, None, "1", -1, 1.5, [1]]
    node["__id__"] = choices[rng.integers(len(choices))]


def _objects(parts: Parts, other: Parts, rng: np.random.Generator) -> None:
    """The shape of an array of objects."""
    arrays = [node for node in parts.nodes() if "shape" in node]
    node = arrays[rng.integers(len(arrays))]
    size = len(node["content"])
    shapes = [(1, size), (size, 1), (size,), (0,), (10**12,), (-1,), (size, 1, 1), (), (1, 3000)]
    shape = [_text(one) for one in shapes[rng.integers(len(shapes))]]
    tuple_ = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode"}
    node["shape"] = {**tuple_, "content": shape}
    if rng.random() < 0.5:
        node["content"] = [{**tuple_, "__class__": "list", "content": node["content"] * 3000}]


def _key(parts: Parts, other: Parts, rng: np.random.Generator) -> None:
    """A word of the tree itself."""
    node = _pick(parts, rng)
    key = list(node)[rng.integers(len(node))]
    choices = [None, 0, "", [], {}, [None], {"content": {}}, "numpy", "builtins", "ObjectNode"]
    if rng.random() < 0.2:
        del node[key]
    else:
        node[key] = choices[rng.integers(len(choices))]


def _deep(parts: Parts, other: Parts, rng: np.random.Generator) -> None:
    """A list in a list in a list."""
    node = _pick(parts, rng)
    inner = dict(node)
    for _ in range(int(rng.integers(1, 300))):
        inner = {
            "__class__": "list",
            "__module__": "builtins",
            "__loader__": "ListNode",
            "content": [inner],
        }
    node.clear()
    node.update(inner, protocol=2)


_CHANGES = [
    *(_value, _path, _shape, _dtype, _bytes, _header, _swap, _scalar, _replace),
    *(_attribute, _items, _kind, _number, _objects, _key, _deep),
]
_WEIGHTS = np.array([20, 12, 12, 7, 4, 3, 6, 16, 10, 7, 6, 3, 2, 2, 2, 1]) / 113
