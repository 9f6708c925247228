"""Options of the test run."""

import numpy as np
import pytest

from sosbands.learning.learner import BandLearner
from tests.crossings import crossings


def pytest_addoption(parser):
    parser.addoption(
        "--replications",
        type=int,
        default=100,
        help="data sets per statistical test; make statistical takes 2000",
    )
    parser.addoption(
        "--crossings",
        type=int,
        default=0,
        help="random points at which no band of any fit may cross another; make crossings: 100 000",
    )


@pytest.fixture(autouse=True)
def bands_that_do_not_cross(request, monkeypatch):
    """With ``--crossings``, every band that is learned from a table of numbers is looked at."""
    points, learn = request.config.getoption("--crossings"), BandLearner.learn

    def learned(self, X, *arguments, **settings):
        made = learn(self, X, *arguments, **settings)
        if isinstance(X, np.ndarray) and X.dtype.kind == "f":
            assert crossings(made.band, X, points) == 0
        return made

    if points and not request.node.get_closest_marker("counts_looks"):
        monkeypatch.setattr(BandLearner, "learn", learned)


@pytest.fixture(autouse=True)
def the_same_draws_in_every_run():
    """Without a `random_state`, as in some checks of scikit-learn, splits come from NumPy's."""
    np.random.seed(0)  # noqa: NPY002


@pytest.fixture
def replications(request):
    """How many data sets a statistical test draws."""
    return request.config.getoption("--replications")
