"""Load model files and predict from them, one name from standard input after the other.

The answer is a line: ``refused``, ``predicted``, ``raised`` (by a prediction), or ``wrong`` and
what should not have happened. A file that takes too long ends the process by an alarm.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

from seeds import rows_of

import sosbands
from sosbands.persistence import ModelFileError

SECONDS = 20
_MEMORY = 1 << 30
_STARTS = (
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "pickle.find_class",
    "pty.",
    "shutil.",
    "socket.",
    "subprocess.",
    "urllib.",
)
_READABLE = ("/proc/", "/sys/", sys.prefix, sys.base_prefix, str(Path(sosbands.__file__).parent))


class Watch:
    """What the process does beyond computing, since the last look."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.allowed = ""

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(_STARTS) or (event == "open" and not self._harmless(*arguments)):
            self.seen.append(f"{event} {str(arguments)[:100]}")
        elif event == "import" and arguments[0] not in sys.modules:
            root = str(arguments[0]).partition(".")[0]
            if root not in {name.partition(".")[0] for name in sys.modules}:
                self.seen.append(f"import {arguments[0]}")

    def _harmless(self, path: Any, mode: Any, flags: Any) -> bool:
        name = os.fsdecode(path) if isinstance(path, str | bytes) else ""
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        return not writes and (name == self.allowed or name.startswith(_READABLE))


def predict(model: Any, name: str) -> None:
    """All that a loaded model is asked for."""
    rows, companions = rows_of(name)
    model.predict(rows)
    if not name.startswith("model"):
        model.predict_interval(rows, [0.5, 0.9], **companions)
        model.predict_scale(rows)
        model.extrapolation(rows)
    repr(model)


def verdict(path: str, name: str, watch: Watch) -> str:
    watch.seen, watch.allowed = [], path
    answer = "predicted"
    try:
        model = sosbands.load(path)
    except ModelFileError as error:
        answer = f"wrong: memory, {error}" if "MemoryError" in str(error) else "refused"
    except Exception as error:
        answer = f"wrong: load raised {type(error).__name__}: {error}"
    else:
        try:
            predict(model, name)
        except MemoryError as error:
            answer = f"wrong: memory, {error}"
        except Exception as error:
            answer = f"raised {type(error).__name__}"
    if watch.seen:
        answer = f"wrong: {'; '.join(watch.seen)}"
    return answer.replace("\n", " ")[:300]


def main(folder: str) -> None:
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for seed in sorted(Path(folder).glob("*.seed")):  # whatever is imported late, is imported now
        predict(sosbands.load(seed), seed.stem)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, used + _MEMORY))
    watch = Watch()
    sys.addaudithook(watch)
    print("ready", flush=True)
    for line in sys.stdin:
        path, name = line.rstrip("\n").split("\t")
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        answer = verdict(path, name, watch)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(answer, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
