"""Models and rows that the tests of the estimator share."""

import math
import warnings
from fractions import Fraction
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from tests.regressors import regressor

INF = np.inf
LEVELS = (0.5, 0.8, 0.9)
MODES = ("split", "cv+", "localized")


def wave(n=80, seed=0, columns=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, columns))
    return X, np.sin(6 * X[:, 0]) + (0.1 + X[:, 0]) * rng.normal(size=n)


def band(estimator=None, **changes):
    cheap = {"symmetric": True, "lengthscale": 1.0, "width_weight": 10.0, "random_state": 0}
    return regressor(estimator, **(cheap | changes))


def fitted(estimator=None, **changes):
    """A band around 60 rows that waits for its calibration."""
    return band(estimator, calibration=None, **changes).fit(*wave(60, seed=1))


def ranked(scores, level):
    """The ⌈level·(m + 1)⌉-th smallest score, with the level as the decimal it prints as."""
    rank = math.ceil(Fraction(str(level)) * (len(scores) + 1))
    return np.sort(scores)[rank - 1] if rank <= len(scores) else INF


def quiet(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return call()


class Spy(RegressorMixin, BaseEstimator):
    """The mean of y, and a diary of which rows were seen by which fit."""

    diary: ClassVar = []

    def fit(self, X, y):
        self.rows_, self.mean_ = set(X[:, 0]), np.mean(y)
        return self

    def predict(self, X):
        self.diary.append((self.rows_, set(X[:, 0])))
        return np.full(len(X), self.mean_)
