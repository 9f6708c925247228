"""Files that are damaged, or made to do harm: a clear error, and nothing runs."""

from __future__ import annotations

import io
import json
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures
from sklearn.tree import DecisionTreeRegressor

import sosbands
from sosbands.learning.input_ranks import InputRanks
from sosbands.persistence import ModelFileError, archive, describe
from tests.regressors import regressor

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
y = X[:, 0] + 0.1 * rng.normal(size=60)


class Parts:
    """A model file, taken apart; `write` puts it together again, with a checksum that is right."""

    def __init__(self, model, folder):
        self.path = folder / "model.skops"
        sosbands.save(model, self.path)
        with zipfile.ZipFile(self.path) as file:
            self.manifest = json.loads(file.read("manifest.json"))
            self.schema = json.loads(file.read("schema.json"))
            self.arrays = {n: file.read(n) for n in file.namelist() if not n.endswith(".json")}
        del self.manifest["checksum"]

    @property
    def attributes(self):
        """The attributes of the model: names and nodes."""
        return self.schema["content"]["content"]

    def add(self, name, node):
        self.attributes[name] = node
        kinds = self.schema["content"]["key_types"]["content"]
        kinds.append({key: value for key, value in kinds[0].items() if key != "__id__"})

    def arrays_with(self, *names):
        """Structured arrays that have these fields, by the name of their file."""
        loaded = {name: np.load(io.BytesIO(part)) for name, part in self.arrays.items()}
        return {n: a for n, a in loaded.items() if a.dtype.names and set(names) <= {*a.dtype.names}}

    def write(self):
        text = json.dumps(self.schema).encode()
        self.path.write_bytes(archive.packed(self.manifest, text, self.arrays))
        return self.path


@pytest.fixture
def parts(tmp_path):
    return Parts(Ridge().fit(X, y), tmp_path)


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def header(kind, shape):
    """An array that is nothing but what it claims."""
    stream = io.BytesIO()
    claims = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, claims)
    return stream.getvalue()


def without_numbers(value):
    """A part of the tree whose objects are others than those of the original."""
    if isinstance(value, dict):
        return {key: without_numbers(part) for key, part in value.items() if key != "__id__"}
    return [without_numbers(part) for part in value] if isinstance(value, list) else value


def text(value):
    """A node for a value that JSON can express."""
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
    }


def node(loader, name, **contents):
    module, _, attribute = name.rpartition(".")
    return {"__class__": attribute, "__module__": module, "__loader__": loader, **contents}


def sequence(loader, name, *values):
    return node(loader, name, content=[text(value) for value in values])


def harmful(command):
    """Nodes that would run the command, each in another way that skops knows."""
    words = sequence("TupleNode", "builtins.tuple", command)
    empty = node("DictNode", "builtins.dict", content={}, key_types=sequence("ListNode", "a.b"))
    system = node("FunctionNode", "os.system")
    return {
        "function": system,
        "posix": node("FunctionNode", "posix.system"),
        "type": node("TypeNode", "subprocess.Popen"),
        "eval": node("TypeNode", "builtins.eval"),
        "constructor": node("ConstructorFromReduceNode", "os.system", content=words),
        "list": sequence("ListNode", "subprocess.Popen", "touch", command),
        "set": sequence("SetNode", "subprocess.Popen", "touch", command),
        "tuple": sequence("TupleNode", "subprocess.Popen", "touch", command),
        "array": node("NdArrayNode", "os.system", type="numpy", file="1.npy"),
        "partial": node(
            "PartialNode",
            "functools.partial",
            content={"func": system, "args": words, "kwds": empty, "namespace": text(None)},
        ),
        "operator": node(
            "OperatorFuncNode",
            "operator.methodcaller",
            attrs=sequence("TupleNode", "builtins.tuple", "unlink"),
        ),
        "method": node(
            "MethodNode",
            "pathlib.Path",
            content={"func": "unlink", "obj": node("ObjectNode", "pathlib.Path")},
        ),
        "loss": node("LossNode", "subprocess.Popen", content=words, __reduce__={"args": words}),
        "dictionary": node(
            "DefaultDictNode",
            "collections.defaultdict",
            content={"main": empty, "default_factory": system},
        ),
        "import": node("ObjectNode", "sosbands_hostile.Model"),
        "submodule": node("FunctionNode", "numpy.f2py.main"),
        "an estimator called": node("ConstructorFromReduceNode", "sklearn.pipeline.Pipeline"),
        "an estimator as a list": sequence("ListNode", "sosbands.estimator.BandRegressor"),
        "a loader of pickles": node("FunctionNode", "joblib.load"),
        "unknown loader": node("PickleNode", "builtins.str"),
        "unknown generator": node(
            "RandomGeneratorNode",
            "numpy.random._generator.Generator",
            content={
                "bit_generator": {"content": {"bit_generator": text("seed")}},
                "seed_seq": text(None),
            },
        ),
    }


