"""Contexts that hold BLAS and OpenMP to one thread: on small matrices two wait more than they work.

Parallelism belongs to folds (`n_jobs`) and to processes. A library that is held to one thread is
also safe in a forked process: GNU's OpenMP waits there for threads that the fork left behind.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock

from threadpoolctl import ThreadpoolController

_FEW_ROWS = 1000  # up to here all matrices are small


@lru_cache(maxsize=1)
def _found(modules: int) -> ThreadpoolController:
    return ThreadpoolController()


def _controller() -> ThreadpoolController:
    """Of all loaded libraries, sought again (for milliseconds) when modules were imported."""
    return _found(len(sys.modules))


@dataclass
class _Limit:
    """The limit of BLAS is the process's, so the first user sets it and the last one lifts it."""

    users: int = 0
    stack: ExitStack = field(default_factory=ExitStack)
    lock: Lock = field(default_factory=Lock)

    def enter(self) -> None:
        with self.lock:
            if self.users == 0:
                self.stack.enter_context(_controller().limit(limits=1, user_api="blas"))
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.stack.close()


_BLAS = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS uses one thread; contexts of several threads may overlap.

    It must not stay open while a generator is suspended: an error elsewhere would leave it so.
    """
    _BLAS.enter()
    try:
        yield
    finally:
        _BLAS.leave()


@contextmanager
def one_openmp_thread() -> Iterator[None]:
    """A context in which OpenMP uses one thread; its limit is that of the calling thread alone."""
    with _controller().limit(limits=1, user_api="openmp"):
        yield


@contextmanager
def few_threads(rows: int) -> Iterator[None]:
    """A context with one OpenMP thread, and one of BLAS unless many rows make large matrices."""
    with one_openmp_thread(), ExitStack() as stack:
        if rows <= _FEW_ROWS:
            stack.enter_context(one_blas_thread())
        yield
