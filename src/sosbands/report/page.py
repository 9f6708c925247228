"""The page: one HTML file without scripts that needs no network, and forbids itself to use it.

Its words are in `templates`, where everything that is put in is escaped.
"""

from __future__ import annotations

import datetime
import os
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from sosbands.estimator import BandRegressor
from sosbands.evaluation import PredictedRows
from sosbands.evaluation.tuning_path import shortest
from sosbands.persistence.replacing import replacing
from sosbands.report import formats
from sosbands.report.contents import contents

if TYPE_CHECKING:
    from jinja2 import Environment

_FILTERS = (
    formats.asked,
    formats.count,
    formats.number,
    formats.one_line,
    formats.percent,
    formats.rows_in_words,
    formats.signed,
    shortest,
)


def write_report(
    model: BandRegressor,
    X: Any,
    y: ArrayLike,
    path: str | os.PathLike[str],
    *,
    confidence_level: float = 0.9,
    title: str | None = None,
    target: str | None = None,
    source: str | None = None,
    held_out: str | None = None,
    date: datetime.date | None = None,
) -> None:
    """Write `render_report` to a file, all of it or nothing.

    Parameters
    ----------
    model, X, y, confidence_level, title, target, source, held_out, date
        As for `render_report`.
    path : path
        A file that is there is replaced when the new one is complete.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sosbands import BandRegressor
    >>> from sosbands.datasets import case
    >>> from sosbands.report import write_report
    >>> model = BandRegressor(None, random_state=0).fit(*case(1).sample(200, random_state=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder, "report.html")
    ...     write_report(model, *case(1).sample(300, random_state=1), page, target="dose (mg)")
    ...     page.stat().st_size < 2e6
    True
    """
    file = Path(path)
    if file.is_dir() or not file.parent.is_dir():
        fault = "is a folder" if file.is_dir() else "is in a folder that does not exist"
        raise OSError(f"the report cannot be written: {file} {fault}; give the path of a file")
    text = render_report(
        model,
        X,
        y,
        confidence_level=confidence_level,
        title=title,
        target=target,
        source=source,
        held_out=held_out,
        date=date,
    )
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
    target: str | None = None,
    source: str | None = None,
    held_out: str | None = None,
    date: datetime.date | None = None,
) -> str:
    """How good the intervals of a fitted model are, as one self-contained HTML page.

    Parameters
    ----------
    model : BandRegressor
        Fitted and calibrated; not by groups or by an array of weights.
    X, y : array-like of shapes (n, d) and (n,)
        Rows that the model has not seen. At most 20 000 of them are drawn; the numbers are of all.
    confidence_level : float
        The level that the report is about; coverage is shown at others, too.
    title : str, optional
        Heads the page.
    target : str, optional
        What is predicted; a unit may follow in brackets, as in "price (EUR)". The name of y if it
        is a series that has one.
    source : str, optional
        Where the rows come from, such as the name of a file.
    held_out : str, optional
        Which rows they are, "the fifth of the rows that was held out".
    date : datetime.date, optional
        Of the page; today.

    Returns
    -------
    str
        HTML that needs neither the network nor a script: pictures, each with its numbers in a
        table.

    Examples
    --------
    >>> from sosbands import BandRegressor
    >>> from sosbands.datasets import case
    >>> from sosbands.report import render_report
    >>> model = BandRegressor(None, random_state=0).fit(*case(1).sample(200, random_state=0))
    >>> page = render_report(model, *case(1).sample(300, random_state=1), target="dose (mg)")
    >>> "<h1>Prediction intervals for dose (mg)</h1>" in page
    True
    """
    environment = _environment()  # an absent extra is said before anything is computed
    rows = PredictedRows.of(model, X, y, confidence_level=confidence_level, random_state=0)
    name = formats.one_line(target or str(getattr(y, "name", None) or "y"))
    (bare, unit), day = formats.without_unit(name), date or datetime.date.today()
    return environment.get_template("page.html").render(
        title=title or f"Prediction intervals for {name}",
        source=source,
        held_out=held_out,
        day=f"{day.day} {day:%B %Y}",
        version=version("sosbands"),
        style=files("sosbands.report").joinpath("page.css").read_text(encoding="utf-8"),
        **contents(model, X, rows, name=name, target=bare, unit=unit),
    )


def _environment() -> Environment:
    """What fills templates: it escapes, and refuses names that nothing was given for."""
    try:
        jinja2 = import_module("jinja2")
    except ImportError as error:
        raise ImportError('a report needs jinja2: pip install "sosbands[report]"') from error
    environment: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sosbands.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {each.__name__: each for each in _FILTERS}
    environment.globals["ratio"] = formats.ratio
    return environment
