"""
Around a model that you have
============================

Intervals around gradient boosting, beside split conformal prediction, which gives all rows the same
width. Any regressor with `fit` and `predict` can take its place; without one, the intervals go
around an average of several.
"""

# %%
# How long does a trip through a town take? At night nearly as long as expected. In the rush hours,
# in rain and over many kilometres nobody knows so well.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from sosbands import BandRegressor
from sosbands.conformal import IntervalFamily, SplitCalibration
from sosbands.metrics import coverage, interval_score


def trips(n, seed):
    """Kilometres, hour and rain; minutes; and the standard deviation of the minutes."""
    rng = np.random.default_rng(seed)
    km, hour, rain = rng.uniform(1, 30, n), rng.uniform(0, 24, n), rng.random(n) < 0.3
    rush = np.exp(-((hour - 8) ** 2) / 4) + np.exp(-((hour - 17.5) ** 2) / 4)
    noise = 0.02 * km + 0.12 * km * rush * (1 + rain)
    minutes = 5 + 2 * km * (1 + 0.6 * rush) + noise * rng.normal(size=n)
    return np.column_stack([km, hour, rain]), minutes, noise


X, y, _ = trips(800, seed=0)
X_new, y_new, noise = trips(3000, seed=1)
boosted = HistGradientBoostingRegressor(max_iter=50, random_state=0)
model = BandRegressor(boosted, random_state=0).fit(X, y)
intervals = model.predict_interval(X_new, 0.9)

# %%
# The same model with a constant width, from the same numbers of rows. The interval score is the
# mean width plus a fine for every miss: smaller is better.

boosted.fit(X[:560], y[:560])
scores = np.abs(y[560:] - boosted.predict(X[560:]))
family = IntervalFamily.around(boosted.predict(X_new), np.ones(len(X_new)))
constant = family.intervals(SplitCalibration(scores).quantiles([0.9]))[:, :, 0]
found = {"sosbands": intervals, "constant width": constant}
for name, ends in found.items():
    print(
        f"{name}: coverage {coverage(y_new, ends):.2f}, "
        f"interval score {interval_score(y_new, ends, 0.9):.2f}"
    )

# %%
# Without a model: the default finds the average of several regressors that predicts best.

average = BandRegressor(random_state=0).fit(X, y)
ends = average.predict_interval(X_new, 0.9)
print({name: round(weight, 2) for name, weight in average.estimator_.weights_.items()})
print(
    f"coverage {coverage(y_new, ends):.2f}, interval score {interval_score(y_new, ends, 0.9):.2f}"
)

# %%
# Coverage against the true noise of each new row. Both cover about 90 % on average. The constant
# width covers all of the quiet trips and too few of the noisy ones; ours stays closer to 90 %.

order = np.argsort(noise)
parts = np.array_split(order, 12)
shares = {
    name: np.array([coverage(y_new[part], ends[part]) for part in parts])
    for name, ends in found.items()
}
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, share in shares.items():
    axes.plot([noise[part].mean() for part in parts], share, "o-", label=name)
axes.axhline(0.9, color="black", linestyle="--", linewidth=1, label="asked for")
axes.set(xlabel="true standard deviation of the minutes", ylabel="share of trips inside")
axes.legend(frameon=False)
plt.show()
