"""Files of models: what comes back is what was saved, bit for bit."""

from __future__ import annotations

import importlib
import json
import os
import stat
import subprocess
import sys
import warnings
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import HuberRegressor, Lasso, LassoCV, Ridge, TweedieRegressor
from sklearn.model_selection import GridSearchCV, GroupKFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

import sosbands
from sosbands import BandRegressor, KernelMean, Newton
from sosbands.core.features import factorize
from sosbands.learning.difficulty_trees import DifficultyTrees
from sosbands.learning.neighbours import NeighbourMean
from sosbands.persistence import ModelFileError, check_savable, describe, files, listed_types
from tests.regressors import regressor

FIXTURE = Path(__file__).parent / "data"
N = 80
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 2))
y = np.sin(2 * X[:, 0]) + (0.2 + 0.3 * np.abs(X[:, 1])) * rng.normal(size=N)
X_NEW = rng.normal(size=(50, 2))
FRAME = pd.DataFrame(X, columns=["a", "b"]).assign(
    kind=pd.Categorical(np.array(["p", "q", "r"])[np.arange(N) % 3]), flag=np.arange(N) % 2 == 0
)
FAST = {
    "lengthscale": 1.0,
    "mean_lengthscale": 1.0,
    "width_weight": 20.0,
    "symmetric": True,
    "max_rank": 15,
    "random_state": 0,
}
ENCODER = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), ["kind"]), remainder="passthrough"
)


class Halving(RegressorMixin, BaseEstimator):
    """A user's own regressor."""

    def fit(self, X, y):
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_ / 2)


def ratio(X):
    """A user's own likelihood ratio."""
    return np.exp(0.3 * np.asarray(X)[:, 0])


def band(estimator=None, **parameters):
    return regressor(estimator, **{**FAST, **parameters})


def conformalized(**companions):
    return band(calibration=None).fit(X[:40], y[:40]).conformalize(X[40:], y[40:], **companions)


KERNEL_BANDS = {
    "split": lambda: band().fit(X, y),
    "two-sided": lambda: band(symmetric=False).fit(X, y),
    "alike sides": lambda: band(symmetric=False, likeness=0.8).fit(X, y),
    "cv+": lambda: band(calibration="cv+", cv=3).fit(X, y),
    "localized": lambda: band(calibration="localized").fit(X, y),
    "conformalized": conformalized,
    "tuned": lambda: BandRegressor(None, random_state=0).fit(X, y),
    "as published": lambda: BandRegressor.as_published(
        band__lengthscale=1.0, estimator__lengthscale=1.0, random_state=0
    ).fit(X, y),
    "joint, two-sided": lambda: band(joint_mean=True, symmetric=False).fit(X, y),
    "clipped, without outliers": lambda: band(y_min=-9.0, y_max=9, remove_outliers=3.0).fit(X, y),
    "outputs that pile up": lambda: band().fit(X, np.maximum(y, np.median(y))),
    "time": lambda: band(cv=TimeSeriesSplit(3)).fit(X, y),
    "groups of rows": lambda: band(cv=GroupKFold(3)).fit(X, y, groups=np.arange(N) % 20),
    "a solver": lambda: band(solver=Newton(tol=1e-3)).fit(X, y),
    "a random state": lambda: band(random_state=np.random.RandomState(3)).fit(X, y),
    "lengthscales": lambda: band(lengthscale=np.array([1.0, 2.0])).fit(X, y),
    "a rough mean": lambda: band(KernelMean(kernel="matern32")).fit(X, y),
}
ESTIMATORS = {
    "ridge": Ridge,
    "boosting": lambda: HistGradientBoostingRegressor(max_iter=5, random_state=0),
    "boosted quantile": lambda: HistGradientBoostingRegressor(
        loss="quantile", quantile=0.5, max_iter=5, random_state=0
    ),
    "older boosting": lambda: GradientBoostingRegressor(n_estimators=4, random_state=0),
    "forest": lambda: RandomForestRegressor(n_estimators=4, random_state=0),
    "neighbours": lambda: KNeighborsRegressor(3),
    "extra trees": lambda: ExtraTreesRegressor(n_estimators=4, random_state=0),
    "one tree": lambda: DecisionTreeRegressor(max_depth=3, random_state=0),
    "lasso": lambda: LassoCV(cv=2),
    "huber": HuberRegressor,
    "a link": lambda: TransformedTargetRegressor(TweedieRegressor(power=0)),
    "kernel ridge": lambda: KernelRidge(kernel="rbf"),
    "network": lambda: MLPRegressor(
        hidden_layer_sizes=(3,), solver="lbfgs", max_iter=5000, random_state=0
    ),
    "weighted neighbours": lambda: KNeighborsRegressor(3, weights="distance", algorithm="brute"),
    "polynomials": lambda: make_pipeline(PolynomialFeatures(2), StandardScaler(), Ridge()),
    "imputed": lambda: make_pipeline(SimpleImputer(add_indicator=True), Ridge()),
    "components": lambda: make_pipeline(PowerTransformer(), PCA(2), Ridge()),
    "vote": lambda: VotingRegressor([("ridge", Ridge()), ("lasso", Lasso(0.1))]),
    "selection": lambda: make_pipeline(SelectKBest(f_regression, k=1), Ridge()),
    "stack": lambda: StackingRegressor([("ridge", Ridge())], final_estimator=Ridge(), cv=2),
    "a power": lambda: make_pipeline(FunctionTransformer(np.cbrt), Ridge()),
    "a target": lambda: TransformedTargetRegressor(Ridge(), func=np.arctan, inverse_func=np.tan),
}


