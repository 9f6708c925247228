"""Numbers and strings as HTML: everything that a user named is escaped here."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import numpy as np

# Names longer than this would push everything else off a phone's screen.
_LONGEST_NAME = 40


def escaped(text: str) -> str:
    """Text that is shown as it is, in HTML and in the pseudo-HTML that plotly reads."""
    return html.escape(text, quote=True)


def shortened(text: str, longest: int = _LONGEST_NAME) -> str:
    """The name of a column, or other text, on one short line and escaped."""
    line = " ".join(text.split()) or "(no name)"
    return escaped(line if len(line) <= longest else f"{line[: longest - 1]}…")


def number(value: float | None) -> str:
    """Four significant digits, without an exponent where that is readable."""
    if value is None:
        return "–"
    if not np.isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "–"
    if value == int(value) and abs(value) < 1e6:
        return f"{value:.0f}".replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


def percent(share: float) -> str:
    """A share in percent with one decimal."""
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def asked(level: float) -> str:
    """A level in percent, with the decimals it was given with."""
    return f"{100 * level:.10g}\N{NO-BREAK SPACE}%"


def count(rows: int) -> str:
    """A whole number with thin spaces between thousands."""
    return f"{rows:,}".replace(",", "\u202f")


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str, numeric: bool = True
) -> str:
    """A table of cells that are HTML already; the first column names the row."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in others)}</tr>'
        for first, *others in rows
    )
    kind = ' class="numeric"' if numeric else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">'
        f"<table{kind}><caption>{caption}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def folded(summary: str, content: str) -> str:
    """Content behind a line that opens it."""
    return f"<details><summary>{summary}</summary>{content}</details>"
