"""Arguments and options that several commands share."""

import os
import sys
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from sosbands.cli.table_file import CsvFormat, TableFile

F = TypeVar("F", bound=Callable[..., Any])


def _find_own_modules(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Let modules of the working directory be named; they come last and so hide no others."""
    if value:
        here = os.getcwd()
        sys.path.append(here)  # until the end: other processes import them, too
        ctx.call_on_close(lambda: sys.path.remove(here))
    return value


def _in_a_folder(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """A file to write; one in a folder that is not there is refused before hours of work."""
    folder = Path(value).absolute().parent
    if value != "-" and not folder.is_dir():
        raise click.BadParameter(f"The folder {str(folder)!r} does not exist.")
    return value


option = partial(click.option, show_default=True)
data_argument = click.argument(
    "data", type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)
model_argument = click.argument("model", type=click.Path(exists=True, dir_okay=False))
out_option = partial(option, "--out", type=click.Path(), callback=_in_a_folder)
level_option = partial(
    option, "--level", type=click.FloatRange(0, 1, min_open=True, max_open=True), metavar="P"
)
drop_missing_option = option(
    "--drop-missing", is_flag=True, help="Leave rows with missing values out."
)
estimator_option = partial(
    option,
    "--estimator",
    metavar="IMPORT",
    callback=_find_own_modules,
    help="The model inside, such as lightgbm.LGBMRegressor, own_module:make_model or, for the "
    "kernel mean alone, sosbands.KernelMean.",
)
seed_option = option("--seed", type=int, metavar="N", default=0, help="Same seed, same result.")
jobs_option = option("--jobs", type=int, metavar="N", default=1, help="Processes; -1: all cores.")
json_option = option("--json", "as_json", is_flag=True, help="Print JSON, not a table.")
trust_option = option(
    "--trust",
    multiple=True,
    metavar="NAME",
    callback=_find_own_modules,
    help="Allow this type in the model file, or this library to read its part of it: lightgbm, "
    "xgboost, catboost.",
)


def reading_options(body: Callable[..., Any]) -> Callable[..., Any]:
    """How CSV files are written; the body of the command gets a `TableFile` as `data`."""

    @option(
        "--sep",
        metavar="CHAR",
        show_default="a comma; in .tsv files a tab",
        help="What is between two cells of a CSV file.",
    )
    @option("--decimal", default=".", metavar="CHAR", help="As in 3.14, or 3,14.")
    @option("--thousands", default="", metavar="CHAR", show_default="none", help="As in 1,000.")
    @option("--encoding", default="utf-8", metavar="NAME", help="Of a CSV file.")
    @wraps(body)
    def command(
        *, data: str, sep: str | None, decimal: str, thousands: str, encoding: str, **others: Any
    ) -> Any:
        between = "\t" if sep == r"\t" else sep  # which shells make hard to type
        form = CsvFormat(between, encoding, decimal, thousands)
        return body(data=TableFile(data, form), **others)

    return command


def training_options(body: F) -> F:
    """Which columns and rows train a model; the body passes them on to `read_training`."""
    for decorate in (
        drop_missing_option,
        option(
            "--max-categories",
            type=click.IntRange(1),
            metavar="N",
            show_default="100, at most half of the rows",
            help="Refuse columns of text with more.",
        ),
        option("--groups", metavar="COL", help="Keep rows with the same value here together."),
        option(
            "--categorical",
            multiple=True,
            metavar="COL",
            help="Take the numbers of this column for names.",
        ),
        option("--drop", multiple=True, metavar="COL", help="Do not use this column."),
        option("--target", required=True, metavar="COL", help="The column to predict."),
    ):
        body = decorate(body)  # the last one comes first in the help
    return body


def judging_options(body: Callable[..., Any]) -> Callable[..., Any]:
    """A model and rows to judge it on: the body gets both, and the level of the intervals."""

    @model_argument
    @data_argument
    @level_option(show_default="as in fit", help="Of the intervals.")
    @option("--target", metavar="COL", show_default="as in fit", help="The column to predict.")
    @drop_missing_option
    @trust_option
    @reading_options
    @wraps(body)
    def command(
        *,
        model: str,
        data: TableFile,
        level: float | None,
        target: str | None,
        drop_missing: bool,
        trust: tuple[str, ...],
        **others: Any,
    ) -> Any:
        from sosbands.cli.models import load_model
        from sosbands.cli.table_rows import read_labelled

        stored = load_model(model, trust, target=target)
        rows = read_labelled(data, stored.columns, drop_missing=drop_missing)
        return body(stored.model, rows, level=level or stored.level, **others)

    return command
