"""The evidence: every figure and table of the paper, and how the bands do on real data."""
