"""Fresh processes, so that every timing has one core and one BLAS thread, whatever the library."""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

# Read when the libraries are loaded, so they must be set before a process starts.
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}

# Processes that share two cores, and where they wait for each other.
_CROWD = 4
_TOGETHER: list[Barrier] = []


def fresh_processes(
    count: int, initializer: Callable[[], None] | None = None
) -> ProcessPoolExecutor:
    """Processes that start from nothing, with one BLAS thread each."""
    os.environ.update(_ONE_THREAD)
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(count, mp_context=context, initializer=initializer)


def run_alone(
    call: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
) -> Result:
    """The result of a call in a fresh process on one core."""
    with fresh_processes(1, initializer=_stay_on_one_core) as process:
        return process.submit(call, *arguments, **named).result()


def run_crowded(
    call: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
) -> list[Result]:
    """The results of a call in four fresh processes at once on two cores.

    They start together, and libraries have as many threads as they want.
    """
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(_CROWD)
    kept = {name: os.environ.pop(name) for name in _ONE_THREAD if name in os.environ}
    try:
        with ProcessPoolExecutor(
            _CROWD, mp_context=context, initializer=_share_two_cores, initargs=(together,)
        ) as processes:
            runs = [processes.submit(call, *arguments, **named) for _ in range(_CROWD)]
            return [run.result() for run in runs]
    finally:
        os.environ.update(kept)


def wait_for_the_others() -> None:
    """Go on when every process of a crowd has come here; at once in a process that is alone."""
    for together in _TOGETHER:
        together.wait()


def peak_memory() -> float:
    """Peak resident memory of this process in GB.

    Linux counts the parent's at the start, so keep that small.
    """
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 30 if sys.platform == "darwin" else 1 << 20)


def _stay_on_one_core() -> None:
    if hasattr(os, "sched_setaffinity"):  # Linux; elsewhere one thread has to do
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def _share_two_cores(together: Barrier) -> None:
    _TOGETHER.append(together)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[-2:]))
