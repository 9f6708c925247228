"""Numbers in words and tables: a few digits, thousands apart."""

import numpy as np

_THIN = "\u202f"


def number(value: float | None, digits: int = 4) -> str:
    """A few significant digits, thousands apart, without an exponent where that is readable."""
    if value is None:
        return "–"
    if not np.isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "–"
    if value != 0 and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.{digits}g}".replace("-", "−")
    if value == int(value) and abs(value) < 1e6:
        return f"{value:,.0f}".replace(",", _THIN).replace("-", "−")
    decimals = digits - 1 - int(np.floor(np.log10(abs(value))))
    plain = f"{round(value, decimals):,.{max(decimals, 0)}f}"
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return plain.replace(",", _THIN).replace("-", "−")
