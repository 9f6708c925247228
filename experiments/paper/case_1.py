"""Item 4: case 1, n = 100, against the comparators of the paper."""

from __future__ import annotations

from experiments.paper.adaptivity import experiment

EXPERIMENT = experiment(
    name="case_1",
    item=4,
    case=1,
    d=1,
    n=100,
    claims=(
        "Section 4.1: CQR and standard GP yield larger intervals and local coverage with great "
        "variability around the target.",
        "Section 4.1: heteroscedastic GP produces intervals similar to ours, but with "
        "higher mean width.",
        "Section 4.1: kernel SoS gives intervals with small width and satisfying local coverage.",
    ),
    minutes=(0.5, 4),
)
