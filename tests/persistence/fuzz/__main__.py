"""Model files changed with knowledge of their structure: none may crash, hang or run anything.

``python tests/fuzz --count 20000 --seed 0``, or ``make fuzz-files``. Small models of every kind
(`seeds`) are saved, the files changed (`changes`) and given a checksum that is right; another
process (`worker`), which is watched, loads them and predicts.
"""

from __future__ import annotations

import argparse
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from changes import Parts, changed
from seeds import models
from worker import SECONDS

import sosbands


class Worker:
    """A process that answers for one file after the other; a new one follows a dead one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None

    def ask(self, path: Path, name: str) -> str:
        """What became of a file."""
        if self._process is None:
            self._start()
        process = self._process
        assert process is not None
        print(f"{path}\t{name}", file=process.stdin, flush=True)
        answer = self._line(process, SECONDS + 10)
        if answer:
            return answer
        process.kill()
        code = process.wait()
        self._process = None
        return "hang" if code in (-14, -9) else f"crash, exit code {code}"

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _start(self) -> None:
        command = [sys.executable, str(Path(__file__).with_name("worker.py")), str(self._folder)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self._line(self._process, 120) != "ready":
            raise RuntimeError("the worker does not start")

    @staticmethod
    def _line(process: subprocess.Popen[str], seconds: float) -> str:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                return ""
        return process.stdout.readline().strip()


def run(count: int, seed: int, kept: Path) -> int:
    """Try so many files; those that do harm are kept. Returns how many did."""
    started, outcomes, harm = time.time(), Counter[str](), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, model in models():
            sosbands.save(model, folder / f"{title}.seed")
        seeds = sorted(folder.glob("*.seed"))
        data = {path.stem: path.read_bytes() for path in seeds}
        worker, path = Worker(folder), folder / "changed.skops"
        try:
            for index in range(count):
                rng = np.random.default_rng([seed, index])
                first, second = rng.integers(len(seeds), size=2)
                title = seeds[first].stem
                parts, other = Parts.of(data[title]), Parts.of(data[seeds[second].stem])
                done = changed(parts, other, rng)
                path.write_bytes(parts.packed())
                answer = worker.ask(path, title)
                word = answer.partition(" ")[0].rstrip(":,")
                outcomes[word] += 1
                if word not in ("refused", "predicted", "raised"):
                    harm += 1
                    kept.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, kept / f"{seed}-{index}.skops")
                    print(f"{seed}-{index} {title} {done}: {answer}", flush=True)
                if (index + 1) % 1000 == 0:
                    print(
                        f"{index + 1} files, {time.time() - started:.0f} s, {dict(outcomes)}",
                        flush=True,
                    )
        finally:
            worker.close()
    told = ", ".join(f"{word} {outcomes[word]}" for word in ("refused", "predicted", "raised"))
    bad = ", ".join(f"{word} {outcomes[word]}" for word in ("crash", "hang", "wrong"))
    print(f"{count} files from {len(seeds)} models: {told}; {bad}; {time.time() - started:.0f} s")
    return harm


def main() -> None:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="files to try")
    parser.add_argument("--seed", type=int, default=0, help="of the changes")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="where harm is kept")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(run(options.count, options.seed, options.keep) > 0)


if __name__ == "__main__":
    main()
