"""Item 5: case 2, n = 100, against the comparators of the paper."""

from __future__ import annotations

from experiments.paper.adaptivity import experiment

EXPERIMENT = experiment(
    name="case_2",
    item=5,
    case=2,
    d=1,
    n=100,
    claims=(
        "Section 4.1: all methods tend to produce bands that are too large (local coverage leaning "
        "towards 1), with a notable exception for kernel SoS.",
        "Section 4.1: MI and R²_SQI are similar for heteroscedastic GP and kernel SoS, the "
        "latter has much smaller mean width.",
    ),
    minutes=(0.5, 4),
)
