"""Tables in spreadsheets, by the extra ``[excel]``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sosbands.cli.table_file import TableError, TableFile, column_name
from sosbands.quoting import listed, quoted, shortened

# Beyond this, a number of a spreadsheet is not exactly a whole one.
_EXACT = 2.0**53


def spreadsheet_table(file: TableFile) -> pd.DataFrame:
    """The rows of one sheet below its first row that is not empty; cells have their types."""
    calamine = _calamine()
    if file.is_stream or file.content is not None:
        raise TableError("a spreadsheet cannot come from standard input: give the name of a file")
    try:
        with calamine.CalamineWorkbook.from_path(file.path) as book:
            names = book.sheet_names
            if not names:
                raise TableError(f"{file.path} has no sheets: give one with a table")
            name = names[0] if file.sheet is None else file.sheet
            if name not in names:
                raise TableError(
                    f"{file.path} has no sheet {quoted(name)}: --sheet is one of {listed(names)}"
                )
            rows = book.get_sheet_by_name(name).to_python(skip_empty_area=True)
    except calamine.PasswordError:
        raise TableError(f"{file.path} has a password: save it without one") from None
    except (calamine.CalamineError, calamine.XmlError, calamine.ZipError) as error:
        first = shortened(" ".join(str(error).split()), 200)
        raise TableError(f"{file.path} is not a complete spreadsheet: {first}") from error
    filled = [row for row in rows if any(cell != "" for cell in row)]
    if not filled:
        raise TableError(f"sheet {quoted(name)} of {file.path} is empty: name another with --sheet")
    header, *body = filled
    values = np.empty((len(body), len(header)), dtype=object)
    for at, row in enumerate(body):
        values[at] = [_cell(cell) for cell in row]
    return pd.DataFrame(values, columns=[column_name(str(_cell(cell) or "")) for cell in header])


def _cell(cell: Any) -> Any:
    """Nothing as None, and whole numbers as such: spreadsheets have no others than floats."""
    if cell == "":
        return None
    whole = isinstance(cell, float) and cell.is_integer() and abs(cell) < _EXACT
    return int(cell) if whole else cell


def _calamine() -> Any:
    try:
        import python_calamine
    except ImportError:
        raise TableError(
            "spreadsheets need python-calamine, which is not installed: "
            'pip install "sosbands[excel]"; or save the sheet as CSV'
        ) from None
    return python_calamine
