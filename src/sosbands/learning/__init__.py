"""From rows to a fitted band: what is seen of a table, the mean, the tuning, the scale."""
