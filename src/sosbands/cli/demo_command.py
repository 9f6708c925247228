"""``sosbands demo``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sosbands.cli.command import Command, aligned
from sosbands.cli.options import option

if TYPE_CHECKING:
    from sosbands.datasets import Case
    from sosbands.estimator import BandRegressor


@click.command(cls=Command, example="sosbands demo")
@option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    default=".",
    show_default="here",
    help="Where to save.",
)
def demo(folder: Path) -> None:
    """Fit intervals on a built-in example, and draw them.

    Saves a picture, demo.png; rows to try the other commands with, demo.csv and demo_new.csv; and,
    where Jinja2 is installed, a page about them, demo.html.
    """
    import pandas as pd

    from sosbands.datasets import case
    from sosbands.estimator import BandRegressor
    from sosbands.metrics import coverage, mean_width

    truth = case(1)
    (x, y), (x_new, y_new) = (truth.sample(n, random_state=s) for n, s in ((400, 0), (10_000, 1)))
    X, X_new = (pd.DataFrame({"x": inputs[:, 0]}) for inputs in (x, x_new))
    model = BandRegressor(random_state=0).fit(X, y)
    intervals = model.predict_interval(X_new, confidence_level=0.9)
    oracle, certificate = mean_width(truth.interval(x_new, 0.9)), model.certificate_
    facts = [
        ("coverage", f"{coverage(y_new, intervals):.3f} of 10 000 new rows, asked for 0.9"),
        ("mean width", f"{mean_width(intervals):.2f}, with the truth known {oracle:.2f}"),
        ("certified gap", f"{certificate.gap:.1e}"),
        ("active points", f"{certificate.active_rows} of {model.n_train_}"),
        ("time", f"{1e3 * certificate.seconds['total']:.0f} ms for the band"),
        ("picture", _draw(model, truth, X, y, str(folder / "demo.png"))),
        ("rows", _write(X.assign(y=y), str(folder / "demo.csv"))),
        ("new rows", _write(X_new.assign(y=y_new)[:2000], str(folder / "demo_new.csv"))),
        ("report", _report(model, X_new[:2000], y_new[:2000], str(folder / "demo.html"))),
    ]
    click.echo(aligned(facts))


def _draw(model: BandRegressor, truth: Case, X: Any, y: Any, path: str) -> str:
    from matplotlib.figure import Figure

    from sosbands.persistence.replacing import replacing
    from sosbands.plotting import BandDisplay

    figure = Figure(figsize=(8, 4.5), layout="constrained")  # not pyplot's: no window opens
    axes = figure.subplots()
    BandDisplay.from_estimator(model, X, y, truth=truth, subsample=None, ax=axes)
    axes.set_title(f"Test case 1, {len(y)} rows to learn and calibrate")
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=150)
    return path


def _write(table: Any, path: str) -> str:
    from sosbands.cli.table_file import TableFile
    from sosbands.cli.table_writing import writer

    with writer(TableFile(path)) as write:
        write(table)
    return path


def _report(model: BandRegressor, X: Any, y: Any, path: str) -> str:
    if find_spec("jinja2") is None:
        return 'not written, jinja2 is not installed: pip install "sosbands[report]"'
    from sosbands.report import write_report

    write_report(
        model,
        X,
        y,
        path,
        target="y",
        source="demo_new.csv",
        held_out="2000 new rows of a test case, which the model has not seen",
    )
    return path
