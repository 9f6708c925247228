"""
Covariate shift: new rows are elsewhere
=======================================

The calibration rows are spread evenly, new rows crowd at the right, where the noise is large. If Y
given X has not changed, the likelihood ratio of new to old inputs mends the calibration.
"""

import matplotlib.pyplot as plt
import numpy as np

from sosbands import BandRegressor, KernelBand
from sosbands.datasets import case

truth = case(1)
X, y = truth.sample(300, random_state=0)


def ratio(X):
    """How much more often x occurs now; a factor does not matter."""
    return np.exp(3 * X[:, 0])


# %%
# A constant width around the mean shows the effect most clearly (a band that follows the noise
# needs less mending): a long lengthscale makes one. A set of 400 calibration rows is one draw; the
# picture counts 60 of them.

model = BandRegressor(
    None,
    calibration=None,
    band=KernelBand(symmetric=True, lengthscale=100.0, width_weight=30.0),
    random_state=0,
).fit(X, y)
inputs = truth.sample_inputs(20_000, random_state=1)
kept = np.random.default_rng(2).random(len(inputs)) < ratio(inputs) / np.exp(3)
X_new = inputs[kept]
y_new = truth.sample_outputs(X_new, random_state=3)

shares = {"plain": [], "weighted": []}
for seed in range(60):
    rows = truth.sample(400, random_state=100 + seed)
    for name, weights in (("plain", None), ("weighted", ratio)):
        model.conformalize(*rows, weights=weights)
        lower, upper = model.predict_interval(X_new, 0.9).T
        shares[name].append(np.mean((lower <= y_new) & (y_new <= upper)))

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.boxplot(list(shares.values()), tick_labels=list(shares), widths=0.5)
axes.axhline(0.9, color="black", linestyle="--", linewidth=1, label="asked for")
axes.set(ylabel="coverage of new rows", xlabel="calibration")
axes.legend(frameon=False)
plt.show()

# %%
# The plain calibration covers too few of the new rows. The weighted one is right on average, and
# varies more: fewer calibration rows resemble the new ones.
