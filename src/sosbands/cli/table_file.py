"""Files that hold a table: which kind they are, how a CSV file writes its cells, what is wrong.

Whether a file is CSV, Parquet or a spreadsheet is said by its name; ``-`` is CSV from standard
input, or to standard output.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from sosbands.quoting import quoted

# A digit, a sign or a letter between digits would make another number of them.
_DECIMALS, _THOUSANDS = ".,·٫", ".,'’_·٬ \u00a0\u2007\u2009\u202f"
# Problems that a message lists; a table may have as many as columns.
_MOST_PROBLEMS = 100


def column_name(text: str) -> str:
    """A name as people would type it: without line ends, which headers of spreadsheets have.

    Letters with marks are one character each; some systems write them as two.
    """
    return unicodedata.normalize("NFC", re.sub(r"\s*[\r\n\t]\s*", " ", text.strip()))


class TableError(ValueError):
    """A file is not the table that it should be; the message says why, and what to do."""


class RowError(TableError):
    """Something is wrong in one row, the first below the header being zero.

    `before` and `after` are the sentence around the place of the row.
    """

    def __init__(self, before: str, row: int, after: str) -> None:
        super().__init__(f"{before}row {row + 1}{after}")
        self.before, self.row, self.after = before, row, after

    def at_line(self, line: int | None) -> TableError:
        """The same with the line of the file, which an editor shows, if it is known."""
        return self if line is None else TableError(f"{self.before}line {line}{self.after}")


class ProblemsError(TableError):
    """Several things are wrong with a table; each has a line of the message."""

    def __init__(self, name: str, problems: Sequence[TableError]) -> None:
        self.problems = tuple(problems)
        said = [f"  - {problem}" for problem in self.problems[:_MOST_PROBLEMS]]
        if len(self.problems) > _MOST_PROBLEMS:
            said.append(f"  - and {len(self.problems) - _MOST_PROBLEMS} more of this kind")
        first = f"{name} cannot be used as it is, for {len(self.problems)} reasons:"
        super().__init__("\n".join([first, *said]))


@dataclass(eq=False)
class Problems:
    """What is wrong with a table, collected so that it can be said at once."""

    found: list[TableError] = field(default_factory=list)

    def add(self, problem: str) -> None:
        """Note a problem that has no row."""
        self.found.append(TableError(problem))

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Note an error about the table, and go on behind the block."""
        try:
            yield
        except TableError as error:
            self.found.append(error)

    def raised(self, file: TableFile) -> None:
        """Raise what was found: one error as it is, several in one message."""
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            raise ProblemsError(file.name, self.found)


@dataclass(frozen=True)
class CsvFormat:
    """How text stands for a table."""

    sep: str | None = None  # between two cells; None: what the beginning of the file shows
    encoding: str | None = None  # None: what the bytes of the file show
    decimal: str = "."  # between units and tenths
    thousands: str = ""  # between three digits and the next in a number
    na_values: tuple[str, ...] = ()  # further cells in which there is nothing
    day_first: bool | None = None  # of dates as 1/2/2024; None: what the column shows

    def __post_init__(self) -> None:
        if self.sep is not None and len(self.sep) != 1:
            raise TableError(f"sep must be one character, got {quoted(self.sep)}")
        if len(self.decimal) != 1 or self.decimal not in _DECIMALS:
            raise TableError(f"decimal must be a point or a comma, got {quoted(self.decimal)}")
        if len(self.thousands) > 1 or self.thousands not in _THOUSANDS:
            raise TableError(
                "thousands must be a comma, a point, a blank, an apostrophe, an underscore or "
                f"nothing, got {quoted(self.thousands)}"
            )
        if self.decimal == self.thousands:
            raise TableError(f"decimal and thousands must differ, got {self.decimal!r} for both")
        try:
            "".encode(self.encoding or "utf-8")
        except LookupError:
            raise TableError(
                f"encoding {quoted(self.encoding)} is unknown: utf-8, cp1252 and latin-1 are usual"
            ) from None


@dataclass(frozen=True)
class TableFile:
    """The path of a table, ``-`` for a standard stream, and what is known of how it is written."""

    path: str
    form: CsvFormat = CsvFormat()
    said: frozenset[str] = frozenset()  # what of the format the user said; the rest may be seen
    sheet: str | None = None  # of a spreadsheet; None: the first
    content: bytes | None = field(default=None, repr=False)  # of standard input, once it is read

    @property
    def name(self) -> str:
        """What messages call the file that is read."""
        return "standard input" if self.is_stream else self.path

    @property
    def is_stream(self) -> bool:
        """Whether it is standard input or output."""
        return self.path == "-"

    @property
    def is_parquet(self) -> bool:
        """Whether it is a Parquet file and not CSV."""
        return self.path.lower().endswith((".parquet", ".pq"))

    @property
    def is_gzip(self) -> bool:
        """Whether it is packed."""
        return self.path.lower().endswith(".gz")

    @property
    def is_spreadsheet(self) -> bool:
        """Whether it is a file of Excel or of another spreadsheet."""
        return self.path.lower().endswith((".xls", ".xlsx", ".xlsm", ".xlsb", ".ods"))

    @property
    def sep(self) -> str:
        """What is between two cells of this CSV file, unless its beginning shows another."""
        tabs = self.path.lower().removesuffix(".gz").endswith(".tsv")
        return self.form.sep or ("\t" if tabs else ",")
