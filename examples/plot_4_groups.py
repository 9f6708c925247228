"""
Groups: a level for each of them
================================

Two sites, one of them three times as noisy, and a model that does not know which row comes from
where. One calibration for all is right on average and wrong for both; calibrating by groups
(Mondrian conformal prediction) is right for each.
"""

import matplotlib.pyplot as plt
import numpy as np

from sosbands import BandRegressor

rng = np.random.default_rng(0)


def sample(n):
    X = rng.uniform(-1, 1, (n, 1))
    site = np.where(rng.random(n) < 0.2, "noisy", "quiet")
    return X, np.sin(3 * X[:, 0]) + np.where(site == "noisy", 0.9, 0.3) * rng.normal(size=n), site


X, y, _ = sample(300)
X_cal, y_cal, site_cal = sample(400)
X_new, y_new, site_new = sample(4000)
model = BandRegressor(None, calibration=None, random_state=0).fit(X, y)

# %%
# `conformalize` again at will: nothing is learned anew. Groups that are unseen, or have too few
# calibration rows, would get infinite intervals.

found = {
    "one calibration": model.conformalize(X_cal, y_cal).predict_interval(X_new),
    "by groups": model.conformalize(X_cal, y_cal, groups=site_cal).predict_interval(
        X_new, groups=site_new
    ),
}
shares = {}
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for shift, (name, ends) in zip((-0.2, 0.2), found.items(), strict=True):
    inside = (ends[:, 0] <= y_new) & (y_new <= ends[:, 1])
    shares[name] = [inside[site_new == site].mean() for site in ("quiet", "noisy")]
    bars = axes.bar(np.arange(2) + shift, shares[name], width=0.36, label=name)
    axes.bar_label(bars, fmt="%.2f")
axes.axhline(0.9, color="black", linestyle="--", linewidth=1, label="asked for")
axes.set_xticks([0, 1], ["quiet site", "noisy site"])
axes.set(ylabel="share of outputs inside", ylim=(0, 1.25))
axes.legend(frameon=False, ncols=3, loc="upper center")
plt.show()
