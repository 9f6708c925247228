"""The page about a model and rows that it has not seen."""

from __future__ import annotations

from pathlib import Path

from sosbands.cli.models import StoredModel
from sosbands.cli.table_file import TableFile
from sosbands.cli.table_rows import LabelledRows
from sosbands.report import write_report


def write_page(
    stored: StoredModel,
    rows: LabelledRows,
    file: TableFile,
    path: str,
    *,
    level: float,
    title: str | None = None,
) -> None:
    """Write the page about rows of a file."""
    columns, n = stored.columns, len(rows.y)
    unit = f" ({columns.output.unit})" if columns.output.unit else ""
    held_out = f"{n} rows that were held out of the fit, which the model has not seen"
    write_report(
        stored.model,
        rows.X,
        rows.y,
        path,
        confidence_level=level,
        title=title,
        target=f"{columns.target}{unit}",
        source=file.name if file.is_stream else Path(file.path).name,
        held_out=held_out if rows.held_out else None,
    )
