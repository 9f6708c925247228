"""Today's defaults against those of an earlier commit, in the same run: times, the cases, scores.

``python -m benchmarks before --data FOLDER`` wants the repository's history, and for the scores the
CSV files of the eight development sets. The earlier package is unpacked into a temporary folder;
both are asked for the same fits in fresh processes. Splits have development seeds; those of the
paper's cases have chosen nothing.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.record import Record
from benchmarks.stability import DEVELOPMENT, VARIABLE
from experiments.real.measure import rows_of
from sosbands.types import Array

COMMIT = "17bc590"
ROOT = Path(__file__).parents[1]
# Five data sets, since what the earlier version takes differs by a factor of two among them.
DIMENSION, REPEATS = 8, 5
# Rows, and the time ÷ before to reach.
SIZES = {
    "boosting": {300: 1.5, 1000: 1.5, 10_000: 1.5},
    "kernel mean": {200: 0.5, 1000: 0.35, 10_000: 0.35},
}
# Rows of a soft band with as many features, b, and the time ÷ before to reach.
FULL_RANK = (1500, 300.0, 0.3)
# Splits of a set: more where a test part of few rows makes scores noisy.
SPLITS, FEW_ROWS, MANY_SPLITS, MAX_ROWS = 6, 1000, 24, 3000
# The paper's cases, their seeds, and how much worse than before an average may be.
CASES, CASE_SEEDS, MOST_ERRORS = (1, 2, 3, 4, 5), range(9000, 9100), 1.0
FIGURES = ("mean width", "mean |local coverage − 0.9|")

# What both versions run: no more of the package than what has been there all the time.
_SCRIPT = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from sklearn.ensemble import HistGradientBoostingRegressor
from sosbands import BandProblem, BandRegressor, Gaussian, Newton
from sosbands.datasets import case
from sosbands.metrics import exact_local_coverage, interval_score, mean_width

def mean(kind, seed):
    return HistGradientBoostingRegressor(random_state=seed) if kind == "boosting" else None

def score(path, kind, seed, most):
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    X, y = table[:, :-1], table[:, -1] / table[:, -1].std()
    rows = np.random.default_rng(seed).permutation(len(y))[:most]
    train, cal, test = np.split(rows, np.cumsum([len(rows) // 2, len(rows) // 4]))
    model = BandRegressor(mean(kind, seed), calibration=None, random_state=seed)
    C = model.fit(X[train], y[train]).conformalize(X[cal], y[cal]).predict_interval(X[test], 0.9)
    low, high = y[train].min(), y[train].max()
    return float(interval_score(y[test], np.clip(C, 2 * low - high, 2 * high - low), 0.9))

def simulated(number, seed):
    truth = case(number)
    X, y = truth.sample(100, random_state=seed)
    model = BandRegressor(None, calibration=None, random_state=seed).fit(X, y)
    model.conformalize(*truth.sample(100, random_state=seed + 10_000))
    X_new = truth.sample_inputs(1000, random_state=seed + 20_000)
    C = model.predict_interval(X_new, 0.9)
    local = exact_local_coverage(truth, C, X_new)
    return float(mean_width(C)), float(np.abs(local - 0.9).mean())

def seconds(n, d, kind, seed):
    X, y = case(2, dimension=d).sample(n, random_state=seed)
    start = time.process_time()
    BandRegressor(mean(kind, seed), random_state=seed).fit(X, y)
    return time.process_time() - start

def soft(n, b):
    truth = case(4, dimension=10)
    X, y = truth.sample(n, random_state=0)
    problem = BandProblem.from_data(X, y, mean=truth.mean(X), scale_kernel=Gaussian(1.0),
                                    width_weight=b, training_coverage=0.9)
    assert problem.basis.scales[0].features.rank == n
    start = time.process_time()
    Newton(tol=1e-4).solve(problem)
    return time.process_time() - start

for line in sys.stdin:
    name, arguments = json.loads(line)
    asked = {"score": score, "simulated": simulated, "seconds": seconds, "soft": soft}[name]
    print(json.dumps(asked(*arguments)), flush=True)
"""


