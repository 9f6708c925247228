"""The paper's experiments, one file each: a module with an `EXPERIMENT` is found by itself."""