@pytest.mark.parametrize("way", harmful(""))
def test_a_file_cannot_name_what_is_not_on_the_list(way, parts, tmp_path, monkeypatch):
    sentinel = tmp_path / "ran"
    (tmp_path / "sosbands_hostile.py").write_text(f"open({str(sentinel)!r}, 'w')\nModel = object\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    parts.add("alpha", harmful(f"touch {sentinel}")[way])
    path = parts.write()
    imported = set(sys.modules)
    with pytest.raises(ModelFileError, match=r"does not know|no model file can|Ridge"):
        sosbands.load(path)
    assert not sentinel.exists()
    assert set(sys.modules) == imported


def test_what_is_trusted_does_run(parts, tmp_path):
    # So the files above are harmful indeed, but for the list.
    parts.add("alpha", harmful(f"touch {tmp_path / 'ran'}")["constructor"])
    sosbands.load(parts.write(), trusted=["os.system"])
    assert (tmp_path / "ran").exists()


def test_the_error_lists_everything_that_was_found_and_where(parts):
    parts.add("solver_", node("FunctionNode", "os.system"))
    parts.add("alpha", node("TypeNode", "builtins.eval"))
    with pytest.raises(
        ModelFileError,
        match=r"builtins.eval \(in alpha\), os.system \(in solver_\); pass trusted=\['builtins.ev",
    ):
        sosbands.load(parts.write())


@pytest.mark.parametrize("name", ["predict", "_decision_function", "get_params"])
def test_an_attribute_cannot_take_the_place_of_a_method(name, parts):
    parts.add(name, node("FunctionNode", "numpy.exp"))
    with pytest.raises(ModelFileError, match="hides what is"):
        sosbands.load(parts.write())


def test_an_object_of_another_kind_is_no_model(parts):
    parts.schema.update(text("hello"))
    with pytest.raises(ModelFileError, match="holds no estimator, but str"):
        sosbands.load(parts.write())


def test_old_ways_of_reading_are_refused(parts):
    parts.schema["protocol"] = 0
    with pytest.raises(ModelFileError, match="protocol 0"):
        sosbands.load(parts.write())


def test_a_number_does_not_stand_for_an_object(parts):
    inner = {**sequence("ListNode", "builtins.list"), "__id__": 10**6}
    for level in range(1, 40):
        again = {"__id__": inner["__id__"]}
        inner = node("ListNode", "builtins.list", content=[inner, again], __id__=10**6 + level)
    parts.add("alpha", inner)
    with pytest.raises(ModelFileError, match="dict where an object should be"):
        sosbands.load(parts.write())


def test_an_object_cannot_be_a_part_of_itself(parts):
    inner = node("ListNode", "builtins.list", content=[], __id__=10**6)
    parts.add("alpha", node("ListNode", "builtins.list", content=[inner], __id__=10**6))
    with pytest.raises(ModelFileError, match="a part of itself"):
        sosbands.load(parts.write())


def test_objects_cannot_share_arrays_without_end(tmp_path):
    rows = np.random.default_rng(0).normal(size=(5000, 2))
    parts = Parts(KNeighborsRegressor(3).fit(rows, rows[:, 0]), tmp_path)
    model = without_numbers({**parts.schema, "protocol": None})
    parts.add("weights", node("ListNode", "builtins.list", content=[model] * 100))
    with pytest.raises(ModelFileError, match="share parts"):
        sosbands.load(parts.write())


def test_parts_cannot_ask_each_other_without_end(tmp_path):
    # Twenty-five voters that ask the next one twice would predict 2²⁵ times.
    parts = Parts(VotingRegressor([("a", Ridge()), ("b", Ridge())]).fit(X, y), tmp_path)
    voter = without_numbers({**parts.schema, "protocol": None})
    inner = parts.schema["content"]["content"]["estimators_"]["content"][0]
    for level in range(25):
        outer = json.loads(json.dumps(voter))
        stub = {"__loader__": "ObjectNode", "__id__": 10**6 + level}
        inner = {**inner, "__id__": 10**6 + level}
        again = {**stub, "__class__": inner["__class__"], "__module__": inner["__module__"]}
        again["content"] = {"content": {}}
        outer["content"]["content"]["estimators_"]["content"] = [inner, again]
        inner = outer
    parts.schema.update(inner, protocol=2)
    parts.arrays["9999.npy"] = npy(
        np.zeros(10_000)
    )  # so that the text is not too long for the file
    with pytest.raises(ModelFileError, match="share parts"):
        sosbands.load(parts.write())


def test_whole_numbers_have_64_bits(parts):
    parts.attributes["max_iter"] = text(10**30)
    with pytest.raises(ModelFileError, match="at most 64 bits"):
        sosbands.load(parts.write())


def test_a_text_that_is_compressed_in_another_way_is_refused(parts):
    with zipfile.ZipFile(parts.path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(parts.path, "w", zipfile.ZIP_LZMA) as file:
        for name, content in members.items():
            file.writestr(name, content)
    with pytest.raises(ModelFileError, match="compressed as in no model file"):
        sosbands.load(parts.path)


def test_nodes_in_nodes_are_bounded(parts):
    inner = text(1.0)
    for _ in range(250):
        inner = sequence("ListNode", "builtins.list") | {"content": [inner]}
    parts.add("alpha", inner)
    with pytest.raises(ModelFileError, match="more than 200 objects deep"):
        sosbands.load(parts.write())


def test_a_tree_that_is_too_deep_is_refused(parts):
    parts.schema["deep"] = None
    depth = 20_000
    deep = json.dumps(parts.schema).replace('"deep": null', f'"deep": {"[" * depth}{"]" * depth}')
    parts.path.write_bytes(archive.packed(parts.manifest, deep.encode(), parts.arrays))
    with pytest.raises(ModelFileError, match="damaged"):
        sosbands.load(parts.path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (npy(np.array([{}], dtype=object), allow_pickle=True), "pickled objects"),
        (npy(np.ones(4))[:-8], "not as long as it claims"),
        (npy(np.ones(4)).replace(b"(4,)", b"(9,)"), "not as long as it claims"),
        (b"\x80\x04N.", "damaged"),
        (npy(np.ones(4, dtype=">f8")), "no model needs"),
        (npy(np.ones(4, dtype=complex)), "no model needs"),
        (npy(np.zeros(4, dtype=[("a", "f8")])), "no model needs"),
        (npy(np.array([True]))[:-1] + b"\x07", "neither 0 nor 1"),
        (npy(np.array(["a"]))[:-4] + b"\xff\xff\xff\x7f", "do not exist"),
        (header("|V0", (10**15,)), "no model needs"),
        (header("<f8", (0, 10**15)), "not as long"),
    ],
    ids=[
        *(
            "pickled",
            "short",
            "long",
            "pickle",
            "order",
            "complex",
            "fields",
            "truth",
            "characters",
        ),
        *("nothing", "endless"),
    ],
)
def test_arrays_are_checked_before_they_are_read(content, reason, parts):
    file = parts.attributes["coef_"]["file"]
    parts.arrays[file] = content
    with pytest.raises(ModelFileError, match=reason):
        sosbands.load(parts.write())


@pytest.mark.parametrize(
    "name", ["model.pkl", "../1.npy", "/tmp/1.npy", "1.npy.exe", "a/1.npy", "C:\\1.npy", "2.npy/"]
)
def test_unknown_members_are_refused(name, parts):
    with zipfile.ZipFile(parts.path, "a") as file:
        file.writestr(zipfile.ZipInfo(name), b"")
    with pytest.raises(ModelFileError, match="has no member called"):
        sosbands.load(parts.path)


def rezipped(path, entry, content):
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(entry, content)
    return path


def test_symbolic_links_are_refused(parts):
    entry = zipfile.ZipInfo("99.npy")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(ModelFileError, match="symbolic link"):
        sosbands.load(rezipped(parts.path, entry, b"/etc/passwd"))


def test_compressed_arrays_are_refused_before_they_are_read(parts):
    entry = zipfile.ZipInfo("99.npy")
    entry.compress_type = zipfile.ZIP_DEFLATED
    with pytest.raises(ModelFileError, match="is compressed as in no"):
        sosbands.load(rezipped(parts.path, entry, npy(np.zeros(10**6))))


def test_two_members_of_one_name_are_refused(parts):
    with pytest.warns(UserWarning, match="Duplicate name"):
        rezipped(parts.path, zipfile.ZipInfo("1.npy"), b"")
    with pytest.raises(ModelFileError, match="the same name"):
        sosbands.load(parts.path)


def test_a_text_that_unpacks_to_far_more_than_the_file_is_not_unpacked(parts, monkeypatch):
    parts.manifest["metadata"] = {"long": " " * 10_000_000}
    path = parts.write()
    monkeypatch.setattr(zipfile.ZipFile, "read", None)
    for read in (sosbands.load, describe):
        with pytest.raises(ModelFileError, match="far larger than the file"):
            read(path)


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"mean,lower\n1,2\n", b"\x80\x04N.", b"PK\x05\x06"]
)
def test_other_files_are_no_model_files(content, tmp_path):
    path = tmp_path / "other"
    path.write_bytes(content)
    for read in (sosbands.load, describe):
        with pytest.raises(ModelFileError, match=r"other cannot be loaded: this is no model file"):
            read(path)


