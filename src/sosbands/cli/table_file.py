"""Files that hold a table: which kind they are, how a CSV file writes its cells, what is wrong.

Whether a file is CSV or Parquet is said by its name; ``-`` is CSV from standard input, or to
standard output.
"""

from dataclasses import dataclass

from sosbands.quoting import quoted

# A digit, a sign or a letter between digits would make another number of them.
_DECIMALS, _THOUSANDS = ".,·٫", ".,'’_·٬ \u00a0\u2007\u2009\u202f"


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


@dataclass(frozen=True)
class CsvFormat:
    """How text stands for a table."""

    sep: str | None = None  # between two cells; None: a tab in a .tsv file, otherwise a comma
    encoding: str = "utf-8"
    decimal: str = "."  # between units and tenths
    thousands: str = ""  # between three digits and the next in a number

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
            "".encode(self.encoding)
        except LookupError:
            raise TableError(
                f"encoding {quoted(self.encoding)} is unknown: utf-8, cp1252 and latin-1 are usual"
            ) from None

    @property
    def codec(self) -> str:
        """The encoding for reading: a byte order mark is no part of the first name."""
        return "utf-8-sig" if self.encoding.lower() in ("utf-8", "utf8") else self.encoding


@dataclass(frozen=True)
class TableFile:
    """The path of a table, ``-`` for a standard stream, and the format if it is a CSV file."""

    path: str
    form: CsvFormat = CsvFormat()

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
        return self.path.endswith((".parquet", ".pq"))

    @property
    def sep(self) -> str:
        """What is between two cells of this CSV file."""
        return self.form.sep or ("\t" if self.path.removesuffix(".gz").endswith(".tsv") else ",")
