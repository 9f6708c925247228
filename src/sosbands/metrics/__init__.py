"""How good intervals and predictive distributions are, on average and over the inputs.

Everywhere y has shape (n,), X shape (n, d), and intervals shape (n, 2), or (n, 2, k) for k levels,
with finite or infinite bounds. What is written as a float below is then an array of shape (k,). The
slabs, the clusters and the classifier see X as it is: scale its columns beforehand if their units
differ. For the dependence of residuals on scales and of scores on inputs, `hsic` and
`mutual_information` are those of `sosbands.dependence`.
"""

from sosbands.dependence import hsic, mutual_information
from sosbands.metrics.checks import Seed as Seed
from sosbands.metrics.conditional import (
    cluster_count,
    clusters,
    coverage_gap,
    exact_local_coverage,
    local_coverage,
    worst_slab_coverage,
)
from sosbands.metrics.distributions import crps, pinball_loss, pit
from sosbands.metrics.excess_risk import ert
from sosbands.metrics.intervals import (
    coverage,
    interval_score,
    mean_width,
    r2_sqi,
    size_stratified_coverage,
    width_bins,
)

__all__ = [
    "cluster_count",
    "clusters",
    "coverage",
    "coverage_gap",
    "crps",
    "ert",
    "exact_local_coverage",
    "hsic",
    "interval_score",
    "local_coverage",
    "mean_width",
    "mutual_information",
    "pinball_loss",
    "pit",
    "r2_sqi",
    "size_stratified_coverage",
    "width_bins",
    "worst_slab_coverage",
]
