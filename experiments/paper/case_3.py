"""Item 6: case 3, n = 100, against the comparators of the paper."""

from __future__ import annotations

from experiments.paper.adaptivity import experiment

EXPERIMENT = experiment(
    name="case_3",
    item=6,
    case=3,
    d=1,
    n=100,
    claims=(
        "Section 4.1: the homoscedastic GP has poor local coverage, but small prediction bands.",
        "Section 4.1: kernel SoS and heteroscedastic GP are highly similar: excellent local "
        "coverage, low MI, small mean width.",
    ),
    minutes=(0.5, 4),
)
