"""Options of the test run."""

import numpy as np
import pytest


def pytest_addoption(parser):
    parser.addoption(
        "--replications",
        type=int,
        default=100,
        help="data sets per statistical test; make statistical takes 2000",
    )


@pytest.fixture(autouse=True)
def the_same_draws_in_every_run():
    """Without a `random_state`, as in some checks of scikit-learn, splits come from NumPy's."""
    np.random.seed(0)  # noqa: NPY002


@pytest.fixture
def replications(request):
    """How many data sets a statistical test draws."""
    return request.config.getoption("--replications")
