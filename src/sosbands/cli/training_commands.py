"""What needs rows to train: ``sosbands fit`` and ``compare``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sosbands.cli import options
from sosbands.cli.command import Command, aligned
from sosbands.cli.options import option
from sosbands.cli.table_file import TableFile
from sosbands.quoting import shortened

if TYPE_CHECKING:
    from sosbands.cli.table_rows import LabelledRows
    from sosbands.estimator import BandRegressor
    from sosbands.types import Indices

_TOLD = 20  # columns of categories that the summary names


def _calibration(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The name of a calibration; the list is looked up when it is needed, so that help is quick."""
    from sosbands.conformal.registry import calibration_names

    return str(click.Choice(calibration_names()).convert(value, param, ctx))


@click.command(cls=Command, example="sosbands fit demo.csv --target y --out band.skops")
@options.data_argument
@options.out_option(required=True, metavar="MODEL", help="The file to write.")
@options.training_options
@options.estimator_option(show_default="an average of four")
@options.level_option(default=0.9, help="Judge the model at this level; others can be had later.")
@option(
    "--calibration",
    callback=_calibration,
    default="split",
    metavar="KIND",
    help="split, on rows held back; cv+, on all rows, if there are few; localized, by inputs.",
)
@option(
    "--symmetric/--two-sided",
    default=None,
    show_default="as the data say",
    help="As wide below as above, or each for itself.",
)
@option(
    "--test-size",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="SHARE",
    default=0.2,
    help="The share of the rows that only judge the model; 0 to learn from all.",
)
@options.seed_option
@options.jobs_option
@options.trust_option
@options.reading_options
def fit(
    data: TableFile,
    out: str,
    *,
    estimator: str | None,
    level: float,
    calibration: str,
    symmetric: bool | None,
    test_size: float,
    seed: int,
    jobs: int,
    trust: tuple[str, ...],
    **choices: Any,
) -> None:
    """Learn intervals from a table, and save the model.

    DATA is a CSV file (.gz too) or a Parquet file with a header; - is standard input. Columns of
    text are taken for categories. Prints how good the intervals are on rows held out.
    """
    from sosbands.cli.models import fresh_model, save_model
    from sosbands.cli.table_rows import read_training
    from sosbands.learning.kernel_band import KernelBand

    rows = read_training(data, **choices)
    train, test = _split(rows, test_size, seed)
    model = fresh_model(
        rows.columns,
        estimator,
        trusted=trust,
        band=KernelBand(symmetric="auto" if symmetric is None else symmetric),
        calibration=calibration,
        n_jobs=jobs,
        random_state=seed,
        verbose=int(sys.stderr.isatty()),
    )
    groups = None if rows.groups is None else rows.groups[train]
    model.fit(rows.X.iloc[train], rows.y[train], groups=groups).set_params(verbose=0)
    summary = _summary(model, rows, test, level)
    known = {"columns": asdict(rows.columns), "level": level, "data": Path(data.path).name}
    save_model(model, out, trusted=trust, **known, summary=summary)
    click.echo(aligned([*summary.items(), ("saved", out)]))


def _split(rows: LabelledRows, test_size: float, seed: int) -> tuple[Indices, Indices]:
    """Rows to learn from, calibration included, and rows that judge."""
    import numpy as np
    from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

    n = len(rows.y)
    if test_size == 0:
        return np.arange(n), np.arange(0)
    kind = ShuffleSplit if rows.groups is None else GroupShuffleSplit
    splitter = kind(1, test_size=test_size, random_state=seed)
    train, test = next(splitter.split(rows.X, groups=rows.groups))
    return np.sort(train), np.sort(test)


