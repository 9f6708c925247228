"""The page: one HTML file that needs no network, and forbids itself to use it.

Its words are in `templates`, where everything that is put in is escaped.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from sosbands.evaluation.coverage_counts import falls_short
from sosbands.evaluation.tuning_path import shortest
from sosbands.report import formats

if TYPE_CHECKING:
    from jinja2 import Environment

_FILTERS = (formats.asked, formats.count, formats.number, formats.one_line, formats.percent)
_FUNCTIONS = (falls_short, formats.between, formats.ratio)


def plotly_script() -> str:
    """The source of plotly.js."""
    source: str = _of_extra("plotly.offline").get_plotlyjs()
    return _inline(source)


def template_environment() -> Environment:
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


def assemble(environment: Environment, plotly: str, **contents: Any) -> str:
    """The whole file, from what `contents` gives and a title and a version."""
    script = _inline(_asset("page.js"))
    return environment.get_template("page.html").render(
        **contents,
        policy=_policy(plotly, script),
        style=_asset("page.css"),
        plotly=plotly,
        script=script,
    )


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
