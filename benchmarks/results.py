"""The results on disk: one JSON file, in which every benchmark replaces its own part."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"
RESULTS = FOLDER / "bench.json"
FIGURE = FOLDER / "time_against_n.png"


def load() -> dict[str, Any]:
    """What earlier runs have left, by benchmark."""
    if not RESULTS.exists():
        return {}
    stored: dict[str, Any] = json.loads(RESULTS.read_text())
    return stored


def store(name: str, result: dict[str, Any]) -> None:
    """Replace the part of one benchmark."""
    FOLDER.mkdir(exist_ok=True)
    together = {**load(), name: _finite(result)}
    text = json.dumps(together, indent=1, ensure_ascii=False, allow_nan=False, sort_keys=True)
    RESULTS.write_text(text + "\n")


def _finite(value: Any) -> Any:
    """JSON knows neither NaN nor infinity."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
