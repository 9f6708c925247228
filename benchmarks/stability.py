"""The same answer everywhere: how far intervals move when nothing that matters has changed.

``python -m benchmarks stability --data FOLDER`` adds the real sets of the folder to three simulated
ones; of each at most 500 rows learn and calibrate, and 1000 around the default mean. That one is
compared between processors alone: its trees see the rows as they are. Moves are in widths of the
interval. No score of a set is looked at but those of the development sets.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks.changes import AUTO, CHANGES, FORMS, LEVEL, MEANS, Array, Rows, ends, model_of, move
from benchmarks.isolation import fresh_processes
from benchmarks.record import Record
from experiments.real.measure import rows_of
from sosbands.datasets import case
from sosbands.metrics import interval_score, mean_width

VARIABLE = "SOSBANDS_DATA"
DEVELOPMENT = (
    *("mcycle", "lidar", "triceps", "yacht"),
    *("concrete", "airfoil", "california", "bike_uci"),
)
SIMULATED = {"case 1": (1, 1), "case 2, d = 5": (2, 5), "case 4, d = 8": (4, 8)}
DRAWS, TIES, PARTS = 5, 10, 10
USUAL, LARGEST, SHARE = 1e-6, 1e-3, 0.99
# Kernels of OpenBLAS, from the oldest processors on, and features that NumPy may do without.
BLAS_KERNELS = ("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX")
# Rows that learn and calibrate; around the default mean enough for trees around kernel means.
ROWS, ROWS_OF_AUTO = 500, 1000
NO_FEATURES = {"NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"}


def run(full: bool) -> Iterator[Record]:
    """Every change, every kernel, random tie-breaks and random parts of the rows."""
    names = [*SIMULATED, *real_sets()]
    runs = list(product(names, MEANS))
    yield from summary("X and y times 1 + 1e-13 noise", in_processes(perturbations, runs))
    yield from summary("other changes of the data", in_processes(changes, runs))
    yield from summary("forms of the same data", in_processes(forms, runs))
    yield from processors([*runs, *product(names, [AUTO])])
    known = [name for name in DEVELOPMENT if name in names] or list(SIMULATED)
    yield tie_breaks(known)
    yield parts(known)


def real_sets() -> list[str]:
    """The sets of the folder that the user has named, if any."""
    folder = os.environ.get(VARIABLE)
    return sorted(path.stem for path in Path(folder).glob("*.csv")) if folder else []


def data(name: str) -> tuple[Array, Array]:
    """All rows of a set."""
    if name in SIMULATED:
        number, dimension = SIMULATED[name]
        return case(number, dimension=dimension).sample(1000, random_state=0)
    return rows_of(Path(os.environ[VARIABLE]) / f"{name}.csv")


def in_processes(
    measure: Callable[..., dict[str, float]], runs: Sequence[tuple[str, str]], **environment: str
) -> dict[str, float]:
    """What every run measures, by two processes, with some variables of the environment."""
    with mock.patch.dict(os.environ, environment), fresh_processes(2) as processes:
        found = processes.map(measure, *zip(*runs, strict=True))
        return {
            f"{name}, {mean}, {what}": value
            for (name, mean), moves in zip(runs, found, strict=True)
            for what, value in moves.items()
        }


def perturbations(name: str, mean: str) -> dict[str, float]:
    """Moves under rounding errors of the data."""
    rows = Rows.of(*data(name), seed=0)
    reference, shaken = ends(rows, mean), CHANGES["1e-13"]
    return {f"draw {d}": move(ends(shaken(rows, d), mean), reference) for d in range(DRAWS)}


def changes(name: str, mean: str) -> dict[str, float]:
    """Moves under other orders, units and a constant column."""
    rows = Rows.of(*data(name), seed=0)
    reference = ends(rows, mean)
    others = {key: made for key, made in CHANGES.items() if key != "1e-13"}
    return {key: move(ends(made(rows, 0), mean), reference) for key, made in others.items()}


def forms(name: str, mean: str) -> dict[str, float]:
    """Moves if the same numbers come otherwise, or are computed by several processes or threads."""
    from threadpoolctl import threadpool_limits

    rows = Rows.of(*data(name), seed=0)
    reference = ends(rows, mean)
    moves = {key: move(ends(rows, mean, give), reference) for key, give in FORMS.items()}
    moves["n_jobs"] = move(ends(rows, mean, n_jobs=2), reference)
    with threadpool_limits(2, user_api="blas"):
        moves["threads"] = move(ends(rows, mean), reference)
    return moves


def intervals(name: str, mean: str) -> Array | None:
    """Of new rows, as this process computes them; None if it cannot."""
    most = ROWS_OF_AUTO if mean == AUTO else ROWS
    return ends(Rows.of(*data(name), seed=0, most=most), mean)


def simulated_ends() -> dict[str, list[list[float]]]:
    """Intervals of two small simulated sets, around every mean."""
    sets = {"case 1": case(1).sample(150, random_state=1)}
    sets["case 2, d = 5"] = case(2, dimension=5).sample(300, random_state=1)
    return {
        f"{name}, {mean}": ends(Rows.of(X, y, seed=0), mean).tolist()
        for name, (X, y) in sets.items()
        for mean in MEANS
    }


def processors(runs: Sequence[tuple[str, str]]) -> Iterator[Record]:
    """Moves between the kernels that this processor can run."""
    reference = by_kernel(runs, {})
    moves = {}
    for name in BLAS_KERNELS:
        found = by_kernel(runs, {"OPENBLAS_CORETYPE": name})
        if found is None:
            print(f"      {name}: not for this processor", flush=True)
            continue
        moves.update({f"{run}, {name}": move(found[run], reference[run]) for run in found})
    found = by_kernel(runs, NO_FEATURES)
    moves.update({f"{run}, without AVX2": move(found[run], reference[run]) for run in found})
    yield from summary("kernels of BLAS and NumPy", moves)


def by_kernel(runs: Sequence[tuple[str, str]], environment: dict[str, str]) -> dict | None:
    """Intervals of every run with these variables set; None if that crashes the process."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        with mock.patch.dict(os.environ, environment), fresh_processes(2) as processes:
            found = processes.map(intervals, *zip(*runs, strict=True))
            return {
                f"{name}, {mean}": value for (name, mean), value in zip(runs, found, strict=True)
            }
    except BrokenProcessPool:
        return None