def test_other_archives_are_no_model_files(tmp_path):
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as file:
        file.writestr("hello.txt", "hello")
    with pytest.raises(ModelFileError, match=r"holds manifest.json and schema.json"):
        sosbands.load(tmp_path / "other.zip")


@pytest.mark.parametrize(
    ("number", "reason"), [(2, "upgrade sosbands"), (None, "no format"), (True, "no format")]
)
def test_other_format_versions_are_refused(number, reason, parts):
    parts.manifest["format_version"] = number
    with pytest.raises(ModelFileError, match=reason):
        sosbands.load(parts.write())


def test_a_change_without_a_new_checksum_is_found(parts):
    changed = {**parts.manifest, "metadata": {"target": "other"}, "checksum": "0" * 64}
    with zipfile.ZipFile(parts.path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(parts.path, "w") as file:
        for name, content in {**members, "manifest.json": json.dumps(changed)}.items():
            file.writestr(name, content)
    for read in (sosbands.load, describe):
        with pytest.raises(ModelFileError, match="checksum is wrong"):
            read(parts.path)


def test_every_truncation_is_found(parts):
    data = parts.path.read_bytes()
    for size in [*range(0, len(data), 97), len(data) - 1]:
        parts.path.write_bytes(data[:size])
        with pytest.raises(ModelFileError):
            sosbands.load(parts.path)


def test_a_flipped_bit_is_found_or_does_not_matter(parts):
    data, expected = parts.path.read_bytes(), Ridge().fit(X, y).predict(X)
    ends = [*range(120), *range(len(data) - 400, len(data))]
    found = 0
    for place in [*ends, *rng.integers(len(data), size=150)]:
        flipped = bytearray(data)
        flipped[place] ^= 1 << int(rng.integers(8))
        parts.path.write_bytes(flipped)
        try:
            np.testing.assert_array_equal(sosbands.load(parts.path).predict(X), expected)
        except ModelFileError:
            found += 1
    assert found > 400


BOOSTED = HistGradientBoostingRegressor(max_iter=1, min_samples_leaf=5, random_state=0)


@pytest.mark.parametrize(
    ("field", "value"), [("left", 10**6), ("right", 0), ("feature_idx", 2), ("feature_idx", -1)]
)
def test_boosted_trees_cannot_point_outside_themselves(field, value, tmp_path):
    parts = Parts(BOOSTED.fit(X, y), tmp_path)
    ((name, nodes),) = parts.arrays_with("left", "feature_idx").items()
    nodes[field][0] = value
    parts.arrays[name] = npy(nodes)
    with pytest.raises(ModelFileError, match="that it does not have"):
        sosbands.load(parts.write())


def test_boosted_trees_cannot_make_up_categories(tmp_path):
    parts = Parts(BOOSTED.fit(X, y), tmp_path)
    ((name, nodes),) = parts.arrays_with("left", "feature_idx").items()
    nodes["is_categorical"][0] = 1
    parts.arrays[name] = npy(nodes)
    with pytest.raises(ModelFileError, match="categories"):
        sosbands.load(parts.write())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("left_child", 10**6),
        ("right_child", 0),
        ("feature", 2),
        ("left_child", -2),
        ("feature", -2),
    ],
)
@pytest.mark.parametrize("model", [DecisionTreeRegressor(), RandomForestRegressor(2)], ids=repr)
def test_trees_cannot_point_outside_themselves(field, value, model, tmp_path):
    parts = Parts(model.set_params(max_depth=2, random_state=0).fit(X, y), tmp_path)
    name, nodes = next(iter(parts.arrays_with("left_child").items()))
    nodes[field][0] = value
    parts.arrays[name] = npy(nodes)
    with pytest.raises(ModelFileError, match=r"that it does not have|unknown columns"):
        sosbands.load(parts.write())


