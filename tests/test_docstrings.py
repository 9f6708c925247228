"""Every public name has an example in its docstring, and every example is run."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import sosbands

REFERENCE = Path(__file__).parents[1] / "docs" / "api.md"


def public_names():
    """What `__all__` of the package and of its modules names, and what the reference lists."""
    modules = [sosbands]
    for found in pkgutil.iter_modules(sosbands.__path__, "sosbands."):
        if found.name != "sosbands.cli":  # whose commands are shown at work on the pages
            modules.append(importlib.import_module(found.name))
    named = {
        f"{module.__name__}.{name}" for module in modules for name in getattr(module, "__all__", ())
    }
    listed = re.findall(r"^   ([A-Za-z_][\w.]*)$", REFERENCE.read_text(encoding="utf-8"), re.M)
    objects = {}
    for name in sorted(named | {f"sosbands.{each}" for each in listed}):
        home, _, attribute = name.rpartition(".")
        found = getattr(importlib.import_module(home), attribute)
        if getattr(found, "__module__", "").startswith("sosbands") and not inspect.ismodule(found):
            objects.setdefault(f"{found.__module__}.{found.__qualname__}", found)
    return objects


NAMES = public_names()


def examples_of(found):
    """The examples of a docstring, and of its methods if it is a class."""
    return [test for test in doctest.DocTestFinder().find(found) if test.examples]


def test_there_are_public_names():
    assert len(NAMES) > 60
    assert {"sosbands.estimator.BandRegressor", "sosbands.datasets.case"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_an_example(name):
    parser = doctest.DocTestParser()
    assert parser.get_examples(inspect.getdoc(NAMES[name]) or ""), f"{name} has no example"


@pytest.mark.parametrize("name", [name for name in NAMES if examples_of(NAMES[name])])
def test_the_examples_of_a_public_name_run(name, monkeypatch, tmp_path):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in examples_of(NAMES[name]):
        said = []
        runner.run(test, out=said.append)
        assert not runner.failures, "".join(said)
