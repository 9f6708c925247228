"""The same answer on every processor: kernels of BLAS and NumPy that this one can run."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.changes import move
from benchmarks.stability import BLAS_KERNELS, NO_FEATURES, simulated_ends

USUAL = 1e-6
VARIANTS = [*({"OPENBLAS_CORETYPE": name} for name in BLAS_KERNELS), NO_FEATURES]


@pytest.fixture(scope="module")
def reference() -> dict[str, list[list[float]]]:
    return simulated_ends()


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: next(iter(variant.values())))
def test_every_kernel_gives_the_same_intervals(reference, variant):
    environment = {**os.environ, **variant}
    trial = [sys.executable, "-c", "import numpy; numpy.ones((99, 99)) @ numpy.ones((99, 99))"]
    if subprocess.run(trial, env=environment, capture_output=True, check=False).returncode != 0:
        pytest.skip("not for this processor")
    code = "import json, sys; from benchmarks.stability import simulated_ends; " + (
        "json.dump(simulated_ends(), sys.stdout)"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    for name, intervals in json.loads(run.stdout).items():
        assert move(np.array(intervals), np.array(reference[name])) <= USUAL, name
