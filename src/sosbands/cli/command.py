"""What all commands share: options, errors in one sentence, warnings in one line, exit codes."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from sosbands.quoting import shortened

F = TypeVar("F", bound=Callable[..., Any])

INPUT = click.Path(exists=True, dir_okay=False, allow_dash=True)
MODEL = click.Path(exists=True, dir_okay=False)
LEVEL = click.FloatRange(0, 1, min_open=True, max_open=True)
# Where `fit` keeps what it knows, in the metadata of a model file.
METADATA = "command_line"
_LONGEST = 2000  # characters of an error or a warning


class Output(click.Path):
    """A file to write: that it cannot be is said before hours of work."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, if its folder is there."""
        folder = Path(value).absolute().parent
        if value != "-" and not folder.is_dir():
            self.fail(f"The folder {str(folder)!r} does not exist.", param, ctx)
        return super().convert(value, param, ctx)


class Command(click.Command):
    """A command whose help ends with an example, and whose failures are one sentence.

    Parameters
    ----------
    example : str
        A command line that works after ``sosbands demo``.
    """

    def __init__(self, *args: Any, example: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.example = example
        self.params.append(
            click.Option(
                ["-v", "--verbose"],
                is_flag=True,
                expose_value=False,
                is_eager=True,
                callback=_remember,
                help="Say more, and show where an error comes from.",
            )
        )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The example."""
        with formatter.section("Example"):
            formatter.write(f"  {self.example}\n")

    def invoke(self, ctx: click.Context) -> Any:
        """Run; mistakes in data, files and settings become one sentence and exit code 1."""
        try:
            with _warnings_in_one_line():
                return super().invoke(ctx)
        except BrokenPipeError:  # the reader has seen enough
            raise
        except (ValueError, ImportError, OSError) as error:
            if is_verbose():
                traceback.print_exc()
            raise click.ClickException(_sentence(error)) from error


def is_verbose() -> bool:
    """Whether this command was called with --verbose."""
    return bool(click.get_current_context().meta.get("verbose"))


def say(text: str) -> None:
    """Progress, on standard error: results alone are on standard output."""
    click.echo(text, err=True)


def say_while_working(text: str) -> None:
    """A line that the next one overwrites, if someone is watching."""
    if sys.stderr.isatty():
        click.echo(f"{text:<60}\r", err=True, nl=False)


def aligned(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Cells in columns; those of the columns `right` end below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join(lines)


def reading_options(body: Callable[..., Any]) -> Callable[..., Any]:
    """How CSV files are written; the body of the command gets them as `form`."""

    @click.option(
        "--sep",
        metavar="CHAR",
        show_default="a comma; in .tsv files a tab",
        help="What is between two cells of a CSV file.",
    )
    @click.option(
        "--decimal", default=".", metavar="CHAR", show_default=True, help="As in 3.14, or 3,14."
    )
    @click.option(
        "--thousands", default="", metavar="CHAR", show_default="none", help="As in 1,000."
    )
    @click.option(
        "--encoding", default="utf-8", metavar="NAME", show_default=True, help="Of a CSV file."
    )
    @wraps(body)
    def command(
        *args: Any, sep: str | None, decimal: str, thousands: str, encoding: str, **kwargs: Any
    ) -> Any:
        from sosbands.cli.tables import CsvFormat

        between = "\t" if sep == r"\t" else sep  # which shells make hard to type
        return body(*args, form=CsvFormat(between, encoding, decimal, thousands), **kwargs)

    return command


def training_options(body: F) -> F:
    """Which columns and rows train a model; the body passes them on to `read_training`."""
    for option in reversed(
        [
            click.option("--target", required=True, metavar="COL", help="The column to predict."),
            click.option("--drop", multiple=True, metavar="COL", help="Do not use this column."),
            click.option(
                "--categorical",
                multiple=True,
                metavar="COL",
                help="Take the numbers of this column for names.",
            ),
            click.option(
                "--groups", metavar="COL", help="Keep rows with the same value here together."
            ),
            click.option(
                "--max-categories",
                type=click.IntRange(1),
                metavar="N",
                show_default="100, at most half of the rows",
                help="Refuse columns of text with more.",
            ),
            drop_missing_option,
        ]
    ):
        body = option(body)
    return body


def _find_own_modules(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Modules of the working directory can be named; they come last and so hide no others."""
    if value:
        here = os.getcwd()
        sys.path.append(here)  # until the end: other processes import them, too
        ctx.call_on_close(lambda: sys.path.remove(here))
    return value


drop_missing_option = click.option(
    "--drop-missing", is_flag=True, help="Leave rows with missing values out."
)
estimator_option = click.option(
    "--estimator",
    metavar="IMPORT",
    show_default="a kernel mean",
    callback=_find_own_modules,
    help="The model to put intervals around, such as sklearn.svm.SVR or own_module:make_model.",
)
seed_option = click.option(
    "--seed", type=int, metavar="N", default=0, show_default=True, help="Same seed, same result."
)
jobs_option = click.option(
    "--jobs", type=int, metavar="N", default=1, show_default=True, help="Processes; -1: all cores."
)
trust_option = click.option(
    "--trust",
    multiple=True,
    metavar="TYPE",
    callback=_find_own_modules,
    help="Allow this type in the model file: one that it names, and that you know.",
)


def _remember(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta["verbose"] = value


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Those for users, each once; all others with --verbose."""
    told = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        line = _one_line(str(message))
        if line not in told and (issubclass(category, UserWarning) or is_verbose()):
            told.add(line)
            say(f"Warning: {line}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        # Said once for all blocks, with the categories.
        warnings.filterwarnings("ignore", message="Found unknown categories")
        warnings.showwarning = show
        yield


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return _one_line(str(error))


def _one_line(text: str) -> str:
    """Messages of other libraries, too, may quote a whole cell or all columns."""
    return shortened(" ".join(text.split()), _LONGEST)
