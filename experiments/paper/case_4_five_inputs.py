"""Item 13: case 4 with five inputs, n = 150, β = (1, 0.1, 0.1, 0.1, 0.1)."""

from __future__ import annotations

from experiments.paper.adaptivity import experiment

EXPERIMENT = experiment(
    name="case_4_five_inputs",
    item=13,
    case=4,
    d=5,
    n=150,
    claims=(
        "Appendix B.4: all methods tend to overcover more than with one input.",
        "Appendix B.4: homoscedastic GP is the best in local coverage and in mean width.",
        "Appendix B.4: heteroscedastic GP and CQR degrade.",
        "Appendix B.4: kernel SoS has local coverage as good as homoscedastic GP, with slightly "
        "larger intervals.",
    ),
    minutes=(2, 12),
)
