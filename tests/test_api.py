import re
import subprocess
import sys

import pytest

import sosbands


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", sosbands.__all__)
def test_every_public_name_is_there_and_documented(name):
    assert getattr(sosbands, name).__doc__
    assert name in dir(sosbands)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Band'"):
        _ = sosbands.Band


def test_the_version_is_a_release():
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", sosbands.__version__)


def test_importing_the_package_imports_nothing_heavy():
    heavy = run("import sys, sosbands; print([m for m in ('numpy', 'scipy') if m in sys.modules])")
    assert heavy.strip() == "[]"


def test_the_default_solver_needs_no_extra():
    code = (
        "import sys\n"
        "for name in ('jax', 'optax', 'cvxpy', 'sklearn', 'pandas', 'matplotlib'):\n"
        "    sys.modules[name] = None\n"
        "from sosbands import BandProblem, Gaussian, Newton\n"
        "p = BandProblem.from_data([0., 1.], [1., -1.], scale_kernel=Gaussian(1.0))\n"
        "print(Newton().solve(p).status.name)\n"
    )
    assert run(code).strip() == "CONVERGED"
