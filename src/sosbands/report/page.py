"""The page: one HTML file that needs no network, and forbids itself to use it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from sosbands.report.markup import escaped, folded
from sosbands.report.traces import Figure


@dataclass(frozen=True)
class Section:
    """A part of the page: its anchor, its heading and its HTML."""

    name: str
    title: str
    html: str


@dataclass(frozen=True)
class Contents:
    """What a page shows; the sections have a place for each of the figures."""

    subtitle: str
    sections: Sequence[Section]
    figures: Sequence[Figure]


def plotly_script() -> str:
    """The source of plotly.js."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError('a report needs plotly: pip install "sosbands[report]"') from error
    source: str = get_plotlyjs()
    return _inline(source)


def figure_html(figure: Figure, *, open_numbers: bool = False) -> str:
    """The place of a picture, with its words and its numbers."""
    numbers = folded("The numbers", figure.numbers) if figure.numbers else ""
    if open_numbers:
        numbers = numbers.replace("<details>", "<details open>", 1)
    return (
        f'<figure class="card" id="{figure.name}"><h3>{figure.title}</h3>'
        f'<figcaption id="{figure.name}-reading">{figure.reading}</figcaption>'
        f'<div class="plot" data-figure="{figure.name}" role="img" aria-label="{figure.alt}" '
        f'aria-describedby="{figure.name}-reading" style="min-height:{figure.layout["height"]}px">'
        f"</div>{numbers}</figure>"
    )


def card(content: str) -> str:
    """A box."""
    return f'<div class="card">{content}</div>'


def side_by_side(*boxes: str) -> str:
    """Two boxes in a row, or one below the other on a phone."""
    return f'<div class="grid">{"".join(boxes)}</div>'


def assemble(contents: Contents, *, title: str, version: str, plotly: str) -> str:
    """The whole file; the title is escaped here, and `plotly` comes from `plotly_script`."""
    script = _inline(_asset("page.js"))
    data = json.dumps([figure.to_dict() for figure in contents.figures], separators=(",", ":"))
    return Template(_asset("page.html")).substitute(
        policy=_policy(plotly, script),
        title=escaped(title),
        subtitle=contents.subtitle,
        style=_asset("style.css"),
        navigation="".join(
            f'<a href="#{part.name}">{part.title}</a>' for part in contents.sections
        ),
        sections="".join(
            f'<section id="{part.name}"><h2>{part.title}</h2>{part.html}</section>'
            for part in contents.sections
        ),
        # A string in the data may hold "</script>"; JSON may write any character by its number.
        figures=data.replace("<", "\\u003c"),
        plotly=plotly,
        script=script,
        version=version,
    )


def _policy(*scripts: str) -> str:
    """Nothing is loaded from anywhere, and no script runs but these."""
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _inline(script: str) -> str:
    """A script as a browser reads it inside of HTML: with plain ends of lines, and no end tag."""
    return script.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")


def _asset(name: str) -> str:
    return files("sosbands.report").joinpath(name).read_text(encoding="utf-8")
