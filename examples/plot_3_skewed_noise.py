"""
Skewed noise: a two-sided band
==============================

Exponential noise that points up on the right and down on the left. A symmetric band has to be as
wide on the empty side as on the other; a two-sided band learns each side for itself.
"""

import matplotlib.pyplot as plt

from sosbands import BandDisplay, BandRegressor, KernelBand
from sosbands.datasets import case
from sosbands.metrics import interval_score

truth = case(5)
X, y = truth.sample(400, random_state=0)
X_new, y_new = truth.sample(3000, random_state=1)

figure, panels = plt.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
for axes, symmetric in zip(panels, (True, False), strict=True):
    band = KernelBand(symmetric=symmetric)
    model = BandRegressor(None, band=band, random_state=0).fit(X, y)
    score = interval_score(y_new, model.predict_interval(X_new, 0.9), 0.9)
    BandDisplay.from_estimator(model, X_new, y_new, truth=truth, ax=axes, random_state=0)
    kind = "symmetric" if symmetric else "two-sided"
    axes.set_title(f"{kind}: interval score {score:.2f}, smaller is better")
plt.show()

# %%
# Both cover 90 % on average. With ``symmetric="auto"``, the default, the out-of-fold interval score
# decides between them from 300 rows on if the band goes around a kernel mean, as here; around other
# models it is two-sided from 100 rows on.
