"""Where the figures come from: processor, Python, libraries and BLAS."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("sosbands", "numpy", "scipy", "jax", "jaxlib", "optax", "cvxpy", "scs", "clarabel")


def environment() -> dict[str, Any]:
    """Versions and BLAS threads, as the timed processes see them."""
    import scipy.linalg  # noqa: F401 (its BLAS is reported beside NumPy's)
    from threadpoolctl import threadpool_info

    keys = ("user_api", "internal_api", "version", "architecture", "num_threads")
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "packages": {package: version(package) for package in PACKAGES},
        "blas": [{key: library.get(key) for key in keys} for library in threadpool_info()],
    }


def _processor() -> str:
    source = Path("/proc/cpuinfo")
    if source.exists():
        for line in source.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()
