"""Numbers and names as the page shows them: short, on one line, plain text."""

import html

import numpy as np

from sosbands.conformal.calibration import asked, count
from sosbands.quoting import shortened

__all__ = ["asked", "between", "count", "number", "one_line", "percent", "plot_text", "ratio"]

# Names longer than this would push everything else off a phone's screen.
_LONGEST_NAME = 40


def one_line(text: str, longest: int = _LONGEST_NAME) -> str:
    """The name of a column, or other text, on one short line."""
    return shortened(" ".join(text.split()) or "(no name)", longest)


def plot_text(text: str, longest: int = _LONGEST_NAME) -> str:
    """The same for a picture: plotly reads its strings as HTML."""
    return html.escape(one_line(text, longest))


def number(value: float | None) -> str:
    """Four significant digits, without an exponent where that is readable."""
    if value is None:
        return "–"
    if not np.isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "–"
    if value == int(value) and abs(value) < 1e6:
        return f"{value:.0f}".replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


def between(low: float, high: float) -> str:
    """A range of numbers."""
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def percent(share: float) -> str:
    """A share in percent with one decimal."""
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def ratio(width: float, usual: float) -> str:
    """How many times as wide as usual, if both are finite."""
    return number(round(width / usual, 2)) if 0 < usual < np.inf and width < np.inf else "–"
