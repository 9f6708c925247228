import re
import subprocess
import sys
from pathlib import Path

import pytest

import sosbands

ROOT = Path(__file__).parents[1]


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


@pytest.mark.parametrize("page", ["README.md", "docs/how-it-works.md", "docs/settings.md"])
def test_examples_print_what_the_page_shows(page):
    blocks = re.findall(r"```(\w*)\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    examples = [i for i, (language, _) in enumerate(blocks) if language == "python"]
    assert examples
    for at in examples:
        assert run(blocks[at][1]).strip() == blocks[at + 1][1].strip()


def test_the_demo_prints_its_certificate_and_saves_a_picture(tmp_path):
    picture = tmp_path / "demo.png"
    command = [sys.executable, str(ROOT / "examples" / "demo.py"), str(picture)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for what in ("coverage", "mean width", "certified gap", "active points", "rank of A"):
        assert what in printed
    assert picture.read_bytes().startswith(b"\x89PNG")
