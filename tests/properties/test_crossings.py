"""Intervals of several levels lie inside each other, at a hundred thousand points of every fit.

`make crossings` asks the same of every fit of the other tests.
"""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from sosbands.datasets import case
from tests.crossings import crossings
from tests.regressors import regressor

POINTS = 100_000
TREES = HistGradientBoostingRegressor(max_iter=20, random_state=0)


@pytest.mark.parametrize(
    ("estimator", "settings"),
    [
        (None, {"symmetric": True}),
        (None, {"symmetric": False}),
        (None, {"symmetric": False, "training_coverage": (0.1, 0.3, 0.6, 0.9)}),
        (None, {"symmetric": False, "training_coverage": 1.0, "shift_power": 0.0}),
        (None, {"symmetric": False, "likeness": 0.8}),
        (None, {"symmetric": False, "offset": 0.0, "kernel": "matern"}),
        (TREES, {}),
        (TREES, {"centre_penalty": None}),
        ("auto", {}),
    ],
)
def test_no_interval_crosses_another(estimator, settings):
    X, y = case(2, dimension=2).sample(150, random_state=0)
    model = regressor(estimator, calibration=None, random_state=0, **settings).fit(X, y)
    assert crossings(model.band_, X, POINTS) == 0


def test_an_interval_that_crosses_another_is_counted():
    class Crossing:
        def at(self, X):
            ends = np.ones((len(X), 2, 10)) * np.array([-1.0, 1.0])[:, None]
            ends[:3, 1, 5] = 2.0  # further out than the next

            class Family:
                family = type("", (), {"intervals": staticmethod(lambda _: ends)})

            return Family

    assert crossings(Crossing(), np.eye(2), 50) == 3
