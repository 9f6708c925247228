"""Tables beyond one machine's memory, on Dask: ``python -m benchmarks.far [names] [--share 0.1]``.

``make bench-dask`` runs all of it, about half an hour on two free cores. ``--share`` makes every
table smaller by that factor. Rows are made where they are needed, block by block, from seeds.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks import table
from benchmarks.isolation import peak_memory
from benchmarks.record import Record
from sosbands import BandRegressor, KernelBand
from sosbands.dask import DaskBandRegressor
from sosbands.dask.selection import Scores, selected
from sosbands.learning.folds import band_sample, calibration_split

D, BLOCK = 8, 100_000
_LIMIT = 2.0  # GB, of each worker
# Of the Parquet file: what the process that reads it may use, its columns, and rows of a group.
_FILE_LIMIT, _WIDE, _GROUP = 0.6, 64, 25_000


def made(block: int, rows: int) -> Any:
    """Rows of one block: X, then y, whose noise varies with the second input."""
    rng = np.random.default_rng(block)
    X = rng.normal(size=(rows, D))
    noise = (0.2 + np.abs(X[:, 1])) * rng.normal(size=rows)
    return np.column_stack([X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 2] + noise])


def collections(n: int) -> tuple[Any, Any]:
    """X and y of n rows in blocks."""
    sizes = [min(BLOCK, n - start) for start in range(0, n, BLOCK)]
    blocks = [
        da.from_delayed(dask.delayed(made)(k, rows), shape=(rows, D + 1), dtype=float)
        for k, rows in enumerate(sizes)
    ]
    whole = da.concatenate(blocks)
    return whole[:, :D], whole[:, D]


@contextmanager
def workers(count: int = 2) -> Iterator[Client]:
    """Processes with one thread and 2 GB each."""
    with (
        # A busy machine takes a while to start a worker again; it is not to be given up before.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"}),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            memory_limit=f"{_LIMIT}GB",
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def seconds(call: Callable[[], Any]) -> float:
    """Wall-clock time."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def processor_seconds(client: Client) -> tuple[float, float]:
    """Of all workers together, and of this process: other processes do not change them."""
    return sum(client.run(time.process_time).values()), time.process_time()


def selection(share: float) -> Iterator[Record]:
    """The k-th smallest of 10⁸ scores ÷ their sum, over the same chunks in this process."""
    m = round(1e8 * share)
    chunks = [
        np.random.default_rng(k).exponential(size=min(1_000_000, m - start))
        for k, start in enumerate(range(0, m, 1_000_000))
    ]

    def everywhere(function: Callable[..., Any], *arguments: Any) -> list[Any]:
        return [function(chunk, *arguments) for chunk in chunks]

    def read(chunk: Any) -> dict[Any, Scores]:
        return {"scores": Scores(chunk)}

    rank = int(0.9 * m)
    times: dict[str, list[float]] = {"selection": [], "sum": []}
    found = []
    for _ in range(5):
        times["sum"].append(seconds(lambda: [np.sum(chunk) for chunk in chunks]))
        start = time.perf_counter()
        found = selected(everywhere, read, [("scores", rank)], {"scores": m})
        times["selection"].append(time.perf_counter() - start)
    exact = np.partition(np.concatenate(chunks), rank - 1)[rank - 1]
    ratio = float(np.median(times["selection"]) / np.median(times["sum"]))
    yield Record(
        f"selection among {m:.0e} scores ÷ np.sum",
        ratio if found == [exact] else np.inf,
        "<=",
        6.0,
        times={name: [values] for name, values in times.items()},
        notes=f"one thread; equal to np.partition: {found == [exact]}",
    )


