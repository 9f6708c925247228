"""The search for the slab {x : a ≤ vᵀx ≤ b} that intervals cover worst, for `sosbands.metrics`."""

from __future__ import annotations

import numpy as np

from sosbands.types import Array, Indices, Mask


def slab_coverage(X: Array, hit: Mask, V: Array, halves: list[Indices], min_mass: float) -> float:
    """The coverage of one half of the rows in the slab, along a row of V, worst for the other."""
    choose, judge = halves
    least = int(np.ceil(min_mass * len(choose)))
    A, seen = X[choose], hit[choose]
    slabs = [worst_slab(A @ v, seen, least) for v in V]
    worst = int(np.argmin([μ for μ, _, _ in slabs]))
    t, (_, low, high) = X[judge] @ V[worst], slabs[worst]
    inside = judge[(low <= t) & (t <= high)]
    if len(inside) == 0:
        raise ValueError(
            f"the worst slab must hold rows of both halves, got none of {len(judge)} in the "
            "second: give more rows or a larger min_mass"
        )
    return float(hit[inside].mean())


def worst_slab(t: Array, hit: Mask, least: int) -> tuple[float, float, float]:
    """Smallest coverage over a ≤ t ≤ b with at least `least` rows; a and b.

    Dinkelbach's iteration: μ is the coverage of a slab, and the slab that minimises Σ(hit − μ)
    becomes the next, until μ no longer falls. The sums are differences of prefix sums, and a slab
    neither starts nor ends between equal t.
    """
    order = np.argsort(t)
    t, sums = t[order], np.concatenate([[0.0], np.cumsum(hit[order])])
    n, edge = len(t), np.concatenate([[True], t[1:] > t[:-1], [True]])
    index, start, end = np.arange(n + 1), 0, n
    μ = sums[n] / n
    while True:
        excess = sums - μ * index
        before = np.where(edge, excess, -np.inf)[: n + 1 - least]
        best = np.maximum.accumulate(before)
        drop = np.where(edge, excess, np.inf)[least:] - best
        j = int(np.argmin(drop))
        i = int(np.argmax(before[: j + 1]))
        new = (sums[j + least] - sums[i]) / (j + least - i)
        if not new < μ:
            return float(μ), float(t[start]), float(t[end - 1])
        μ, start, end = new, i, j + least