def summary(what: str, moves: dict[str, float]) -> Iterator[Record]:
    """The share of fits that hardly move, and the largest move."""
    values, worst = np.array(list(moves.values())), max(moves, key=lambda key: moves[key])
    details = {"moves": moves}
    yield Record(
        f"{what}: share of {len(values)} fits whose intervals move by at most {USUAL:g} widths",
        float(np.mean(values <= USUAL)),
        ">=",
        SHARE,
        unit="",
        details=details,
    )
    yield Record(
        f"{what}: largest move in widths",
        float(values.max()),
        "<=",
        LARGEST,
        unit="",
        notes=worst,
    )


def outcome(rows: Rows, mean: str, **parameters: object) -> tuple[float, float]:
    """Mean width and interval score of new rows."""
    C = ends(rows, mean, **parameters)
    return float(mean_width(C)), float(interval_score(rows.y[rows.new], C, LEVEL))


def tied(name: str, mean: str) -> dict[str, float]:
    """Relative standard deviations of width and score if ties are broken at random."""
    rows, found = Rows.of(*data(name), seed=0, most=900), []
    for draw in range(TIES):
        order = np.random.default_rng(draw).permutation
        with mock.patch("sosbands.core.features.trial_order", order):
            found.append(outcome(rows, mean))
    width, score = np.std(found, axis=0) / np.mean(found, axis=0)
    return {"width": float(width), "score": float(score)}


def tie_breaks(names: Sequence[str]) -> Record:
    """What an arbitrary choice among equals is worth."""
    found = in_processes(tied, list(product(names, MEANS)))
    worst = max(found, key=lambda key: found[key])
    return Record(
        f"random tie-breaks, {TIES} draws: largest relative s.d. of mean width and interval score",
        found[worst],
        "<=",
        0.003,
        unit="",
        notes=f"{worst}; mean {np.mean(list(found.values())):.2g}",
        details={"deviations": found},
    )


def spread(name: str, mean: str) -> dict[str, float]:
    """s.d. of the score over random parts of the rows ÷ that of a band with all choices fixed."""
    rows, found = Rows.of(*data(name), seed=0, most=900), []
    chosen = model_of(rows, mean)
    fixed = {
        "lengthscale": chosen.lengthscale_,
        "width_weight": chosen.width_weight_,
        "symmetric": chosen.symmetric_,
    }
    for draw in range(PARTS):
        part = rows.part(0.9, draw)
        found.append([outcome(part, mean)[1], outcome(part, mean, fixed=fixed)[1]])
    free, held = np.std(found, axis=0)
    return {"ratio": float(free / held)}


def parts(names: Sequence[str]) -> Record:
    """How much of the noise of a score comes from choices."""
    found = in_processes(spread, list(product(names, MEANS)))
    return Record(
        f"{PARTS} random parts of 90 %: s.d. of the score ÷ that with all choices fixed, "
        "geometric mean",
        float(np.exp(np.mean(np.log(list(found.values()))))),
        "<=",
        1.3,
        notes=f"largest {max(found.values()):.2f}: {max(found, key=lambda key: found[key])}",
        details={"ratios": found},
    )
