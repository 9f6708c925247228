"""Training that needs all its workers: when one dies the others wait for it, so somebody must look.

Regressors of Dask train as a ring of workers. If one is killed, the libraries may wait for minutes
or for ever. Here the training is watched, stopped when a worker is gone, and done once more.
"""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable
from functools import partial
from threading import Thread
from typing import Any

from distributed import Client, Future

# Seconds between two looks at the workers, that a training gets to end by itself when a worker is
# gone, and that new workers get to come.
_LOOK, _GRACE, _RETURN = 0.5, 5.0, 60.0


class WorkerLostError(RuntimeError):
    """A worker died while a mean was trained."""


def trained_watching(train: Callable[[], Any], client: Client | None, name: str) -> Any:
    """What `train` returns; if a worker dies meanwhile it is called once more."""
    if client is None:
        return train()
    for last in (False, True):
        workers = _workers(client)
        if not workers:
            raise RuntimeError(f"there are no workers to train {name}: start some")
        try:
            return _watched(train, client)
        except WorkerLostError as lost:
            if last:
                raise RuntimeError(
                    f"a worker died while {name} was trained, and again when that was repeated "
                    f"({lost}): give workers more memory, or make chunks smaller"
                ) from lost.__cause__
            _until(partial(_are_there, client, len(workers)))
    raise AssertionError("unreachable")


def _watched(train: Callable[[], Any], client: Client) -> Any:
    """Train in a thread, which can be left behind."""
    outcome: dict[str, Any] = {}

    def run() -> None:
        try:
            outcome["value"] = train()
        except BaseException as error:
            outcome["error"] = error

    before, known = _workers(client), set(client.futures)
    context = contextvars.copy_context()
    thread = Thread(target=lambda: context.run(run), daemon=True)
    thread.start()
    lost: set[str] = set()
    while thread.is_alive() and not lost:
        thread.join(_LOOK)
        lost = before - _workers(client)
    if lost:
        thread.join(_GRACE)
        stopped = thread.is_alive()
        if stopped:
            _stop(client, known)
        if stopped or "error" in outcome:
            raise WorkerLostError(f"lost {', '.join(sorted(lost))}") from outcome.get("error")
    if "error" in outcome:
        time.sleep(_LOOK)
        if lost := before - _workers(client):
            raise WorkerLostError(f"lost {', '.join(sorted(lost))}") from outcome["error"]
        raise outcome["error"]
    return outcome["value"]


def _stop(client: Client, known: set[str]) -> None:
    """Give up what the training started, and restart the workers that wait in it."""
    # Looked up first: a task that is cancelled no longer counts, but its thread still waits.
    waiting = [worker for worker, tasks in client.processing().items() if set(tasks) - known]
    started = [key for key in tuple(client.futures) if key not in known]
    client.cancel([Future(key, client) for key in started], force=True)
    if waiting:
        client.restart_workers(waiting, timeout=_RETURN, raise_for_error=False)
        # On a busy machine they may still be about to go: they are not to train again.
        _until(partial(_are_gone, client, set(waiting)))


def _workers(client: Client) -> set[str]:
    """Addresses: a worker that was restarted has another one."""
    # Not scheduler_info: the client's own timer may put an empty list there before it is read.
    return set(client.nthreads())


def _are_there(client: Client, count: int) -> bool:
    return len(_workers(client)) >= count


def _are_gone(client: Client, workers: set[str]) -> bool:
    return not workers & _workers(client)


def _until(condition: Callable[[], bool]) -> None:
    """Wait for something of the workers, but not for ever."""
    end = time.monotonic() + _RETURN
    while time.monotonic() < end and not condition():
        time.sleep(_LOOK)