def stored(model, folder, **trust):
    """The model after a visit to a file."""
    path = folder / "model.skops"
    sosbands.save(model, path, **trust)
    return sosbands.load(path, **trust)


def assert_same(model, other, rows=X_NEW, **companions):
    np.testing.assert_array_equal(model.predict(rows), other.predict(rows))
    np.testing.assert_array_equal(model.predict_scale(rows), other.predict_scale(rows))
    np.testing.assert_array_equal(model.extrapolation(rows), other.extrapolation(rows))
    levels = [0.5, 0.8]
    np.testing.assert_array_equal(
        model.predict_interval(rows, levels, **companions),
        other.predict_interval(rows, levels, **companions),
    )
    assert model.certificate_ == other.certificate_
    assert model.get_params(deep=False).keys() == other.get_params(deep=False).keys()


@pytest.mark.parametrize("name", KERNEL_BANDS)
def test_a_kernel_band_comes_back_bit_for_bit(name, tmp_path):
    model = KERNEL_BANDS[name]()
    assert_same(model, stored(model, tmp_path))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_band_around_an_estimator_comes_back_bit_for_bit(name, tmp_path):
    model = band(ESTIMATORS[name](), symmetric="auto", cv=3).fit(X, y)
    assert_same(model, stored(model, tmp_path))


@pytest.mark.parametrize(
    "groups", [["a", "b"], [True, False], [1, "1"], [0.5, 2], [("a", 1), ("b", 2)]], ids=str
)
def test_groups_of_any_name_come_back(groups, tmp_path):
    model = conformalized(groups=[groups[i % 2] for i in range(40)])
    names = [groups[i % 2] for i in range(50)]
    assert_same(model, stored(model, tmp_path), groups=names)


def test_weights_of_rows_come_back(tmp_path):
    model = conformalized(weights=ratio(X[40:]))
    assert_same(model, stored(model, tmp_path), weights=ratio(X_NEW))


def test_a_function_as_weights_is_refused_unless_it_is_trusted(tmp_path):
    model = conformalized(weights=ratio)
    with pytest.raises(ModelFileError, match=r"ratio \(in calibration_.ratio\).*as an array"):
        sosbands.save(model, tmp_path / "model.skops")
    assert_same(model, stored(model, tmp_path, trusted=[f"{ratio.__module__}.ratio"]))


def test_a_lambda_as_weights_is_refused_even_if_it_is_trusted(tmp_path):
    model = conformalized(weights=lambda X: 2 * ratio(X))
    with pytest.raises(ModelFileError, match="give functions a name, by def in a module"):
        sosbands.save(model, tmp_path / "model.skops", trusted=[f"{ratio.__module__}.<lambda>"])


def test_dates_as_groups_are_refused_with_advice(tmp_path):
    model = conformalized(groups=list(pd.to_datetime(["2020-01-01", "2021-01-01"] * 20)))
    with pytest.raises(ModelFileError, match="give groups as texts or numbers"):
        sosbands.save(model, tmp_path / "model.skops")


