"""
Around a model that you have
============================

Intervals around gradient boosting, beside split conformal prediction with a constant width. Any
regressor with `fit` and `predict` can take its place; without one, the intervals go around an
average of several.
"""

# %%
# Three inputs; how noisy y is depends on all of them.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from sosbands import BandRegressor
from sosbands.conformal import IntervalFamily, SplitCalibration
from sosbands.datasets import case
from sosbands.metrics import coverage, interval_score

truth = case(2, dimension=3)
X, y = truth.sample(400, random_state=0)
X_new, y_new = truth.sample(3000, random_state=1)
boosted = HistGradientBoostingRegressor(max_iter=50, random_state=0)
model = BandRegressor(boosted, random_state=0).fit(X, y)
intervals = model.predict_interval(X_new, 0.9)

# %%
# The same model with a constant width, from the same numbers of rows.

boosted.fit(X[:280], y[:280])
scores = np.abs(y[280:] - boosted.predict(X[280:]))
family = IntervalFamily.around(boosted.predict(X_new), np.ones(len(X_new)))
constant = family.intervals(SplitCalibration(scores).quantiles([0.9]))[:, :, 0]
for name, ends in (("sosbands", intervals), ("constant", constant)):
    print(
        f"{name}: coverage {coverage(y_new, ends):.2f}, "
        f"interval score {interval_score(y_new, ends, 0.9):.2f}"
    )

# %%
# Without a model: the default finds the average of four regressors that predicts best.

average = BandRegressor(random_state=0).fit(X, y)
ends = average.predict_interval(X_new, 0.9)
print({name: round(weight, 2) for name, weight in average.estimator_.weights_.items()})
print(
    f"coverage {coverage(y_new, ends):.2f}, interval score {interval_score(y_new, ends, 0.9):.2f}"
)

# %%
# Coverage against the true noise of each new row. Both cover on average; the constant width
# covers too much where there is little noise and too little where there is much.

order = np.argsort(truth.scale(X_new))
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, ends in (("sosbands", intervals), ("constant width", constant)):
    inside = (ends[:, 0] <= y_new) & (y_new <= ends[:, 1])
    parts = np.array_split(order, 12)
    axes.plot(
        [truth.scale(X_new[part]).mean() for part in parts],
        [inside[part].mean() for part in parts],
        "o-",
        label=name,
    )
axes.axhline(0.9, color="black", linestyle="--", linewidth=1, label="asked for")
axes.set(xlabel="true standard deviation of y given x", ylabel="share of outputs inside")
axes.legend(frameon=False)
plt.show()
