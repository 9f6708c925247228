"""Item 7: case 4, n = 100, against the comparators of the paper."""

from __future__ import annotations

from experiments.paper.adaptivity import experiment

EXPERIMENT = experiment(
    name="case_4",
    item=7,
    case=4,
    d=1,
    n=100,
    claims=(
        "Section 4.1: homoscedastic GP performs best: the oracle is close to a constant.",
        "Section 4.1: except CQR, all methods yield similar MI and similar satisfying local "
        "coverage.",
        "Section 4.1: kernel SoS selects larger intervals than GPs.",
    ),
    minutes=(0.5, 4),
)
