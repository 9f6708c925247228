"""``sosbands info``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import click

from sosbands.cli import options
from sosbands.cli.command import METADATA, Command, aligned
from sosbands.quoting import shortened


@click.command(cls=Command, example="sosbands info band.skops")
@options.model_argument
@options.json_option
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
    """Lines about the data that `fit` was given."""
    if not told:
        return
    columns = told["columns"]
    yield "data", told["data"]
    yield "target", shortened(columns["target"])
    for name in columns["inputs"]:
        kinds = columns["categories"].get(name)
        what = "numbers" if kinds is None else ", ".join(map(shortened, kinds))
        yield "input", f"{shortened(name)}: {what}"
