"""Published comparisons on their own splits: ``python -m experiments.published --data FOLDER``."""
