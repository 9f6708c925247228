"""Packages that only some solvers need: imported when they are used, named when they are absent."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_jax() -> Any:
    """JAX, for `Accelerated`."""
    return _imported("jax", "Accelerated needs JAX", extra="jax")


def import_optax() -> Any:
    """Optax, for `Accelerated`."""
    return _imported("optax", "Accelerated needs Optax", extra="jax")


def import_cvxpy() -> Any:
    """CVXPY, for `SDP`."""
    return _imported("cvxpy", "SDP needs CVXPY", extra="sdp")


def _imported(package: str, need: str, *, extra: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(f'{need}: pip install "sosbands[{extra}]"') from error
