"""
Skewed noise: a two-sided band
==============================

Exponential noise that points up on the right and down on the left. A symmetric band has to be as
wide on the empty side as on the other; a two-sided band learns each side for itself.
"""

import matplotlib.pyplot as plt

from sosbands import BandDisplay, BandRegressor, KernelBand
from sosbands.datasets import case
from sosbands.metrics import coverage, interval_score

truth = case(5)
X, y = truth.sample(400, random_state=0)
X_new, y_new = truth.sample(3000, random_state=1)

scores, shares = {}, {}
figure, panels = plt.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
for axes, symmetric in zip(panels, (True, False), strict=True):
    band = KernelBand(symmetric=symmetric)
    model = BandRegressor(None, band=band, random_state=0).fit(X, y)
    kind, ends = "symmetric" if symmetric else "two-sided", model.predict_interval(X_new, 0.9)
    shares[kind], scores[kind] = coverage(y_new, ends), interval_score(y_new, ends, 0.9)
    BandDisplay.from_estimator(model, X_new, y_new, truth=truth, ax=axes, random_state=0)
    axes.set_title(f"{kind}: interval score {scores[kind]:.2f}, smaller is better")
plt.show()

# %%
# Both cover about 90 % on average. With ``symmetric="auto"``, the default, the out-of-fold interval
# score decides between them if the band goes around a kernel mean, as here, and there are 300 rows.
# Around other models the band is two-sided from 100 rows on.
