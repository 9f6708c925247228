"""The command ``sosbands``; its subcommands are in ``*_commands.py``, by what they need.

Exit codes: 0, all went well; 1, a mistake in the data, a file or a setting; 2, a mistake in the
command line; 130, interrupted. Results go to standard output, everything else to standard error.
Subcommands are thin calls of the library, which they import when they run: so help comes at once.
"""

import signal
import sys

import click

from sosbands.cli.demo_command import demo
from sosbands.cli.model_commands import calibrate, evaluate, info, predict, report
from sosbands.cli.training_commands import compare, fit

__all__ = ["commands", "main"]

_INTERRUPTED, _TERMINATED = 130, 143


class InOrder(click.Group):
    """A group whose help lists commands in the order of use, not by the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(self.commands)


@click.group(
    cls=InOrder,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: sosbands demo",
)
@click.version_option(package_name="sosbands")
def commands() -> None:
    """Adaptive prediction intervals with guaranteed coverage, for tables."""


for command in (demo, fit, predict, evaluate, report, calibrate, compare, info):
    commands.add_command(command)


def main() -> None:
    """Run the command line and exit."""
    # So that files are cleaned up. Windows has no SIGHUP, and nohup has it ignored.
    ends = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    for end in ends:
        if signal.getsignal(end) is signal.SIG_DFL:
            signal.signal(end, lambda *_: sys.exit(_TERMINATED))
    try:
        sys.exit(commands.main(prog_name="sosbands", standalone_mode=False))
    except click.Abort:
        click.echo("Interrupted.", err=True)
        sys.exit(_INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
