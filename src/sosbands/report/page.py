"""The page: one HTML file that needs no network, and forbids itself to use it.

Its words are in `templates`, where everything that is put in is escaped.
"""

from __future__ import annotations

import base64
import hashlib
import os
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from sosbands.estimator import BandRegressor
from sosbands.evaluation import PredictedRows
from sosbands.evaluation.coverage_counts import falls_short
from sosbands.evaluation.tuning_path import shortest
from sosbands.persistence.replacing import replacing
from sosbands.report import formats
from sosbands.report.contents import contents

if TYPE_CHECKING:
    from jinja2 import Environment

_FILTERS = (formats.asked, formats.count, formats.number, formats.one_line, formats.percent)
_FUNCTIONS = (falls_short, formats.between, formats.ratio)


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
    plotly, environment = _inline(_of_extra("plotly.offline").get_plotlyjs()), _environment()
    rows = PredictedRows.of(model, X, y, confidence_level=confidence_level, random_state=0)
    script = _inline(_asset("page.js"))
    return environment.get_template("page.html").render(
        title=title or "How good are these prediction intervals?",
        version=version("sosbands"),
        policy=_policy(plotly, script),
        style=_asset("page.css"),
        plotly=plotly,
        script=script,
        **contents(model, X, rows),
    )


def _environment() -> Environment:
    """What fills templates: it escapes, and refuses names that nothing was given for."""
    jinja2 = _of_extra("jinja2")
    environment: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sosbands.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {each.__name__: each for each in (*_FILTERS, shortest)}
    environment.globals |= {each.__name__: each for each in _FUNCTIONS}
    # What a browser cannot read as JSON must not be written.
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment


def _of_extra(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f'a report needs {package}: pip install "sosbands[report]"') from error


def _policy(*scripts: str) -> str:
    """Nothing is loaded from anywhere, and no script runs but these."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()) for script in scripts)
    hashes = " ".join(f"'sha256-{digest.decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _inline(script: str) -> str:
    """A script as a browser reads it inside of HTML: with plain ends of lines, and no end tag."""
    return script.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")


def _asset(name: str) -> str:
    return files("sosbands.report").joinpath(name).read_text(encoding="utf-8")
