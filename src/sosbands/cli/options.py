"""Arguments and options that several commands share."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sosbands.cli.command import working
from sosbands.cli.table_file import CsvFormat, TableFile

if TYPE_CHECKING:
    from sosbands.cli.table_rows import LabelledRows


def _find_own_modules(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Let modules of the working directory be named; they come last and so hide no others."""
    if value:
        here = os.getcwd()
        sys.path.append(here)  # until the end: other processes import them, too
        ctx.call_on_close(lambda: sys.path.remove(here))
    return value


def _in_a_folder(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A file to write; one that cannot be written is refused before hours of work."""
    if value is None or value == "-":
        return value
    file = Path(value).absolute()
    if not file.parent.is_dir():
        raise click.BadParameter(f"The folder {str(file.parent)!r} does not exist.")
    if file.is_dir():
        raise click.BadParameter(f"{value!r} is a folder: name a file in it.")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise click.BadParameter(f"{value!r} may not be written.")
    return value


option = partial(click.option, show_default=True)
data_argument = click.argument(
    "data", type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)
model_argument = click.argument("model", type=click.Path(exists=True, dir_okay=False))
file_option = partial(option, type=click.Path(), callback=_in_a_folder)
out_option = partial(file_option, "--out")


class _Level(click.FloatRange):
    """A number in (0, 1); NaN is in no range, but click lets it pass."""

    def __init__(self) -> None:
        super().__init__(0, 1, min_open=True, max_open=True)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        level = super().convert(value, param, ctx)
        if math.isnan(level):
            self.fail(f"{value} is not in the range 0<x<1.", param, ctx)
        return level


def _processes(ctx: click.Context, param: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("0 processes do nothing: 1 or more, or -1 for all cores.")
    return value


level_option = partial(option, "--level", type=_Level(), metavar="P")
target_option = option("--target", required=True, metavar="COL", help="The column to predict.")
drop_missing_option = option(
    "--drop-missing", is_flag=True, help="Leave rows with missing inputs out."
)
drop_ragged_option = option(
    "--drop-ragged", is_flag=True, help="Leave rows with more cells than the header out."
)
estimator_option = partial(
    option,
    "--estimator",
    metavar="IMPORT",
    callback=_find_own_modules,
    help="The model inside, such as lightgbm.LGBMRegressor, own_module:make_model or, for the "
    "kernel mean alone, sosbands.KernelMean.",
)
seed_option = option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="N",
    default=0,
    help="Same seed, same result.",
)
jobs_option = option(
    "--jobs",
    type=int,
    callback=_processes,
    metavar="N",
    default=1,
    help="Processes; -1: all cores.",
)
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
    """How files are written; the body of the command gets a `TableFile` as `data`."""

    @option("--sep", metavar="CHAR", show_default="as it shows", help="Between two cells of CSV.")
    @option("--decimal", metavar="CHAR", show_default="as it shows", help="As in 3.14, or 3,14.")
    @option("--thousands", metavar="CHAR", show_default="as it shows", help="As in 1,000.")
    @option(
        "--day-first/--month-first",
        default=None,
        show_default="as it shows",
        help="Of dates such as 1/2/2024.",
    )
    @option("--na-values", multiple=True, metavar="TEXT", help="Cells in which there is nothing.")
    @option("--encoding", metavar="NAME", show_default="as it shows", help="Of a CSV file.")
    @option("--sheet", metavar="NAME", show_default="the first", help="Of a spreadsheet.")
    @wraps(body)
    def command(*, data: str, sheet: str | None, **others: Any) -> Any:
        if others["sep"] == r"\t":  # which shells make hard to type
            others["sep"] = "\t"
        names = ("sep", "decimal", "thousands", "day_first", "na_values", "encoding")
        given = {name: others.pop(name) for name in names}
        if given["thousands"] == "." and given["decimal"] is None:
            given["decimal"] = ","  # as everywhere where thousands have points
        said = {name: value for name, value in given.items() if value is not None}
        return body(data=TableFile(data, CsvFormat(**said), frozenset(said), sheet), **others)

    return command


def training_options(body: Callable[..., Any]) -> Callable[..., Any]:
    """A table, and which of its columns and rows train a model.

    The body gets a `TrainingTable`. The options --target and, if the command has it, --ordered are
    among those that tell of the columns.
    """

    @option("--drop", multiple=True, metavar="COL", help="Do not use this column.")
    @option("--keep", multiple=True, metavar="COL", help="Use it, even if it numbers the rows.")
    @option(
        "--categorical",
        multiple=True,
        metavar="COL",
        help="Take the numbers of this column for names.",
    )
    @option("--groups", metavar="COL", help="Keep rows with the same value here together.")
    @drop_missing_option
    @drop_ragged_option
    @reading_options
    @wraps(body)
    def command(*, data: TableFile, **others: Any) -> Any:
        names = ("target", "drop", "keep", "categorical", "groups", "ordered")
        choice = {name: others.pop(name) for name in names if name in others}
        rows = {name: others.pop(name) for name in ("drop_missing", "drop_ragged")}
        return body(table=TrainingTable(data, choice, rows), **others)

    return command


@dataclass(frozen=True)
class TrainingTable:
    """A table that trains, before it is read: the arguments of `Choice` and `read_training`."""

    file: TableFile
    choice: Mapping[str, Any]
    rows: Mapping[str, Any]

    @property
    def is_large(self) -> bool:
        """Whether the file is one of columns with too many rows to be read at once."""
        from sosbands.cli.large_files import has_many_rows

        apart = self.choice["groups"] is None and self.choice["ordered"] is None
        return apart and self.file.is_parquet and has_many_rows(self.file)

    def read(self) -> LabelledRows:
        """The rows; what is wrong with the file is an error."""
        with working(f"reading {self.file.name}"):
            from sosbands.cli.table_columns import Choice
            from sosbands.cli.table_rows import read_training

            return read_training(self.file, Choice(**self.choice), **self.rows)


def labelled_options(body: Callable[..., Any]) -> Callable[..., Any]:
    """A model and rows with a target: the body gets both."""

    @model_argument
    @data_argument
    @option("--target", metavar="COL", show_default="as in fit", help="The column to predict.")
    @drop_missing_option
    @drop_ragged_option
    @trust_option
    @reading_options
    @wraps(body)
    def command(
        *,
        model: str,
        data: TableFile,
        target: str | None,
        drop_missing: bool,
        drop_ragged: bool,
        trust: tuple[str, ...],
        **others: Any,
    ) -> Any:
        with working(f"reading {data.name}"):
            from sosbands.cli.models import load_model
            from sosbands.cli.table_rows import read_labelled, unseen_rows

            stored = load_model(model, trust, target=target)
            form = stored.form_of(data)
            rows = read_labelled(
                data, stored.columns, form, drop_missing=drop_missing, drop_ragged=drop_ragged
            )
        rows = unseen_rows(rows, stored.files, data)
        return body(stored, rows, data=data, trust=trust, **others)

    return command
