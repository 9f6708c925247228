"""What a long fit says of how far it is."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(eq=False)
class Progress:
    """A line on standard error for every phase, that counts its steps; silent unless `verbose`."""

    verbose: bool = False
    within: str = ""  # what the phases are part of
    _label: str = field(default="", init=False)
    _done: int = field(default=0, init=False)
    _total: int = field(default=0, init=False)

    @contextmanager
    def phase(self, label: str, total: int) -> Iterator[None]:
        """Show the phase from its beginning on; its line ends with it, however that comes."""
        self._label, self._done, self._total = label, 0, total
        self._show()
        try:
            yield
        finally:
            if self.verbose:
                sys.stderr.write("\n")

    def step(self) -> None:
        """One more step of the phase is done."""
        self._done += 1
        self._show()

    def part(self, within: str) -> "Progress":
        """The progress of a part that has phases of its own."""
        return Progress(self.verbose, f"{self.within}{within}: ")

    def _show(self) -> None:
        if not self.verbose:
            return
        bar = "█" * round(20 * min(self._done / max(self._total, 1), 1.0))
        name = f"{self.within}{self._label}"
        sys.stderr.write(f"\r{name:<12} {bar:<20} {self._done}/{self._total}")
        sys.stderr.flush()


SILENT = Progress()
