"""What needs a model: ``sosbands predict``, ``evaluate``, ``report`` and ``info``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from sosbands.cli import options
from sosbands.cli.command import METADATA, Command, aligned, say_while_working
from sosbands.cli.options import option
from sosbands.cli.table_file import TableFile
from sosbands.quoting import listed, quoted, shortened

if TYPE_CHECKING:
    from sosbands.cli.table_rows import LabelledRows
    from sosbands.estimator import BandRegressor


@click.command(
    cls=Command, example="sosbands predict band.skops demo_new.csv --level 0.9 --out intervals.csv"
)
@options.model_argument
@options.data_argument
@options.level_option(
    "levels",
    multiple=True,
    show_default="as in fit",
    help="Of the intervals; several give lower_0.8, upper_0.8 and so on.",
)
@options.out_option(
    default="-", metavar="PRED", show_default="standard output", help="A CSV or Parquet file."
)
@option("--prefix", default="", show_default=False, help="Before the names of the new columns.")
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
    from sosbands.cli.table_reading import naming_lines, read_blocks
    from sosbands.cli.table_rows import NewColumns
    from sosbands.cli.table_writing import writer

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
        unseen = f"categories that training had not, such as {listed(kinds)}"
        click.echo(f"Warning: column {quoted(name)} has {unseen}", err=True)


@click.command(cls=Command, example="sosbands evaluate band.skops demo_new.csv --level 0.8")
@options.json_option
@options.judging_options
def evaluate(model: BandRegressor, rows: LabelledRows, *, level: float, as_json: bool) -> None:
    """Say how good the intervals of a model are on new rows.

    DATA is a table that the model was not trained on, with its target; - is standard input.
    Coverage, width and interval score, and whether coverage holds everywhere.
    """
    from sosbands.evaluation import evaluate as judge

    found = judge(model, rows.X, rows.y, confidence_level=level)
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2))
        return
    lines = [
        (name, "" if math.isnan(value) else f"{value:.4g}", meaning)
        for name, value, meaning in found.to_frame().itertuples(index=False)
    ]
    click.echo(f"{found.verdict}\n\n{aligned(lines, right=[1])}")


@click.command(cls=Command, example="sosbands report band.skops demo_new.csv --out report.html")
@options.out_option(required=True, metavar="HTML", help="The page to write.")
@option("--title", help="Of the page.")
@options.judging_options
def report(
    model: BandRegressor, rows: LabelledRows, *, out: str, title: str | None, level: float
) -> None:
    """Write a page about a model to send around.

    DATA is a table that the model was not trained on, with its target; - is standard input. The
    page is one file that needs no network.
    """
    from sosbands.report import write_report

    write_report(model, rows.X, rows.y, out, confidence_level=level, title=title)
    click.echo(f"saved  {out}")


@click.command(cls=Command, example="sosbands info band.skops")
@options.model_argument
@options.json_option
def info(model: str, as_json: bool) -> None:
    """Say what is in a model file, without running anything of it."""
    from sosbands.persistence import describe

    known = describe(model)
    if as_json:
        click.echo(json.dumps(known, indent=2))
        return
    metadata = dict(known["metadata"])
    told = metadata.pop(METADATA, {})
    lines = [("class", known["model"]), *_trained(told), *told.get("summary", {}).items()]
    lines += [(name, json.dumps(value)) for name, value in metadata.items()]
    lines.append(("versions", ", ".join(f"{k} {v}" for k, v in known["versions"].items())))
    if known["foreign_types"]:
        lines.append(("needs", " ".join(f"--trust {name}" for name in known["foreign_types"])))
    click.echo(aligned(lines))


def _trained(told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Lines about the data that `fit` was given."""
    if not told:
        return
    columns = told["columns"]
    yield "data", told["data"]
    yield "target", shortened(columns["target"])
    for name in columns["inputs"]:
        kinds = columns["categories"].get(name)
        what = "numbers" if kinds is None else ", ".join(map(shortened, kinds))
        yield "input", f"{shortened(name)}: {what}"
