"""Measure what is missing: in parallel, one BLAS thread per process, with a progress bar."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from experiments.experiment import Key
from experiments.store import Store

# A unit, its rows, and the reason if there are none.
Outcome = tuple[Key, Any, str]


class Measured(Protocol):
    """What is run: an `Experiment`, or anything else with units of work to measure."""

    @property
    def name(self) -> str: ...

    @property
    def measure(self) -> Any: ...

    @property
    def timed(self) -> bool: ...


def run(experiment: Measured, store: Store, *, jobs: int) -> list[str]:
    """Measure the missing units and complete the table; the failures, one text for each."""
    missing = store.missing()
    failures = []
    with _progress(experiment.name, len(store.units), len(missing)) as step:
        for unit, rows, failure in _outcomes(experiment, missing, jobs):
            if failure:
                failures.append(f"{experiment.name} {dict(unit)}\n{failure}")
            else:
                store.add(unit, rows)
            step()
    if not failures:
        store.complete()
    return failures


def _outcomes(experiment: Measured, units: Sequence[Key], jobs: int) -> Iterator[Outcome]:
    """What comes out of each unit, as it comes."""
    if experiment.timed or jobs == 1:
        with threadpool_limits(1):
            yield from (_attempt(experiment.measure, unit) for unit in units)
        return
    with parallel_config("loky", inner_max_num_threads=1):
        pool = Parallel(n_jobs=jobs, return_as="generator_unordered")
        yield from pool(delayed(_attempt)(experiment.measure, unit) for unit in units)


def _attempt(measure: Any, unit: Key) -> Outcome:
    """One unit; a failure is an outcome, so that the others go on."""
    try:
        return unit, measure(**unit), ""
    except Exception:
        return unit, None, traceback.format_exc(limit=-3)


@contextmanager
def _progress(name: str, total: int, missing: int) -> Iterator[Any]:
    """A bar on standard error; a plain line if tqdm is not installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        print(f"{name}: {missing} of {total} units to measure", file=sys.stderr)
        yield lambda: None
        return
    with tqdm(total=total, initial=total - missing, desc=f"{name:<22}", unit="") as bar:
        yield bar.update
