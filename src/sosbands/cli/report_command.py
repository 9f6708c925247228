"""``sosbands report``."""

from __future__ import annotations

import click

from sosbands.cli import options
from sosbands.cli.command import Command
from sosbands.cli.options import Output, option
from sosbands.cli.table_file import TableFile


@click.command(cls=Command, example="sosbands report band.skops demo_new.csv --out report.html")
@options.model_argument
@options.data_argument
@option("--out", required=True, type=Output(), metavar="HTML", help="The page to write.")
@option("--title", help="Of the page.")
@options.level_option
@options.target_option
@options.drop_missing_option
@options.trust_option
@options.reading_options
def report(
    model: str,
    data: TableFile,
    out: str,
    *,
    title: str | None,
    level: float | None,
    target: str | None,
    drop_missing: bool,
    trust: tuple[str, ...],
) -> None:
    """Write a page about a model to send around.

    DATA is a table that the model was not trained on, with its target; - is standard input. The
    page is one file that needs no network.
    """
    from sosbands.cli.labelled_rows import read_labelled
    from sosbands.cli.models import load_model
    from sosbands.report import write_report

    stored = load_model(model, trust, target=target)
    rows = read_labelled(data, stored.columns, drop_missing=drop_missing)
    level = level or stored.level
    write_report(stored.model, rows.X, rows.y, out, confidence_level=level, title=title)
    click.echo(f"saved  {out}")
