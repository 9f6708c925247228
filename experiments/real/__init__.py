"""Every method on every data set: ``python -m experiments.real --data FOLDER``."""
