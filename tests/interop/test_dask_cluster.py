"""`DaskBandRegressor` on real worker processes: any chunks and workers, killed ones among them."""

import logging
import os
import random
import signal
import sys
import time
from threading import Thread

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from lightgbm import DaskLGBMRegressor, LGBMRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from xgboost import XGBRegressor
from xgboost.dask import DaskXGBRegressor

import sosbands
from sosbands import KernelBand
from sosbands.dask import DaskBandRegressor, watching
from sosbands.dask.watching import trained_watching
from tests.interop import dask_rows
from tests.interop.dask_rows import BAND, DaskLeastSquares, rows

# Workers do not know the modules of the tests.
cloudpickle.register_pickle_by_value(dask_rows)
cloudpickle.register_pickle_by_value(sys.modules[__name__])

# The scheduler lives in this process: a warning there, as an error, would stop it for good.
pytestmark = pytest.mark.filterwarnings("default")
CHUNKINGS = [4000, 500, 1234, (1, 3000, 999), (2048, 0, 1952)]
X, Y = rows(4000)
X_NEW = rows(100, seed=1)[0]


def cluster(workers, **settings):
    # A busy machine takes a while to start a worker again; it is not to be given up before.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
        **settings,
    )


@pytest.fixture(scope="module")
def client():
    with cluster(2, memory_limit="2GB") as two, Client(two) as found:
        yield found


def collections(chunks):
    return da.from_array(X, chunks=(chunks, 3)), da.from_array(Y, chunks=chunks)


def far(estimator=None, **parameters):
    mean = HistGradientBoostingRegressor(max_iter=10) if estimator is None else estimator
    return DaskBandRegressor(mean, band=BAND, mean_rows=1000, random_state=0, **parameters)


def answer(model):
    """All that a fit decides, to the last bit."""
    local = model.to_local()
    return local.calibration_.scores, local.predict_interval(X_NEW, [0.5, 0.9])


@pytest.fixture(scope="module")
def expected():
    return answer(far().fit(*collections(4000)))


