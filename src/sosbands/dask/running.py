"""Where work is done: on the workers of a client, or by the local scheduler; and what failed."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import cloudpickle
import dask
from dask.delayed import Delayed
from distributed import Client, KilledWorker, default_client
from distributed.client import FutureCancelledError

_OUT_OF_MEMORY = (
    "the rows are in blocks that do not fit the memory of a worker: make chunks or partitions "
    "smaller, or give workers more memory"
)


@dataclass(frozen=True, eq=False)
class Runner:
    """Computes what is delayed.

    Attributes
    ----------
    client : Client or None
        None for Dask's local scheduler.
    passes : dict
        How often rows were read, by what for.
    """

    client: Client | None
    passes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, client: Any) -> Runner:
        """With the client that is given, else that in scope, else with the local scheduler."""
        if client is None:
            try:
                client = default_client()
            except ValueError:  # there is none
                return cls(None)
        if not isinstance(client, Client):
            raise ValueError(
                f"client must be a distributed.Client or None, got {type(client).__name__}"
            )
        if client.status != "running":
            raise ValueError(
                f"the client is {client.status}: give one that is connected, or client=None"
            )
        return cls(client)

    def results(self, tasks: Sequence[Delayed], *, reading: str | None = None) -> list[Any]:
        """What the tasks give; `reading` says what for, if they read all rows."""
        self.count(reading)
        self._check_open()
        with _failures(), _quiet():
            return list(dask.compute(*tasks, scheduler=self._scheduler))

    def kept(self, tasks: Sequence[Delayed], *, reading: str | None = None) -> list[Delayed]:
        """The same tasks; what they give stays on the workers, and is made anew if one dies."""
        self.count(reading)
        with _failures(), _quiet():
            if self.client is None:
                return list(dask.persist(*tasks))
            return list(self.client.persist(list(tasks)))

    def _check_open(self) -> None:
        if self.client is not None and self.client.status != "running":
            raise RuntimeError(
                f"the client is {self.client.status}, and what its workers kept is gone: fit or "
                "conformalize again with another one; to_local() makes a model that needs none"
            )

    @property
    def _scheduler(self) -> Any:
        return None if self.client is None else self.client

    def count(self, reading: str | None) -> None:
        """Remember that all rows are read, and what for."""
        if reading is not None:
            self.passes[reading] = self.passes.get(reading, 0) + 1


def constant(value: Any, name: str) -> Delayed:
    """One value for many tasks: it travels once to each worker, and again if one dies.

    A task unpacks it: a class that workers cannot import is then an error, and not their end.
    """
    unpack = dask.delayed(pickle.loads, pure=False)
    return unpack(cloudpickle.dumps(value), dask_key_name=f"sosbands-{name}-{uuid4().hex}")


@contextmanager
def _failures() -> Iterator[None]:
    """Say what it means if a worker dies again and again, or results are gone."""
    try:
        yield
    except KilledWorker as error:
        raise RuntimeError(
            f"workers died {error.allowed_failures + 1} times at the same block; most likely "
            f"{_OUT_OF_MEMORY}"
        ) from error
    except MemoryError as error:
        raise MemoryError(f"a worker ran out of memory: {_OUT_OF_MEMORY}") from error
    except (CancelledError, FutureCancelledError) as error:
        raise RuntimeError(
            "what the workers kept is gone, since they were restarted: fit or conformalize again; "
            "to_local() makes a model that does not need them"
        ) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the advice on graphs that hold a model or which rows are meant: both must travel."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
        yield