def in_memory(share: float) -> Iterator[Record]:
    """Dask on two workers ÷ the same work in memory, with as many threads."""
    n, mean_rows = round(2e6 * share), 50_000
    mean, band = HistGradientBoostingRegressor(random_state=0), KernelBand()
    X, y = collections(n)
    X_all, y_all = dask.compute(X, y)
    twin = BandRegressor(mean, band=band, calibration=None, random_state=0)
    seed = twin._learner().seed
    start, started = time.perf_counter(), time.process_time()
    train, held = calibration_split(n, 0.3, cv=5, groups=None, seed=seed)
    some = train[band_sample(len(train), mean_rows, seed)]
    twin.fit(X_all[some], y_all[some]).conformalize(X_all[held], y_all[held])
    near, near_cpu = time.perf_counter() - start, time.process_time() - started
    new = made(10**6, 1000)[:, :D]
    with workers() as client:
        model = DaskBandRegressor(mean, band=band, mean_rows=mean_rows, random_state=0)
        kept = client.persist([X, y])
        dask.compute(kept[1].sum())
        before = processor_seconds(client)
        far = seconds(lambda: model.fit(*kept))
        after = processor_seconds(client)
        far_driver = after[1] - before[1]
        far_cpu = sum(after) - sum(before)
        gap = np.max(np.abs(model.to_local().predict_interval(new) - twin.predict_interval(new)))
    yield Record(
        f"Dask on two workers ÷ in memory, {n:.0e} rows, by the clock",
        far / near,
        "<=",
        1.5,
        times={"dask": [[far]], "memory": [[near]]},
        notes=f"{far:.0f} s and {near:.0f} s; both train the mean with {mean_rows} rows",
    )
    yield Record(
        "the same: processor seconds of all processes",
        far_cpu / near_cpu,
        "<=",
        1.5,
        notes=f"{far_cpu:.1f} s, {far_driver:.1f} s of it the driver's, and {near_cpu:.1f} s",
    )
    yield Record("the same: largest difference of intervals", float(gap), "<=", 1e-9, unit="")


def ten_million(share: float) -> Iterator[Record]:
    """Ten million rows around XGBoost on Dask, two workers with 2 GB each."""
    from xgboost.dask import DaskXGBRegressor

    n = round(1e7 * share)
    mean = DaskXGBRegressor(n_estimators=30, tree_method="hist", n_jobs=1)
    with workers() as client:
        model = DaskBandRegressor(mean, cv=2, random_state=0)
        took = seconds(lambda: model.fit(*collections(n)))
        spent = processor_seconds(client)
        peaks = list(client.run(peak_memory).values())
    yield Record(
        f"{n:.0e} rows, XGBoost on Dask: largest worker",
        max(peaks),
        "<=",
        _LIMIT,
        unit="GB",
        notes=f"{took:.0f} s, processor seconds: workers {spent[0]:.0f}, driver {spent[1]:.0f}; "
        f"passes {model.passes_}; driver {peak_memory():.2f} GB; {model.calibration_.size} rows "
        "calibrate",
    )


def killed(share: float) -> Iterator[Record]:
    """A worker is killed at a random moment, twenty times; the answer must be the same."""
    n, draws = round(2e5 * max(share, 0.1)), random.Random(0)
    mean = HistGradientBoostingRegressor(max_iter=20, random_state=0)
    model = DaskBandRegressor(
        mean, band=KernelBand(lengthscale=1.0), mean_rows=5000, random_state=0
    )
    new = made(10**6, 500)[:, :D]

    def answer(client: Client | None, after: float) -> Any:
        killer = Thread(target=_kill, args=(client, after)) if client is not None else None
        if killer is not None:
            killer.start()
        local = model.fit(*collections(n)).to_local()
        if killer is not None:
            killer.join()
        return np.append(local.calibration_.scores, local.predict_interval(new))

    times = 20 if share >= 0.1 else 2
    with workers() as client:
        start = time.perf_counter()
        expected = answer(None, 0)
        usual = time.perf_counter() - start
        same = 0
        for _ in range(times):
            client.wait_for_workers(2)
            same += int(np.array_equal(answer(client, draws.uniform(0, usual)), expected))
    yield Record(
        f"kill -9 of a worker at random moments of a fit of {n:.0e} rows, {times} times",
        same / times,
        ">=",
        1.0,
        unit="",
        notes=f"the same answer to the last bit {same} times; undisturbed {usual:.0f} s",
    )


