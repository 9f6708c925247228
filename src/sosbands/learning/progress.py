"""What a long fit says of how far it is."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# Seconds. Where no terminal overwrites a line, steps that come sooner after the last one have none;
# and a step that takes longer is shown again, with the time that has passed.
_PAUSE, _PATIENCE = 2.0, 5.0


@dataclass(eq=False)
class Progress:
    """A line on standard error for every phase, that counts its steps; silent unless `verbose`.

    The line also tells how long a phase has taken, every five seconds. Where nobody watches, as in
    a file, it is not overwritten: steps get lines of their own, at most one in two seconds.
    """

    verbose: bool = False
    within: str = ""  # what the phases are part of
    _label: str = field(default="", init=False)
    _done: int = field(default=0, init=False)
    _total: int = field(default=0, init=False)
    _began: float = field(default=0.0, init=False)
    _said: float = field(default=0.0, init=False)  # when the line was last written

    @contextmanager
    def phase(self, label: str, total: int = 0) -> Iterator[None]:
        """Show the phase from its beginning on; its line ends with it, however that comes.

        Without a `total` nothing is counted.
        """
        self._label, self._done, self._total, self._said = label, 0, total, float("-inf")
        self._began = time.monotonic()
        self._show(_PAUSE)
        over = threading.Event()
        clock = threading.Thread(target=self._tick, args=(over,), daemon=True)
        if self.verbose:
            clock.start()
        try:
            yield
        finally:
            over.set()
            if self.verbose:
                clock.join()
                if sys.stderr.isatty():
                    sys.stderr.write("\n")

    def step(self) -> None:
        """One more step of the phase is done."""
        self._done += 1
        self._show(_PAUSE)

    def part(self, within: str) -> "Progress":
        """The progress of a part that has phases of its own."""
        return Progress(self.verbose, f"{self.within}{within}: ")

    def _tick(self, over: threading.Event) -> None:
        """Show the phase again whenever nothing was shown for a while, until it is over."""
        while not over.wait(1.0):
            self._show(_PATIENCE)

    def _show(self, pause: float) -> None:
        """Write where the phase is, unless a line that stays was written less than so long ago."""
        watched, now = self.verbose and sys.stderr.isatty(), time.monotonic()
        if not self.verbose or not (watched or now - self._said >= pause):
            return
        text = f"{self.within}{self._label}"
        if self._total:
            filled = round(20 * min(self._done / self._total, 1.0))
            bar = f"{'█' * filled:<20} " if watched else ""
            text = f"{text:<12} {bar}{self._done}/{self._total}"
        seconds = now - self._began
        passed = f"  {seconds:.0f} s" if seconds >= _PATIENCE else ""
        sys.stderr.write(f"\r{text}{passed}" if watched else f"{text}{passed}\n")
        self._said = now
        sys.stderr.flush()


SILENT = Progress()
