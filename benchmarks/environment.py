"""Where the figures come from: processor, Python, libraries and BLAS."""

from __future__ import annotations

import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

SOLVERS = ("jax", "jaxlib", "optax", "cvxpy", "scs", "clarabel")
PEERS = ("mapie", "crepes", "quantile-forest", "hetgpy", "catboost", "ngboost")
PACKAGES = ("sosbands", "numpy", "scipy", "scikit-learn", *SOLVERS, *PEERS)


def environment() -> dict[str, Any]:
    """Versions and BLAS threads, as the timed processes see them."""
    import scipy.linalg  # noqa: F401 (its BLAS is reported beside NumPy's)
    from threadpoolctl import threadpool_info

    keys = ("user_api", "internal_api", "version", "architecture", "num_threads")
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "packages": _versions(),
        "blas": [{key: library.get(key) for key in keys} for library in threadpool_info()],
    }


def _versions() -> dict[str, str]:
    """Of what is installed: not every benchmark needs everything."""
    found = {}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _processor() -> str:
    source = Path("/proc/cpuinfo")
    if source.exists():
        for line in source.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()
