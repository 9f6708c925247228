"""Models of the command line, saved and loaded together with what is known of their tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from sosbands.cli.column_kinds import Dates, Kind, Names, Numbers
from sosbands.cli.command import METADATA
from sosbands.cli.estimators import make_estimator
from sosbands.cli.known_files import KnownFile
from sosbands.cli.table_columns import Columns
from sosbands.cli.table_file import CsvFormat, TableFile
from sosbands.estimator import BandRegressor
from sosbands.learning.encoding import TableEncoder
from sosbands.learning.kernel_band import KernelBand
from sosbands.persistence import ModelFileError, check_savable, describe, load, save

# What is kept of how the cells of the training file were written.
_MARKS = ("decimal", "thousands", "na_values")
_DAMAGED = "{path} cannot be used: what it says of its table is damaged ({error})"


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model from a file, with what `fit` knew of its table."""

    model: BandRegressor
    columns: Columns
    level: float = 0.9
    form: CsvFormat = field(default_factory=CsvFormat)
    files: Sequence[KnownFile] = ()
    data: str = ""  # the name of the file that trained it
    summary: Mapping[str, str] | None = None
    others: Mapping[str, Any] = field(default_factory=dict)  # what a user has noted in the file

    def form_of(self, file: TableFile) -> CsvFormat:
        """How the cells of a file are written: as the user says, or else as those of training."""
        form = replace(file.form, na_values=(*self.form.na_values, *file.form.na_values))
        if file.said.isdisjoint({"decimal", "thousands"}):
            form = replace(form, decimal=self.form.decimal, thousands=self.form.thousands)
        return form


def load_model(path: str, trusted: Sequence[str], *, target: str | None = None) -> StoredModel:
    """What `fit` saved; or a model saved from Python, if it was trained on named columns.

    A `target` takes the place of the one that `fit` was told.
    """
    with _naming_options():
        model = load(path, trusted=trusted)
    if not isinstance(model, BandRegressor):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, and commands need a BandRegressor: use it in "
            "Python, or save a BandRegressor itself, such as the best_estimator_ of a search or "
            "one that has the steps of a pipeline as band_transformer"
        )
    manifest = describe(path)
    known = table_facts(manifest, path) or {"columns": columns_of(model, path)}
    others = {name: value for name, value in manifest["metadata"].items() if name != METADATA}
    stored = StoredModel(model, **known, others=others)
    columns = stored.columns
    if list(columns.inputs) != list(getattr(model, "feature_names_in_", ())):
        raise ValueError(_DAMAGED.format(path=path, error="columns that the model has not"))
    if target is not None and target != columns.target:
        stored = replace(stored, columns=replace(columns, target=target, output=Numbers()))
    return stored


def save_model(stored: StoredModel, path: str, *, trusted: Sequence[str]) -> None:
    """Save a model together with what is known of it, for `load_model` and ``sosbands info``."""
    known = {
        "columns": stored.columns.to_dict(),
        "level": stored.level,
        "cells": {name: getattr(stored.form, name) for name in _MARKS},
        "files": [file.to_dict() for file in stored.files],
        "data": stored.data,
        "summary": dict(stored.summary or {}),
    }
    with _naming_options():
        save(stored.model, path, metadata={**stored.others, METADATA: known}, trusted=trusted)


def fresh_model(
    *,
    estimator: str | None,
    trusted: Sequence[str],
    symmetric: bool | str,
    **parameters: Any,
) -> BandRegressor:
    """A `BandRegressor` that takes any table, and can be saved; it tells what it does."""
    around: Any = "auto"
    if estimator is not None:
        around = make_estimator(estimator, parameters["random_state"])
    model = BandRegressor(around, band=KernelBand(symmetric=symmetric), verbose=1, **parameters)
    with _naming_options():
        check_savable(model, trusted=trusted)
    return model


def columns_of(model: BandRegressor, path: str) -> Columns:
    """What the columns of a model that was saved from Python hold, as far as it knows."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            f"{path} was saved from Python and does not name its columns: train it on a DataFrame"
        )
    transformer = model.band_.encoding.transformer
    kinds: dict[str, Kind] = {str(name): Numbers() for name in names}
    if isinstance(transformer, TableEncoder):
        # A column that is left out may hold anything.
        held: dict[str, Kind] = {"number": Numbers(), "date": Dates(), "text": Names()}
        for name, encoding in zip(kinds, transformer.columns_, strict=True):
            kinds[name] = _names_of(encoding) or held.get(encoding.kind, Names())
    else:
        kinds.update(dict.fromkeys(_encoded_names(transformer), Names()))
    return Columns(kinds)


def columns_in(path: str) -> Columns:
    """The same of a file; no columns if it holds no band, or one that does not name them."""
    model = load(path)
    named = isinstance(model, BandRegressor) and hasattr(model, "feature_names_in_")
    return columns_of(model, path) if named else Columns({})


def _names_of(encoding: Any) -> Names | None:
    levels = [level for level in getattr(encoding, "levels", ()) if level is not None]
    return Names.among(levels) if levels else None


def _encoded_names(transformer: Any) -> Iterator[str]:
    """Columns of which a transformer of scikit-learn encodes categories that are texts."""
    for _, part, columns in getattr(transformer, "transformers_", ()):
        steps = [step for _, step in getattr(part, "steps", [("", part)])]
        for step in steps:
            known = zip(columns, getattr(step, "categories_", ()), strict=False)
            yield from (str(n) for n, kinds in known if any(isinstance(k, str) for k in kinds))


def table_facts(manifest: Mapping[str, Any], path: str) -> dict[str, Any]:
    """What `save_model` wrote beside the model, checked; empty if it was saved from Python."""
    try:
        known = manifest["metadata"].get(METADATA)
        return {} if known is None else _checked_facts(known)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(_DAMAGED.format(path=path, error=error)) from error


def _checked_facts(known: Any) -> dict[str, Any]:
    cells, level, summary = known["cells"], known["level"], known["summary"]
    if set(cells) != set(_MARKS) or not isinstance(level, float) or not 0 < level < 1:
        raise ValueError("the level and the marks of numbers")
    texts = [known["data"], *summary, *summary.values(), *cells["na_values"]]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("texts are needed")
    form = CsvFormat(**{**cells, "na_values": tuple(cells["na_values"])})
    return {
        "columns": Columns.from_dict(known["columns"]),
        "level": level,
        "form": form,
        "files": [KnownFile.from_dict(file) for file in known["files"]],
        "data": known["data"],
        "summary": summary,
    }


@contextmanager
def _naming_options() -> Iterator[None]:
    """Let errors of the library name the option ``--trust`` in place of the argument `trusted`."""
    try:
        yield
    except ModelFileError as error:
        said = re.sub(r"pass trusted=\[(.*?)\]", _as_options, str(error))
        raise ValueError(said) from error


def _as_options(match: re.Match[str]) -> str:
    names = match[1].replace("'", "").split(", ")
    return "give " + " ".join(f"--trust {name}" for name in names)
