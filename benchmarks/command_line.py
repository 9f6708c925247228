"""The command line: how soon help is there, and a CSV file of ten million rows.

Help is timed beside a process that imports NumPy. `sosbands predict` is timed beside pandas, which
reads and writes the same file in the same blocks; both start from nothing, and the command also
loads its model and writes three more columns. What counts is processor time: in minutes, other
programs take their share of the wall-clock time, which is in the notes. The model is what
`sosbands fit` makes of 2000 rows of case 2 with three inputs. The file repeats 100 000 rows, with
six decimals.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from benchmarks.isolation import run_alone
from benchmarks.record import Record, ratio_of_medians
from benchmarks.timing import alternate, by_name, seconds_of
from sosbands.cli.table_reading import BLOCK_ROWS
from sosbands.datasets import case

ROWS, DIFFERENT_ROWS, TRAINING_ROWS = 10_000_000, 100_000, 2000
ROUNDS = 21
COMMAND = [sys.executable, "-m", "sosbands.cli"]
COPY = f"""
import sys, pandas as pd
source, target = sys.argv[1:]
with open(target, "w") as file:
    for number, block in enumerate(pd.read_csv(source, chunksize={BLOCK_ROWS})):
        block.to_csv(file, index=False, header=number == 0)
"""


def run(full: bool) -> Iterator[Record]:
    """Help, then the large file."""
    yield run_alone(help_ratio)
    yield from run_alone(large_file)


def help_ratio() -> Record:
    """Seconds until help is printed ÷ seconds of importing NumPy."""
    times = alternate(
        ROUNDS,
        help=lambda: call(*COMMAND, "--help"),
        numpy=lambda: call(sys.executable, "-c", "import numpy"),
    )
    return Record(
        "sosbands --help ÷ python -c 'import numpy'",
        ratio_of_medians(by_name([times]), "help", "numpy"),
        "<=",
        3.0,
        times=by_name([times]),
        seeds=(0,),
        notes=f"medians of {ROUNDS} processes each",
    )


def large_file() -> list[Record]:
    """Speed relative to pandas, and peak memory of the process."""
    with TemporaryDirectory() as folder:
        table, model, out = (str(Path(folder, name)) for name in ("in.csv", "m.skops", "out.csv"))
        make_model(Path(folder, "train.csv"), model)
        write_table(Path(table))
        predict = [*COMMAND, "predict", model, table, "--out", out]
        ours = cost(*predict)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        check(out)
        copy = cost(sys.executable, "-c", COPY, table, out)
        size = Path(table).stat().st_size / 1e6
    times = {"predict": [[ours[0]]], "pandas": [[copy[0]]]}
    return [
        Record(
            "sosbands predict, CSV of 10⁷ rows: speed ÷ that of pandas reading and writing it",
            ratio_of_medians(times, "pandas", "predict"),
            ">=",
            0.3,
            times=times,
            seeds=(0,),
            notes=f"{size:.0f} MB, 3 inputs; {ours[0]:.0f} and {copy[0]:.0f} processor seconds, "
            f"{ours[1]:.0f} and {copy[1]:.0f} s by the clock",
        ),
        Record(
            "sosbands predict, CSV of 10⁷ rows: peak memory",
            peak / (1 << 30 if sys.platform == "darwin" else 1 << 20),
            "<=",
            1.0,
            unit="GB",
            seeds=(0,),
            notes="the whole process: interpreter and libraries included",
        ),
    ]


def make_model(table: Path, model: str) -> None:
    """Fit as an analyst would."""
    X, y = case(2, dimension=3).sample(TRAINING_ROWS, random_state=0)
    frame(X).assign(y=y).to_csv(table, index=False)
    call(*COMMAND, "fit", str(table), "--target", "y", "--out", model)


def write_table(path: Path) -> None:
    """Ten million rows, of which 100 000 differ."""
    X = case(2, dimension=3).sample_inputs(DIFFERENT_ROWS, random_state=1)
    header, rows = frame(X).round(6).to_csv(index=False).split("\n", 1)
    with path.open("w") as file:
        file.write(f"{header}\n")
        for _ in range(ROWS // DIFFERENT_ROWS):
            file.write(rows)


def frame(X: object) -> pd.DataFrame:
    """Inputs with names."""
    return pd.DataFrame(X, columns=["x1", "x2", "x3"])


def check(out: str) -> None:
    """All rows must be there, and repeated ones alike but for rounding in blocks."""
    with open(out) as file:
        lines = sum(1 for _ in file)
    first = pd.read_csv(out, nrows=DIFFERENT_ROWS)
    last = pd.read_csv(out, skiprows=range(1, lines - DIFFERENT_ROWS))
    inside = (first["lower"] < first["mean"]) & (first["mean"] < first["upper"])
    if lines != ROWS + 1 or not np.allclose(first, last, rtol=1e-9) or not inside.all():
        raise RuntimeError(f"{out} is not what was to be written: {lines} lines")


def cost(*command: str) -> tuple[float, float]:
    """Processor and wall-clock seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    clock = seconds_of(lambda: call(*command))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, clock


def call(*command: str) -> None:
    """Run a command that must succeed; what it says goes nowhere."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:5])} … failed: {done.stderr[-500:]}")
