"""Options of the test run."""

import os
from pathlib import Path

import pytest

# Worker processes find the classes of a test by name, as the tests themselves do (`pythonpath`).
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
)


def pytest_addoption(parser):
    parser.addoption(
        "--replications",
        type=int,
        default=200,
        help="data sets per statistical test; make statistical takes 2000",
    )


@pytest.fixture
def replications(request):
    """How many data sets a statistical test draws."""
    return request.config.getoption("--replications")
