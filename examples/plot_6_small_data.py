"""
Forty rows: no row to waste, and where the model does not know
==============================================================

``calibration="cv+"`` trains and calibrates with all rows. What it guarantees is weaker than the
level, what it does is close to it. `extrapolation` says where there were no rows to learn from.
The mean is the kernel mean, ``None``.
"""

import matplotlib.pyplot as plt
import numpy as np

from sosbands import BandDisplay, BandRegressor

rng = np.random.default_rng(0)
X = np.sort(np.concatenate([rng.uniform(0, 4, 25), rng.uniform(6.5, 9, 15)]))[:, None]
y = np.sin(X[:, 0]) + 0.15 * rng.normal(size=len(X))
model = BandRegressor(None, calibration="cv+", random_state=0).fit(X, y)

# %%
# Between the two clusters, and beyond them, the background is grey: the model guesses there. The
# guarantee is for new rows that are distributed as these are, so it does not speak of such places,
# and the band need not be wide there.

X_wide = np.linspace(-1, 11, 300)[:, None]
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
BandDisplay.from_estimator(model, X_wide, levels=[0.5, 0.9], extrapolation=True, ax=axes)
axes.plot(X, y, "k.", label="data")
axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
plt.show()
