"""``sosbands evaluate``."""

from __future__ import annotations

import json
import math

import click

from sosbands.cli import options
from sosbands.cli.command import Command, aligned
from sosbands.cli.table_file import TableFile


@click.command(cls=Command, example="sosbands evaluate band.skops demo_new.csv --level 0.8")
@options.model_argument
@options.data_argument
@options.level_option
@options.target_option
@options.json_option
@options.drop_missing_option
@options.trust_option
@options.reading_options
def evaluate(
    model: str,
    data: TableFile,
    *,
    level: float | None,
    target: str | None,
    as_json: bool,
    drop_missing: bool,
    trust: tuple[str, ...],
) -> None:
    """Say how good the intervals of a model are on new rows.

    DATA is a table that the model was not trained on, with its target; - is standard input.
    Coverage, width and interval score, and whether coverage holds everywhere.
    """
    from sosbands.cli.labelled_rows import read_labelled
    from sosbands.cli.models import load_model
    from sosbands.evaluation import evaluate as judge

    stored = load_model(model, trust, target=target)
    rows = read_labelled(data, stored.columns, drop_missing=drop_missing)
    found = judge(stored.model, rows.X, rows.y, confidence_level=level or stored.level)
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2))
        return
    lines = [
        (name, "" if math.isnan(value) else f"{value:.4g}", meaning)
        for name, value, meaning in found.to_frame().itertuples(index=False)
    ]
    click.echo(f"{found.verdict}\n\n{aligned(lines, right=[1])}")
