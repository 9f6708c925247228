"""`DaskBandRegressor` on the local scheduler: the same as in memory, lazily."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from sosbands import BandRegressor, KernelBand, save
from sosbands.dask import DaskBandRegressor, fitting
from sosbands.learning.folds import band_sample, calibration_split
from sosbands.persistence import ModelFileError
from tests.interop.dask_rows import BAND, DaskLeastSquares, chunked, partitioned, rows, table

LEVELS = [0.5, 0.8, 0.95]
CHUNKS = {"even": 500, "uneven": (1, 999, 0, 1500, 500), "one": 3000}


def far(estimator=None, **parameters):
    settings = {"band": BAND, "random_state": 0, **parameters}
    return DaskBandRegressor(LinearRegression() if estimator is None else estimator, **settings)


def near(estimator=None, **parameters):
    settings = {"band": BAND, "random_state": 0, **parameters}
    return BandRegressor(LinearRegression() if estimator is None else estimator, **settings)


X, Y = rows()
X_NEW = rows(400, seed=1)[0]
D_NEW = da.from_array(X_NEW, chunks=(130, 3))


def same(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.fixture(scope="module")
def in_memory():
    return near().fit(X, Y)


@pytest.mark.parametrize("chunks", CHUNKS)
def test_it_is_the_fit_in_memory_if_all_rows_fit_the_sample(chunks, in_memory):
    size = CHUNKS[chunks]
    model = far().fit(da.from_array(X, chunks=(size, (2, 1))), da.from_array(Y, chunks=(3000,)))
    assert model.calibration_.size == in_memory.calibration_.size == 900
    np.testing.assert_array_equal(
        model.to_local().calibration_.scores, model.calibration_.merged().scores
    )
    same(model.calibration_.merged().scores, in_memory.calibration_.scores)
    same(model.predict_interval(D_NEW, LEVELS).compute(), in_memory.predict_interval(X_NEW, LEVELS))


def test_a_sample_of_mean_rows_is_a_fit_of_these_rows():
    model = far(mean_rows=800).fit(*chunked(X, Y))
    seed = model._seed
    train, held = calibration_split(len(Y), 0.3, cv=5, groups=None, seed=seed)
    some = train[band_sample(len(train), 800, seed)]
    twin = near(calibration=None).fit(X[some], Y[some]).conformalize(X[held], Y[held])
    assert (model.n_train_, model.calibration_.size) == (800, 900)
    same(model.predict_interval(D_NEW, LEVELS).compute(), twin.predict_interval(X_NEW, LEVELS))


@pytest.mark.parametrize("weights", [None, "weights"])
def test_a_mean_of_all_rows_is_cross_fitted_by_rows(weights):
    w = None if weights is None else np.random.default_rng(2).uniform(0.5, 2, len(Y))
    given = {} if w is None else {"sample_weight": w}
    model = far(DaskLeastSquares()).fit(
        *chunked(X, Y), **{k: da.from_array(v) for k, v in given.items()}
    )
    twin = near(DaskLeastSquares()).fit(X, Y, **given)
    assert model.n_train_ == twin.n_train_ == 2100
    assert model.passes_ == {"checks and sample": 1, "mean": 6, "calibration": 1}
    same(model.estimator_.coef_, twin.estimator_.coef_)
    same(model.predict_interval(D_NEW, LEVELS).compute(), twin.predict_interval(X_NEW, LEVELS))


@pytest.mark.parametrize("estimator", ["auto", None])
def test_the_means_of_the_library_learn_from_the_sample(estimator):
    model = DaskBandRegressor(estimator, band=BAND, mean_rows=300, random_state=0)
    model.fit(*chunked(X, Y))
    assert model.n_train_ == 300
    interval = model.predict_interval(D_NEW, 0.9).compute()
    assert np.all(interval[:, 0] < interval[:, 1])


def test_frames_are_encoded_by_the_sample_and_keep_their_index():
    frame, y = table()
    model = DaskBandRegressor(None, band=BAND, random_state=0).fit(*partitioned(frame, y))
    twin = BandRegressor(None, band=BAND, random_state=0).fit(frame, y)
    made = model.predict_table(dd.from_pandas(frame, npartitions=3), LEVELS)
    assert list(made.columns) == list(twin.predict_table(frame[:1], LEVELS).columns)
    pd.testing.assert_frame_equal(made.compute(), twin.predict_table(frame, LEVELS), rtol=1e-9)
    assert made.divisions == dd.from_pandas(frame, npartitions=3).divisions
    assert model.feature_names_in_.tolist() == ["a", "b", "kind"]


def test_predictions_are_lazy_arrays_of_the_shapes_in_memory():
    symmetric = KernelBand(lengthscale=1.0, band_rows=300, symmetric=True)
    model = far(band=symmetric).fit(*chunked(X, Y))
    local = model.to_local()
    calls = [
        ("predict", ()),
        ("predict_scale", ()),
        ("extrapolation", ()),
        ("predict_interval", (0.9,)),
        ("predict_interval", (LEVELS,)),
        ("predict_table", (LEVELS,)),
        ("predict_quantiles", (0.1,)),
        ("predict_quantiles", ([0.1, 0.002, 0.5, 0.9],)),
    ]
    for name, arguments in calls:
        lazy, eager = (
            getattr(model, name)(D_NEW, *arguments),
            getattr(local, name)(X_NEW, *arguments),
        )
        assert isinstance(lazy, da.Array)
        assert (lazy.shape, lazy.dtype) == (eager.shape, eager.dtype)
        assert lazy.chunks[0] == D_NEW.chunks[0]
        same(lazy.compute(), eager)
    for lazy, eager in zip(
        model.predict(D_NEW, return_std=True), local.predict(X_NEW, return_std=True), strict=True
    ):
        same(lazy.compute(), eager)


def test_two_sided_bands_have_two_scales():
    model = far(band=KernelBand(lengthscale=1.0, band_rows=300, symmetric=False)).fit(
        *chunked(X, Y)
    )
    same(model.predict_scale(D_NEW).compute(), model.to_local().predict_scale(X_NEW))
    quantiles = model.predict_quantiles(D_NEW, [0.05, 0.6])
    same(quantiles.compute(), model.to_local().predict_quantiles(X_NEW, [0.05, 0.6]))


@pytest.fixture(scope="module")
def fitted():
    return far(y_max=30.0).fit(*chunked(X, Y))


def test_the_predictive_distribution_is_read_where_the_rows_are(fitted):
    wanted = fitted.to_local().predict_cdf(X_NEW, X_NEW[:, 1])
    assert np.ptp(wanted) > 0.9
    for chunks in (400, 130, (0, 399, 1)):
        lazy = fitted.predict_cdf(D_NEW, da.from_array(X_NEW[:, 1], chunks=(chunks,)))
        assert (lazy.shape, lazy.dtype) == ((400,), np.float64)
        np.testing.assert_array_equal(lazy.compute(), wanted)


def test_draws_depend_on_the_seed_and_the_position_alone(fitted):
    seed = int(np.random.RandomState(7).randint(2**31 - 1))
    slow = fitted.to_local().sample(X_NEW, 3, np.random.RandomState(np.random.PCG64(seed)))
    for chunks in (400, 130, (0, 399, 1)):
        lazy = fitted.sample(da.from_array(X_NEW, chunks=(chunks, 3)), 3, random_state=7)
        assert lazy.shape == (400, 3)
        same(lazy.compute(), slow)
    unknown = dd.from_pandas(pd.DataFrame(X_NEW), npartitions=3).to_dask_array()
    same(fitted.sample(unknown, 3, random_state=7).compute(), slow)
    other = fitted.sample(D_NEW, 3, random_state=8).compute()
    assert np.mean(other == slow) < 0.05  # draws are among 900 scores
    with pytest.raises(ValueError, match="n_samples must be"):
        fitted.sample(D_NEW, 0)


def test_saving_says_that_a_local_model_can_be_saved(fitted, tmp_path):
    message = r"a DaskBandRegressor cannot be saved, as it belongs to Dask: save its to_local\(\)"
    with pytest.raises(ModelFileError, match=message):
        save(fitted, tmp_path / "band.skops")
    save(fitted.to_local(), tmp_path / "band.skops")


def test_unknown_chunk_sizes_and_empty_partitions_are_counted(in_memory):
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")).assign(y=Y), npartitions=4)
    known = da.from_array(X, chunks=(500, 3))
    model = far().fit(frame[["a", "b", "c"]].to_dask_array(), frame["y"])
    assert model.passes_ == {"counting": 1, "checks and sample": 1, "calibration": 1}
    unknown = model.predict_interval(known[known[:, 0] > 5], LEVELS)
    assert unknown.compute().shape == (0, 2, 3)
    half = known[known[:, 0] > 2]
    same(model.predict(half).compute(), in_memory.predict(X[X[:, 0] > 2]))
    some = frame[frame.a.abs() < 10].map_partitions(_without_the_second, meta=frame._meta)
    assert far().fit(some[["a", "b", "c"]], some["y"]).calibration_.size == 675


def _without_the_second(part, partition_info=None):
    return part[:0] if partition_info["number"] == 1 else part


def calibrated(**told):
    """Calibrated by collections and in memory, with the same rows."""
    X_cal, y_cal = rows(2500, seed=3)
    both = far(calibration=None).fit(*chunked(X, Y)), near(calibration=None).fit(X, Y)
    lazy = {k: v if callable(v) else da.from_array(v, chunks=900) for k, v in told.items()}
    both[0].conformalize(*chunked(X_cal, y_cal, 600), **lazy)
    both[1].conformalize(X_cal, y_cal, **told)
    return both


def more(models, **told):
    X_more, y_more = rows(700, seed=4)
    lazy = {k: da.from_array(v, chunks=300) for k, v in told.items()}
    models[0].partial_conformalize(*chunked(X_more, y_more, 200), **lazy)
    models[1].partial_conformalize(X_more, y_more, **told)
    return models


def compare(models, levels=LEVELS, **told):
    lazy = {k: da.from_array(v, chunks=77) for k, v in told.items()}
    model, twin = models
    wanted = twin.predict_interval(X_NEW, levels, **told)
    same(model.predict_interval(D_NEW, levels, **lazy).compute(), wanted)
    same(model.to_local().predict_interval(X_NEW, levels, **told), wanted)


def test_rows_are_added_to_a_split_calibration():
    compare(more(calibrated()))


def test_each_group_has_its_own_threshold():
    names = np.array(["north", "south", "west"])
    rng = np.random.default_rng(5)
    models = calibrated(groups=names[rng.integers(0, 3, 2500)])
    compare(models, groups=names[rng.integers(0, 3, 400)])
    compare(more(models, groups=names[rng.integers(0, 3, 700)]), groups=names[[0] * 400])
    lazy = models[0].predict_interval(D_NEW, 0.9, groups=da.from_array(np.array(["east"] * 400)))
    assert np.all(np.isinf(lazy.compute()))
    with pytest.raises(ValueError, match="conformalize had groups"):
        models[0].predict_interval(D_NEW, 0.9)
    with pytest.raises(ValueError, match="sample needs a predictive distribution, which GroupC"):
        models[0].sample(D_NEW)


def ratio(X):
    return np.exp(0.5 * X[:, 0])


def test_weights_are_those_of_rows_or_a_function_of_them():
    w = ratio(rows(2500, seed=3)[0])
    w[:700] = 0.0  # no row of the first block counts
    models = calibrated(weights=w)
    compare(models, weights=ratio(X_NEW))
    compare(more(models, weights=ratio(rows(700, seed=4)[0])), weights=10 * ratio(X_NEW))
    compare(more(calibrated(weights=ratio)))
    with pytest.raises(ValueError, match="weights must not all be zero"):
        models[0].conformalize(*chunked(X, Y), weights=da.zeros(3000, chunks=100))


def test_groups_of_the_fit_stay_together():
    patients = np.random.default_rng(6).integers(0, 60, len(Y))
    names = np.array([f"patient {k}" for k in range(60)])[patients]
    lazy = da.from_array(names, chunks=800)
    for mean in (LinearRegression(), DaskLeastSquares()):
        model, twin = far(mean).fit(*chunked(X, Y), groups=lazy), near(mean).fit(X, Y, groups=names)
        assert model.calibration_.size == twin.calibration_.size == 18
        compare((model, twin), [0.5, 0.9])
    with pytest.warns(
        UserWarning, match="a level of 0.99 needs at least 99 calibration groups, got 18"
    ):
        model.predict_interval(D_NEW, 0.99)
    with pytest.raises(ValueError, match="no rows to add to"):
        model.partial_conformalize(*chunked(X, Y))


def test_too_few_rows_give_infinite_intervals_and_a_warning():
    X_cal, y_cal = rows(8, seed=3)
    model = far(calibration=None).fit(*chunked(X, Y)).conformalize(*chunked(X_cal, y_cal))
    with pytest.warns(UserWarning, match="a level of 0.9 needs at least 9 calibration rows"):
        lazy = model.predict_interval(D_NEW, 0.9)
    assert np.all(np.isinf(lazy.compute()))


def test_it_follows_scikit_learn():
    model = far(LinearRegression(fit_intercept=False), mean_rows=100, y_min=-1.0)
    twin = clone(model)
    assert twin.get_params()["mean_rows"] == 100
    assert twin.set_params(estimator__fit_intercept=True).estimator.fit_intercept
    assert not model.estimator.fit_intercept


def test_limits_clip_and_are_checked():
    model = far(y_min=-20.0, y_max=0.5)
    with pytest.raises(ValueError, match=r"beyond y_min=-20\.0 and y_max=0\.5"):
        model.fit(*chunked(X, Y))
    low = far(y_min=-20.0, y_max=30.0).fit(*chunked(X, Y)).predict_interval(D_NEW * 100, 0.9)
    assert low.compute().min() >= -20


def test_intervals_end_where_outputs_pile_up():
    capped = np.minimum(Y, np.quantile(Y, 0.9))
    model, twin = far().fit(*chunked(X, capped)), near().fit(X, capped)
    assert twin.band_.limits.high == capped.max()
    found = model.predict_interval(D_NEW, LEVELS).compute()
    same(found, twin.predict_interval(X_NEW, LEVELS))
    assert found.max() == capped.max()


def test_places_of_a_sample_are_found_slab_by_slab(monkeypatch):
    monkeypatch.setattr(fitting, "_SLAB", 7)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mask = rng.random(100) < 0.5
        ranks = np.sort(rng.choice(int(mask.sum()), 10, replace=False))
        np.testing.assert_array_equal(fitting._places(mask, ranks), np.flatnonzero(mask)[ranks])