def test_both_children_of_a_leaf_are_missing(tmp_path):
    # Compiled code takes -1 alone for a leaf.
    parts = Parts(DecisionTreeRegressor(max_depth=2).fit(X, y), tmp_path)
    ((name, nodes),) = parts.arrays_with("left_child").items()
    nodes["left_child"][0] = nodes["right_child"][0] = -2
    parts.arrays[name] = npy(nodes)
    with pytest.raises(ModelFileError, match="nodes that it does not have"):
        sosbands.load(parts.write())


def test_a_node_has_one_parent(tmp_path):
    parts = Parts(DecisionTreeRegressor(max_depth=2).fit(X, y), tmp_path)
    ((name, nodes),) = parts.arrays_with("left_child").items()
    nodes["right_child"][0] = nodes["left_child"][0]
    parts.arrays[name] = npy(nodes)
    with pytest.raises(ModelFileError, match="two parents"):
        sosbands.load(parts.write())


def test_the_depth_of_a_tree_is_counted_anew(tmp_path):
    # The memory of decision_path follows from it.
    model = DecisionTreeRegressor(max_depth=2).fit(X, y)
    parts = Parts(model, tmp_path)
    parts.attributes["tree_"]["content"]["content"]["max_depth"] = text(-1)
    other = sosbands.load(parts.write())
    assert other.tree_.max_depth == 2
    assert (other.decision_path(X) != model.decision_path(X)).nnz == 0


