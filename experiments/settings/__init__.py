"""Why each default is what it is: ``python -m experiments.settings --data FOLDER``."""