def _kill(client: Client, after: float) -> None:
    time.sleep(after)
    pids = sorted(client.run(os.getpid).values())
    os.kill(pids[0], signal.SIGKILL)


def growth(share: float) -> Iterator[Record]:
    """Seconds of a fit by number of rows, for the cost model."""
    mean = HistGradientBoostingRegressor(random_state=0)
    with workers() as client:
        for n in (round(1e5 * share), round(1e6 * share), round(1e7 * share)):
            model = DaskBandRegressor(mean, mean_rows=20_000, random_state=0)
            before = processor_seconds(client)
            took = seconds(lambda model=model, n=n: model.fit(*collections(n)))
            spent = [
                after - first
                for after, first in zip(processor_seconds(client), before, strict=True)
            ]
            level = seconds(lambda model=model: model.calibration_.at([0.9]))
            peak = max(client.run(peak_memory).values())
            yield Record(
                f"fit of {n:.0e} rows on two workers, mean of 20 000 rows",
                took,
                unit="s",
                notes=f"processor seconds: workers {spent[0]:.1f}, driver {spent[1]:.1f}; "
                f"a level {level:.2f} s; largest worker so far {peak:.2f} GB, driver "
                f"{peak_memory():.2f} GB; passes {model.passes_}",
            )


def parquet_file(share: float) -> Iterator[Record]:
    """``sosbands fit`` of a Parquet file four times as large as the memory that it may use.

    The limit is on the peak resident memory of the process, of which 0.25 GB are libraries. It is
    compared afterwards: address space is no measure, as Arrow reserves a gigabyte of it.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.parquet"
        rows = _write_wide(path, round(4 * _FILE_LIMIT * share * 2**30))
        command = [sys.executable, "-m", "sosbands.cli", "fit", str(path), "--target", "y"]
        estimator = "sklearn.ensemble.HistGradientBoostingRegressor"
        command += ["--estimator", estimator, "--out", str(Path(folder) / "band.skops")]
        start = time.perf_counter()
        run = subprocess.run(
            [sys.executable, "-c", _MEASURED, *command], capture_output=True, text=True, check=False
        )
        took, size = time.perf_counter() - start, path.stat().st_size / 2**30
    ended = run.stderr.strip().rpartition("\n")[2]
    yield Record(
        f"sosbands fit of a Parquet file of {size:.2f} GB, {rows:.1e} rows, {_WIDE} columns",
        float(ended) if run.returncode == 0 else np.inf,
        "<=",
        _FILE_LIMIT if share >= 1 else None,
        unit="GB",
        notes=f"{took:.0f} s; " + ("; ".join(run.stdout.splitlines()[:1]) or run.stderr[-300:]),
    )


def _write_wide(path: Path, size: int) -> int:
    """Write a file of about so many bytes, of numbers that cannot be compressed; its rows."""
    import pyarrow as pa
    from pyarrow import parquet

    rows, names = size // (8 * _WIDE), [*(f"x{j}" for j in range(_WIDE - 1)), "y"]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for k, start in enumerate(range(0, rows, _GROUP)):
            block = made(k, min(_GROUP, rows - start))
            more = np.random.default_rng([k, 1]).normal(size=(len(block), _WIDE - D - 1))
            columns = [*block[:, :D].T, *more.T, block[:, D]]
            writer.write_table(pa.table(dict(zip(names, columns, strict=True))))
    return rows


_MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], check=False)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
print(peak, file=sys.stderr)
sys.exit(done.returncode)
"""

BENCHMARKS = {
    "selection": selection,
    "in_memory": in_memory,
    "growth": growth,
    "ten_million": ten_million,
    "killed": killed,
    "parquet_file": parquet_file,
}


def main() -> int:
    """Run and print; 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.far", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(BENCHMARKS)}; all by default")
    parser.add_argument("--share", type=float, default=1.0, help="of the rows of every table")
    arguments = parser.parse_args()
    missed = 0
    for name in arguments.names or BENCHMARKS:
        for record in BENCHMARKS[name](arguments.share):
            print(table.line(record.as_dict()), flush=True)
            missed += not record.ok
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