def test_gradient_boosting_has_one_tree_for_each_stage(tmp_path):
    model = GradientBoostingRegressor(n_estimators=1, max_depth=1, random_state=0).fit(X, y)
    parts = Parts(model, tmp_path)
    stages = parts.attributes["estimators_"]
    stages["content"][0]["content"] *= 3
    stages["shape"] = sequence("TupleNode", "builtins.tuple", 1, 3)
    with pytest.raises(ModelFileError, match="one tree for each stage"):
        sosbands.load(parts.write())


def test_gradient_boosting_starts_with_a_constant(tmp_path):
    model = GradientBoostingRegressor(n_estimators=1, max_depth=1, random_state=0).fit(X, y)
    parts = Parts(model, tmp_path)
    parts.attributes["init_"] = without_numbers(parts.attributes["estimators_"]["content"][0])
    with pytest.raises(ModelFileError, match="start with a constant"):
        sosbands.load(parts.write())


@pytest.mark.parametrize("number", [1, 1.5, None])
def test_trees_cannot_see_more_columns_than_their_estimator(number, tmp_path):
    parts = Parts(RandomForestRegressor(2, max_depth=2, random_state=0).fit(X, y), tmp_path)
    parts.attributes["n_features_in_"] = text(number)
    with pytest.raises(ModelFileError, match=r"must be whole|disagree"):
        sosbands.load(parts.write())


