"""Which rows of which files a model has not seen: kept with it, so that those can judge it."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sosbands.types import Indices

_SHA256 = re.compile("[0-9a-f]{64}")
# Of one file, as many as a manifest can hold a bit for.
_MOST_ROWS = 50_000_000


@dataclass(frozen=True, eq=False)
class KnownFile:
    """A file that trained or calibrated a model.

    Attributes
    ----------
    sha256 : str
        Of its bytes.
    held_out : array of bool, one for each row
        Which rows the model has not seen.
    """

    sha256: str
    held_out: NDArray[np.bool_]

    @classmethod
    def of(cls, sha256: str | None, n_rows: int, held_out: Indices) -> list[KnownFile]:
        """One file, or none if it was a stream or has too many rows."""
        if sha256 is None or n_rows > _MOST_ROWS:
            return []
        mask = np.zeros(n_rows, dtype=bool)
        mask[held_out] = True
        return [cls(sha256, mask)]

    def to_dict(self) -> dict[str, Any]:
        """A bit for each row, ready for JSON."""
        bits = base64.b64encode(np.packbits(self.held_out).tobytes()).decode()
        return {"sha256": self.sha256, "rows": len(self.held_out), "held_out": bits}

    @classmethod
    def from_dict(cls, stored: Any) -> KnownFile:
        """What `to_dict` made, checked; a ValueError if it cannot have made it."""
        if not isinstance(stored, Mapping) or set(stored) != {"sha256", "rows", "held_out"}:
            raise ValueError("a known file has a fingerprint, rows, and those held out")
        sha256, rows, text = stored["sha256"], stored["rows"], stored["held_out"]
        if not (isinstance(sha256, str) and _SHA256.fullmatch(sha256)):
            raise ValueError("the fingerprint of a known file is none")
        if type(rows) is not int or not 0 < rows <= _MOST_ROWS:
            raise ValueError(f"a known file cannot have {rows!r} rows")
        bits = np.frombuffer(base64.b64decode(text, validate=True), dtype=np.uint8)
        if len(bits) != -(-rows // 8):
            raise ValueError(f"a known file of {rows} rows needs a bit for each")
        return cls(sha256, np.unpackbits(bits, count=rows).astype(bool))


def known_as(files: Sequence[KnownFile], sha256: str | None, n_rows: int) -> KnownFile | None:
    """The file with this fingerprint; None if the model does not know it.

    A table of another length was read in another way, such as another sheet.
    """
    return next((f for f in files if f.sha256 == sha256 and len(f.held_out) == n_rows), None)
