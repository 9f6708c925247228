"""Bands around LightGBM, XGBoost and CatBoost: stored, trusted by name, quiet."""

import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostRegressor
from click.testing import CliRunner
from lightgbm import LGBMRegressor
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR
from xgboost import XGBRegressor

import sosbands
from sosbands import BandRegressor, KernelBand
from sosbands.cli import commands
from sosbands.persistence import ModelFileError, archive, check_savable, describe

BOOSTERS = {
    # One thread each: two that wait for each other cost far more. A tuple of columns: scikit-learn
    # cannot clone a CatBoost that holds a list.
    "catboost": CatBoostRegressor(
        iterations=20,
        verbose=False,
        allow_writing_files=False,
        cat_features=("colour",),
        thread_count=1,
    ),
    "lightgbm": LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1),
    "xgboost": XGBRegressor(n_estimators=20, enable_categorical=True, n_jobs=1),
}
TITLES = {"catboost": "CatBoost", "lightgbm": "LightGBM", "xgboost": "XGBoost"}
LIBRARIES = sorted(BOOSTERS)
# The band sees numbers; the booster sees the frame as it is.
NUMBERS = ColumnTransformer([("numbers", SimpleImputer(), ["a", "b"])])


def table(n, seed):
    """Missing values, and a column of categories that matters."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(["blue", "green", "red"], n)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    y = 2 * X.a.to_numpy() + 3 * (colour == "red") + rng.normal(size=n)
    X.loc[rng.random(n) < 0.2, "a"] = np.nan
    return X.assign(colour=pd.Categorical(colour, categories=["red", "green", "blue"])), y


X, Y = table(160, 0)
X_NEW = table(200, 1)[0]


def numeric(library):
    """A booster of columns without categories."""
    given = BOOSTERS[library].get_params()
    return type(BOOSTERS[library])(**{k: v for k, v in given.items() if k != "cat_features"})


def parameters(model):
    """Those of a booster, without what belongs to a machine."""
    return {k: v for k, v in model.get_params().items() if k not in ("n_jobs", "thread_count")}


def band(estimator, **parameters):
    settings = {"band": KernelBand(lengthscale=1.0), "random_state": 0, **parameters}
    return BandRegressor(estimator, **settings)


@pytest.fixture(scope="module")
def fitted():
    models = {name: band(one, band_transformer=NUMBERS) for name, one in BOOSTERS.items()}
    return {name: model.fit(X, Y) for name, model in models.items()}


@pytest.fixture(params=LIBRARIES)
def library(request):
    return request.param


@pytest.fixture
def file(library, fitted, tmp_path):
    sosbands.save(fitted[library], tmp_path / "model.skops")
    return tmp_path / "model.skops"


def stored(model, folder, library):
    sosbands.save(model, folder / "model.skops")
    return sosbands.load(folder / "model.skops", trusted=[library])


def assert_same(model, other, rows):
    np.testing.assert_array_equal(other.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(
        other.predict_interval(rows, [0.5, 0.9]), model.predict_interval(rows, [0.5, 0.9])
    )


def test_missing_values_and_categories_come_back_bit_for_bit(library, fitted, tmp_path):
    model = fitted[library]
    other = stored(model, tmp_path, library)
    assert_same(model, other, X_NEW)
    # One row has one category: codes of its own would be others.
    assert_same(
        model,
        other,
        X_NEW[:1].assign(
            colour=X_NEW.colour[:1].cat.set_categories(
                ["blue", "green", "red"] if library == "lightgbm" else X.colour.cat.categories
            )
        ),
    )
    assert model.predict(X_NEW).std() > 1


def test_a_loaded_booster_is_as_the_one_that_was_fitted(library, fitted, tmp_path):
    model, other = fitted[library], stored(fitted[library], tmp_path, library)
    for part in ("estimator", "estimator_"):
        ours, theirs = (getattr(one, part) for one in (model, other))
        assert type(ours) is type(theirs)
        assert repr(parameters(ours)) == repr(parameters(theirs))
    assert other.estimator_.n_features_in_ == 3
    if library != "catboost":  # which writes no importances
        for name in ("feature_names_in_", "feature_importances_"):
            ours, theirs = (getattr(one.estimator_, name) for one in (model, other))
            np.testing.assert_array_equal(ours, theirs)
    again = stored(other, tmp_path, library)
    assert_same(model, again, X_NEW)


def test_a_loaded_band_can_be_fitted_again(library, fitted, tmp_path):
    other = stored(fitted[library], tmp_path, library)
    assert_same(fitted[library], clone(other).fit(X, Y), X_NEW)


@pytest.mark.filterwarnings("ignore:the estimator is frozen")
@pytest.mark.parametrize(
    "wrap",
    [
        lambda one: make_pipeline(StandardScaler(), one),
        lambda one: TransformedTargetRegressor(one, func=np.arcsinh, inverse_func=np.sinh),
        lambda one: FrozenEstimator(one.fit(X[["a", "b"]].fillna(0).to_numpy(), Y)),
    ],
    ids=["pipeline", "transformed target", "frozen"],
)
def test_a_booster_inside_another_estimator_comes_back(library, wrap, tmp_path):
    rows = X[["a", "b"]].fillna(0).to_numpy()
    model = band(wrap(numeric(library))).fit(rows, Y)
    assert_same(model, stored(model, tmp_path, library), rows)


def test_a_pipeline_of_an_encoder_and_a_booster_comes_back(library, tmp_path):
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["colour"]), remainder="passthrough"
    )
    model = band(make_pipeline(encoder, numeric(library)), band_transformer=NUMBERS).fit(X, Y)
    assert_same(model, stored(model, tmp_path, library), X_NEW)


def test_the_boosters_of_all_folds_come_back(library, tmp_path):
    parameters = {"band_transformer": NUMBERS, "calibration": "cv+", "cv": 3}
    model = band(BOOSTERS[library], **parameters).fit(X, Y)
    assert_same(model, stored(model, tmp_path, library), X_NEW)


def test_a_booster_without_a_band_comes_back(library, tmp_path):
    model = clone(BOOSTERS[library]).fit(X, Y)
    other = stored(model, tmp_path, library)
    np.testing.assert_array_equal(other.predict(X_NEW), model.predict(X_NEW))
    assert describe(tmp_path / "model.skops")["model"].endswith(type(model).__name__)


@pytest.mark.filterwarnings("ignore:The argument 'eval_set':FutureWarning")
def test_training_that_stopped_early_comes_back(library, tmp_path):
    rounds = {"iterations": 300} if library == "catboost" else {"n_estimators": 300}
    name = "early_stopping_round" if library == "lightgbm" else "early_stopping_rounds"
    model = clone(BOOSTERS[library]).set_params(**rounds, **{name: 3})
    spoken = {} if library == "lightgbm" else {"verbose": False}
    model.fit(X[:100], Y[:100], eval_set=[(X[100:], Y[100:])], **spoken)
    other = stored(model, tmp_path, library)
    np.testing.assert_array_equal(other.predict(X_NEW), model.predict(X_NEW))


def test_a_file_asks_for_trust_in_the_parser_by_name(library, file):
    with pytest.raises(
        ModelFileError,
        match=rf"cannot be loaded: it holds a model of {TITLES[library]}, whose own parser reads "
        rf"its bytes: if you trust whoever made the file, pass trusted=\['{library}'\]$",
    ):
        sosbands.load(file)
    others = [name for name in LIBRARIES if name != library]
    with pytest.raises(ModelFileError, match="whose own parser"):
        sosbands.load(file, trusted=others)
    assert describe(file)["foreign_types"] == [library]
    assert library in describe(file)["versions"]


def test_no_library_is_imported_for_a_file_that_is_not_trusted(library, file):
    code = (
        "import sys, sosbands\n"
        "try: sosbands.load(sys.argv[1])\n"
        "except ValueError: print({'catboost', 'lightgbm', 'xgboost'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code, file], check=True, capture_output=True)
    assert ran.stdout == b"set()\n"


def test_a_library_that_is_missing_is_named(library, file, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModelFileError, match=f"model of {TITLES[library]}.*pip install {library}$"):
        sosbands.load(file, trusted=[library])


def resigned(path, change):
    """Change the bytes of every booster in a file, and give it a checksum that is right."""
    with zipfile.ZipFile(path) as members:
        contents = {name: members.read(name) for name in members.namelist()}
    manifest = json.loads(contents.pop("manifest.json"))
    del manifest["checksum"]
    schema = contents.pop("schema.json")
    for name, content in contents.items():
        array = np.load(io.BytesIO(content))
        if array.dtype == np.uint8:
            stream = io.BytesIO()
            np.save(stream, np.frombuffer(change(array.tobytes()), np.uint8))
            contents[name] = stream.getvalue()
    path.write_bytes(archive.packed(manifest, schema, contents))


@pytest.mark.parametrize(
    "change",
    [
        lambda content: b"",
        lambda content: content[:1],
        lambda content: content[:100],
        lambda content: content[: len(content) // 2],
        lambda content: content[len(content) // 2 :],
        lambda content: b"no model" * 1000,
    ],
    ids=["nothing", "a byte", "a beginning", "a half", "the other half", "something else"],
)
def test_a_part_of_a_booster_is_refused_in_one_sentence(library, change, file):
    resigned(file, change)
    with pytest.raises(ModelFileError, match=f"{TITLES[library]} cannot read the model") as caught:
        sosbands.load(file, trusted=[library])
    assert "\n" not in str(caught.value)


def test_the_bytes_of_another_library_are_refused(library, fitted, file, tmp_path):
    for name in LIBRARIES:
        if name != library:
            sosbands.save(fitted[name], tmp_path / "other.skops")
            with zipfile.ZipFile(tmp_path / "other.skops") as members:
                arrays = [
                    np.load(io.BytesIO(members.read(one)))
                    for one in members.namelist()
                    if one.endswith(".npy")
                ]
            [bytes_] = [one.tobytes() for one in arrays if one.dtype == np.uint8]
            resigned(file, lambda content, found=bytes_: found)
            with pytest.raises(ModelFileError, match="cannot read the model"):
                sosbands.load(file, trusted=[library])


def test_damaged_bytes_never_reach_a_parser(library, file):
    with zipfile.ZipFile(file) as members:  # in the middle of the largest one: headers have slack
        one = max(members.infolist(), key=lambda info: info.compress_size)
    data = bytearray(file.read_bytes())
    start = one.header_offset + data[one.header_offset :].index(one.filename.encode())
    data[start + len(one.filename) + one.compress_size // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(ModelFileError):
        sosbands.load(file, trusted=[library])


def test_matters_of_a_machine_stay_out_of_the_file(library, fitted, file):
    name = "thread_count" if library == "catboost" else "n_jobs"
    assert fitted[library].estimator_.get_params()[name] == 1
    assert sosbands.load(file, trusted=[library]).estimator_.get_params().get(name) is None


def test_what_can_be_saved_is_said_before_fitting(library):
    check_savable(band(make_pipeline(StandardScaler(), BOOSTERS[library])))
    with pytest.raises(ModelFileError, match=r"sklearn\.svm\._classes\.SVR"):
        check_savable(band(make_pipeline(StandardScaler(), SVR())))
    with pytest.raises(ModelFileError, match="own_loss"):
        check_savable(LGBMRegressor(objective=own_loss))


def own_loss(y, prediction):
    return prediction - y, np.ones_like(y)


@pytest.mark.parametrize("kind", ["LGBMRegressor", "XGBRegressor", "CatBoostRegressor"])
def test_commands_around_a_booster_are_quiet_and_ask_for_trust(kind, tmp_path, monkeypatch, capfd):
    library = {"L": "lightgbm", "X": "xgboost", "C": "catboost"}[kind[0]]
    X.assign(y=Y).to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        result = CliRunner().invoke(commands, arguments)
        assert capfd.readouterr() == ("", "")  # what compiled code writes
        return result

    fit = run(*f"fit t.csv --target y --out m.skops --estimator {library}.{kind}".split())
    assert fit.exit_code == 0, fit.output
    assert library not in fit.stderr.lower()  # only phases of the fit
    assert f"around {kind}" in fit.stdout
    assert f"--trust {library}" in run("info", "m.skops").stdout
    for command in ("predict", "evaluate"):
        refused = run(command, "m.skops", "t.csv")
        assert refused.exit_code == 1
        assert refused.stderr.endswith(f"trust whoever made the file, give --trust {library}\n")
        done = run(command, "m.skops", "t.csv", "--trust", library)
        assert done.exit_code == 0, done.output
        assert library not in done.stderr.lower()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.skops", "t.csv"]


def test_a_user_who_asks_for_words_gets_them(tmp_path, monkeypatch, capfd):
    (tmp_path / "own_boosters.py").write_text(
        "from lightgbm import LGBMRegressor\n\n\n"
        "def make():\n    return LGBMRegressor(n_estimators=2, verbosity=1)\n"
    )
    X[["b"]].assign(y=Y).to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.chdir(tmp_path)
    command = "fit t.csv --target y --out m.skops --estimator own_boosters:make"
    result = CliRunner().invoke(commands, command.split())
    assert result.exit_code == 0, result.output
    assert "[LightGBM]" in "".join(capfd.readouterr()) + result.output