def test_search_trees_are_built_of_their_rows(tmp_path):
    model = KNeighborsRegressor(3).fit(X, y)
    parts = Parts(model, tmp_path)
    assert "_tree" not in parts.attributes
    np.testing.assert_array_equal(sosbands.load(parts.write()).predict(X), model.predict(X))
    parts.arrays[parts.attributes["_y"]["file"]] = npy(y[:-1])
    with pytest.raises(ModelFileError, match="inconsistent numbers of samples"):
        sosbands.load(parts.write())


@pytest.mark.parametrize(
    ("name", "value"),
    [("metric", "haversine"), ("metric", "precomputed"), ("weights", "no"), ("leaf_size", 0)],
)
def test_neighbours_are_found_by_few_metrics(name, value, tmp_path):
    parts = Parts(KNeighborsRegressor(3).fit(X, y), tmp_path)
    parts.attributes[name] = text(value)
    with pytest.raises(ModelFileError, match=name):
        sosbands.load(parts.write())


@pytest.mark.parametrize("shape", [(0, 2), (60, 0), (120,), (60, 2, 1)])
def test_neighbours_need_rows(shape, tmp_path):
    # Compiled code divides by their number.
    parts = Parts(KNeighborsRegressor(3, algorithm="brute").fit(X, y), tmp_path)
    parts.arrays[parts.attributes["_fit_X"]["file"]] = npy(np.zeros(shape))
    with pytest.raises(ModelFileError, match=r"Found array with 0|rows of neighbours must be"):
        sosbands.load(parts.write())


@pytest.mark.parametrize(
    "shape", [(1, 2**63 - 1), (2**40,), (-1,), (1, 1, 1), (), (2, 1), (1.0, 1)]
)
def test_arrays_of_objects_fill_their_shape(shape, tmp_path):
    model = GradientBoostingRegressor(n_estimators=1, max_depth=1, random_state=0).fit(X, y)
    parts = Parts(model, tmp_path)
    parts.attributes["estimators_"]["shape"] = sequence("TupleNode", "builtins.tuple", *shape)
    with pytest.raises(ModelFileError, match="array of objects"):
        sosbands.load(parts.write())


CATEGORIES = np.column_stack([X[:, 0], np.arange(60) % 3])
CATEGORICAL = HistGradientBoostingRegressor(categorical_features=[1], max_iter=1)


def test_what_boosting_puts_before_its_trees_is_built_anew(tmp_path):
    model = CATEGORICAL.fit(CATEGORIES, y + 5 * (CATEGORIES[:, 1] == 1))
    parts = Parts(model, tmp_path)
    assert b"check_array" not in json.dumps(parts.schema).encode()
    other = sosbands.load(parts.write())
    rows = np.column_stack([np.zeros(5), [0, 1, 2, 3, np.nan]])
    np.testing.assert_array_equal(model.predict(rows), other.predict(rows))
    np.testing.assert_array_equal(model.predict(CATEGORIES), other.predict(CATEGORIES))


@pytest.mark.parametrize("mask", [[False, False], [True, True], [True], [[True, False]], [1, 0]])
def test_boosting_knows_which_columns_are_categorical(mask, tmp_path):
    parts = Parts(CATEGORICAL.fit(CATEGORIES, y), tmp_path)
    parts.arrays[parts.attributes["is_categorical_"]["file"]] = npy(np.array(mask))
    with pytest.raises(ModelFileError, match=r"is_categorical_|categories of each"):
        sosbands.load(parts.write())


