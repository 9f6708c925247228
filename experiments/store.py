"""Results on disk: a sorted table of what is complete, and a journal of what is under way.

A unit of work that is done becomes one line of the journal, written at once, so that a run that was
interrupted goes on from there; a line that was torn is measured again. When all units are done the
journal turns into the table, a CSV file with one or more rows for each unit: its key, what was
measured (to six digits), and the version of the package that made it. Results of other versions
count; `--fresh` measures them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import sosbands
from experiments.experiment import Key, Row

FOLDER = Path(__file__).parent / "results"
VERSION = "version"

Identity = tuple[str, ...]


@dataclass(frozen=True)
class Store:
    """The results of one experiment in one size.

    Attributes
    ----------
    name : str
        Of the experiment.
    units : sequence of keys
        What the complete table holds, in its order.
    folder : Path
    """

    name: str
    units: Sequence[Key]
    folder: Path = FOLDER

    @property
    def table(self) -> Path:
        """The complete results."""
        return self.folder / f"{self.name}.csv"

    @property
    def journal(self) -> Path:
        """The units that are done, until all are."""
        return self.folder / f"{self.name}.journal"

    def missing(self) -> list[Key]:
        """The units without results, in order."""
        done = self._done()
        return [unit for unit in self.units if identity(unit.values()) not in done]

    def add(self, unit: Key, rows: Row | Sequence[Row]) -> None:
        """Record what was measured for one unit."""
        several = [rows] if isinstance(rows, dict) else list(rows)
        found = [
            {**unit, **{name: _short(value) for name, value in row.items()}, VERSION: _version()}
            for row in several
        ]
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.journal.open("a") as file:
            # The line before may be torn: this one starts afresh.
            file.write("\n" + json.dumps(found, default=_plain) + "\n")

    def complete(self) -> None:
        """Turn the journal into the table; units that are no longer asked for are dropped."""
        done = self._done()
        rows = [row for unit in self.units for row in done[identity(unit.values())]]
        part = self.table.with_suffix(".part")
        pd.DataFrame(rows).to_csv(part, index=False)
        part.replace(self.table)
        self.journal.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove all results."""
        self.table.unlink(missing_ok=True)
        self.journal.unlink(missing_ok=True)

    def load(self) -> pd.DataFrame:
        """The complete results."""
        if not self.table.exists():
            raise FileNotFoundError(
                f"{self.name} has no complete results: run python -m experiments {self.name}"
            )
        return pd.read_csv(self.table)

    def foreign_versions(self) -> list[str]:
        """The other versions of the package that some of the results come from."""
        versions = {str(row[VERSION]) for rows in self._done().values() for row in rows}
        return sorted(versions - {_version()})

    def _done(self) -> dict[Identity, list[dict[str, Any]]]:
        """Rows by unit; of a unit measured twice the last ones."""
        done: dict[Identity, list[dict[str, Any]]] = {}
        names = list(self.units[0])
        for rows in (*self._blocks(names), *self._entries()):
            if all(name in rows[0] for name in names):  # or it is of an older declaration
                done[identity(rows[0][name] for name in names)] = rows
        return done

    def _blocks(self, names: list[str]) -> Iterator[list[dict[str, Any]]]:
        """The rows of each unit in the table."""
        if not self.table.exists():
            return
        # As text, which goes back into the file as it came.
        table = pd.read_csv(self.table, dtype=str, keep_default_na=False)
        if not set(names) <= set(table):
            return
        for _, block in table.groupby(names, sort=False):
            yield [
                {name: value for name, value in row.items() if value or name in names}
                for row in block.to_dict("records")
            ]

    def _entries(self) -> Iterator[list[dict[str, Any]]]:
        """The rows of each unit in the journal."""
        if not self.journal.exists():
            return
        for line in self.journal.read_text().splitlines():
            with suppress(json.JSONDecodeError):  # torn
                if line.strip():
                    yield json.loads(line)


def identity(values: Iterable[Any]) -> Identity:
    """What tells units apart, the same for numbers and for what a CSV file makes of them."""
    return tuple(_label(value) for value in values)


def _label(value: Any) -> str:
    text = str(value)
    with suppress(ValueError):
        return repr(float(text))
    return text


def _short(value: Any) -> Any:
    """Six digits are plenty, and keep the tables small."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _plain(value: Any) -> Any:
    """NumPy's scalars as Python's."""
    return value.item()


def _version() -> str:
    return str(sosbands.__version__)