def test_mixed_columns_of_a_frame_come_back(tmp_path):
    mean = make_pipeline(ENCODER, HistGradientBoostingRegressor(max_iter=5, random_state=0))
    model = band(mean, band_transformer=ENCODER, symmetric=False, cv=3).fit(FRAME, y)
    other = stored(model, tmp_path)
    assert_same(model, other, FRAME)
    assert list(other.feature_names_in_) == list(FRAME.columns)
    with pytest.raises(ValueError, match="feature names"):
        other.predict(FRAME.rename(columns={"a": "A"}))


def test_boosting_of_categories_comes_back(tmp_path):
    mean = HistGradientBoostingRegressor(
        categorical_features="from_dtype", max_iter=5, min_samples_leaf=2, random_state=0
    )
    model = band(mean, cv=3).fit(FRAME, y + 3 * (FRAME["kind"] == "q"))
    assert_same(model, stored(model, tmp_path), FRAME)


def test_a_frozen_estimator_comes_back(tmp_path):
    frozen = FrozenEstimator(Ridge().fit(X[:20], y[:20]))
    with pytest.warns(UserWarning, match="frozen"):
        model = band(frozen).fit(X[20:], y[20:])
    assert_same(model, stored(model, tmp_path))


@pytest.mark.parametrize(
    "difficulty",
    [
        HistGradientBoostingRegressor(max_iter=3, random_state=0),
        NeighbourMean(5),
        DifficultyTrees(
            HistGradientBoostingRegressor(max_iter=3, random_state=0),
            ExtraTreesRegressor(3, random_state=0),
        ),
    ],
    ids=["trees", "neighbours", "two kinds of trees"],
)
def test_difficulty_comes_back(difficulty, tmp_path):
    model = band(Ridge(), difficulty=difficulty, cv=3).fit(X, y)
    assert_same(model, stored(model, tmp_path))


