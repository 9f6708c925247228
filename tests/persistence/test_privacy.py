"""What a file holds of the training rows: no outputs, residuals or multipliers, and few inputs."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import HuberRegressor, Ridge
from sklearn.neighbors import KNeighborsRegressor

import sosbands
from sosbands.core import features
from sosbands.core.expansions import KernelExpansion
from sosbands.core.features import Features
from sosbands.learning import extrapolation, fitted_band
from sosbands.learning.extrapolation import Extrapolation
from sosbands.learning.gaussian_process import GaussianProcess
from sosbands.learning.scale_inputs import ScaleInputs
from tests.regressors import regressor

N = 120
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 2)) + 3.0
y = np.sin(2 * X[:, 0]) + (0.2 + 0.3 * np.abs(X[:, 1])) * rng.normal(size=N) + 5.0
X_NEW = rng.normal(size=(20, 2))
FAST = {
    "lengthscale": 1.0,
    "mean_lengthscale": 1.0,
    "width_weight": 20.0,
    "symmetric": True,
    "max_rank": 12,
    "difficulty": None,
    "random_state": 0,
}
TREES = HistGradientBoostingRegressor(max_iter=3, random_state=0)
BANDS = {
    "kernel mean": {},
    "two-sided": {"symmetric": False},
    "joint": {"joint_mean": True},
    "as it is": {"standardize": False},
    "auto": {"estimator": "auto"},
    "ridge": {"estimator": Ridge()},
    "huber": {"estimator": HuberRegressor()},
    "trees as difficulty": {"estimator": Ridge(), "difficulty": TREES, "symmetric": False},
    "cv+": {"calibration": "cv+", "cv": 3},
    "localized": {"calibration": "localized"},
    "tuned": {"lengthscale": "hsic", "width_weight": "auto", "symmetric": "auto"},
}


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """A model that keeps some of the rows, as it does if there are many."""
    monkeypatch.setattr(extrapolation, "_NEIGHBOURS", 15)
    monkeypatch.setattr(fitted_band, "_TYPICAL_ROWS", 10)
    monkeypatch.setattr(features, "_LANDMARKS", 90)
    monkeypatch.setattr(features, "_FEW_LANDMARKS", 90)


@pytest.fixture
def solutions(monkeypatch):
    """Everything that is solved in a fit, which no model keeps."""
    solved, original = [], sosbands.Newton.solve

    def kept(solver, problem):
        solved.append(original(solver, problem))
        return solved[-1]

    monkeypatch.setattr(sosbands.Newton, "solve", kept)
    return solved


def fitted(**parameters):
    """A band of which all rows of X are training rows, unless it splits them itself."""
    model = regressor(**{**FAST, "calibration": None, **parameters}).fit(X, y)
    if model.calibration is None:
        model.conformalize(X_NEW, np.linspace(3, 7, 20))
    return model


def parts(item, kind, seen=None):
    """The objects of a type within a model."""
    seen = set() if seen is None else seen
    if id(item) in seen:
        return
    seen.add(id(item))
    if isinstance(item, kind):
        yield item
    inner = vars(item).values() if vars_of(item) else ()
    inner = item.values() if isinstance(item, dict) else inner
    inner = item if isinstance(item, list | tuple) else inner
    for value in inner:
        yield from parts(value, kind, seen)


def vars_of(item):
    return hasattr(item, "__dict__") and type(item).__module__.startswith("sosbands")


def arrays(model, folder):
    """Every array of floats in the file of a model."""
    sosbands.save(model, folder / "model.skops")
    with zipfile.ZipFile(folder / "model.skops") as file:
        loaded = [
            np.load(io.BytesIO(file.read(name)))
            for name in file.namelist()
            if name.endswith(".npy")
        ]
    flat = []
    for array in loaded:
        names = array.dtype.names
        flat += [array[name] for name in names] if names else [array]
    return [array for array in flat if array.dtype.kind == "f"]


def found(values, stored):
    """How many of the values are in the arrays, up to rounding; zeros and ones say nothing."""
    values = np.unique(np.asarray(values)[np.isfinite(values)])
    values = values[(np.abs(values) > 1e-9) & (np.abs(np.abs(values) - 1) > 1e-9)]
    everything = np.unique(np.concatenate([array.ravel() for array in stored]))
    place = np.searchsorted(everything, values).clip(1, len(everything) - 1)
    near = np.minimum(np.abs(everything[place] - values), np.abs(everything[place - 1] - values))
    return int(np.sum(near <= 1e-9 * np.abs(values)))


def in_units(values, model):
    """The values as they are, and in every unit that the model has for outputs and residuals."""
    band = model.band_
    yield values
    yield band.outputs(values)
    for unit in (float(band.outputs.scale), band.residual_size):
        yield values / unit
        yield np.abs(values) / unit
        yield (values / unit) ** 2


@pytest.mark.parametrize("name", BANDS)
def test_no_outputs_residuals_or_multipliers_of_training_rows_are_in_a_file(
    name, solutions, tmp_path
):
    model = fitted(**BANDS[name])
    stored = arrays(model, tmp_path)
    processes = list(parts(model, GaussianProcess))
    assert solutions
    assert not list(parts(model, sosbands.Solution))
    secrets = {"y": y, "residuals": y - model.predict(X)}
    for number, solution in enumerate(solutions):
        secrets[f"targets {number}"] = solution.problem.targets
        secrets[f"multipliers {number}"] = solution.multipliers.ravel()
    for number, process in enumerate(processes):
        secrets[f"leave-one-out means {number}"] = process.leave_one_out
    assert {
        secret: count
        for secret, values in secrets.items()
        for unit in in_units(values, model)
        if (count := found(unit, stored))
    } == {}


@pytest.mark.parametrize("name", BANDS)
def test_of_the_training_inputs_a_file_holds_what_prediction_and_recalibration_need(name, tmp_path):
    model = fitted(**BANDS[name])
    stored = [array for array in arrays(model, tmp_path) if array.ndim == 2 and array.shape[1] >= 2]
    standardised = [seen.inputs(X) for seen in parts(model, ScaleInputs)]
    units = [X, *standardised, *(part.inputs(X) for part in parts(model, Extrapolation))]
    known = [part.rows for part in parts(model, Extrapolation)]
    known += [part.landmarks for part in parts(model, Features | KernelExpansion)]
    calibration = model.calibration_
    known += [calibration.inputs] if hasattr(calibration, "inputs") else []
    for rows in units:
        kept = places(rows, stored)
        assert kept <= places(rows, known)
    assert len(set.union(*(places(rows, stored) for rows in units))) < N


def places(rows, arrays):
    """Which of the rows are the first entries of a row of one of the arrays."""
    near = [
        np.any(np.all(np.abs(array[:, None, :2] - rows) < 1e-9, axis=2), axis=0) for array in arrays
    ]
    return set(np.flatnonzero(np.any(near, axis=0)))


def test_neighbours_keep_the_rows_that_they_predict_from(tmp_path):
    # As the page on files says: prediction needs them.
    model = fitted(estimator=Ridge(), difficulty=KNeighborsRegressor(3), cv=3)
    guess = model.band_.scale_inputs.difficulty.model
    assert any(np.array_equal(array, guess._y) for array in arrays(model, tmp_path))
    model = fitted(estimator=KNeighborsRegressor(3), cv=3)
    assert found(y, arrays(model, tmp_path)) == N


def test_what_a_loaded_model_shows_is_what_was_saved(tmp_path):
    model = fitted(**BANDS["tuned"])
    sosbands.save(model, tmp_path / "model.skops")
    other = sosbands.load(tmp_path / "model.skops")
    for name in ("certificate_", "symmetric_", "lengthscale_", "width_weight_", "n_train_"):
        assert getattr(other, name) == getattr(model, name)
    assert other.tuning_.to_frame().equals(model.tuning_.to_frame())
    assert other.certificate_.status is model.certificate_.status
    for side, before in zip(
        other.band_.functions.levels[0], model.band_.functions.levels[0], strict=True
    ):
        assert side.kernel == before.kernel
