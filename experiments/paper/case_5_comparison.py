"""Item 20, beyond the paper: case 5, whose noise is skewed, against the paper's comparators."""

from __future__ import annotations

from experiments.paper.adaptivity import experiment

EXPERIMENT = experiment(
    name="case_5_comparison",
    item=20,
    case=5,
    d=1,
    n=100,
    claims=("Not in the paper: how our defaults do on its skewed case, beside its comparators.",),
    minutes=(0.5, 4),
)