class Version:
    """A process that fits with the package of one folder."""

    def __init__(self, source: Path) -> None:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SCRIPT],
            env={**os.environ, **threads, "PYTHONPATH": str(source)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, name: str, *arguments: object) -> Any:
        """The score, the two figures of a case, or the processor seconds, of one fit."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, arguments]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def run(full: bool) -> Iterator[Record]:
    """Time ÷ before at several sizes, then the paper's cases, then the development sets."""
    with TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["git", "archive", COMMIT, "src"], cwd=ROOT, capture_output=True, check=True
        )
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(folder, filter="data")
        versions = {"now": Version(ROOT / "src"), "before": Version(Path(folder) / "src")}
        try:
            for kind, targets in SIZES.items():
                for n, target in targets.items():
                    yield time_ratio(versions, n, kind, target)
            yield full_rank_ratio(versions)
            for number in CASES:
                yield from case_differences(versions, number)
            if os.environ.get(VARIABLE):
                yield score_ratio(versions)
            else:
                print(f"      no scores: name the folder of CSV files by --data or {VARIABLE}")
        finally:
            for version in versions.values():
                version.close()


def full_rank_ratio(versions: dict[str, Version]) -> Record:
    """Processor time of a soft band with as many features as rows ÷ before."""
    n, b, target = FULL_RANK
    times = {name: [[version.ask("soft", n, b)]] for name, version in versions.items()}
    return Record(
        f"soft band, r = n = {n}, b = {b:g}, gap 1e-4 ÷ commit {COMMIT}",
        times["now"][0][0] / times["before"][0][0],
        "<=",
        target,
        times=times,
        seeds=(0,),
        notes=", ".join(f"{name} {value[0][0]:.2g} s" for name, value in times.items()),
    )


def time_ratio(versions: dict[str, Version], n: int, kind: str, target: float) -> Record:
    """Processor time of a whole fit ÷ that of the earlier version; the first fits do not count."""
    times: dict[str, list[list[float]]] = {name: [] for name in versions}
    for seed in range(REPEATS + 1):
        for name, version in versions.items():
            times[name].append([version.ask("seconds", n, DIMENSION, kind, seed)])
    medians = {name: float(np.median(found[1:])) for name, found in times.items()}
    return Record(
        f"fit, n = {n}, d = {DIMENSION}, {kind} ÷ commit {COMMIT}",
        medians["now"] / medians["before"],
        "<=",
        target,
        times=times,
        seeds=range(REPEATS + 1),
        notes=", ".join(f"{name} {value:.2g} s" for name, value in medians.items()),
    )


def case_differences(versions: dict[str, Version], number: int) -> Iterator[Record]:
    """How much wider than before, and how much further off, in standard errors of our average.

    Both versions see the same rows; the notes have the difference with its own, smaller error.
    """
    found = {
        name: np.array([version.ask("simulated", number, seed) for seed in CASE_SEEDS])
        for name, version in versions.items()
    }
    for column, figure in enumerate(FIGURES):
        now, before = (found[name][:, column] for name in ("now", "before"))
        paired = now - before
        yield Record(
            f"case {number}, n = m = 100, kernel mean: {figure} − commit {COMMIT}'s, in s.e.",
            float(paired.mean()) / error(now),
            "<=",
            MOST_ERRORS,
            unit="",
            seeds=CASE_SEEDS,
            notes=f"now {now.mean():.4f} ± {error(now):.4f}, before {before.mean():.4f}, "
            f"difference {paired.mean():.4f} ± {error(paired):.4f}",
        )


def error(values: Array) -> float:
    """The standard error of an average."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def score_ratio(versions: dict[str, Version]) -> Record:
    """Mean interval score ÷ that of the earlier version, geometric mean over sets and means."""
    ratios = {}
    for name in DEVELOPMENT:
        path = str(Path(os.environ[VARIABLE]) / f"{name}.csv")
        few = len(rows_of(Path(path))[1]) < FEW_ROWS
        seeds = range(MANY_SPLITS if few else SPLITS)
        for kind in ("boosting", "kernel mean"):
            scores = {
                key: np.mean([version.ask("score", path, kind, seed, MAX_ROWS) for seed in seeds])
                for key, version in versions.items()
            }
            ratios[f"{name}, {kind}"] = float(scores["now"] / scores["before"])
    return Record(
        f"{len(DEVELOPMENT)} development sets, at most {MAX_ROWS} rows: mean interval score ÷ "
        f"commit {COMMIT}, geometric mean",
        float(np.exp(np.mean(np.log(list(ratios.values()))))),
        "<=",
        1.0,
        seeds=range(MANY_SPLITS),
        notes=", ".join(f"{key} {value:.3f}" for key, value in ratios.items()),
        details={"ratios": ratios},
    )