@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
def test_encoded_categories_come_back(drop, tmp_path):
    rows = pd.DataFrame({"a": ["u", "v", None] * 4, "b": [1.0, np.nan] * 6, "c": [True, False] * 6})
    model = OneHotEncoder(drop=drop, handle_unknown="ignore", sparse_output=False).fit(rows)
    other = stored(model, tmp_path)
    np.testing.assert_array_equal(model.transform(rows), other.transform(rows))
    assert list(model.get_feature_names_out()) == list(other.get_feature_names_out())


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (SVR(), r"sklearn.svm._classes.SVR \(in the model\).*use one of these, or pass trusted="),
        (make_pipeline(SplineTransformer(), Ridge()), r"SplineTransformer \(in steps\)"),
        (
            GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=2),
            "is a search: save its best_estimator_ instead",
        ),
        (make_pipeline(FunctionTransformer(np.sinc), Ridge()), r"numpy.sinc \(in steps.func\)"),
        (make_pipeline(FunctionTransformer(partial(np.power, 2)), Ridge()), "functools.partial"),
        (KNeighborsRegressor(metric="canberra"), "found by a metric of"),
        (KernelRidge(kernel=lambda x, z: x @ z), "give functions a name"),
        (OneHotEncoder(min_frequency=2), "without min_frequency"),
        (GradientBoostingRegressor(init=Ridge(), n_estimators=1), "init=None or init='zero'"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_what_cannot_be_checked_is_refused_before_anything_is_written(model, reason, tmp_path):
    model.fit(X, y)
    with pytest.raises(ModelFileError, match=reason):
        sosbands.save(model, tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())


def test_trees_of_several_outputs_are_refused(tmp_path):
    model = RandomForestRegressor(2, random_state=0).fit(X, np.column_stack([y, y]))
    with pytest.raises(ModelFileError, match="cannot be saved: a tree must have one output, got 2"):
        sosbands.save(model, tmp_path / "model.skops")


def test_sparse_rows_are_refused(tmp_path):
    model = KNeighborsRegressor(3).fit(csr_matrix(X), y)
    with pytest.raises(ModelFileError, match=r"_csr.csr_matrix \(in _fit_X\).*dense rows"):
        sosbands.save(model, tmp_path / "model.skops")


@pytest.mark.parametrize("model", [SVR(), GaussianProcessRegressor(alpha=0.1)], ids=repr)
def test_further_estimators_of_scikit_learn_can_be_trusted(model, tmp_path):
    model.fit(X, y)
    names = [f"{type(model).__module__}.{type(model).__name__}"]
    if isinstance(model, GaussianProcessRegressor):
        kernels = ("ConstantKernel", "Product", "RBF")
        names += [f"sklearn.gaussian_process.kernels.{name}" for name in kernels]
    other = stored(model, tmp_path, trusted=names)
    np.testing.assert_array_equal(model.predict(X_NEW), other.predict(X_NEW))


def test_matters_of_a_machine_stay_out_of_the_file(tmp_path):
    forest = RandomForestRegressor(2, n_jobs=2, random_state=np.random.RandomState(0)).fit(X, y)
    other = stored(forest, tmp_path)
    assert other.n_jobs is None
    assert other.random_state is None
    assert forest.n_jobs == 2


def test_a_pipeline_that_ends_in_a_band_comes_back(tmp_path):
    model = make_pipeline(StandardScaler(), band()).fit(X, y)
    other = stored(model, tmp_path)
    np.testing.assert_array_equal(model.predict(X_NEW), other.predict(X_NEW))
    assert_same(model[-1], other[-1])


def test_the_best_of_a_grid_search_comes_back(tmp_path):
    search = GridSearchCV(band(), {"band__width_weight": [5.0, 20.0]}, cv=2).fit(X, y)
    assert_same(search.best_estimator_, stored(search.best_estimator_, tmp_path))


def test_a_band_without_calibration_comes_back(tmp_path):
    model = band(calibration=None).fit(X[:40], y[:40])
    other = stored(model, tmp_path)
    assert other.calibration_ is None
    assert_same(model.conformalize(X[40:], y[40:]), other.conformalize(X[40:], y[40:]))


@pytest.mark.parametrize("companion", ["groups", "weights", None])
def test_a_loaded_band_takes_further_calibration_rows(companion, tmp_path):
    parts = [np.ones(25), np.ones(15), np.ones(50)]
    first, more, new = [{companion: part} if companion else {} for part in parts]
    model = band(calibration=None).fit(X[:40], y[:40]).conformalize(X[40:65], y[40:65], **first)
    other = stored(model, tmp_path)
    for each in (model, other):
        each.partial_conformalize(X[65:], y[65:], **more)
    assert_same(model, other, **new)


def test_quantiles_and_trials_come_back(tmp_path):
    model = regressor(symmetric=True, random_state=0).fit(X, y)
    other = stored(model, tmp_path)
    np.testing.assert_array_equal(
        model.predict_quantiles(X_NEW, [0.2, 0.7]), other.predict_quantiles(X_NEW, [0.2, 0.7])
    )
    pd.testing.assert_frame_equal(model.tuning_.to_frame(), other.tuning_.to_frame())
    assert other.tuning_.to_frame()["chosen"].sum() == 1


def test_a_loaded_band_can_be_cloned_and_fitted_again(tmp_path):
    model = band().fit(X, y)
    other = stored(model, tmp_path)
    again = clone(other).fit(X, y)
    np.testing.assert_array_equal(model.predict_interval(X_NEW), again.predict_interval(X_NEW))
    assert other.certificate_.status is model.certificate_.status
    assert other.certificate_ == model.certificate_


def test_features_of_training_rows_stay_out_of_the_file(tmp_path):
    model = band(max_rank=None, lengthscale=0.1).fit(X, y)
    sosbands.save(model, tmp_path / "model.skops")
    band_ = model.band_
    Z = band_.scale_inputs(band_.encoding.encoded(X), model.predict(X)).Z
    kept = band_.functions.levels[0][0]
    stored = (tmp_path / "model.skops").read_bytes()
    assert kept.landmarks.tobytes() in stored
    assert kept.weights.tobytes() in stored
    assert factorize(kept.kernel, Z).rows.tobytes() not in stored


@pytest.mark.parametrize("name", KERNEL_BANDS)
def test_neither_the_problem_nor_its_solution_is_in_a_file(name, tmp_path):
    sosbands.save(KERNEL_BANDS[name](), tmp_path / "model.skops")
    with zipfile.ZipFile(tmp_path / "model.skops") as file:
        text = b"".join(file.read(part) for part in file.namelist() if part.endswith(".json"))
    for absent in ("Solution", "BandProblem", "Point", "Basis", "FeatureRows"):
        assert f'"{absent}"'.encode() not in text
    assert b'"BandFunctions"' in text


def test_the_same_model_gives_the_same_bytes(tmp_path):
    model = band(Ridge()).fit(X, y)
    for name in ("one", "two"):
        sosbands.save(model, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_foreign_estimator_is_refused_with_its_name(tmp_path):
    model = band(Halving(), cv=3).fit(X, y)
    name = f"{Halving.__module__}.Halving"
    with pytest.raises(ModelFileError, match=r"Halving \(in estimator\); pass trusted="):
        sosbands.save(model, tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())
    sosbands.save(model, tmp_path / "model.skops", trusted=[Halving])
    assert describe(tmp_path / "model.skops")["foreign_types"] == [name]
    with pytest.raises(ModelFileError, match=r"Halving.*pass trusted="):
        sosbands.load(tmp_path / "model.skops")
    assert_same(model, sosbands.load(tmp_path / "model.skops", trusted=[name]))


def test_what_has_no_state_is_refused_when_it_is_saved(tmp_path):
    model = band(Halving(), cv=3).fit(X, y)
    model.estimator_.rows_ = (row for row in X)
    with pytest.raises(ModelFileError, match="generator"):
        sosbands.save(model, tmp_path / "model.skops", trusted=[Halving])


@pytest.mark.parametrize(
    ("table", "reason"),
    [({True: 1, False: 2}, "type bool"), ({1: 1, "1": 2}, "two keys"), ({(1, 2): 3}, "tuple")],
)
def test_dictionaries_that_would_come_back_different_are_refused(table, reason, tmp_path):
    model = Halving().fit(X, y)
    model.table_ = table
    with pytest.raises(ModelFileError, match=f"this Halving cannot be saved.*{reason}"):
        sosbands.save(model, tmp_path / "model.skops", trusted=[Halving])


def test_only_fitted_estimators_are_saved(tmp_path):
    with pytest.raises(ModelFileError, match="call fit before save"):
        sosbands.save(band(), tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match="a fitted estimator is needed, got 3"):
        sosbands.save(3, tmp_path / "model.skops")


def test_a_text_as_trusted_is_refused(tmp_path):
    with pytest.raises(ValueError, match="list of dotted names"):
        sosbands.load(FIXTURE / "version-1.skops", trusted="os.system")


def test_an_unknown_name_as_trusted_is_refused():
    with pytest.raises(
        ValueError, match=r"libraries 'catboost', 'lightgbm', 'xgboost', got 'lgbm'$"
    ):
        sosbands.load(FIXTURE / "version-1.skops", trusted=["lgbm"])


def test_what_cannot_be_saved_is_said_before_fitting():
    check_savable(band(make_pipeline(StandardScaler(), Ridge())))
    check_savable(band(SVR()), trusted=[SVR])
    with pytest.raises(ModelFileError, match=r"this BandRegressor cannot be saved: .*SVR \(in est"):
        check_savable(band(make_pipeline(StandardScaler(), SVR())))
    with pytest.raises(ModelFileError, match="an estimator is needed, got 3"):
        check_savable(3)


def test_metadata_is_described_without_the_model(tmp_path):
    metadata = {"target": "price", "dtypes": {"a": "float64"}, "levels": [0.8, 0.9], "note": "ü"}
    sosbands.save(band().fit(X, y), tmp_path / "model.skops", metadata=metadata)
    told = describe(tmp_path / "model.skops")
    assert told["metadata"] == metadata
    assert told["format_version"] == 1
    assert told["model"] == "sosbands.estimator.BandRegressor"
    assert told["foreign_types"] == []
    assert set(told["versions"]) == {"sosbands", "scikit-learn", "numpy", "skops"}
    assert "checksum" not in told


def test_a_description_does_not_wait_for_scikit_learn():
    code = (
        "import sys; from sosbands.persistence import describe; describe(sys.argv[1]); "
        "print({'sklearn', 'skops', 'pandas', 'scipy'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, str(FIXTURE / "version-1.skops")]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    assert printed.stdout == b"set()\n"


@pytest.mark.parametrize("value", [np.ones(2), float("nan"), {1, 2}])
def test_metadata_must_be_json(value, tmp_path):
    with pytest.raises(ModelFileError, match="metadata must be expressible in JSON"):
        sosbands.save(band().fit(X, y), tmp_path / "model.skops", metadata={"it": value})


def test_a_file_that_was_there_survives_an_interrupted_save(tmp_path, monkeypatch):
    path = tmp_path / "model.skops"
    path.write_bytes(b"before")
    write = Path.write_bytes

    def interrupted(self, data):
        write(self, data[:100])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sosbands.save(band().fit(X, y), path)
    assert [item.name for item in tmp_path.iterdir()] == ["model.skops"]
    assert path.read_bytes() == b"before"


def test_a_new_file_follows_the_mask_and_a_replaced_one_keeps_its_mode(tmp_path):
    path, model = tmp_path / "model.skops", Ridge().fit(X, y)
    before = os.umask(0o027)
    try:
        sosbands.save(model, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        for mode in (0o600, 0o664):
            path.chmod(mode)
            sosbands.save(model, path)
            assert stat.S_IMODE(path.stat().st_mode) == mode
    finally:
        os.umask(before)


def test_a_missing_folder_and_a_folder_are_named(tmp_path):
    model = band().fit(X, y)
    with pytest.raises(FileNotFoundError, match="create it first"):
        sosbands.save(model, tmp_path / "nowhere" / "model.skops")
    with pytest.raises(IsADirectoryError, match="give the name of a file"):
        sosbands.save(model, tmp_path)
    with pytest.raises(IsADirectoryError, match="give the name of a model file"):
        sosbands.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no model file"):
        sosbands.load(tmp_path / "absent.skops")


def pretend(monkeypatch, version):
    """A scikit-learn of another version reads the file."""
    known = files.version
    monkeypatch.setattr(
        files, "version", lambda name: version if name == "scikit-learn" else known(name)
    )


@pytest.fixture
def ridge(tmp_path):
    sosbands.save(Ridge().fit(X, y), tmp_path / "ridge.skops")
    return tmp_path / "ridge.skops"


def test_another_patch_of_scikit_learn_is_no_news(ridge, monkeypatch):
    current = describe(ridge)["versions"]["scikit-learn"]
    pretend(monkeypatch, ".".join([*current.split(".")[:2], "99"]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = sosbands.load(ridge)
    assert not caught
    np.testing.assert_array_equal(model.predict(X), Ridge().fit(X, y).predict(X))


def test_another_minor_version_of_scikit_learn_is_said_once(ridge, monkeypatch):
    pretend(monkeypatch, "1.99.0")
    with pytest.warns(InconsistentVersionWarning, match="Ridge") as caught:
        sosbands.load(ridge)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_model_of_a_newer_major_version_is_refused(ridge, monkeypatch):
    pretend(monkeypatch, "0.24.0")
    with pytest.raises(ModelFileError, match="upgrade scikit-learn"):
        sosbands.load(ridge)


def test_every_type_on_the_list_is_found_by_its_name():
    for name, kind in listed_types.KINDS.items():
        module, _, attribute = name.rpartition(".")
        assert getattr(importlib.import_module(module), attribute) is kind.type


def test_the_page_on_files_lists_every_estimator():
    page = (Path(__file__).parents[2] / "docs" / "model-files.md").read_text()
    ours = [kind.type.__name__ for kind in listed_types.KINDS.values() if hasattr(kind.type, "fit")]
    assert [name for name in ours if f"`{name}`" not in page] == []


@pytest.mark.parametrize("name", ["version-1", "version-1-boosting"])
def test_files_of_version_1_stay_readable(name):
    told = json.loads((FIXTURE / f"{name}.json").read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = sosbands.load(FIXTURE / f"{name}.skops")
    rows = np.array(told["rows"])
    # Another machine may round differently; a misread array would be far off.
    near = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(model.predict(rows), told["mean"], **near)
    np.testing.assert_allclose(model.predict_scale(rows), told["scale"], **near)
    np.testing.assert_allclose(model.extrapolation(rows), told["extrapolation"], **near)
    intervals = model.predict_interval(rows, told["levels"])
    # Written when ends were not yet moved outwards.
    np.testing.assert_allclose(intervals, told["intervals"], rtol=1e-7, atol=1e-7)
    assert describe(FIXTURE / f"{name}.skops")["metadata"] == {"note": "kept for ever"}
