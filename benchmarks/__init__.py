"""Speed of the solvers, as ratios measured in one run: ``python -m benchmarks --help``."""
