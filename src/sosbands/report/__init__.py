"""A report to send around: one HTML file that opens offline and says how good the intervals are."""

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from sosbands.estimator import BandRegressor
from sosbands.evaluation import PredictedRows
from sosbands.persistence.replacing import replacing
from sosbands.report.contents import contents
from sosbands.report.page import assemble, plotly_script, template_environment

__all__ = ["render_report", "write_report"]


def write_report(
    model: BandRegressor,
    X: Any,
    y: ArrayLike,
    path: str | os.PathLike[str],
    *,
    confidence_level: float = 0.9,
    title: str | None = None,
) -> None:
    """Write `render_report` to a file, all of it or nothing.

    Parameters
    ----------
    model, X, y, confidence_level, title
        As for `render_report`.
    path : path
        A file that is there is replaced when the new one is complete.
    """
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir():
        fault = "is a folder" if target.is_dir() else "is in a folder that does not exist"
        raise OSError(f"the report cannot be written: {target} {fault}; give the path of a file")
    text = render_report(model, X, y, confidence_level=confidence_level, title=title)
    with replacing(os.fspath(path)) as temporary:
        # Half of a surrogate pair, in a name or the title, has no other encoding.
        Path(temporary).write_bytes(text.encode("utf-8", errors="xmlcharrefreplace"))


def render_report(
    model: BandRegressor,
    X: Any,
    y: ArrayLike,
    *,
    confidence_level: float = 0.9,
    title: str | None = None,
) -> str:
    """How good the intervals of a fitted model are, as one self-contained HTML page.

    Parameters
    ----------
    model : BandRegressor
        Fitted and calibrated; not by groups or by an array of weights.
    X, y : array-like of shapes (n, d) and (n,)
        Rows that the model has not seen. At most 3000 of them are drawn; the numbers are of all.
    confidence_level : float
        The level that the report is about; coverage is shown at others, too.
    title : str, optional
        Heads the page.

    Returns
    -------
    str
        HTML: pictures that zoom and answer the pointer, each with its numbers in a table.
    """
    # An absent extra is said before anything is computed.
    plotly, environment = plotly_script(), template_environment()
    rows = PredictedRows.of(model, X, y, confidence_level=confidence_level, random_state=0)
    return assemble(
        environment,
        plotly,
        title=title or "How good are these prediction intervals?",
        version=version("sosbands"),
        **contents(model, X, rows),
    )
