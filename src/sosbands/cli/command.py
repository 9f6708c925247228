"""What every command does alike: help with an example, errors and warnings in one line, output."""

import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import click

from sosbands.learning.progress import Progress
from sosbands.quoting import shortened

# Where `fit` keeps what it knows, in the metadata of a model file.
METADATA = "command_line"
_LONGEST = 2000  # characters of an error or a warning


class Command(click.Command):
    """A command whose help ends with an example, and whose failures are one sentence.

    The example is a command line that works after ``sosbands demo``. A file that it reads is never
    written over by one of another kind; `may_replace` names the one that has the same kind.
    """

    def __init__(
        self, *args: Any, example: str, may_replace: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.example, self.may_replace = example, may_replace
        self.params.append(
            click.Option(
                ["-v", "--verbose"],
                is_flag=True,
                expose_value=False,
                is_eager=True,
                callback=lambda ctx, param, value: ctx.meta.update(verbose=value),
                help="Say more, and show where an error comes from.",
            )
        )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example at the end of the help."""
        with formatter.section("Example"):
            formatter.write(f"  {self.example}\n")

    def invoke(self, ctx: click.Context) -> Any:
        """Run; mistakes in data, files and settings become one sentence and exit code 1."""
        self._check_files(ctx)
        try:
            with _warnings_in_one_line():
                return super().invoke(ctx)
        except BrokenPipeError:  # the reader has seen enough
            raise
        except (ValueError, ImportError, OSError) as error:
            if is_verbose():
                traceback.print_exc()
            sentence = _in_lines(str(error))
            if isinstance(error, OSError) and error.strerror and error.filename:
                sentence = f"{error.filename}: {error.strerror}"
            raise click.ClickException(sentence) from error

    def _check_files(self, ctx: click.Context) -> None:
        """Refuse to write over a file that is read, or to write two files of one name."""
        files = {name: _path(ctx.params.get(name)) for name in ("model", "data", "report", "out")}
        out = files.pop("out")
        pairs = [("--out", out, name, file) for name, file in files.items()]
        pairs.append(("--report", files["report"], "data", files["data"]))
        for option, written, name, other in pairs:
            if written is None or name == self.may_replace or written != other:
                continue
            what = "what --report writes" if name == "report" else f"the {name} that is read"
            raise click.UsageError(
                f"{option} {shortened(str(ctx.params[option[2:]]))} would take the place of {what}:"
                " name another file",
                ctx,
            )


def _path(value: Any) -> str | None:
    """Where a file is, whatever it is called; None for standard input and output."""
    path = getattr(value, "path", value)
    return None if path in (None, "-") else os.path.realpath(path)


def is_verbose() -> bool:
    """Whether this command was called with --verbose."""
    return bool(click.get_current_context().meta.get("verbose"))


def say(text: str) -> None:
    """A line that is no result."""
    click.echo(text, err=True)


def working(text: str) -> AbstractContextManager[None]:
    """Say what is being done from its beginning on, and how long it takes if that is long.

    Slow imports belong inside.
    """
    return Progress(verbose=True).phase(text)


def say_while_working(text: str) -> None:
    """Show progress in a line that the next one overwrites, if someone is watching."""
    if sys.stderr.isatty():
        click.echo(f"{text:<60}\r", err=True, nl=False)


def aligned(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """A table as text; the columns whose numbers are in `right` are flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join(lines)


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Say warnings for users in one line, each once; all others only with --verbose."""
    told = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        line = _one_line(str(message))
        if line not in told and (issubclass(category, UserWarning) or is_verbose()):
            told.add(line)
            click.echo(f"Warning: {line}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        # Said once for all blocks, with the categories.
        warnings.filterwarnings("ignore", message="Found unknown categories")
        warnings.showwarning = show
        yield


def _in_lines(text: str) -> str:
    """A message, each of its lines shortened; one that lists problems has a line for each."""
    first, *others = text.split("\n  - ")
    return "\n  - ".join([_one_line(first), *map(_one_line, others)])


def _one_line(text: str) -> str:
    """A message in one line, shortened: those of other libraries may quote a whole table."""
    return shortened(" ".join(text.split()), _LONGEST)
