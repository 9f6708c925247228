"""``sosbands compare``."""

from __future__ import annotations

from typing import Any

import click

from sosbands.cli import options
from sosbands.cli.command import Command, aligned, say
from sosbands.cli.options import LEVEL, option
from sosbands.cli.table_file import TableFile


@click.command(cls=Command, example="sosbands compare demo.csv --target y")
@options.data_argument
@options.training_options
@options.estimator_option
@option("--level", type=LEVEL, metavar="P", default=0.9, help="Of the intervals.")
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
    from sosbands.cli.labelled_rows import read_training
    from sosbands.cli.models import make_estimator
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
        progress=lambda name: say(f"fitting {name}"),
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
