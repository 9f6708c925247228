"""What chance does to a coverage counted on finitely many rows."""

from __future__ import annotations

import numpy as np
from scipy.stats import betabinom, binomtest

from sosbands.conformal import order_rank


def binomial_bounds(hits: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Bounds of a probability that held in `hits` of n cases (Clopper and Pearson, 1934)."""
    found = binomtest(hits, n).proportion_ci(confidence)
    return float(found.low), float(found.high)


def expected_coverage(level: float, m: int, n: int) -> tuple[float, float]:
    """Where the coverage of n rows lies with probability ≥ 0.95 after a split calibration with m.

    Given the calibration rows the coverage is Beta(k, m + 1 − k) distributed, k = ⌈level·(m + 1)⌉,
    so that the number of rows covered is beta-binomial.
    """
    k = order_rank(level, m)
    if k > m:
        return 1.0, 1.0
    below = np.cumsum(betabinom.pmf(np.arange(n + 1), n, k, m + 1 - k))
    low, high = np.searchsorted(below, [0.025, 0.975])
    return float(low / n), float(min(high, n) / n)
