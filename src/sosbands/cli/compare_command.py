"""``sosbands evaluate``, ``report``, ``compare`` and ``info``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import click

from sosbands.cli.command import (
    INPUT,
    LEVEL,
    METADATA,
    MODEL,
    Command,
    Output,
    aligned,
    drop_missing_option,
    estimator_option,
    jobs_option,
    reading_options,
    say,
    seed_option,
    training_options,
    trust_option,
)
from sosbands.quoting import shortened

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, not a table.")
level_option = click.option(
    "--level", type=LEVEL, metavar="P", show_default="as in fit", help="Of the intervals."
)
target_option = click.option(
    "--target", metavar="COL", show_default="as in fit", help="The column to predict."
)


@click.command(cls=Command, example="sosbands evaluate band.skops demo_new.csv --level 0.8")
@click.argument("model", type=MODEL)
@click.argument("data", type=INPUT)
@level_option
@target_option
@json_option
@drop_missing_option
@trust_option
@reading_options
def evaluate(
    model: str,
    data: str,
    *,
    level: float | None,
    target: str | None,
    as_json: bool,
    drop_missing: bool,
    trust: tuple[str, ...],
    form: Any,
) -> None:
    """Say how good the intervals of a model are on new rows.

    DATA is a table that the model was not trained on, with its target; - is standard input.
    Coverage, width and interval score, and whether coverage holds everywhere.
    """
    from sosbands.cli.models import load_model
    from sosbands.cli.row_files import read_labelled
    from sosbands.evaluation import evaluate as judge

    stored = load_model(model, trust).predicting(target)
    rows = read_labelled(data, stored.columns, form, drop_missing=drop_missing)
    found = judge(stored.model, rows.X, rows.y, confidence_level=level or stored.level)
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2))
        return
    lines = [
        (name, "" if math.isnan(value) else f"{value:.4g}", meaning)
        for name, value, meaning in found.to_frame().itertuples(index=False)
    ]
    click.echo(f"{found.verdict}\n\n{aligned(lines, right=[1])}")


@click.command(cls=Command, example="sosbands report band.skops demo_new.csv --out report.html")
@click.argument("model", type=MODEL)
@click.argument("data", type=INPUT)
@click.option("--out", required=True, type=Output(), metavar="HTML", help="The page to write.")
@click.option("--title", help="Of the page.")
@level_option
@target_option
@drop_missing_option
@trust_option
@reading_options
def report(
    model: str,
    data: str,
    out: str,
    *,
    title: str | None,
    level: float | None,
    target: str | None,
    drop_missing: bool,
    trust: tuple[str, ...],
    form: Any,
) -> None:
    """Write a page about a model to send around.

    DATA is a table that the model was not trained on, with its target; - is standard input. The
    page is one file that needs no network.
    """
    from sosbands.cli.models import load_model
    from sosbands.cli.row_files import read_labelled
    from sosbands.report import write_report

    stored = load_model(model, trust).predicting(target)
    rows = read_labelled(data, stored.columns, form, drop_missing=drop_missing)
    write_report(
        stored.model,
        rows.X,
        rows.y,
        out,
        confidence_level=level or stored.level,
        title=title,
    )
    click.echo(f"saved  {out}")


@click.command(cls=Command, example="sosbands compare demo.csv --target y")
@click.argument("data", type=INPUT)
@training_options
@estimator_option
@click.option(
    "--level", type=LEVEL, metavar="P", default=0.9, show_default=True, help="Of the intervals."
)
@json_option
@seed_option
@jobs_option
@reading_options
def compare(
    data: str,
    *,
    estimator: str | None,
    level: float,
    as_json: bool,
    seed: int,
    jobs: int,
    form: Any,
    **choices: Any,
) -> None:
    """Compare our intervals with others on a table.

    Ours, around a kernel mean and around the estimator (gradient boosting if there is none);
    intervals of constant width around the estimator (split conformal prediction); boosted quantiles
    (CQR). All learn from the same rows of DATA, and are judged on others.
    """
    from sosbands.cli.models import make_estimator
    from sosbands.cli.row_files import read_training
    from sosbands.evaluation.comparison import compare as compared

    rows = read_training(data, form=form, **choices)
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


@click.command(cls=Command, example="sosbands info band.skops")
@click.argument("model", type=MODEL)
@json_option
def info(model: str, as_json: bool) -> None:
    """Say what is in a model file, without running anything of it."""
    from sosbands.persistence import describe

    known = describe(model)
    if as_json:
        click.echo(json.dumps(known, indent=2))
        return
    metadata = dict(known["metadata"])
    told = metadata.pop(METADATA, {})
    lines = [("class", known["model"]), *_trained(told), *told.get("summary", {}).items()]
    lines += [(name, json.dumps(value)) for name, value in metadata.items()]
    lines.append(("versions", ", ".join(f"{k} {v}" for k, v in known["versions"].items())))
    if known["foreign_types"]:
        lines.append(("needs", " ".join(f"--trust {name}" for name in known["foreign_types"])))
    click.echo(aligned(lines))


def _trained(told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What `fit` was given."""
    if not told:
        return
    columns = told["columns"]
    yield "data", told["data"]
    yield "target", shortened(columns["target"])
    for name in columns["inputs"]:
        kinds = columns["categories"].get(name)
        what = "numbers" if kinds is None else ", ".join(map(shortened, kinds))
        yield "input", f"{shortened(name)}: {what}"
