"""``sosbands predict``."""

from __future__ import annotations

from typing import Any

import click

from sosbands.cli.command import (
    INPUT,
    LEVEL,
    MODEL,
    Command,
    Output,
    reading_options,
    say,
    say_while_working,
    trust_option,
)


@click.command(
    cls=Command, example="sosbands predict band.skops demo_new.csv --level 0.9 --out intervals.csv"
)
@click.argument("model", type=MODEL)
@click.argument("data", type=INPUT)
@click.option(
    "--level",
    "levels",
    type=LEVEL,
    metavar="P",
    multiple=True,
    show_default="as in fit",
    help="Of the intervals; several give lower_0.8, upper_0.8 and so on.",
)
@click.option(
    "--out",
    type=Output(),
    default="-",
    metavar="PRED",
    show_default="standard output",
    help="A CSV or Parquet file.",
)
@click.option("--prefix", default="", metavar="TEXT", help="Before the names of the new columns.")
@click.option(
    "--skip-missing", is_flag=True, help="Leave the new columns empty where inputs are missing."
)
@trust_option
@reading_options
def predict(
    model: str,
    data: str,
    *,
    levels: tuple[float, ...],
    out: str,
    prefix: str,
    skip_missing: bool,
    trust: tuple[str, ...],
    form: Any,
) -> None:
    """Add the columns mean, lower and upper to a table.

    DATA is read in blocks, so that it may be larger than the memory; - is standard input. Columns
    are found by their names; those that the model does not know are kept as they are.
    """
    from sosbands.cli.models import load_model
    from sosbands.cli.predictor import Predictor
    from sosbands.cli.row_files import naming_lines
    from sosbands.cli.tables import is_parquet, named, read_blocks, writer
    from sosbands.quoting import listed, quoted

    stored = load_model(model, trust)
    predictor = Predictor(
        stored,
        levels=tuple(dict.fromkeys(levels)) or (stored.level,),
        prefix=prefix,
        form=form,
        path=named(data),
        skip_missing=skip_missing,
        typed=is_parquet(out),
    )
    rows = 0
    with naming_lines(data, form), writer(out, form) as write:
        for block in read_blocks(data, form):
            write(predictor.annotated(block))
            rows += len(block)
            say_while_working(f"{rows:,} rows")
    say_while_working("")
    for name, kinds in predictor.unseen.items():
        say(
            f"Warning: column {quoted(name)} has categories that training had not, such as "
            f"{listed(kinds)}"
        )