def test_a_file_of_the_old_encoder_is_refused(tmp_path):
    # It held functions with arguments bound to them.
    parts = Parts(CATEGORICAL.fit(CATEGORIES, y), tmp_path)
    partial = node("PartialNode", "functools.partial", content={"func": text(None)})
    parts.attributes["_preprocessor"] = node("ListNode", "builtins.list", content=[partial])
    with pytest.raises(ModelFileError, match=r"no model file can: functools.partial"):
        sosbands.load(parts.write())


@pytest.mark.parametrize(
    ("categories", "reason"),
    [
        (np.array([2.0, 1.0]), "ascend"),
        (np.array([np.nan, 1.0]), "last"),
        (np.zeros(0), "no categ"),
    ],
)
def test_categories_are_in_order(categories, reason, tmp_path):
    # The place of a category is searched for: one past the end would be written to.
    parts = Parts(OneHotEncoder().fit(CATEGORIES[:, 1:]), tmp_path)
    parts.arrays[parts.attributes["categories_"]["content"][0]["file"]] = npy(categories)
    with pytest.raises(ModelFileError, match=reason):
        sosbands.load(parts.write())


@pytest.mark.parametrize("place", [-1, 3, 1.5])
def test_an_encoder_drops_what_it_has(place, tmp_path):
    parts = Parts(OneHotEncoder(drop="first").fit(CATEGORIES[:, 1:]), tmp_path)
    parts.attributes["drop_idx_"]["content"] = [text(place)]
    with pytest.raises(ModelFileError, match="drops a category that it does not have"):
        sosbands.load(parts.write())


def test_how_many_columns_come_out_is_counted_anew(tmp_path):
    for model in (OneHotEncoder(), PolynomialFeatures(2)):
        parts = Parts(model.fit(CATEGORIES), tmp_path)
        for name in ("_n_features_outs", "_n_out_full", "n_output_features_"):
            parts.add(name, text(1))
        other = sosbands.load(parts.write())
        assert other.transform(CATEGORIES).shape == model.transform(CATEGORIES).shape


def test_products_of_columns_are_bounded(tmp_path):
    parts = Parts(PolynomialFeatures(2).fit(X), tmp_path)
    parts.attributes["degree"] = text(5000)
    with pytest.raises(ModelFileError, match="too many columns"):
        sosbands.load(parts.write())


def test_kernels_are_known_by_name(tmp_path):
    parts = Parts(KernelRidge(kernel="rbf").fit(X, y), tmp_path)
    parts.attributes["kernel"] = text("precomputed")
    with pytest.raises(ModelFileError, match="kernel must be one of"):
        sosbands.load(parts.write())


def test_functions_in_the_types_of_keys_are_not_called(parts):
    function = node("FunctionNode", "numpy.exp")
    kinds = node("ListNode", "builtins.list", content=[function])
    table = node("DictNode", "builtins.dict", content={"1": text(1)}, key_types=kinds)
    parts.add("table_", table)
    with pytest.raises(ModelFileError, match="keys of a dictionary"):
        sosbands.load(parts.write())


def test_processes_and_folders_do_not_come_from_a_file(tmp_path):
    model = make_pipeline(RandomForestRegressor(2, n_jobs=2, max_depth=2), memory=None).fit(X, y)
    parts = Parts(model, tmp_path)
    parts.add("memory", text(str(tmp_path / "cache")))
    steps = parts.attributes["steps"]["content"][0]["content"][1]
    steps["content"]["content"]["n_jobs"] = text(10**9)
    other = sosbands.load(parts.write())
    assert other.memory is None
    assert other[-1].n_jobs is None


def test_a_file_takes_memory_in_proportion_to_its_size(tmp_path):
    parts = Parts(Ridge().fit(X, y), tmp_path)
    parts.add("alpha", node("ListNode", "builtins.list", content=[[]] * 10**6))
    with pytest.raises(ModelFileError, match="far larger than the file"):
        sosbands.load(parts.write())


