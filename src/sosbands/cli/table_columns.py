"""Which columns of a table a model sees, and what they hold; kept with the model."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pandas as pd

from sosbands.cli import cells
from sosbands.cli.column_judging import LeftOut, judged, named, wrong_cell
from sosbands.cli.column_kinds import Kind, Numbers, kind_from_dict, kind_to_dict
from sosbands.cli.table_file import CsvFormat, Problems, TableError, TableFile
from sosbands.cli.table_reading import repeated
from sosbands.quoting import listed, quoted, shortened

# Names that a message lists.
_TOLD = 5


@dataclass(frozen=True)
class Columns:
    """The inputs of a model in the order of training with what they hold, and its output."""

    inputs: Mapping[str, Kind]
    target: str | None = None  # None if it is not known
    output: Numbers = field(default_factory=Numbers)

    @classmethod
    def from_dict(cls, stored: Any) -> Columns:
        """What `to_dict` made, checked; a ValueError if it cannot have made it."""
        inputs, target = stored["inputs"], stored["target"]
        output = kind_from_dict(stored["output"])
        if not (isinstance(inputs, Mapping) and inputs and isinstance(target, str)):
            raise ValueError("a model needs inputs and a target")
        if not isinstance(output, Numbers):
            raise ValueError("a target holds numbers")
        return cls({name: kind_from_dict(kind) for name, kind in inputs.items()}, target, output)

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        inputs = {name: kind_to_dict(kind) for name, kind in self.inputs.items()}
        return {"inputs": inputs, "target": self.target, "output": kind_to_dict(self.output)}

    def read_inputs(
        self, table: pd.DataFrame, file: TableFile, form: CsvFormat, problems: Problems
    ) -> pd.DataFrame:
        """The inputs in the order of training; NaN, NaT or None where they are missing."""
        here = [name for name in self.inputs if name in table.columns]
        absent = [name for name in self.inputs if name not in table.columns]
        if absent:
            problems.add(_absent(absent, table, file))
        if twice := repeated(name for name in table.columns if name in self.inputs):
            raise TableError(
                f"{file.name} has several columns named {listed(twice)}: give each its own name"
            )
        plain = [name for name in here if self.inputs[name] == Numbers()]
        # Arrays: the rows of so many series would be aligned one by one.
        read: dict[str, Any] = dict.fromkeys(here)
        read.update(cells.plain_numbers(table, plain, form))
        for name in here:
            if read[name] is None:
                kind = self.inputs[name]
                read[name], wrong = kind.read(table[name], form)
                if wrong:
                    with problems.collected():
                        raise wrong_cell(table[name], kind, wrong, may_differ=True)
        return pd.DataFrame(read, table.index)

    def read_output(
        self, table: pd.DataFrame, file: TableFile, form: CsvFormat, problems: Problems
    ) -> pd.Series[float]:
        """The numbers of the target, NaN where they are missing."""
        if self.target is None:
            raise TableError(
                "the model does not say what it predicts: name the column with --target"
            )
        if self.target not in table.columns:
            raise TableError(_absent([self.target], table, file))
        if self.target in repeated(table.columns):
            raise TableError(
                f"{file.name} has several columns named {quoted(self.target)}, the target: give "
                "each its own name"
            )
        values, wrong = self.output.read(table[self.target], form)
        if wrong:
            with problems.collected():
                raise wrong_cell(table[self.target], self.output, wrong, may_differ=True)
        return pd.Series(values, table.index, name=self.target)


@dataclass(frozen=True)
class Choice:
    """Which columns of a table the user wants, and as what."""

    target: str
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()  # even if they look like identifiers
    categorical: Sequence[str] = ()
    groups: str | None = None  # no input
    ordered: str | None = None  # an input, unless it is dropped

    def columns(
        self, table: pd.DataFrame, file: TableFile, form: CsvFormat, problems: Problems
    ) -> tuple[Columns, Mapping[str, str]]:
        """The columns of a table that trains, and those left out with the reason."""
        said = [self.target, *self.drop, *self.keep, *self.categorical]
        said += [name for name in (self.groups, self.ordered) if name is not None]
        absent = [name for name in dict.fromkeys(said) if name not in table.columns]
        if absent:
            problems.add(_absent(absent, table, file))
        self._check_names(table.columns, problems)
        unseen = {self.target, self.groups, *self.drop}
        inputs: dict[str, Kind] = {}
        left_out: dict[str, str] = {}
        for at, name in enumerate(table.columns):
            if name not in unseen:
                with problems.collected():
                    kind = self._judged(table.iloc[:, at], at, form)
                    if isinstance(kind, LeftOut):
                        left_out[name] = kind.why
                    else:
                        inputs[name] = kind
        if not inputs and not problems.found:
            problems.add(f"no columns are left beside the target {quoted(self.target)}: keep some")
        output = Numbers()
        if self.target in table.columns:
            with problems.collected():
                at = list(table.columns).index(self.target)
                output = self._output(table.iloc[:, at], form, inputs)
        return Columns(inputs, self.target, output), left_out

    def _judged(self, column: pd.Series[Any], at: int, form: CsvFormat) -> Kind | LeftOut:
        name = str(column.name)
        kind = named(column, form) if name in self.categorical else judged(column, form)
        if isinstance(kind, LeftOut):
            return kind.otherwise if kind.otherwise and name in self.keep else kind
        if not name:
            raise TableError(
                f"column {at + 1} has no name: give it one, or leave it out with --drop ''"
            )
        return kind

    def _output(
        self, column: pd.Series[Any], form: CsvFormat, inputs: Mapping[str, Kind]
    ) -> Numbers:
        kind: Kind | LeftOut | None = judged(column, form, may_leave=False)
        if isinstance(kind, LeftOut):
            kind = kind.otherwise
        if isinstance(kind, Numbers):
            return kind
        numeric = (name for name, other in inputs.items() if isinstance(other, Numbers))
        such = "".join(f", such as {shlex.quote(shortened(name))}" for name in islice(numeric, 1))
        raise TableError(
            f"the target {quoted(self.target)} {'is empty' if kind is None else 'holds no numbers'}"
            f": name a column of numbers with --target{such}"
        )

    def _check_names(self, names: Iterable[str], problems: Problems) -> None:
        for option, given in {"--drop": self.drop, "--categorical": self.categorical}.items():
            if self.target in given:
                problems.add(
                    f"{option} {shlex.quote(shortened(self.target))} names the target, which can "
                    "be neither left out nor a category: name another column"
                )
        twice = repeated(name for name in names if name and name not in self.drop)
        if self.target in twice:
            twice.remove(self.target)
            problems.add(
                f"there are several columns named {quoted(self.target)}, the target: give each "
                "its own name"
            )
        if twice:
            options = " ".join(f"--drop {shlex.quote(shortened(name))}" for name in twice[:_TOLD])
            problems.add(
                f"there are several columns named {listed(twice, _TOLD)}: give each its own name, "
                f"or leave them out with {options}"
            )


def _absent(names: Sequence[str], table: pd.DataFrame, file: TableFile) -> str:
    return f"{file.name} has no column {listed(names)}: it has {listed(table.columns, 20)}"
