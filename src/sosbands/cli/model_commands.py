"""What needs a model: ``sosbands predict``, ``evaluate``, ``report``, ``calibrate``, ``info``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sosbands.cli import options
from sosbands.cli.command import METADATA, Command, aligned, say_while_working, working
from sosbands.cli.options import option
from sosbands.cli.table_file import TableFile
from sosbands.quoting import shortened

if TYPE_CHECKING:
    from sosbands.cli.models import StoredModel
    from sosbands.cli.new_columns import UnseenCategories
    from sosbands.cli.table_rows import LabelledRows


@click.command(
    cls=Command,
    example="sosbands predict band.skops demo_new.csv --level 0.9 --out intervals.csv",
    may_replace="data",
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
@option("--flags", is_flag=True, help="Also add the columns extrapolation, unseen and missing.")
@option(
    "--drop-missing", is_flag=True, help="Leave the new columns empty where inputs are missing."
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
    flags: bool,
    drop_missing: bool,
    trust: tuple[str, ...],
) -> None:
    """Add the columns mean, lower and upper to a table.

    DATA is read in blocks, so that it may be larger than the memory; - is standard input. Columns
    are found by their names; those that the model does not know are kept as they are.
    """
    from sosbands.cli.models import load_model
    from sosbands.cli.new_columns import NewColumns, UnseenCategories
    from sosbands.cli.table_reading import read_blocks
    from sosbands.cli.table_writing import writer

    stored = load_model(model, trust)
    form, blocks = stored.form_of(data), read_blocks(data)
    first = next(blocks)
    shown = first.attrs.get("sep", data.sep)  # predictions are separated as the table is
    target = TableFile(out, form)
    if shown != data.sep or target.is_stream:  # a name says how the file is separated
        target = replace(target, form=replace(form, sep=shown))
    levels = tuple(dict.fromkeys(levels)) or (stored.level,)
    columns = NewColumns(
        stored,
        data,
        form,
        levels,
        prefix,
        flags=flags,
        drop_missing=drop_missing,
        typed=target.is_parquet and not data.is_parquet,
        unseen=UnseenCategories(),
    )
    rows = 0
    with writer(target, data) as write:
        for block in chain([first], blocks):
            write(columns.added_to(block))
            rows += len(block)
            say_while_working(f"{rows:,} rows")
    say_while_working("")
    _warn(columns.unseen)


def _warn(unseen: UnseenCategories) -> None:
    for sentence in unseen.sentences():
        click.echo(f"Warning: {sentence}", err=True)


@click.command(cls=Command, example="sosbands evaluate band.skops demo_new.csv --level 0.8")
@options.level_option(show_default="as in fit", help="Of the intervals.")
@options.json_option
@options.labelled_options
def evaluate(
    stored: StoredModel, rows: LabelledRows, *, level: float | None, as_json: bool, **_: Any
) -> None:
    """Say how good the intervals of a model are on new rows.

    DATA is a table with the target; - is standard input. Of the table that the model was fitted
    on, the rows count that were held out. Coverage, width and interval score, and whether coverage
    holds everywhere.
    """
    with working("judging"):
        from sosbands.cli.new_columns import UnseenCategories
        from sosbands.evaluation import evaluate as judge

        unseen = UnseenCategories().note(stored.model, rows.X)
        found = judge(stored.model, rows.X, rows.y, confidence_level=level or stored.level)
    _warn(unseen)
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
@options.level_option(show_default="as in fit", help="Of the intervals.")
@options.labelled_options
def report(
    stored: StoredModel,
    rows: LabelledRows,
    *,
    out: str,
    title: str | None,
    level: float | None,
    data: TableFile,
    **_: Any,
) -> None:
    """Write a page about a model to send around.

    DATA is a table with the target; - is standard input. Of the table that the model was fitted
    on, the rows count that were held out. The page is one file that needs no network.
    """
    with working(f"writing {out}"):
        from sosbands.cli.reporting import write_page

        write_page(stored, rows, data, out, level=level or stored.level, title=title)
    click.echo(f"saved  {out}")


@click.command(
    cls=Command,
    example="sosbands calibrate band.skops demo_new.csv --out newer.skops",
    may_replace="model",
)
@options.out_option(required=True, metavar="MODEL2", help="The file to write.")
@option("--add", is_flag=True, help="Keep the calibration rows that there are.")
@options.labelled_options
def calibrate(
    stored: StoredModel,
    rows: LabelledRows,
    *,
    out: str,
    add: bool,
    data: TableFile,
    trust: tuple[str, ...],
) -> None:
    """Calibrate a model with newer rows, without learning anything anew.

    DATA is a table with the target; - is standard input. Of the table that the model was fitted
    on, the rows count that were held out.
    """
    from sosbands.cli.calibrating import calibrated
    from sosbands.cli.models import save_model

    newer, told = calibrated(stored, rows, Path(data.path).name, add=add)
    save_model(newer, out, trusted=trust)
    click.echo(aligned([*told.items(), ("saved", out)]))


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
    metadata = {name: value for name, value in known["metadata"].items() if name != METADATA}
    lines = [("class", known["model"]), *_trained(model, known)]
    lines += [(name, json.dumps(value)) for name, value in metadata.items()]
    lines.append(("versions", ", ".join(f"{k} {v}" for k, v in known["versions"].items())))
    if known["foreign_types"]:
        lines.append(("needs", " ".join(f"--trust {name}" for name in known["foreign_types"])))
    click.echo(aligned(lines))


def _trained(model: str, known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Lines about the table that the model was fitted on."""
    from sosbands.cli.models import columns_in, table_facts
    from sosbands.cli.table_columns import Columns

    told = table_facts(known, model)
    if told:
        columns = told["columns"]
        yield "data", shortened(told["data"])
        yield "target", shortened(columns.target)
    else:
        columns = Columns({}) if known["foreign_types"] else columns_in(model)
    for name, kind in columns.inputs.items():
        yield "input", f"{shortened(name)}: {kind.told()}"
    yield from told.get("summary", {}).items()