def test_what_was_saved_is_checked_as_when_it_was_made(tmp_path):
    band = regressor(lengthscale=1.0, width_weight=20.0, random_state=0).fit(X, y)
    parts = Parts(band, tmp_path)

    def spoil(value):
        if isinstance(value, dict):
            if value.get("__class__") == "Gaussian":
                value["content"]["content"]["offset"] = text(-1.0)
            for part in value.values():
                spoil(part)
        elif isinstance(value, list):
            for part in value:
                spoil(part)

    spoil(parts.schema)
    with pytest.raises(ModelFileError, match="offset must be finite and >= 0, got -1"):
        sosbands.load(parts.write())


@pytest.mark.parametrize(
    ("knots", "reason"),
    [
        ((np.zeros(2),), "numbers and their ranks"),
        ((np.array([[2.0, 1.0], [0.1, 0.2]]),), "numbers must ascend"),
    ],
)
def test_ranks_are_counted_among_numbers_in_order(knots, reason, tmp_path):
    mean = sosbands.StackedMean(random_state=0).fit(X, y)
    mean.ranks_ = InputRanks(knots)
    with pytest.raises(ModelFileError, match=reason):
        sosbands.save(mean, tmp_path / "m.skops")


@pytest.mark.slow
def test_changed_files_do_no_harm(tmp_path):
    # A few of those that make fuzz-files tries.
    fuzz = Path(__file__).with_name("fuzz")
    command = [sys.executable, "-W", "ignore", fuzz, "--count", "40", "--keep", tmp_path / "harm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "crash 0, hang 0, wrong 0" in done.stdout


def test_the_fixture_of_version_1_is_small():
    for path in (Path(__file__).parent / "data").glob("*.skops"):
        assert path.stat().st_size < 150_000


@pytest.mark.parametrize(
    ("part", "value", "reason"),
    [
        ("weight", "1.5", "a weight must be a share"),
        ("weight", '"all"', "a weight must be a share"),
        ("rank_share", "1.5", "ranks count by a share"),
        ("rank_share", '"all"', "ranks count by a share"),
        ("kernel_mean", "0.5", "needs a kernel mean"),
        ("ranks", "0.5", "needs ranks"),
        ("knots", np.array([[0.0, 0.0], [0.1, 0.2]]), "numbers must ascend"),
        ("knots", np.array([[0.0, np.nan], [0.1, 0.2]]), "must be finite"),
        ("knots", np.array([[0.0, 1.0]]), "needs a rank"),
        ("knots", np.zeros((2, 0)), "needs a rank"),
    ],
)
def test_a_blend_is_an_average_of_two_means(part, value, reason, tmp_path):
    parts = Parts(regressor(Ridge(), lengthscale=1.0, random_state=0).fit(X, np.sin(y)), tmp_path)
    blend = parts.attributes["band_"]["content"]["content"]["blend"]["content"]["content"]
    if part == "knots":
        knots = blend["ranks"]["content"]["content"]["knots"]["content"]
        parts.arrays[knots[0]["file"]] = npy(value)
    else:
        blend[part] = {**text("x"), "content": value}
    with pytest.raises(ModelFileError, match=reason):
        sosbands.load(parts.write())


@pytest.mark.parametrize(
    ("part", "value", "reason"),
    [
        ("low", '"x"', "limits are numbers"),
        ("slack", "null", "limits are numbers"),
        ("slack", "-1.0", "in no order"),
        ("slack", "NaN", "in no order"),
        ("high", "-99.0", "in no order"),
    ],
)
def test_limits_of_outputs_are_numbers_in_order(part, value, reason, tmp_path):
    model = regressor(None, lengthscale=1.0, random_state=0, y_min=-50.0, y_max=50.0).fit(X, y)
    parts = Parts(model, tmp_path)
    limits = parts.attributes["band_"]["content"]["content"]["limits"]["content"]["content"]
    limits[part] = {**text("x"), "content": value}
    with pytest.raises(ModelFileError, match=reason):
        sosbands.load(parts.write())
