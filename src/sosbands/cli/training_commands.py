"""What needs rows to train: ``sosbands fit`` and ``compare``."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sosbands.cli import options
from sosbands.cli.command import Command, aligned, say, working
from sosbands.cli.options import TrainingTable, option

if TYPE_CHECKING:
    from sosbands.cli.models import StoredModel
    from sosbands.cli.row_splits import RowSplit
    from sosbands.cli.table_rows import LabelledRows
    from sosbands.estimator import BandRegressor


def _calibration(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The name of a calibration; the list is looked up when it is needed, so that help is quick."""
    from sosbands.conformal.registry import calibration_names

    return str(click.Choice(calibration_names()).convert(value, param, ctx))


@click.command(cls=Command, example="sosbands fit demo.csv --target y --out band.skops")
@options.data_argument
@options.target_option
@options.out_option(required=True, metavar="MODEL", help="The file to write.")
@options.file_option("--report", metavar="HTML", help="Also write a page about the rows held out.")
@option(
    "--ordered",
    metavar="COL",
    help="Learn from the first rows by this column, calibrate with later and judge with the last.",
)
@options.estimator_option(show_default="an average of several")
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
@options.training_options
def fit(
    table: TrainingTable,
    out: str,
    *,
    report: str | None,
    estimator: str | None,
    level: float,
    calibration: str,
    symmetric: bool | None,
    test_size: float,
    seed: int,
    jobs: int,
    trust: tuple[str, ...],
) -> None:
    """Learn intervals from a table, and save the model.

    DATA is a CSV file (.gz too), a Parquet file or a spreadsheet with a header; - is CSV from
    standard input. Columns may hold numbers, dates, times and text, and may have gaps. Prints how
    good the intervals are on rows held out, and remembers which these were. Of Parquet files with
    more than two million rows, a sample learns and all others calibrate, block by block.
    """
    _check_choices(table, report, calibration, test_size)
    parameters: dict[str, Any] = {
        "symmetric": "auto" if symmetric is None else symmetric,
        "estimator": estimator,
        "trusted": trust,
        "n_jobs": jobs,
        "random_state": seed,
    }
    if calibration == "split" and report is None and table.is_large:
        _fit_in_blocks(table, out, level, test_size, parameters)
        return
    rows = table.read()
    with working("preparing"):
        from sosbands.cli.models import fresh_model, save_model
        from sosbands.cli.row_splits import RowSplit

        split = RowSplit.of(rows, test_size, seed)
        model = fresh_model(calibration=calibration, **parameters, **split.parameters)
        train = rows.take(split.train)
    say(f"learning from {len(train.y)} rows; inputs: {len(rows.columns.inputs)}")
    model.fit(train.X, train.y, groups=train.groups).set_params(verbose=0)
    with working("judging"):
        stored = _judged(model, rows, split, level, Path(table.file.path).name)
        save_model(stored, out, trusted=trust)
    lines = [*(stored.summary or {}).items(), ("saved", out)]
    if report is not None:
        with working(f"writing {report}"):
            from sosbands.cli.reporting import write_page

            judges = replace(rows.take(split.test), held_out=True)
            write_page(stored, judges, table.file, report, level=level)
        lines.append(("report", report))
    click.echo(aligned(lines))


def _fit_in_blocks(
    table: TrainingTable,
    out: str,
    level: float,
    test_size: float,
    parameters: dict[str, Any],
) -> None:
    """Learn from a sample of a file that is not read at once, and calibrate with all of it."""
    with working(f"reading {table.file.name}"):
        from sosbands.cli.large_files import LargeRows, fit_in_blocks, large_summary
        from sosbands.cli.models import StoredModel, fresh_model, save_model
        from sosbands.cli.table_columns import Choice

        model = fresh_model(**parameters)
        rows = LargeRows.of(
            table.file,
            Choice(**table.choice),
            test_size=test_size,
            seed=parameters["random_state"],
            drop_missing=table.rows["drop_missing"],
        )
    say(f"learning from {len(rows.judges)} rows, in blocks; inputs: {len(rows.columns.inputs)}")
    model = fit_in_blocks(rows, model, jobs=parameters["n_jobs"]).set_params(verbose=0)
    with working("judging"):
        summary = large_summary(rows, model, level)
        name = Path(table.file.path).name
        stored = StoredModel(model, rows.columns, level, rows.form, [], name, summary)
        save_model(stored, out, trusted=parameters["trusted"])
    click.echo(aligned([*summary.items(), ("saved", out)]))


