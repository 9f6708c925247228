"""
Any score, tuned by HSIC
========================

The criterion that tunes bands tunes any model with a mean and a scale. Here the scale is the mean
residual of the k nearest neighbours: with few it is noise, with many it is constant.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsRegressor

from sosbands import tune_score
from sosbands.conformal import IntervalFamily, SplitCalibration
from sosbands.datasets import case
from sosbands.metrics import interval_score


class Neighbours(BaseEstimator):
    """A mean of ten neighbours, and the mean size of what it leaves at k of them."""

    def __init__(self, k=30.0):
        self.k = k

    def fit(self, X, y):
        self.mean_ = KNeighborsRegressor(10).fit(X, y)
        left = np.abs(y - self.mean_.predict(X))
        self.scale_ = KNeighborsRegressor(round(self.k)).fit(X, left)
        return self

    def predict(self, X, return_std=False):
        mean = self.mean_.predict(X)
        return (mean, self.scale_.predict(X)) if return_std else mean


truth = case(1)
X, y = truth.sample(400, random_state=0)
X_cal, y_cal = truth.sample(300, random_state=1)
X_new, y_new = truth.sample(4000, random_state=2)
tuned = tune_score(Neighbours(), X, y, {"k": (3, 300)}, max_evaluations=20)

# %%
# The interval score of new rows, which the tuning has not seen, for some k. Where HSIC is largest,
# the intervals are good.


def score_of(k):
    model = Neighbours(k).fit(X, y)
    old, new = (
        IntervalFamily.around(*model.predict(rows, return_std=True)) for rows in (X_cal, X_new)
    )
    q = SplitCalibration(old.scores(y_cal)).quantiles([0.9])
    return interval_score(y_new, new.intervals(q), 0.9)[0]


tried, found = zip(*sorted((params["k"], value) for params, value in tuned.trials), strict=True)
ks = np.geomspace(3, 300, 12)
figure, (upper, lower) = plt.subplots(2, 1, figsize=(6.5, 5.5), sharex=True, layout="constrained")
upper.semilogx(tried, found, "o-")
upper.set(ylabel="HSIC, larger is better")
lower.semilogx(ks, [score_of(k) for k in ks], "o-")
lower.set(xlabel="neighbours k", ylabel="interval score,\nsmaller is better")
for axes in (upper, lower):
    axes.axvline(tuned.best_params["k"], color="black", linestyle="--", linewidth=1)
plt.show()
