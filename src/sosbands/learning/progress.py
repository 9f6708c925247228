"""What a long fit says of how far it is."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass
class Progress:
    """A line on standard error that counts steps; silent unless `verbose`."""

    total: int
    label: str
    verbose: bool
    done: int = 0

    def step(self) -> None:
        """One more step is done."""
        self.done += 1
        if not self.verbose:
            return
        share = min(self.done / max(self.total, 1), 1.0)
        bar = "█" * round(20 * share)
        sys.stderr.write(f"\r{self.label} {bar:<20} {self.done}/{self.total}")
        sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self.verbose:
            sys.stderr.write("\n")
