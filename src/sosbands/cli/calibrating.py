"""A model of the command line with other calibration rows."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import replace

import numpy as np

from sosbands.cli.known_files import KnownFile, known_as
from sosbands.cli.models import StoredModel
from sosbands.cli.table_rows import LabelledRows
from sosbands.evaluation.judged_rows import SEEN
from sosbands.evaluation.results import MANY_SEEN
from sosbands.metrics import mean_width

# What a summary says of a calibration that is none any more.
_STALE = ("coverage", "mean width", "over time", "calibrated")


def calibrated(
    stored: StoredModel, rows: LabelledRows, name: str, *, add: bool
) -> tuple[StoredModel, dict[str, str]]:
    """The model with these rows, called by a name, in place of those it has, or beside them.

    Also what there is to tell of them. From now on the model has seen these rows.
    """
    seen = 0.0  # of rows that a fit held out, nothing
    if not rows.held_out:
        seen = float(np.mean(stored.model.extrapolation(rows.X) < SEEN))
    if seen > MANY_SEEN:
        warnings.warn(
            f"{100 * seen:.0f} % of the rows have the very inputs of a training row: if they "
            "trained the model, intervals are now too narrow; calibrate with rows that it has not "
            "seen",
            stacklevel=2,
        )
    model = copy(stored.model)
    (model.partial_conformalize if add else model.conformalize)(rows.X, rows.y)
    summary = {
        subject: text for subject, text in (stored.summary or {}).items() if subject not in _STALE
    }
    had = stored.model.calibration_ is not None
    what = f", {'beside' if add else 'in place of'} those of fit" if had else ""
    told = {"calibrated": f"with {len(rows.y)} rows of {name}{what}"}
    width = mean_width(model.predict_interval(rows.X, stored.level))
    told["mean width"] = f"{width:.4g} at these rows and level {stored.level:g}"
    if had:
        before = mean_width(stored.model.predict_interval(rows.X, stored.level))
        told["mean width"] += f", {before:.4g} before"
    newer = replace(stored, model=model, files=_seen(stored, rows), summary={**summary, **told})
    return newer, told


def _seen(stored: StoredModel, rows: LabelledRows) -> list[KnownFile]:
    """The files that the model knows, with these rows among those that it has seen."""
    old = known_as(stored.files, rows.sha256, rows.n_file)
    left = np.zeros(rows.n_file, dtype=bool) if old is None else old.held_out.copy()
    left[rows.places] = False
    others = [file for file in stored.files if file is not old]
    return [*others, *KnownFile.of(rows.sha256, rows.n_file, np.flatnonzero(left))]
