"""Options of the test run."""

import pytest


def pytest_addoption(parser):
    parser.addoption(
        "--replications",
        type=int,
        default=100,
        help="data sets per statistical test; make statistical takes 2000",
    )


@pytest.fixture
def replications(request):
    """How many data sets a statistical test draws."""
    return request.config.getoption("--replications")
