"""A table, a model fitted on it by the command line, and a way to run commands."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from sosbands.cli import commands

KERNEL_MEAN = ("--estimator", "sosbands.KernelMean")  # quicker than the default


@pytest.fixture(scope="session")
def sosbands():
    """Run a command as from a shell; a traceback is a failure."""

    def run(*arguments, **settings):
        result = CliRunner().invoke(commands, [str(part) for part in arguments], **settings)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture(scope="session")
def refused(sosbands):
    """Run a command that must fail; returns the message, which ends standard error."""

    def run(*arguments, code=1, **settings):
        result = sosbands(*arguments, **settings)
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        before, error, message = result.stderr.rpartition("Error: ")
        assert error, result.stderr
        assert "Traceback" not in before
        _, *others = message.splitlines()
        assert all(line.startswith("  - ") for line in others)
        return message.rstrip("\n")

    return run


def rows(n, seed):
    """Two inputs, one of them a category, and an output that depends on both."""
    rng = np.random.default_rng(seed)
    x, colour = rng.uniform(size=n).round(4), rng.choice(["blue", "green", "red"], n)
    y = np.sin(6 * x) + 3 * (colour == "red") + (0.1 + x) * rng.normal(size=n)
    return pd.DataFrame({"x": x, "colour": colour, "y": y.round(4)})


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """train.csv and new.csv."""
    made = tmp_path_factory.mktemp("tables")
    rows(160, 0).to_csv(made / "train.csv", index=False)
    rows(120, 1).to_csv(made / "new.csv", index=False)
    return made


@pytest.fixture(scope="session")
def model(folder, sosbands):
    """The path of a fitted model."""
    path = folder / "band.skops"
    settings = ("--out", path, "--symmetric", *KERNEL_MEAN)
    fitted = sosbands("fit", folder / "train.csv", "--target", "y", *settings)
    assert fitted.exit_code == 0, fitted.output
    return path
