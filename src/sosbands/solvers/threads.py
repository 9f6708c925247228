"""BLAS threads: small dense steps want one; two wait for each other longer than they work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock

from threadpoolctl import ThreadpoolController


@dataclass
class _Limit:
    """The limit is the process's, so the first user sets it and the last one lifts it."""

    users: int = 0
    stack: ExitStack = field(default_factory=ExitStack)
    lock: Lock = field(default_factory=Lock)

    @cached_property
    def controller(self) -> ThreadpoolController:
        return ThreadpoolController()  # finding the loaded libraries takes milliseconds

    def enter(self) -> None:
        with self.lock:
            if self.users == 0:
                self.stack.enter_context(self.controller.limit(limits=1, user_api="blas"))
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.stack.close()


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS uses one thread; contexts of several threads may overlap."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
