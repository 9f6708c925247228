"""Records as lines of a terminal, and as a table in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_SIGNS = {"<=": "≤", ">=": "≥"}


def line(record: Mapping[str, Any]) -> str:
    """One record on one line."""
    notes = f"  ({record['notes']})" if record["notes"] else ""
    verdict = {"ok": "ok  ", "miss": "MISS", "": "    "}[_verdict(record)]
    return f"{verdict}  {record['name']:<76} {_target(record):>10} {_measured(record):>12}{notes}"


def markdown(results: Mapping[str, Any]) -> str:
    """All records, benchmark by benchmark, with what they were measured with."""
    rows = ["| what | target | measured | | notes |", "|---|---|---|---|---|"]
    for result in results.values():
        for record in result["records"]:
            cells = (record["name"], _target(record), _measured(record), _verdict(record))
            escaped = [cell.replace("|", r"\|") for cell in (*cells, record["notes"])]
            rows.append("| " + " | ".join(escaped) + " |")
    return "\n".join([*rows, "", *_origins(results.values())])


def _origins(results: Iterable[Mapping[str, Any]]) -> list[str]:
    lines = []
    for result in results:
        found = result["environment"]
        packages = ", ".join(f"{name} {number}" for name, number in found["packages"].items())
        entry = f"{found['processor']}, {found['system']}, Python {found['python']}, {packages}."
        if entry not in lines:
            lines.append(entry)
    return lines


def _target(record: Mapping[str, Any]) -> str:
    if record["target"] is None:
        return ""
    return f"{_SIGNS[record['comparison']]} {_number(record['target'])}{_unit(record)}"


def _measured(record: Mapping[str, Any]) -> str:
    if record["measured"] is None:
        return "none"
    return ("≥ " if record["capped"] else "") + _number(record["measured"]) + _unit(record)


def _unit(record: Mapping[str, Any]) -> str:
    return "" if record["unit"] in ("", "×") else f" {record['unit']}"


def _number(value: float) -> str:
    """Three digits; four just below 100, so that 99.99 % is not 100 %."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.4g}" if value >= 99 else f"{value:.3g}"


def _verdict(record: Mapping[str, Any]) -> str:
    if record["target"] is None:
        return ""
    return "ok" if record["ok"] else "miss"
