"""The same answer on every processor: kernels of BLAS and NumPy that this one can run."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.changes import MEANS, Rows, ends, move
from benchmarks.stability import BLAS_KERNELS, NO_FEATURES
from sosbands.datasets import case

USUAL = 1e-6
VARIANTS = [*({"OPENBLAS_CORETYPE": name} for name in BLAS_KERNELS), NO_FEATURES]


def all_ends() -> dict[str, list[list[float]]]:
    sets = {"case 1": case(1).sample(150, random_state=1)}
    sets["case 2"] = case(2, dimension=5).sample(300, random_state=1)
    return {
        f"{name}, {mean}": ends(Rows.of(X, y, seed=0), mean).tolist()
        for name, (X, y) in sets.items()
        for mean in MEANS
    }


@pytest.fixture(scope="module")
def reference() -> dict[str, list[list[float]]]:
    return all_ends()


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: next(iter(variant.values())))
def test_every_kernel_gives_the_same_intervals(reference, variant):
    environment = {**os.environ, **variant}
    trial = [sys.executable, "-c", "import numpy; numpy.ones((99, 99)) @ numpy.ones((99, 99))"]
    if subprocess.run(trial, env=environment, capture_output=True, check=False).returncode != 0:
        pytest.skip("not for this processor")
    code = "import json, sys; from tests.numerics.test_processors import all_ends; " + (
        "json.dump(all_ends(), sys.stdout)"
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
