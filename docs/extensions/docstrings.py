"""Docstrings write |r| as mathematics does; reStructuredText must not take it for markup."""

import re
from typing import Any

from sphinx.application import Sphinx

# What stays as it is: code between backticks, strong and emphasised names, lines of examples.
_KEPT = re.compile(r"(``.*?``|`[^`]*`_?|\*\*.*?\*\*|^\s*(?:>>>|\.\.\.|\.\. ).*$)")


def escape(*args: Any) -> None:
    """Escape bars outside code, after numpydoc has made reStructuredText of it."""
    lines: list[str] = args[-1]
    for at, line in enumerate(lines):
        parts = _KEPT.split(line)
        parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
        lines[at] = "".join(parts)


def skip(app: Sphinx, what: str, name: str, obj: object, skipped: bool, *args: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator: `set_fit_request` and the like."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen after numpydoc."""
    app.connect("autodoc-process-docstring", escape, priority=900)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
