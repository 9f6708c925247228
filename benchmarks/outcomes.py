"""Outcomes of many small runs in a CSV file: a benchmark that was interrupted goes on from there.

Each row is one run: its key, what was measured, and the code that made it. Rows of other code are
measured again, so that no figure mixes versions: that code is the file of the method and what
methods share, and for our own the whole package too. Sizes are not part of a key: delete the file
if you change them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import as_completed
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd

import sosbands
from benchmarks import results
from benchmarks.isolation import fresh_processes
from experiments.methods import load

Key = Mapping[str, Any]


def collect(
    name: str, keys: Sequence[Key], measure: Callable[..., dict[str, float]]
) -> pd.DataFrame:
    """A row for each key, with what ``measure(**key)`` gives: stored, or by two processes.

    Every key has a "method".
    """
    path = results.FOLDER / f"{name}.csv"
    results.FOLDER.mkdir(exist_ok=True)
    codes = {method: code(method) for method in {key["method"] for key in keys}}
    done = stored(path, list(keys[0]), codes)
    missing = [key for key in keys if tuple(key.values()) not in done.index]
    print(f"      {len(keys) - len(missing)} of {len(keys)} runs are stored", flush=True)
    with fresh_processes(2) as processes:
        running = {processes.submit(measure, **key): key for key in missing}
        try:
            for future in as_completed(running):
                key = running[future]
                append(path, {**key, **future.result(), "code": codes[key["method"]]})
        except BaseException:
            processes.shutdown(cancel_futures=True)
            raise
    found = stored(path, list(keys[0]), codes)
    return found.loc[[tuple(key.values()) for key in keys]].reset_index()


def stored(path: Path, names: list[str], codes: Mapping[str, str]) -> pd.DataFrame:
    """The rows of today's code, by key."""
    if not path.exists():
        return pd.DataFrame(columns=[*names, "code"]).set_index(names)
    rows = pd.read_csv(path, dtype={"code": str})
    rows = rows[rows["code"] == rows["method"].map(codes)]
    return rows.drop_duplicates(names, keep="last").set_index(names)


def append(path: Path, row: Mapping[str, Any]) -> None:
    """One more row at the end of the file."""
    pd.DataFrame([row]).to_csv(path, mode="a", header=not path.exists(), index=False)


def code(method: str) -> str:
    """The first digits of a hash of the source of a method."""
    file = load(method).file
    files = [file, *sorted(file.parent.glob("_[a-z]*.py"))]
    if method.startswith("sosbands"):
        files += sorted(Path(sosbands.__file__).parent.rglob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