def _summary(
    model: BandRegressor, rows: LabelledRows, test: Indices, level: float
) -> dict[str, str]:
    from sosbands.metrics import coverage, mean_width

    n, certificate = len(rows.y), model.certificate_
    parts = f"{model.n_train_} learn, {n - len(test) - model.n_train_} calibrate"
    if model.calibration_.by_folds:
        parts = f"{model.n_train_} learn and calibrate"
    dropped = f"; {rows.n_dropped} with missing values left out" if rows.n_dropped else ""
    sides = "symmetric" if model.symmetric_ else "two-sided"
    judged = {"coverage": "not measured: no rows were held out"}
    if len(test):
        intervals = model.predict_interval(rows.X.iloc[test], level)
        y, target = rows.y[test], shortened(str(rows.columns.target))
        judged = {
            "coverage": f"{coverage(y, intervals):.3f} of the rows held out, asked for {level:g}",
            "mean width": f"{mean_width(intervals):.4g}; {target} goes from {y.min():.4g} to "
            f"{y.max():.4g}",
        }
    return {
        "rows": f"{n}: {parts}, {len(test)} judge{dropped}",
        "columns": _columns(rows),
        "model": f"{sides} band around {_mean(model.estimator_)}, {model.calibration} calibration",
        **judged,
        "certificate": f"relative gap {certificate.gap:.1e}, rank {certificate.rank}",
    }


def _mean(fitted: Any) -> str:
    """What a model is, or of what it is the average."""
    from sosbands.learning.stacking import StackedMean

    if isinstance(fitted, StackedMean):
        shares = sorted(((w, name) for name, w in fitted.weights_.items()), reverse=True)
        return " + ".join(f"{100 * w:.0f} % {name}" for w, name in shares if w >= 0.005)
    return type(fitted[-1] if hasattr(fitted, "steps") else fitted).__name__


def _columns(rows: LabelledRows) -> str:
    known = rows.columns.categories
    numeric = len(rows.columns.inputs) - len(known)
    if not known:
        return f"{numeric} of numbers"
    some = [f"{shortened(name)} ({len(kinds)})" for name, kinds in islice(known.items(), _TOLD)]
    listed = ", ".join([*some, "…"] if len(known) > _TOLD else some)
    return f"{numeric} of numbers, {len(known)} of categories: {listed}"


@click.command(cls=Command, example="sosbands compare demo.csv --target y")
@options.data_argument
@options.training_options
@options.estimator_option(show_default="gradient boosting")
@options.level_option(default=0.9, help="Of the intervals.")
@options.json_option
@options.seed_option
@options.jobs_option
@options.reading_options
def compare(
    data: TableFile,
    *,
    estimator: str | None,
    level: float,
    as_json: bool,
    seed: int,
    jobs: int,
    **choices: Any,
) -> None:
    """Compare our intervals with others on a table.

    Ours, around a kernel mean and around the estimator (gradient boosting if there is none);
    intervals of constant width around the estimator (split conformal prediction); boosted quantiles
    (CQR). All learn from the same rows of DATA, and are judged on others.
    """
    from sosbands.cli.models import make_estimator
    from sosbands.cli.table_rows import read_training
    from sosbands.evaluation.comparison import compare as compared

    rows = read_training(data, **choices)
    table = compared(
        rows.X,
        rows.y,
        estimator=make_estimator(estimator, seed),
        transformer=rows.columns.encoder(),
        confidence_level=level,
        groups=rows.groups,
        n_jobs=jobs,
        random_state=seed,
        progress=lambda name: click.echo(f"fitting {name}", err=True),
    )
    if as_json:
        click.echo(table.to_json(orient="index", indent=2))
        return
    head = ("", "interval score", "mean width", "coverage", "gap", "seconds")
    body = [
        (name, f"{score:.4g}", f"{width:.4g}", f"{share:.3f}", f"{gap:.3f}", f"{seconds:.1f}")
        for name, score, width, share, gap, seconds in table.itertuples()
    ]
    click.echo(aligned([head, *body], right=range(1, 6)))
    click.echo(f"\nSmaller scores are better; coverage should be near {level:g}, the gap near 0.")
