"""What the modules of a package declare, found by itself."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType
from typing import Any

from experiments import paper
from experiments.experiment import Experiment


def experiments() -> dict[str, Experiment]:
    """All experiments of the paper by name, in the order of their items."""
    found: list[Experiment] = declared(paper, "EXPERIMENT")
    return {e.name: e for e in sorted(found, key=lambda experiment: experiment.item)}


def declared(package: ModuleType, name: str) -> list[Any]:
    """The objects of that name, module by module; a module without one is shared code."""
    modules = (
        import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
        if not found.name.startswith("_")
    )
    return [getattr(module, name) for module in modules if hasattr(module, name)]
