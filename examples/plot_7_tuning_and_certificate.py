"""
How the lengthscale was chosen, and what proves the optimum
===========================================================

The dependence between out-of-fold residuals and scales (HSIC) chooses the lengthscale, the
out-of-fold interval score the weight of the width.
"""

import matplotlib.pyplot as plt

from sosbands import BandRegressor, TuningDisplay
from sosbands.datasets import case

X, y = case(1).sample(500, random_state=0)
model = BandRegressor(None, random_state=0).fit(X, y)
display = TuningDisplay.from_estimator(model)

# %%
# A curve that is flat around the ring means that the choice hardly matters there. The certificate
# says how far the band is from the best one for the chosen settings: not further than the gap.

certificate = model.certificate_
print(f"relative gap   {certificate.gap:.1e}")
print(f"active rows    {certificate.active_rows} of {model.n_train_}")
print(f"rank of A      {certificate.rank}")

# %%
# HSIC looks for a scale that goes with the size of the residuals. Here are both, for new rows: the
# residuals spread as far as the scale says.

X_new, y_new = case(1).sample(1000, random_state=1)
mean, scale = model.predict(X_new, return_std=True)
figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
axes.plot(scale, abs(y_new - mean), ".", alpha=0.4)
axes.axline((0, 0), slope=1, color="black", linewidth=1, linestyle="--", label="residual = scale")
axes.set(xlabel="scale √f", ylabel="size of the residual")
axes.legend(frameon=False)
plt.show()