def check(model, expected):
    for one, other in zip(answer(model), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_chunks_and_workers_do_not_matter(expected, client):
    with cluster(1) as found, Client(found, set_as_default=False) as other:
        for workers in (1, 2, 4):
            found.scale(workers)
            other.wait_for_workers(workers)
            for chunks in CHUNKINGS:
                check(far(client=other).fit(*collections(chunks)), expected)


def kill_one(client):
    pid = random.Random(0).choice(sorted(client.run(os.getpid).values()))
    os.kill(pid, signal.SIGKILL)


def slowly(block):
    time.sleep(0.1)
    return block


@pytest.mark.parametrize("delay", [0.3, 1.5])
def test_a_killed_worker_costs_its_tasks_not_the_fit(delay, expected, client):
    X_slow, y = collections(200)
    X_slow = X_slow.map_blocks(slowly, dtype=float, meta=np.empty((0, 0)))
    client.wait_for_workers(2)
    killer = Thread(target=lambda: (time.sleep(delay), kill_one(client)))
    killer.start()
    model = far().fit(X_slow, y)
    killer.join()
    check(model, expected)


def test_scores_of_a_worker_that_dies_later_are_made_anew(expected, client):
    client.wait_for_workers(2)
    model = far().fit(*collections(500))
    kill_one(client)
    check(model, expected)


BOOSTERS = {
    "xgboost": (DaskXGBRegressor(n_estimators=5, n_jobs=1), XGBRegressor),
    "lightgbm": (DaskLGBMRegressor(n_estimators=5, verbose=-1), LGBMRegressor),
}


@pytest.mark.parametrize("library", BOOSTERS)
def test_boosters_of_dask_learn_from_all_rows(library, client, tmp_path):
    booster, kind = BOOSTERS[library]
    client.wait_for_workers(2)
    model = DaskBandRegressor(booster, band=BAND, cv=2, random_state=0).fit(*collections(1000))
    assert model.n_train_ == 2800
    assert model.passes_["mean"] == 3
    assert type(model.estimator_) is kind
    local = model.to_local()
    lazy = model.predict_interval(da.from_array(X_NEW, chunks=(40, 3)), 0.9).compute()
    np.testing.assert_allclose(lazy, local.predict_interval(X_NEW, 0.9), rtol=1e-9)
    sosbands.save(local, tmp_path / "band.skops")
    loaded = sosbands.load(tmp_path / "band.skops", trusted=[library])
    np.testing.assert_array_equal(loaded.predict_interval(X_NEW), local.predict_interval(X_NEW))


class DaskMortal(DaskLeastSquares):
    """Kills a worker in its first trainings, and then waits for ever, as rings of workers do."""

    def __init__(self, path=None, deaths=1):
        self.path = path
        self.deaths = deaths

    def fit(self, X, y):
        with open(self.path, "a+") as log:
            log.seek(0)
            known = len(log.read())
            log.write("x")
        if known < self.deaths:
            client = Client.current()
            kill_one(client)
            client.submit(time.sleep, 3600, pure=False).result()
        return super().fit(X, y)


def test_a_mean_whose_worker_dies_is_trained_again_once(client, tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "_GRACE", 0.5)  # this training does not end by itself
    once = DaskMortal(tmp_path / "once")
    client.wait_for_workers(2)
    model = DaskBandRegressor(once, band=BAND, cv=2, random_state=0).fit(*collections(1000))
    assert len((tmp_path / "once").read_text()) == 4  # three trainings, and one again
    client.wait_for_workers(2)
    twice = DaskBandRegressor(DaskMortal(tmp_path / "twice", 2), band=BAND, cv=2, random_state=0)
    with pytest.raises(RuntimeError, match="a worker died while DaskMortal was trained, and again"):
        twice.fit(*collections(1000))
    assert not hasattr(twice, "band_")
    client.wait_for_workers(1)
    plain = DaskBandRegressor(DaskLeastSquares(), band=BAND, cv=2, random_state=0)
    plain.fit(*collections(1000))
    np.testing.assert_array_equal(plain.estimator_.coef_, model.estimator_.coef_)


def test_what_a_client_remembers_of_workers_is_no_sign_of_death(client, monkeypatch):
    """The timer of a client forgets them every few seconds."""
    client.wait_for_workers(1)
    monkeypatch.setattr(Client, "scheduler_info", lambda *_, **__: {"workers": {}})

    def training():
        time.sleep(1.5)
        return client.submit(os.getpid, pure=False).result()

    assert trained_watching(training, client, "it") in client.run(os.getpid).values()


def test_errors_of_a_training_are_its_own(client):
    def fails():
        raise ValueError("its own")

    with pytest.raises(ValueError, match="its own"):
        trained_watching(fails, client, "it")


def greedy(block):
    """More memory than the worker may have."""
    filled = np.ones(100_000_000)
    time.sleep(60)  # it is killed meanwhile
    return block + 0 * filled[: len(block), None]


def test_a_worker_out_of_memory_is_a_clear_error(client):
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster(1, memory_limit="600MB") as small,
        Client(small, set_as_default=False) as other,
    ):
        X_large, y = collections(1000)
        X_large = X_large.map_blocks(greedy, dtype=float, meta=np.empty((0, 0)))
        with pytest.raises(RuntimeError, match="do not fit the memory of a worker"):
            far(client=other).fit(X_large, y)


def test_a_closed_client_is_named():
    with cluster(1) as one:
        with Client(one, set_as_default=False) as mine:
            model = far(client=mine).fit(*collections(1000))
            local = model.to_local()
        with pytest.raises(RuntimeError, match="the client is closed, and what its workers kept"):
            model.predict_interval(da.from_array(X_NEW), 0.77)
        with pytest.raises(ValueError, match="the client is closed: give one that is connected"):
            far(client=mine).fit(*collections(1000))
    assert local.predict_interval(X_NEW, 0.77).shape == (100, 2)
    with pytest.raises(ValueError, match=r"client must be a distributed.Client or None, got str"):
        far(client="tcp://127.0.0.1:1").fit(*collections(1000))


def test_band_rows_alone_travel(client):
    """What the driver receives of the rows is the sample."""
    client.wait_for_workers(2)
    band = KernelBand(lengthscale=1.0, band_rows=100)
    model = DaskBandRegressor(DaskLeastSquares(), band=band, cv=2, random_state=0)
    model.fit(*collections(1000))
    assert len(model.band_.extrapolation.rows) == 100
