"""``sosbands predict``."""

from __future__ import annotations

import click

from sosbands.cli import options
from sosbands.cli.command import Command, say, say_while_working
from sosbands.cli.options import LEVEL, Output, option
from sosbands.cli.table_file import TableFile


@click.command(
    cls=Command, example="sosbands predict band.skops demo_new.csv --level 0.9 --out intervals.csv"
)
@options.model_argument
@options.data_argument
@option(
    "--level",
    "levels",
    type=LEVEL,
    metavar="P",
    multiple=True,
    show_default="as in fit",
    help="Of the intervals; several give lower_0.8, upper_0.8 and so on.",
)
@option(
    "--out",
    type=Output(),
    default="-",
    metavar="PRED",
    show_default="standard output",
    help="A CSV or Parquet file.",
)
@option(
    "--prefix",
    default="",
    metavar="TEXT",
    show_default=False,
    help="Before the names of the new columns.",
)
@option(
    "--skip-missing", is_flag=True, help="Leave the new columns empty where inputs are missing."
)
@options.trust_option
@options.reading_options
def predict(
    model: str,
    data: TableFile,
    *,
    levels: tuple[float, ...],
    out: str,
    prefix: str,
    skip_missing: bool,
    trust: tuple[str, ...],
) -> None:
    """Add the columns mean, lower and upper to a table.

    DATA is read in blocks, so that it may be larger than the memory; - is standard input. Columns
    are found by their names; those that the model does not know are kept as they are.
    """
    from sosbands.cli.models import load_model
    from sosbands.cli.new_columns import NewColumns
    from sosbands.cli.table_reading import naming_lines, read_blocks
    from sosbands.cli.table_writing import writer
    from sosbands.quoting import listed, quoted

    stored, target = load_model(model, trust), TableFile(out, data.form)
    levels = tuple(dict.fromkeys(levels)) or (stored.level,)
    columns = NewColumns(stored, data, levels, prefix, skip_missing, typed=target.is_parquet)
    rows = 0
    with naming_lines(data), writer(target) as write:
        for block in read_blocks(data):
            write(columns.added_to(block))
            rows += len(block)
            say_while_working(f"{rows:,} rows")
    say_while_working("")
    for name, kinds in columns.unseen.items():
        say(
            f"Warning: column {quoted(name)} has categories that training had not, such as "
            f"{listed(kinds)}"
        )