def _check_choices(
    table: TrainingTable, report: str | None, calibration: str, test_size: float
) -> None:
    """Refuse what contradicts itself or cannot be written, before anything is read."""
    if table.choice["ordered"] is not None:
        if table.choice["groups"] is not None:
            raise click.UsageError("--ordered and --groups contradict each other: give one.")
        if calibration == "cv+":
            raise click.UsageError("--ordered needs later rows to calibrate: --calibration split.")
    if report is not None:
        if test_size == 0:
            raise click.UsageError("--report needs rows held out: give a --test-size above 0.")
        if find_spec("jinja2") is None:
            raise ImportError('a report needs jinja2: pip install "sosbands[report]"')


def _judged(
    model: BandRegressor, rows: LabelledRows, split: RowSplit, level: float, name: str
) -> StoredModel:
    """A fitted model with all that is known of it."""
    from sosbands.cli.fit_summary import fit_summary
    from sosbands.cli.known_files import KnownFile
    from sosbands.cli.models import StoredModel

    summary = fit_summary(model, rows, split, level)
    known = KnownFile.of(rows.sha256, rows.n_file, rows.places[split.test])
    return StoredModel(model, rows.columns, level, rows.form, known, name, summary)


@click.command(cls=Command, example="sosbands compare demo.csv --target y")
@options.data_argument
@options.target_option
@options.estimator_option(show_default="gradient boosting")
@options.level_option(default=0.9, help="Of the intervals.")
@options.json_option
@options.seed_option
@options.jobs_option
@options.training_options
def compare(
    table: TrainingTable,
    *,
    estimator: str | None,
    level: float,
    as_json: bool,
    seed: int,
    jobs: int,
) -> None:
    """Compare our intervals with others on a table.

    Ours, as it comes and around the estimator (gradient boosting if there is none); intervals of
    constant width around the estimator (split conformal prediction); boosted quantiles (CQR). All
    learn from the same rows of DATA, and are judged on others.
    """
    rows = table.read()
    with working("preparing"):
        from sosbands.cli.estimators import make_estimator
        from sosbands.evaluation.comparison import compare as compared

    found = compared(
        rows.X,
        rows.y,
        estimator=None if estimator is None else make_estimator(estimator, seed),
        confidence_level=level,
        groups=rows.groups,
        n_jobs=jobs,
        random_state=seed,
        progress=lambda name: say(f"fitting {name}"),
    )
    if as_json:
        click.echo(found.to_json(orient="index", indent=2))
        return
    head = ("", "interval score", "mean width", "coverage", "gap", "seconds")
    body = [
        (name, f"{score:.4g}", f"{width:.4g}", f"{share:.3f}", _gap(gap), f"{seconds:.1f}")
        for name, score, width, share, gap, seconds in found.itertuples()
    ]
    click.echo(aligned([head, *body], right=range(1, 6)))
    click.echo(f"\nSmaller scores are better; coverage should be near {level:g}, the gap near 0.")
    if found["gap"].isna().any():
        click.echo(
            "The gap is not computed: 100 different rows must judge, a quarter of all rows does."
        )
    if found["mean_width"].isin([math.inf]).any():
        click.echo(f"Some intervals are infinite: too few rows calibrate for a level of {level:g}.")


def _gap(gap: float) -> str:
    return "none" if math.isnan(gap) else f"{gap:.3f}"
