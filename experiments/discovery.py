"""Every module of `experiments.paper` that declares an `EXPERIMENT`, found by itself."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from experiments import paper
from experiments.experiment import Experiment


def experiments() -> dict[str, Experiment]:
    """All experiments by name, in the order of their items."""
    modules = (
        import_module(f"{paper.__name__}.{found.name}")
        for found in pkgutil.iter_modules(paper.__path__)
    )
    declared = [module.EXPERIMENT for module in modules if hasattr(module, "EXPERIMENT")]
    return {
        experiment.name: experiment
        for experiment in sorted(declared, key=lambda experiment: experiment.item)
    }
